"""A corpus run: shards, manifest, resuming after every kind of end, and the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import biatt
from biatt.corpus import run as module
from biatt.corpus.manifest import LOCK, MANIFEST
from biatt.corpus.run import parse_corpus
from biatt.corpus.shards import Done, Place, parse_shard
from biatt.corpus.source import Reading, Source
from biatt.data.conll import dumps, read
from biatt.errors import BiattError, ConfigError, FormatError
from biatt.parser import Parser
from biatt.parsing.parsed_sources import NoProgress
from builders import TREEBANK, random_pipeline
from failing_disk import FailingDisk, Killed
from ways import on_the

# A line of a manifest, for a number and a file.
SHARD = (
    '{"shard": {"number": %s, "file": "%s", "documents": 1, "sentences": 1, "words": 1, "bytes": 1, '
    '"sha256": "", "failures": []}}'
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "model"
    random_pipeline().save(folder)
    return folder


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """A corpus of 16 documents, one of which cannot be read, in files of three kinds."""
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [
        json.dumps({"id": f"d{i}", "text": f"The dog sees {i} cats. Cats sleep.", "n": i}) for i in range(12)
    ]
    lines.insert(5, "{")
    (folder / "a.jsonl").write_text("\n".join(lines))
    for name in ("b.txt", "c.txt"):
        (folder / name).write_text("A dog.\n\nCats sleep here.")
    (folder / "d.conllu").write_text(dumps(TREEBANK[:3]).rstrip("\n"))
    (folder / "e.conllu").write_text(dumps(TREEBANK[3:6]))
    return [folder]


OPTIONS: dict[str, Any] = {"shard_characters": 100, "on_error": "skip"}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("format", ["conllu", "json", "parquet"])
def test_manifest_and_shards_agree_and_nothing_is_missing_or_double(
    model: Path, inputs: list[Path], tmp_path: Path, format: Any
) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    totals = parse_corpus(inputs, out, model=model, format=format, **OPTIONS)
    assert (totals.documents, len(totals.failures)) == (16, 1)
    assert totals.shards > 3
    run, *shards, end = map(json.loads, (out / MANIFEST).read_text().splitlines())
    assert [Path(entry["path"]).name for entry in run["inputs"]] == [
        p.name for p in sorted(inputs[0].iterdir())
    ]
    for entry in run["inputs"]:
        assert entry["sha256"] == hashlib.sha256(Path(entry["path"]).read_bytes()).hexdigest()
    written = files(out)
    assert set(written) == {shard["shard"]["file"] for shard in shards} | {MANIFEST}
    for shard in (line["shard"] for line in shards):
        data = written[shard["file"]]
        assert (shard["bytes"], shard["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    failures = [failure for line in shards for failure in line["shard"]["failures"]]
    assert [(Path(failure["source"]).name, failure["line"]) for failure in failures] == [("a.jsonl", 6)]
    assert end["finished"]["words"] == totals.words
    if format == "json":
        lines = [
            json.loads(line)
            for name in sorted(written)
            if name != MANIFEST
            for line in written[name].splitlines()
        ]
        assert [line["id"] for line in lines[:12]] == [f"d{i}" for i in range(12)]
        assert [line["columns"] for line in lines[:12]] == [{"n": i} for i in range(12)]
        assert sum(len(sentence["words"]) for line in lines for sentence in line["sentences"]) == totals.words
        assert all("confidence" in word for line in lines for s in line["sentences"] for word in s["words"])
    if format == "conllu":
        (out / "all").write_bytes(b"".join(written[name] for name in sorted(written) if name != MANIFEST))
        sentences = list(read(out / "all", trees=True))
        assert sum(map(len, sentences)) == totals.words
        assert [s.forms for s in sentences[-6:]] == [s.forms for s in TREEBANK[:6]]
        begun = [c.removeprefix("# newdoc id = ") for s in sentences for c in s.comments if "# newdoc" in c]
        others = [str(inputs[0] / name) for name in ("b.txt", "c.txt", "d.conllu", "e.conllu")]
        assert begun == [*(f"d{i}" for i in range(12)), *others]
        assert '# columns = {"n": 3}' in [c for s in sentences for c in s.comments]


def interrupted_after(count: int) -> Any:
    def engine(model: Path, source: Source, workers: int) -> Iterator[Done]:
        parser = Parser.load(model)
        for number, task in enumerate(source.tasks()):
            if number == count:
                raise KeyboardInterrupt
            yield Done(parse_shard(parser, task), task.place)

    return engine


def test_a_run_that_ended_early_goes_on_and_nothing_is_done_twice(
    model: Path, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse_corpus(inputs, tmp_path / "whole", model=model, **OPTIONS)
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(module, "by_processes", interrupted_after(2))
        with pytest.raises(KeyboardInterrupt):
            parse_corpus(inputs, out, model=model, **OPTIONS)
    assert set(files(out)) == {"part-000001.conllu", "part-000002.conllu", MANIFEST}
    with pytest.raises(ConfigError, match="already contains a run: resume it"):
        parse_corpus(inputs, out, model=model, **OPTIONS)
    done: list[int] = []
    original = module.parse_shard
    monkeypatch.setattr(
        module, "parse_shard", lambda p, task: (done.append(task.number), original(p, task))[1]
    )
    (out / "part-000002.conllu").write_bytes(b"damaged")
    with (out / MANIFEST).open("ab") as file:
        file.write(b'{"shard": {"num')  # killed while it was written
    totals = parse_corpus(inputs, out, model=model, resume=True, **OPTIONS)
    assert done == list(range(2, totals.shards + 1))
    assert files(out) == files(tmp_path / "whole")
    done.clear()
    assert parse_corpus(inputs, out, model=model, resume=True, **OPTIONS) == totals
    assert done == []


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "3",
        '{"shard": 3}',
        '{"shard": {}}',
        '{"shard": {"failures": [{}]}}',
        SHARD % ('"1"', "a"),
        SHARD % (1, "../a"),
    ],
)
def test_a_damaged_manifest_is_one_sentence(
    model: Path, inputs: list[Path], tmp_path: Path, line: str
) -> None:
    parse_corpus(inputs, tmp_path / "out", model=model, **OPTIONS)
    first, *others = (tmp_path / "out" / MANIFEST).read_text().splitlines()
    (tmp_path / "out" / MANIFEST).write_text("\n".join([first, line, *others, ""]))
    with pytest.raises(ConfigError, match=rf"{MANIFEST} is damaged.*name another folder\.$"):
        parse_corpus(inputs, tmp_path / "out", model=model, resume=True, **OPTIONS)


def test_a_run_is_resumed_with_the_same_inputs_and_options(
    model: Path, inputs: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    parse_corpus(inputs, out, model=model, **OPTIONS)
    with pytest.raises(ConfigError, match="a run with other options"):
        parse_corpus(inputs, out, model=model, resume=True, roots="any", **OPTIONS)
    (inputs[0] / "b.txt").write_text("Other.")
    with pytest.raises(ConfigError, match="a run with other inputs"):
        parse_corpus(inputs, out, model=model, resume=True, **OPTIONS)


def test_a_run_of_another_version_is_not_resumed(
    model: Path, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse_corpus(inputs, tmp_path / "out", model=model, **OPTIONS)
    before = files(tmp_path / "out")
    monkeypatch.setattr(biatt, "__version__", "99.0")
    with pytest.raises(ConfigError, match=r"out contains a run of biatt .*, and this is 99\.0: resume it"):
        parse_corpus(inputs, tmp_path / "out", model=model, resume=True, **OPTIONS)
    assert files(tmp_path / "out") == before


def test_a_run_that_stopped_at_a_bad_document_goes_on_past_it(
    model: Path, inputs: list[Path], tmp_path: Path
) -> None:
    skipping: dict[str, Any] = {**OPTIONS, "model": model}
    stopping = {**skipping, "on_error": "stop"}
    parse_corpus(inputs, tmp_path / "whole", **skipping)
    with pytest.raises(FormatError, match="line 6"):
        parse_corpus(inputs, tmp_path / "out", **stopping)
    parse_corpus(inputs, tmp_path / "out", resume=True, **skipping)
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    with pytest.raises(ConfigError, match="a run with other options"):
        parse_corpus(inputs, tmp_path / "out", resume=True, **stopping)


def test_documents_of_sentences_keep_their_comment_or_get_one(
    model: Path, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one document ends and the next begins is seen in every shard, whatever the input was."""
    monkeypatch.setattr("biatt.corpus.records.MOST_SENTENCES", 2)
    (tmp_path / "a.conllu").write_text(
        "# newdoc id = x\n" + dumps(TREEBANK[:3]) + "# newdoc\n" + dumps(TREEBANK[:3])
    )
    (tmp_path / "b.txt").write_text("A dog\nCats sleep\nA dog\n")
    (tmp_path / "c.conllx").write_text(dumps([TREEBANK[0].as_format("conllx")]))
    given = [str(tmp_path / name) for name in ("a.conllu", "b.txt", "c.conllx")]
    parse_corpus([given[0], given[2]], tmp_path / "conll", model=model)
    parse_corpus([given[1]], tmp_path / "tokens", model=model, input="tokens")
    found = {
        name: re.findall("^# newdoc.*", (tmp_path / name / "part-000001.conllu").read_text(), re.MULTILINE)
        for name in ("conll", "tokens")
    }
    assert found["conll"] == ["# newdoc id = x", "# newdoc", f"# newdoc id = {given[2]}"]
    assert found["tokens"] == [f"# newdoc id = {given[1]}#{part}" for part in (1, 2)]


