"""Ray writes the shards that worker processes write, also when an actor dies."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from biatt.corpus import ray_engine
from biatt.corpus.run import parse_corpus
from biatt.errors import ConfigError, FormatError
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

    class Mortal(ray_engine.ShardActor):
        """Dies in its third shard, once."""

        def parse(self, task: Any) -> Any:
            if task.number == 3 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().parse(task)

    monkeypatch.setattr(ray_engine, "ShardActor", Mortal)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        parse_corpus([source], tmp_path / "ray", model=model, engine="ray", workers=2, **OPTIONS)
        assert (tmp_path / "died").exists()
        assert files(tmp_path / "ray") == files(tmp_path / "processes")
        parse_corpus([source], tmp_path / "ray", model=model, resume=True, **OPTIONS)  # by processes
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
