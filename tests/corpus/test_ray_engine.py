"""Ray writes the shards that worker processes write, also when an actor dies."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from biatt.corpus import ray_engine
from biatt.corpus.run import parse_corpus
from biatt.errors import BiattError, ConfigError, FormatError
from builders import random_parser, random_tokeniser

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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_ray_gives_the_same_bytes_and_survives_a_dead_actor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    source, model = corpus(tmp_path), tmp_path / "model"
    parse_corpus([source], tmp_path / "processes", model=model, **OPTIONS)

    class Mortal:
        """Dies in its second shard, once."""

        def __init__(self, model: str) -> None:
            from biatt.corpus.ray_engine import ShardActor  # in the actor, where it is not replaced

            self._actor, self._calls = ShardActor(model), 0

        def __call__(self, block: Any) -> Any:
            self._calls += 1
            if self._calls == 2 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return self._actor(block)

    class Dying:
        """Dies in each shard, as one that needs too much memory."""

        def __init__(self, model: str) -> None:
            pass

        def __call__(self, block: Any) -> Any:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ray_engine, "ShardActor", Mortal)
    monkeypatch.setenv(ray_engine.NICENESS, "0")
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except Exception as error:
        if "timed out during startup" not in str(error):
            raise
        pytest.skip("Ray has not started within the 30 seconds that it waits: the machine is too busy")
    try:
        parse_corpus([source], tmp_path / "ray", model=model, engine="ray", workers=2, **OPTIONS)
        assert (tmp_path / "died").exists()
        assert files(tmp_path / "ray") == files(tmp_path / "processes")
        parse_corpus([source], tmp_path / "ray", model=model, resume=True, **OPTIONS)  # by processes
        parse_corpus([source], tmp_path / "ray", model=model, engine="ray", workers=1, resume=True, **OPTIONS)
        assert files(tmp_path / "ray") == files(tmp_path / "processes")
        monkeypatch.setattr(ray_engine, "ShardActor", Dying)
        with pytest.raises(BiattError, match="Ray could not finish a shard: "):
            parse_corpus([source], tmp_path / "dead", model=model, engine="ray", workers=1, **OPTIONS)
        monkeypatch.undo()
        with source.open("a") as file:
            file.write("\n{")
        with pytest.raises(FormatError, match=r"a\.jsonl, line 13: the line is not JSON"):
            parse_corpus([source], tmp_path / "bad", model=model, engine="ray", workers=1, **OPTIONS)
    finally:
        ray.shutdown()


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    source = corpus(tmp_path, count=1)
    with pytest.raises(ConfigError, match=r"pip install 'biatt\[ray\]'"):
        parse_corpus([source], tmp_path / "out", model=tmp_path / "model", engine="ray")


def test_a_cluster_that_cannot_be_reached_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ray:
        def is_initialized(self) -> bool:
            return False

        def init(self, **_: Any) -> None:
            raise ConnectionError("Could not connect to 10.0.0.1:6379.\nRay's advice.")

    monkeypatch.setattr(ray_engine, "_ray", Ray)
    for name in (ray_engine.NICENESS, ray_engine.LOG_LEVEL):
        monkeypatch.delenv(name, raising=False)
    source = corpus(tmp_path, count=1)
    with pytest.raises(BiattError) as error:
        parse_corpus([source], tmp_path / "out", model=tmp_path / "model", engine="ray")
    assert str(error.value) == "Ray could not be started or reached: Could not connect to 10.0.0.1:6379."
    assert not {ray_engine.NICENESS, ray_engine.LOG_LEVEL} & os.environ.keys()


def test_warnings_for_developers_of_ray_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    def blocks() -> Iterator[int]:
        for number in range(2):
            warnings.warn("The operator received 1 input only.", stacklevel=1)
            yield number

    assert list(ray_engine._without_warnings(blocks())) == [0, 1]
    assert not recwarn.list
