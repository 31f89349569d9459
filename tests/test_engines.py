"""Ray writes what worker processes write, also when an actor dies."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from biatt.corpus.run import parse_corpus
from biatt.errors import BiattError, ConfigError, FormatError
from biatt.machine import ray_pool
from biatt.machine.kernel_choice import require_compiled
from builders import random_parser, random_tokeniser
from commands import invoke, refusal

OPTIONS: dict[str, Any] = {"shard_characters": 100, "format": "json"}


def corpus(folder: Path, *, count: int = 12) -> Path:
    parser = random_parser()
    parser.tokeniser = random_tokeniser()
    parser.save(folder / "model")
    lines = [json.dumps({"id": f"d{i}", "text": f"The dog sees {i} cats. Cats sleep."}) for i in range(count)]
    (folder / "a.jsonl").write_text("\n".join(lines))
    return folder / "a.jsonl"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on two cores of this machine."""
    ray = pytest.importorskip("ray")
    if os.name != "posix":
        pytest.skip("an actor is killed by kill -9")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Ray
        patch.setenv(ray_pool.NICENESS, "0")
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
            pytest.skip("Ray has not started within the 30 seconds that it waits: the machine is too busy")
        yield
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray
@pytest.mark.usefixtures("cluster")
def test_ray_gives_the_same_bytes_and_survives_a_dead_actor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, model = corpus(tmp_path), tmp_path / "model"
    parse_corpus([source], tmp_path / "processes", model=model, **OPTIONS)

    class Mortal:
        """Dies in its second item, once."""

        def __init__(self, *arguments: Any) -> None:
            from biatt.machine.ray_pool import Actor  # in the actor, where it is not replaced

            self._actor, self._calls = Actor(*arguments), 0

        def __call__(self, block: Any) -> Any:
            self._calls += 1
            if self._calls == 2 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return self._actor(block)

    class Dying:
        """Dies in each item, as one that needs too much memory."""

        def __init__(self, *arguments: Any) -> None:
            pass

        def __call__(self, block: Any) -> Any:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ray_pool, "Actor", Mortal)
    parse_corpus([source], tmp_path / "ray", model=model, engine="ray", workers=2, **OPTIONS)
    assert (tmp_path / "died").exists()
    assert files(tmp_path / "ray") == files(tmp_path / "processes")
    parse_corpus([source], tmp_path / "ray", model=model, resume=True, **OPTIONS)  # by processes
    parse_corpus([source], tmp_path / "ray", model=model, engine="ray", workers=1, resume=True, **OPTIONS)
    assert files(tmp_path / "ray") == files(tmp_path / "processes")
    monkeypatch.setattr(ray_pool, "Actor", Dying)
    with pytest.raises(BiattError, match="Ray could not finish its work: "):
        parse_corpus([source], tmp_path / "dead", model=model, engine="ray", workers=1, **OPTIONS)
    monkeypatch.undo()
    with source.open("a") as file:
        file.write("\n{")
    with pytest.raises(FormatError, match=r"a\.jsonl, line 13: the line is not JSON"):
        parse_corpus([source], tmp_path / "bad", model=model, engine="ray", workers=1, **OPTIONS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray
@pytest.mark.usefixtures("cluster")
def test_files_are_parsed_by_ray_as_by_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_compiled()
    corpus(tmp_path)
    monkeypatch.chdir(tmp_path)  # names of files are relative to where the work begins
    paragraphs = [f"The dog sees {i} cats. Cats sleep." for i in range(700)]
    Path("a.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")  # more than a window
    Path("b.txt").write_text("The cat barks.", encoding="utf-8")
    Path("empty.txt").touch()
    options = ["a.txt", "empty.txt", "b.txt", "--model", "model", "--confidence"]
    for engine, workers in ("processes", 1), ("ray", 2):
        more = ["--engine", engine, "--workers", workers]
        invoke("parse", *options, "--output-dir", engine, *more)
        invoke("parse", *options, "--output", f"{engine}.jsonl", "--format", "json", *more)
    assert files(Path("ray")) == files(Path("processes"))
    assert Path("ray.jsonl").read_bytes() == Path("processes.jsonl").read_bytes()
    assert files(Path("ray"))["a.conllu"].count(b"# sent_id") >= len(paragraphs)

    Path("bad.conllu").write_text("1\tcat\n", encoding="utf-8")
    said = refusal(
        "parse", "b.txt", "bad.conllu", "--model", "model", "-o", "out", "-f", "conllu", "--engine", "ray"
    )
    assert "bad.conllu, line 1: the line has 2 columns" in said
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-"], "reads files: standard input and --text are for processes"),
        (["--text", "Cats sleep."], "reads files"),
        (["a.txt", "--model", "auto"], "takes one model for all files, not auto"),
        (["a.txt", "-o", "a.svg", "--format", "attention"], "Attention is drawn by one worker"),
        (["a.txt", "--device", "cuda"], "Several workers are for the CPU"),
    ],
)
def test_what_a_cluster_cannot_do_is_said_before_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").touch()
    assert message in refusal("parse", *options, "--engine", "ray")


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    source = corpus(tmp_path, count=1)
    with pytest.raises(ConfigError, match=r"pip install 'biatt\[ray\]'"):
        parse_corpus([source], tmp_path / "out", model=tmp_path / "model", engine="ray")


def test_a_cluster_that_cannot_be_reached_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Ray:
        def is_initialized(self) -> bool:
            return False

        def init(self, **_: Any) -> None:
            os.write(2, b"How I was set")
            raise ConnectionError("Could not connect to 10.0.0.1:6379.\nRay's advice.")

    monkeypatch.setattr(ray_pool, "_ray", Ray)
    for name in (ray_pool.NICENESS, ray_pool.LOG_LEVEL):
        monkeypatch.delenv(name, raising=False)
    source = corpus(tmp_path, count=1)
    with pytest.raises(BiattError) as error:
        parse_corpus([source], tmp_path / "out", model=tmp_path / "model", engine="ray")
    assert str(error.value) == "Ray could not be started or reached: Could not connect to 10.0.0.1:6379."
    assert not {ray_pool.NICENESS, ray_pool.LOG_LEVEL} & os.environ.keys()
    assert capfd.readouterr().err == ""


def test_warnings_for_developers_of_ray_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    def blocks() -> Iterator[int]:
        for number in range(2):
            warnings.warn("The operator received 1 input only.", stacklevel=1)
            yield number

    assert list(ray_pool._without_warnings(blocks())) == [0, 1]
    assert not recwarn.list