def test_folders_that_cannot_be(model: Path, inputs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="where the output goes"):
        parse_corpus(inputs, inputs[0], model=model)
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").touch()
    with pytest.raises(ConfigError, match=f"not empty, and has no {MANIFEST}"):
        parse_corpus(inputs, out, model=model)
    with pytest.raises(ConfigError, match="cannot be a folder"):
        parse_corpus(inputs, out / "mine", model=model)
    with pytest.raises(ConfigError, match="at least 1 character"):
        parse_corpus(inputs, out, model=model, shard_characters=0)


def test_a_bad_document_ends_the_run_with_its_place(model: Path, inputs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.jsonl, line 6: the line is not JSON"):
        parse_corpus(inputs, tmp_path / "out", model=model, shard_characters=100)
    assert set(files(tmp_path / "out")) == {MANIFEST, "part-000001.conllu"}


def test_a_document_that_cannot_be_parsed_is_noted(model: Path, inputs: list[Path], tmp_path: Path) -> None:
    long = " ".join(["word"] * 6000)
    (inputs[0] / "f.txt").write_text(f"a b\n{long}\n")
    (inputs[0] / "g.conllu").write_text("1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n")
    options: dict[str, Any] = {"model": model, "on_error": "skip"}
    totals = parse_corpus([inputs[0] / "f.txt"], tmp_path / "long", input="tokens", **options)
    (failure,) = totals.failures
    assert "6,000 words" in failure.reason
    given = [inputs[0] / name for name in ("g.conllu", "e.conllu")]
    totals = parse_corpus(given, tmp_path / "cycle", keep_heads=True, **options)
    (failure,) = totals.failures
    assert (failure.line, "form a cycle" in failure.reason, totals.documents) == (1, True, 1)


@pytest.mark.parametrize("way", ["kill", "full"])
def test_whatever_dies_at_any_change_to_the_files_the_run_goes_on_to_the_same_bytes(
    model: Path, inputs: list[Path], tmp_path: Path, way: str
) -> None:
    given = [inputs[0] / "b.txt", inputs[0] / "c.txt"]
    options = {"model": model, "shard_characters": 10}
    parse_corpus(given, tmp_path / "whole", **options)
    step, out, failed, reasons = 0, tmp_path / "out", True, set()
    with FailingDisk(out) as disk:
        while failed:
            if way == "kill":
                disk.kill_at(step)
            else:
                disk.fail_at(step, OSError(28, "No space left on device"))
            try:
                parse_corpus(given, out, resume=step > 0, **options)
            except Killed:
                pass
            except BiattError as error:
                reasons.add("no space left" in str(error).lower())
            failed = disk.repair()
            for path in out.glob("part-*"):  # what has a final name is whole
                assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes()
            step += 1
    assert step > 3
    assert reasons == (set() if way == "kill" else {True})
    assert {name: data for name, data in files(out).items() if name != LOCK} == files(tmp_path / "whole")


@pytest.mark.slow
def test_two_workers_write_the_same_shards(
    model: Path, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIATT_KERNELS", "plain")  # for the workers, which start faster
    with on_the("plain"):
        for workers in (1, 2):
            out = tmp_path / str(workers)
            parse_corpus(inputs, out, model=model, workers=workers, format="json", **OPTIONS)
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_progress_counts_what_is_parsed_of_each_file(model: Path, inputs: list[Path], tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []

    class Told:
        def begin_all(self, files: int, size: int | None) -> None:
            told.append((files, size))

        def start(self, name: str, size: int | None) -> None:
            told.append((Path(name).name, size))

        def advance(self, words: int, bytes_read: int) -> None:
            told.append((words, bytes_read))

    totals = parse_corpus(inputs, tmp_path / "out", model=model, progress=Told(), **OPTIONS)
    sizes = {path.name: path.stat().st_size for path in sorted(inputs[0].iterdir())}
    assert told[0] == (len(sizes), sum(sizes.values()))
    assert [line for line in told if isinstance(line[0], str)] == list(sizes.items())
    assert sum(line[0] for line in told[1:] if isinstance(line[0], int)) == totals.words
    assert told[-1] == (0, sizes["e.conllu"])


def test_places_of_shards_that_are_finished_out_of_order_never_go_back(tmp_path: Path) -> None:
    told: list[int] = []

    class Told(NoProgress):
        def advance(self, words: int, bytes_read: int) -> None:
            told.append(bytes_read)

    (tmp_path / "a").write_text("0123456789")
    reading = Reading([tmp_path / "a"], Told())
    reading.advance(Place(0, 6), 1)
    reading.advance(Place(0, 3), 1)
    reading.close()
    assert told == [6, 6, 10]
