from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import Config, ParserConfig, with_settings
from biatt.data.conll import write
from biatt.data.toy_treebank import generate
from biatt.evaluation.metrics import evaluate
from biatt.training.train import train
from builders import experiment_record, random_parser, random_pipeline

pytest.importorskip("matplotlib", reason="the benchmarks need the extra `bench`")

FOLDER = Path(__file__).parents[1] / "benchmarks"
SPEEDS = {"words_per_second", "words_per_cpu_second"}
KEYS: dict[str, set[str]] = {
    "conditions": {
        *("cpu", "cores", "python", "biatt", "numpy", "numba", "torch", "commit", "seed", "repeats"),
        *("quick", "treebank", "model", "hidden", "columns", "relations", "parameters", "load_before"),
    },
    "parsing": {
        *("words", "sentences", "fused", "argmax", "torch", "fused_over_torch"),
        *("share_percent", "mst_over_argmax_percent"),
    },
    "limit": {
        *("flops_per_word", "gflops_per_second", "words_per_second", "fused_share_percent"),
        *("words_per_second_by_shape", "fused_share_percent_by_shape"),
    },
    "agreement": {"words", "different_heads", "different_relations"},
    "training": {"words", "batch_words", "fused", "torch", "fused_over_torch"},
    "budgets": {"parsing_fused", "parsing_torch", "training_fused"},
    "sentence_lengths": {"25", "100"},
    "decoding": {"lengths", "k_best_trees", "milliseconds"},
    "search": {"words", "patterns"},
    "latency": {"words", "calls", "fused", "torch"},
    "start_up": {"biatt_parse_seconds", "import_torch_seconds", "python_seconds"},
    "memory": {"dev_file_mib", "long_sentence_words", "long_sentence_mib", "import_torch_mib"},
    "scaling": {"lengths", "fused", "torch"},
    "presets": {"paper", "best", "fast"},
    "threads": {"training", "training_best", "products"},
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the results of a quick run on made-up sentences."""
    folder = tmp_path_factory.mktemp("benchmarks")
    write(generate(100, seed=1), folder / "train.conllu")
    write(generate(20, seed=2), folder / "dev.conllu.xz")
    options = ["--treebank", str(folder), "--quick", "--repeats", "1", "--out", str(folder / "out")]
    with pytest.MonkeyPatch.context() as monkeypatch:
        run = load("run", monkeypatch)
        environment = run.sections._environment

        def without_kernels() -> dict[str, str]:
            """Of processes that are measured: to load kernels takes most of their time."""
            return {**environment(), "BIATT_KERNELS": "plain"}

        monkeypatch.setattr(run.sections, "_environment", without_kernels)
        assert run.main(options) == 0
    return folder / "out"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


@pytest.mark.slow
def test_quick_run_gives_the_documented_keys(quick: Path) -> None:
    results = json.loads((quick / "results.json").read_text(encoding="utf-8"))
    assert {section: set(found) for section, found in results.items()} == KEYS
    for path in ("fused", "argmax", "torch"):
        assert results["parsing"][path].keys() == SPEEDS
        assert all(speed > 0 for speed in results["parsing"][path].values())
    assert sum(results["parsing"]["share_percent"].values()) == pytest.approx(100, abs=0.1)
    for path in ("fused", "torch"):
        assert len(results["scaling"][path]["us_per_word"]) == len(results["scaling"]["lengths"])


@pytest.mark.slow
def test_one_section_can_be_measured_anew(
    quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(out: Path) -> int:
        options = ["--treebank", str(quick.parent), "--quick", "--only", "agreement", "--out", str(out)]
        return int(load("run", monkeypatch).main(options))

    shutil.copy(quick / "results.json", tmp_path)  # other tests read the original
    before = json.loads((quick / "results.json").read_text(encoding="utf-8"))
    assert run(tmp_path) == 0
    after = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert after["agreement"].pop("conditions").keys() == KEYS["conditions"]
    assert after == before
    assert run(tmp_path / "new") == 0
    assert json.loads((tmp_path / "new" / "results.json").read_text(encoding="utf-8")).keys() == {"agreement"}


def test_every_section_is_in_the_readme() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [section for section in KEYS if f"| `{section}` |" not in text] == []


@pytest.mark.slow
def test_quick_run_draws_a_plot(quick: Path) -> None:
    assert (quick / "results.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_both_paths_give_nearly_the_same_trees(quick: Path) -> None:
    found = json.loads((quick / "results.json").read_text(encoding="utf-8"))["agreement"]
    assert found["words"] > 100
    # One path rounds products, which decides between heads that are nearly as good: the network is untrained.
    assert found["different_heads"] + found["different_relations"] <= found["words"] / 10


def test_treebank_without_files_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load("run", monkeypatch).main(["--treebank", str(tmp_path), "--quick"]) == 2
    assert capsys.readouterr().err == f"{tmp_path} has 0 files *train.conllu*, but must have one.\n"


@pytest.mark.slow
def test_versions_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(generate(3, seed=2), tmp_path / "dev.conllu")
    options = [str(FOLDER.parent), "--treebank", str(tmp_path / "dev.conllu"), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["versions.py", *options, "--repeats", "2"])
    assert load("versions", monkeypatch).main() == 0
    found = json.loads((tmp_path / "versions.json").read_text())
    assert [found.pop(name) for name in ("model", "repeats")] == ["en", 2]
    found = {name: found[name] for name in ("text", "text file", "CoNLL-U file")}
    for times in found.values():
        assert times.pop("after_cpu_seconds") > 0
        assert times.keys() == {FOLDER.parent.name}
        assert all(value > 0 for value in times[FOLDER.parent.name].values())


@pytest.mark.slow
def test_raw_text_is_scored_and_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(generate(6, seed=2), tmp_path / "x-dev.conllu")
    options = ["--treebank", str(tmp_path), "--repeats", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["raw_text.py", *options])
    assert load("raw_text", monkeypatch).main() == 0
    found = json.loads((tmp_path / "raw_text.json").read_text())
    assert set(found) == {"conditions", "size", "dev", "speed", "calibration"}
    assert found["dev"]["gold tokens"]["Words"] == 100
    assert set(found["dev"]["raw text"]) >= {"Tokens", "Sentences", "UPOS", "Lemmas", "LAS", "MLAS", "BLEX"}
    assert set(found["speed"]) == {"words", "raw text", "tokeniser", "tags and trees"}
    assert all(set(found["speed"][part]) == SPEEDS for part in ("raw text", "tokeniser"))


@pytest.mark.slow
def test_same_weights_trains_in_a_process_and_keeps_the_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_weights = load("same_weights", monkeypatch)
    monkeypatch.setattr(same_weights, "SETTINGS", ("hidden=8", "epochs=2"))
    write(generate(20, seed=1), tmp_path / "train.conllu")
    digest, losses = same_weights.train(tmp_path / "train.conllu", tmp_path / "model", threads=1)
    assert len(digest) == 16
    assert len(losses) == 2
    assert losses[0] > losses[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "code", "weights", "parted"),
    [(("a", [3.0, 2.0]), 0, {"a": 2}, []), (("b", [3.0, 2.5]), 1, {"a": 1, "b": 1}, [2])],
)
def test_same_weights_counts_digests_and_tells_where_runs_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: Any, code: int, weights: Any, parted: list[int]
) -> None:
    same_weights = load("same_weights", monkeypatch)
    trained = iter([("a", [3.0, 2.0]), second])
    monkeypatch.setattr(same_weights, "train", lambda *_: next(trained))
    assert same_weights.main(["--runs", "2", "--busy", "1", "--out", str(tmp_path)]) == code
    report = json.loads((tmp_path / "same_weights.json").read_text())
    assert (report["runs"], report["weights"], report["parted_in_epoch"]) == (2, weights, parted)


def test_paths_take_turns_after_one_round_to_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    paths = {name: lambda name=name: calls.append(name) for name in "ab"}
    rounds = load("timing", monkeypatch).interleaved(paths, repeats=2)
    assert calls == list("ababab")
    assert [len(found.seconds) for found in rounds.values()] == [2, 2]


def test_a_ratio_is_taken_within_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    timing = load("timing", monkeypatch)
    slow, fast = timing.Rounds([2.0, 20.0, 6.0], []), timing.Rounds([1.0, 10.0, 2.0], [])
    assert timing.ratio(slow, fast) == 2.0


def operations_one_by_one(config: ParserConfig, relations: int, lengths: list[int]) -> float:
    """Two for every multiplication in the paper's equations, word by word."""
    h, total = config.hidden, 0
    attentions = 2 if config.attention == "agreement" else 1
    for n in lengths:
        for _position in range(n + 1):
            total += 2 * config.width * h  # P
            for _direction in range(2):
                total += 3 * (2 * h * h + 2 * h * h)  # three parts of the memory's GRU, from x and from h₋₁
            total += 2 * (2 * h) * h  # C
            total += attentions * 2 * (2 * h) * relations  # U
            total += 2 * 2 * (2 * h) * 3 * h if config.feedback else 0  # what feeds the soft headword
        for _word in range(n):
            for _direction in range(2):
                total += 3 * (2 * h * h + 2 * h * h)  # the query's GRU
                total += 2 * h * relations  # W
            total += 2 * 2 * h * h  # D, on both queries
            for _position in range(n + 1):
                columns = relations + (3 * h if config.feedback else 0)
                total += attentions * (4 * h + 2 * columns)
    return total / sum(lengths)


CONFIGS = [
    ParserConfig(hidden=5),
    ParserConfig(hidden=3, embedding=7),
    ParserConfig(hidden=4, feedback=False),
    ParserConfig(hidden=4, feedback=False, attention="single"),
]


@given(
    config=st.sampled_from(CONFIGS),
    relations=st.integers(1, 9),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5),
)
def test_operations_are_those_of_the_equations(
    config: ParserConfig, relations: int, lengths: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = load("limits", monkeypatch).operations(config, relations, lengths)
    assert found.total == pytest.approx(operations_one_by_one(config, relations, lengths))


# Speed against accuracy


def test_frontier_has_what_has_both_a_speed_and_an_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = load("frontier", monkeypatch)

    def put(name: str, data: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(data))
        return path

    speed = {"words_per_second": 1000.0}
    results = put(
        "results.json",
        {"presets": {"best": speed, "fast": speed}, "peers": {"supar_argmax": speed, "udpipe_beam_5": {}}},
    )
    rivals = put("rivals.json", {"supar english-ewt": {"las": 0.8}, "ufal.udpipe english-ewt": {"las": 0.7}})
    more = put("more.json", {"supar english-ewt, 2 iterations": {"las": 0.85}, "supar danish": {"las": 0.9}})
    lines = [experiment_record("best", seed, las=correct).to_line() for seed, correct in ((1, 90), (2, 91))]
    lines.append(experiment_record("fast", 1).to_line())
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    points = frontier.found(results, tmp_path, rivals)
    assert [(point.name, point.ours) for point in points] == [("best", True), ("supar_argmax", False)]
    assert [point.las for point in points] == pytest.approx([90.5, 80])
    assert frontier.draw(points).axes
    assert [point.las for point in frontier.found(results, tmp_path, more)] == pytest.approx([90.5, 85])


def test_rivals_stand_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {"uas": 0.8, "las": 0.7, "without_punctuation": {"uas": 0.81, "las": 0.71}}
    found = load("rivals", monkeypatch).table(
        {
            "supar danish": {"failed": "out of memory"},
            "ufal.udpipe czech, 3 iterations": {**scores, "cpu_seconds": 90, "seconds": 180},
            "supar czech": {"uas": 0.8, "las": 0.75, "cpu_seconds": 60},
            "biatt danish": {**scores, "seconds": 120},
        }
    )
    assert found.splitlines()[-4:] == [
        "| czech | ufal.udpipe 3 iterations | 1.5 | 80.00 / 70.00 | 81.00 / 71.00 |",
        "| czech | supar | 1.0 | 80.00 / 75.00 |  |",
        "| danish | supar | 0.0 | out of memory |  |",
        "| danish | biatt | 2.0 | 80.00 / 70.00 | 81.00 / 71.00 |",
    ]


@pytest.mark.slow
def test_our_model_is_scored_as_the_rivals_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = load("rivals", monkeypatch)
    gold = list(generate(30, seed=1))
    for name in ("train", "test"):
        write(gold, tmp_path / f"{name}.conllu")
    config = with_settings(Config(), ["hidden=8", "rate=0.01", "epochs=2", "clip=1"])
    parser = train(tmp_path / "train.conllu", out=tmp_path / "m", config=config)
    command = ["rivals.py", "biatt", str(tmp_path), "--model", str(tmp_path / "m"), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    assert rivals.main() == 0
    (found,) = json.loads((tmp_path / "rivals.json").read_text(encoding="utf-8")).values()
    assert found["las"] == pytest.approx(evaluate(gold, parser.parse(gold), style="ud").las, abs=1e-4)
    assert found["uas"] >= found["las"] > 0
    assert found["without_punctuation"]["style"] == "conllx"
    assert found["seconds"] > 0
    assert f"| {tmp_path.name} | biatt |" in (tmp_path / "rivals.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_serving_measures_load_and_latency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="the service needs the extra `serve`")
    if shutil.which("wrk") is None:
        pytest.skip("wrk is not installed")
    monkeypatch.syspath_prepend(str(FOLDER))
    serving = importlib.import_module("serving")
    for name in ("WARM_SECONDS", "LATENCY_SECONDS", "LATENCY_ROUNDS", "PARSED_WORDS"):
        monkeypatch.setattr(serving, name, 1)
    random_parser().save(tmp_path / "model")
    write(generate(20, seed=2), tmp_path / "a.conllu")
    options = ["--model", str(tmp_path / "model"), "--treebank", str(tmp_path / "a.conllu")]
    out = tmp_path / "serving.json"
    assert serving.main([*options, "--clients", "4", "--seconds", "1", "--out", str(out)]) == 0
    results = json.loads(out.read_text())
    assert results["load"]["errors"] == 0
    assert results["load"]["requests"] > 0
    assert set(results) == {"conditions", "load", "one_client"}
    assert len(results["one_client"]["parser_ms"]) == 1


def test_workers_are_compared_with_independent_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = load("workers", monkeypatch)
    paragraphs = ["one two three", "four", "", "five six"]
    parts = workers.divided(paragraphs, 40, 2)
    assert all(20 <= len(part.split()) <= 23 for part in parts)
    assert set("\n\n".join(parts).split("\n\n")) == set(paragraphs) - {""}
    figures = {"one": (8.0, 300.0), "workers": (4.0, 500.0), "independent": (3.0, 9.0)}
    rounds = [{name: workers.Run(*of_run) for name, of_run in figures.items()}]
    summary = workers.summary(rounds, 4000, 2)
    assert (summary["one_words_per_second"], summary["workers_words_per_second"]) == (500, 1000)
    assert (summary["workers_over_one"], summary["share_of_independent"]) == (2, 0.75)
    assert summary["memory_mib_for_each_worker"] == 100
    assert workers.with_children([1 << 30]) == [1 << 30]
    assert workers.proportional_mib(1 << 30) == 0


@pytest.mark.slow
def test_long_sentences_are_timed_beside_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_sentences = load("long_sentences", monkeypatch)
    # Both versions are this one: they share a process for each task.
    monkeypatch.setattr(long_sentences, "measured", cache(long_sentences.measured))
    arguments = ["--lengths", "20", "--repeats", "1", "--out", str(tmp_path)]
    arguments += ["--plot", str(tmp_path / "long_sentences.png")]
    assert long_sentences.main([*arguments, "--before", str(long_sentences.SOURCE)]) == 0
    results = json.loads((tmp_path / "long_sentences.json").read_text(encoding="utf-8"))
    for version in ("now", "before"):
        for task in long_sentences.TASKS:
            assert len(results[version][task]["seconds"]) == len(results[version][task]["mib"]) == 1
            assert results[version][task]["mib"][0] > 10
    assert (tmp_path / "long_sentences.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_start_is_timed_with_and_without_compiled_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = load("start", monkeypatch)
    monkeypatch.setattr(start, "parsed", cache(start.parsed))  # the first round is as good as a second
    assert start.main(["--repeats", "1", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "start.json").read_text(encoding="utf-8"))
    for kind in ("warm", "cold"):
        assert results["now"][kind]["cpu_seconds"] > 0
        assert results["now"][kind]["seconds"] > 0


def test_the_overhead_of_ray_is_a_difference_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = load("engines", monkeypatch)
    figures = [((10, 20), (13, 24)), ((100, 20), (105, 26)), ((10, 21), (14, 26))]
    rounds = [{"processes": engines.Run(*one), "ray": engines.Run(*other)} for one, other in figures]
    summary = engines.summary(rounds)
    assert (summary["processes_seconds"], summary["ray_seconds"]) == (10, 14)
    assert (summary["overhead_seconds"], summary["overhead_processor_seconds"]) == (4, 5)
    assert engines.processor_seconds(os.getpid()) > 0
    assert engines.processor_seconds(1 << 30) == 0


def test_sizes_of_a_corpus_are_measured_for_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    sizes = load("corpus_sizes", monkeypatch)
    monkeypatch.setattr(sizes, "commit", lambda: "0123")  # git is another process
    random_pipeline().save(tmp_path / "model")
    write(generate(5, seed=1), tmp_path / "dev.conllu")
    options = ["--treebank", str(tmp_path / "dev.conllu"), "--model", str(tmp_path / "model")]
    sizes.main([*options, "--repeats", "2", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "corpus_sizes.json").read_text(encoding="utf-8"))
    assert found == {**json.loads(capsys.readouterr().out), **found}
    assert set(found["bytes_of_a_word"]) == {"text", "conllu", "json", "parquet"}
    assert 1 < found["bytes_of_a_word"]["text"]["plain"] < found["bytes_of_a_word"]["conllu"]["plain"]
    assert found["read_words_per_second"] > 0


def test_the_page_about_scale_has_the_measured_sizes_and_what_its_program_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (FOLDER.parent / "docs" / "scale.md").read_text(encoding="utf-8")
    found = json.loads((FOLDER / "corpus_sizes.json").read_text(encoding="utf-8"))
    sizes = found["bytes_of_a_word"]
    text, conllu, lines, parquet = (sizes[name] for name in ("text", "conllu", "json", "parquet"))
    assert f"| text, plain / gzip | {text['plain']:.1f} / {text['gzip']:.1f} |" in page
    assert f"| CoNLL-U, plain / gzip | {conllu['plain']:.0f} / {conllu['gzip']:.0f} |" in page
    assert (
        f"| JSON lines with confidence, plain / gzip | {lines['plain']:.0f} / {lines['gzip']:.0f} |" in page
    )
    assert f"| Parquet with confidence | {parquet['plain']:.0f} |" in page
    assert f"output_bytes = {text['plain']:.0f}, {parquet['plain']:.0f} " in page
    assert f"is {lines['plain'] / text['plain']:.0f} times the text" in page
    assert f"{found['read_words_per_second'] / 1e6:.1f} million words of JSON lines" in page
    assert f"{found['words']:,} words, by `biatt corpus`" in page
    (program,) = re.findall(r"^```python\n(words = .*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(program, "scale.md", "exec"), {})
    printed = re.findall(r"[\d,.]*\d", capsys.readouterr().out)
    told = page.partition("With these values, ")[2].partition("With the ")[0]
    assert printed == re.findall(r"[\d,.]*\d", told)
