"""The command line: every verb end to end, and every fault of the user's one line and exit code 2."""

from __future__ import annotations

import gzip
import io
import json
import logging
import lzma
import os
import re
import signal
import subprocess
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

import biatt
from biatt import cli
from biatt.cli import VERBS as VERB_GROUPS
from biatt.cli import app
from biatt.config import ParserConfig, ParserTrainingConfig, with_settings
from biatt.data.toy_treebank import generate
from biatt.display.progress import ParseProgress
from biatt.display.svg import tree_picture
from biatt.display.terminal import tree_text
from biatt.options import PresetName
from biatt.presets import DRAFT, DRAFT_PIPELINE, DRAFT_WORDS, PRESETS
from builders import random_parser
from encoders import write_encoder

SOURCE = Path(__file__).parents[1] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "200", "NO_COLOR": "1"}
MAIN = [sys.executable, "-c", "import sys; sys.argv[0] = 'biatt'; from biatt.cli import main; main()"]
VERBS = [verb.__name__ for verbs in VERB_GROUPS.values() for verb in verbs]
FAST = ["--preset", "paper", "--hidden", "16", "--set", "epochs=2", "--set", "rate=0.01"]


def biatt_process(*words: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*MAIN, *map(str, words)], capture_output=True, env=ENVIRONMENT, **options)


def invoke(*words: object) -> str:
    """What a verb prints, run in this process."""
    result = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank, what it looks like unparsed, and a model that has hardly learnt anything."""
    folder = tmp_path_factory.mktemp("cli")
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        invoke("generate", 20, "--seed", seed, "-o", folder / f"{name}.conllu")
    blank = [s.with_tree(["_"] * len(s), ["_"] * len(s)) for s in biatt.read(folder / "a.conllu")]  # type: ignore[list-item]
    biatt.write(blank, folder / "blank.conllu")
    files = [str(folder / f"{name}.conllu") for name in "abc"]
    command = [
        "train",
        "--train",
        *map(str, files),
        "--output",
        str(folder / "model"),
        "--licence",
        "CC0",
        *FAST,
    ]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "argv", ["biatt", *command])  # the model card has the command
        invoke(*command)
    return folder


def test_verbs_are_these() -> None:
    found = invoke("--help")
    assert [verb for verb in VERBS if verb in found] == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_explains_it(verb: str) -> None:
    found = invoke(verb, "--help")
    assert f"Usage: biatt {verb}" in found or f"{verb} [OPTIONS]" in found
    assert invoke(verb, "-h") == found


def test_help_shows_groups_and_no_types_of_python() -> None:
    for verb in VERBS:
        found = invoke(verb, "--help")
        assert re.findall(r"<(?:list|bool|str|int|float|path)\b.*?>", found) == []
    assert [group for group in VERB_GROUPS if group in invoke("--help")] == list(VERB_GROUPS)
    assert "─ Output ─" in invoke("parse", "--help")


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_printed(option: str) -> None:
    assert invoke(option) == f"biatt {biatt.__version__}\n"


def test_settings_lists_every_setting_with_its_help() -> None:
    found = invoke("train", "--settings")
    for item in (*fields(ParserConfig), *fields(ParserTrainingConfig)):
        assert re.search(rf"^{item.name}=", found, re.MULTILINE)
        assert item.metadata["help"] in found


def test_presets_can_be_chosen_by_name() -> None:
    assert get_args(PresetName) == tuple(PRESETS)


def test_generate_writes_a_toy_treebank() -> None:
    done = biatt_process("generate", 3, "--seed", 4)
    assert done.stdout.decode() == "".join(sentence.to_text() for sentence in generate(3, seed=4))


# End to end


def test_train_takes_several_files_and_says_so_in_the_card(data: Path) -> None:
    card = (data / "model" / "README.md").read_text()
    assert ", ".join(str(data / f"{name}.conllu") for name in "abc") in card
    assert "| licence | CC0 |" in card
    assert f"`biatt train --train {data / 'a.conllu'}" in card


def test_card_of_a_model_cannot_steer_the_terminal(tmp_path: Path) -> None:
    parser = random_parser()
    parser.card = "# Card\n\x1b[2J\u202etxt\n"
    parser.save(tmp_path / "model")
    shown = invoke("info", tmp_path / "model")
    assert "# Card\n" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_train_parse_evaluate_info(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "parsed.conllu"
    assert invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", out) == ""
    gold, parsed = list(biatt.read(data / "a.conllu")), list(biatt.read(out, trees=True))
    assert [s.forms for s in parsed] == [s.forms for s in gold]
    assert all(sentence.heads.count(0) == 1 for sentence in parsed)

    table = invoke("evaluate", data / "a.conllu", out)
    result = biatt.evaluate(data / "a.conllu", out)
    assert re.search(rf"^ *LAS +{100 * result.las:.2f} ", table, re.MULTILINE)
    printed = json.loads(invoke("evaluate", data / "a.conllu", out, "-f", "json"))
    assert printed == json.loads(json.dumps(result.as_dict()))

    info = invoke("info", data / "model")
    assert re.search(r"^hidden +16$", info, re.MULTILINE)
    assert re.search(r"^parameters +[\d,]+$", info, re.MULTILINE)
    assert "| licence | CC0 |" in info


def test_a_report_goes_to_a_file_in_the_format_of_its_suffix(data: Path, tmp_path: Path) -> None:
    verb = ["evaluate", data / "a.conllu", data / "a.conllu"]
    for options in (["-o", tmp_path / "r.json"], ["-o", tmp_path / "r", "-f", "json"]):
        assert invoke(*verb, *options) == ""
        assert json.loads(options[1].read_text()) == json.loads(invoke(*verb, "-f", "json"))  # type: ignore[attr-defined]
    invoke(*verb, "-o", tmp_path / "r.txt")
    assert (tmp_path / "r.txt").read_text(encoding="utf-8") == invoke(*verb)


def test_compare_prints_what_the_function_finds(data: Path, tmp_path: Path) -> None:
    gold, out = data / "a.conllu", tmp_path / "parsed.conllu"
    invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", out)
    result = biatt.compare(gold, out, gold, samples=100, seed=2)
    options = ["--samples", 100, "--seed", 2]
    printed = json.loads(invoke("compare", gold, out, gold, *options, "-f", "json"))
    assert printed == json.loads(json.dumps(result.as_dict()))

    found = invoke("compare", gold, out, gold, *options)
    pair = result.scores["LAS"]
    assert pair.difference is not None
    scores = rf"^ *LAS +{100 * pair.a.correct / pair.a.total:.2f} +100.00 +{100 * pair.difference:.2f} "
    assert re.search(scores, found, re.MULTILINE)
    assert found.count(", line ") == min(10, len(result.sentences))
    assert invoke("compare", gold, out, gold, *options, "--show", 2).count(", line ") == 2


@pytest.mark.slow
def test_vectors_serve_as_embeddings(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.txt"
    done = biatt_process("vectors", data / "a.conllu", data / "b.conllu", "-o", out, "--size", 8)
    assert (done.returncode, done.stdout) == (0, b"")
    *epochs, last = done.stderr.decode().splitlines()
    assert [line[:8] for line in epochs] == [f"epoch  {i}" for i in range(1, 6)]
    assert re.fullmatch(rf"40 sentences, \d+ words, \d+ vectors in {re.escape(str(out))}\.", last)
    options = ["--embeddings", out, "--output", tmp_path / "m"]
    invoke("train", "--train", data / "a.conllu", *FAST, *options)


def test_an_encoder_is_bundled_and_described(data: Path, tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "encoder")
    options = [
        "--encoder",
        encoder,
        "--bundle-encoder",
        "--features",
        tmp_path / "f",
        "--output",
        tmp_path / "m",
    ]
    invoke("train", "--train", data / "a.conllu", *FAST, *options)
    assert any((tmp_path / "f").iterdir())
    info = invoke("info", tmp_path / "m")
    assert re.search(r"^encoder +in the model folder, checksum [0-9a-f]{12}…$", info, re.MULTILINE)
    assert re.search(
        r"^\| contextual encoder \| encoder, layers 1, 2, frozen, checksum [0-9a-f]{64} \|$", info, re.M
    )


@pytest.mark.slow
def test_vectors_of_standard_input_go_to_standard_output(data: Path) -> None:
    text = "".join(" ".join(sentence.forms) + "\n" for sentence in biatt.read(data / "a.conllu")).encode()
    done = biatt_process("vectors", "-", "-o", "-", "--size", 3, "--input", "tokens", input=text)
    assert done.returncode == 0
    assert re.match(rb"\d+ 3\n", done.stdout)


def test_gold_against_itself_is_perfect(data: Path) -> None:
    found = json.loads(invoke("evaluate", data / "a.conllu", data / "a.conllu", "-f", "json"))
    assert found["scores"]["LAS"]["f1"] == 1.0


def test_relation_that_looks_like_markup_is_printed_as_it_is(tmp_path: Path) -> None:
    words = {"heads": [2, 0], "deprels": ["[red]", ":smile:"]}
    path = tmp_path / "odd.conllu"
    biatt.write([biatt.Sentence.from_words(["Ada", "sings"], **words)], path)  # type: ignore[arg-type]
    table = invoke("evaluate", path, path, "--style", "conllx")
    assert "[red]" in table
    assert ":smile:" in table


@pytest.mark.slow
def test_dash_is_standard_input_and_output(data: Path) -> None:
    named = biatt_process("parse", "--model", data / "model", data / "blank.conllu")
    piped = biatt_process(
        "parse", "--model", data / "model", "-", "-o", "-", input=(data / "blank.conllu").read_bytes()
    )
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert piped.stdout == named.stdout != b""


@pytest.mark.parametrize(("suffix", "codec"), [(".gz", gzip), (".xz", lzma)])
def test_compressed_files_go_in_and_out(data: Path, tmp_path: Path, suffix: str, codec: Any) -> None:
    source, target, plain = (
        tmp_path / f"in{suffix}",
        tmp_path / f"out.conllu{suffix}",
        tmp_path / "plain.conllu",
    )
    source.write_bytes(codec.compress((data / "blank.conllu").read_bytes()))
    invoke("parse", "--model", data / "model", source, "-o", target)
    invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", plain)
    assert codec.decompress(target.read_bytes()) == plain.read_bytes()
    assert json.loads(invoke("evaluate", plain, target, "-f", "json"))["scores"]["LAS"]["f1"] == 1.0


def test_several_files_go_to_one_output_or_to_a_folder(data: Path, tmp_path: Path) -> None:
    files = [data / "a.conllu", data / "b.conllu"]
    for path in files:
        invoke("parse", "-m", data / "model", path, "-o", tmp_path / path.name)
    invoke("parse", "-m", data / "model", *files, "--output-dir", tmp_path / "parsed")
    one_by_one = [(tmp_path / path.name).read_bytes() for path in files]
    assert [(tmp_path / "parsed" / path.name).read_bytes() for path in files] == one_by_one
    invoke("parse", "-m", data / "model", *files, "-o", tmp_path / "all.conllu")
    assert (tmp_path / "all.conllu").read_bytes() == b"".join(one_by_one)


def test_progress_is_hidden_only_where_trees_are_drawn(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = []

    class Progress(ParseProgress):
        def __init__(self, target: str) -> None:
            targets.append(target)
            super().__init__(target)

    monkeypatch.setattr("biatt.display.progress.ParseProgress", Progress)
    for options in ([], ["-o", tmp_path / "a.conllu"], ["--output-dir", tmp_path]):
        invoke("parse", "-m", data / "model", data / "blank.conllu", *options)
    assert targets == ["-", str(tmp_path / "a.conllu"), str(tmp_path / "blank.conllu")]


def test_parsing_on_two_threads_changes_nothing(data: Path, tmp_path: Path) -> None:
    for threads in (1, 2):
        out = tmp_path / f"{threads}.conllu"
        invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", out, "--threads", threads)
    assert (tmp_path / "1.conllu").read_bytes() == (tmp_path / "2.conllu").read_bytes()


def test_fill_deps_writes_the_tree_to_deps(data: Path, tmp_path: Path) -> None:
    invoke("parse", "--model", data / "model", data / "blank.conllu", "-o", tmp_path / "o", "--fill-deps")
    for sentence in biatt.read(tmp_path / "o"):
        assert all(token.deps == f"{token.head}:{token.deprel}" for token in sentence)


@pytest.mark.parametrize("decoder", ["mst", "argmax", "projective"])
@pytest.mark.parametrize("roots", ["single", "any"])
def test_every_decoder_parses(data: Path, tmp_path: Path, decoder: str, roots: str) -> None:
    options = ["-o", tmp_path / "o", "--decode", decoder, "--roots", roots]
    invoke("parse", "--model", data / "model", data / "blank.conllu", *options)
    assert sum(1 for _ in biatt.read(tmp_path / "o", trees=decoder != "argmax")) == 20


def test_format_tree_draws_and_svg_is_svg(data: Path, tmp_path: Path) -> None:
    drawn, svg = tmp_path / "drawn", tmp_path / "svg"
    invoke("parse", "--model", data / "model", data / "blank.conllu", "--format", "tree", "-o", drawn)
    text = drawn.read_text(encoding="utf-8")
    assert "╭" in text
    assert all(form in text for sentence in biatt.read(data / "a.conllu") for form in sentence.forms)
    invoke("parse", "--model", data / "model", data / "blank.conllu", "--format", "svg", "-o", svg)
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.glob("svg*")]
    assert sum(page.count("<svg") for page in pages) == len(pages) + 20  # all of them, in one picture a page


def test_view_draws_without_parsing(data: Path, tmp_path: Path) -> None:
    first = next(biatt.read(data / "a.conllu"))
    assert invoke("view", data / "a.conllu", "--show", "none").startswith(
        f"# {first.sent_id}\n{tree_text(first, show=())}\n"
    )
    page = tmp_path / "trees.html"
    options = ["--show", "lemma,xpos", "--wrap", "0", "--theme", "dark", "-o", page]
    invoke("view", data / "a.conllu", *options)
    expected = tree_picture(first, show=("lemma", "xpos"), wrap=None).part()
    assert expected in page.read_text(encoding="utf-8")


def test_hidden_takes_a_language_of_the_paper(data: Path, tmp_path: Path) -> None:
    options = ["--preset", "paper", "--hidden", "danish", "--set", "epochs=1", "--output", tmp_path / "m"]
    invoke("train", "--train", data / "a.conllu", *options)
    assert biatt.load(tmp_path / "m").config.model.hidden == 176


@pytest.mark.slow
def test_interrupted_training_goes_on_with_resume(data: Path, tmp_path: Path) -> None:
    """Ctrl-C is one line and exit code 130."""
    command = ["train", "--train", data / "a.conllu", "--output", tmp_path / "m", "--hidden", "16"]
    command += [
        "--preset",
        "paper",
        "--set",
        "schedule=linear",
        "--set",
        "epochs=1000",
        "--resume",
    ]  # it never stops by itself
    process = subprocess.Popen(
        [*MAIN, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
        # Tests that run in the background of a shell have it ignored, and so would their children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(4)]  # what is trained on, the plan, two epochs
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate()
    assert process.returncode == 130
    assert "epoch  2" in lines[-1]
    assert rest.splitlines()[-1] == "biatt: interrupted."
    assert all(line.startswith("epoch ") for line in rest.splitlines()[:-1])
    assert out == ""
    again = subprocess.Popen([*MAIN, *map(str, command)], stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
    assert again.stderr is not None
    assert re.fullmatch(r"Resuming after epoch \d+\.\n", again.stderr.readline())
    again.kill()
    again.communicate()


# Faults


def check_fault(code: Any, output: str, error: str, message: str) -> None:
    assert (code, output) == (2, ""), error
    assert error.startswith("biatt: ")
    assert error.count("\n") == 1
    assert error.endswith(".\n")
    assert message in error


TRAIN = ["train", "--train", "a.conllu", "--output", "new"]
PARSE = ["parse", "--model", "model"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--train", "gone.conllu", "--output", "new"], "gone.conllu: cannot be read: no such file"),
        ([*TRAIN, "--dev", "gone.conllu"], "gone.conllu: cannot be read: no such file"),
        ([*TRAIN, "--dev-fraction", "1.5"], "between 0 and 1, not 1.5"),
        ([*TRAIN, "--set", "hiden=3"], "There is no setting 'hiden'"),
        ([*TRAIN, "--set", "hidden"], "'hidden' is not of the form key=value"),
        ([*TRAIN, "--set", "rate=fast"], "rate must be a number, not 'fast'"),
        ([*TRAIN, "--hidden", "klingon"], "'klingon' is neither a hidden size nor a language"),
        ([*TRAIN, "--hidden", "0"], "hidden must be at least 1"),
        ([*TRAIN, "--device", "abacus"], "There is no device 'abacus' here"),
        ([*TRAIN, "--encoder", "gone"], "There is no encoder folder gone"),
        ([*TRAIN, "--bundle-encoder"], "bundle_encoder is about an encoder, and there is none"),
        ([*TRAIN, "--embeddings", "gone.vec"], "gone.vec: cannot be read"),
        ([*TRAIN[:-1], "a.conllu"], "a.conllu cannot be a folder for the model"),
        ([*TRAIN[:-1], "a.conllu/below"], "below cannot be a folder for the model"),
        ([*TRAIN[:-1], "model"], "model already contains a model or a run"),
        ([*PARSE, "gone.conllu"], "gone.conllu: cannot be read: no such file"),
        ([*PARSE, "nine.conllu"], "nine.conllu, line 3: the line has 9 columns separated by tabs, not 10"),
        ([*PARSE, "a.conllu", "-o", "no/where.conllu"], "no/where.conllu: cannot be written"),
        ([*PARSE, "a.conllu", "--format", "tree", "-o", "no/where"], "no/where: cannot be written"),
        ([*PARSE, "a.conllu", "--text", "Yes."], "Give files or --text, not both"),
        ([*PARSE, "a.conllu", "-o", "x.pdf"], "the suffix .pdf is unknown; use one of .conllu"),
        ([*PARSE, "a.conllu", "-o", "x.conllu", "--output-dir", "d"], "Give --output or --output-dir"),
        ([*PARSE, "--output-dir", "d"], "--output-dir is for files, and none is given"),
        ([*PARSE, "--text", "Yes.", "--output-dir", "d"], "--output-dir is for files; the trees of --text"),
        ([*PARSE, "a.conllu", "-o", "a.conllu"], "a.conllu is both the input and the output"),
        ([*PARSE, "a.conllu", "--k-best", "2", "--decode", "argmax"], "decoder mst only, not by argmax"),
        ([*PARSE, "cycle.conllu", "--keep-heads"], "cycle.conllu, line 1: the fixed heads form a cycle"),
        ([*PARSE, "a.conllu", "--max-size", "99"], "a.conllu: the input is larger than the limit of 99"),
        (["parse", "--model", "gone", "a.conllu"], "There is no model folder gone"),
        (["parse", "--model", ".", "a.conllu"], "is not a model folder: it has no config.json"),
        (["info", "gone"], "There is no model folder gone"),
        (["evaluate", "a.conllu", "gone.conllu"], "gone.conllu: cannot be read"),
        (
            ["evaluate", "a.conllu", "a.conllu", "-o", "x.pdf"],
            "suffix .pdf is unknown; use one of .txt, .json",
        ),
        (["evaluate", "a.conllu", "blank.conllu"], "blank.conllu"),
        (["compare", "a.conllu", "a.conllu", "gone.conllu"], "gone.conllu: cannot be read"),
        (["compare", "a.conllu", "b.conllu", "a.conllu"], "b.conllu, line "),
        (["compare", "a.conllu", "a.conllu", "blank.conllu"], "blank.conllu, line 3: the head of word 1 is"),
        (["view", "a.conllu", "--show", "upos,feats"], "'feats' cannot be shown beside the words"),
        (["view", "a.conllu", "-o", "x.pdf"], "the suffix .pdf is unknown; use one of .txt, .svg"),
        (["view", "cycle.conllu"], "cycle.conllu, line 1: the sentence cannot be drawn"),
        (["vectors", "gone.txt", "-o", "new.txt"], "gone.txt: cannot be read: no such file"),
        (["vectors", "nine.conllu", "-o", "new.txt"], "nine.conllu, line 3: the line has 9 columns"),
        (["vectors", "a.conllu", "-o", "no/where.txt"], "no/where.txt: cannot be written"),
        (["vectors", "a.conllu", "-o", "new.txt", "--min-count", "999"], "No word occurs 999 times"),
        (["generate", "2", "-o", "no/where.conllu"], "no/where.conllu: cannot be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_fault_is_one_line_and_exit_code_2(
    data: Path,
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    rows = [f"{i}\tw\t_\t_\t_\t_\t0\troot\t_{end}\n" for i, end in ((1, "\t_"), (2, "\t_"), (3, ""))]
    (data / "nine.conllu").write_text("".join(rows) + "\n")
    cycle = [f"{i}\tw\t_\t_\t_\t_\t{3 - i}\tdep\t_\t_\n" for i in (1, 2)]
    (data / "cycle.conllu").write_text("".join(cycle) + "\n")
    monkeypatch.chdir(data)
    with pytest.raises(SystemExit) as caught:
        app(words)
    check_fault(caught.value.code, *capfd.readouterr(), message)
    assert not (data / "new" / "model.safetensors").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*TRAIN, "--set", "hiden=3"], "There is no setting 'hiden'"),
        ([*TRAIN[:-1], "a.conllu"], "a.conllu cannot be a folder for the model"),
        (PARSE, "<stdin>, line 1: the line has 2 columns separated by tabs, not 10"),
        (["info", "gone"], "There is no model folder gone"),
    ],
)
def test_process_ends_with_one_line_and_exit_code_2(data: Path, words: list[str], message: str) -> None:
    done = biatt_process(*words, cwd=data, input=b"1\tword\n\n")
    check_fault(done.returncode, done.stdout.decode(), done.stderr.decode(), message)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["parse", "--decode", "guess"], ["train"], ["prase"], ["generate", "0"]])
def test_wrong_usage_is_exit_code_2_without_a_traceback(words: list[str]) -> None:
    done = biatt_process(*words)
    assert done.returncode == 2
    assert b"Usage: biatt" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_vectors_without_gensim_say_what_to_install(data: Path) -> None:
    code = "import sys; sys.modules['gensim'] = None; from biatt.cli import main; main()"
    command = [sys.executable, "-c", code, "vectors", str(data / "a.conllu"), "-o", "-"]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "biatt: training word vectors needs gensim: pip install 'biatt[vectors]'.\n"


@pytest.mark.slow
def test_training_without_torch_says_what_to_install(data: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from biatt.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "train",
        "--train",
        str(data / "a.conllu"),
        "--output",
        str(tmp_path / "m"),
    ]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    message = "Training, and parsing on a GPU, need PyTorch: pip install 'biatt[train]'."
    assert done.stderr == f"biatt: {message}\n"


# Options with several values


def values_given(*words: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `biatt train` is called with."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(biatt, "train", lambda files, **options: calls.append({"train": files, **options}))
    invoke("train", *words)
    return calls[0]


@pytest.mark.parametrize(
    "words",
    [
        "--train a b --silver c --silver d e --exclude f g --output m",
        "--output m --silver=c d e --train a --train b --exclude f g",
        "--silver c d e --exclude f --output m --exclude g --train a b",
    ],
)
def test_options_for_files_take_several(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = values_given(*words.split(), monkeypatch=monkeypatch)
    assert given["train"] == [Path("a"), Path("b")]
    assert given["silver"] == [Path("c"), Path("d"), Path("e")]
    assert given["exclude"] == [Path("f"), Path("g")]
    assert given["out"] == Path("m")


def test_a_draft_is_a_small_pipeline_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    given = values_given("--train", "a", "-o", "m", "--draft", "--set", "epochs=9", monkeypatch=monkeypatch)
    assert (given["pipeline"], given["sample_words"]) == (DRAFT_PIPELINE, DRAFT_WORDS)
    assert given["config"] == with_settings(DRAFT, ["epochs=9"])
    given = values_given("--train", "a", "-o", "m", monkeypatch=monkeypatch)
    assert (given["pipeline"], given["sample_words"], given["config"]) == (None, None, PRESETS["best"])


def test_value_after_an_option_for_one_is_refused() -> None:
    result = CliRunner().invoke(app, ["train", "--train", "a", "--output", "m", "b"])
    assert result.exit_code == 2
    assert "unexpected extra argument" in result.output


# Confidence


def test_confidence_is_written_to_misc_and_the_tree_stays_the_same(data: Path, tmp_path: Path) -> None:
    plain, sure = tmp_path / "plain.conllu", tmp_path / "sure.conllu"
    invoke("parse", data / "blank.conllu", "--model", data / "model", "-o", plain)
    invoke("parse", data / "blank.conllu", "--model", data / "model", "-o", sure, "--confidence")
    for one, other in zip(biatt.read(plain), biatt.read(sure), strict=True):
        assert (one.heads, one.deprels) == (other.heads, other.deprels)
        assert any(comment.startswith("# tree_logprob = ") for comment in other.comments)
        assert all("HeadProb" in token.misc for token in other)


def test_k_best_trees_of_each_sentence_are_written_one_after_the_other(data: Path) -> None:
    found = invoke("parse", data / "blank.conllu", "--model", data / "model", "--k-best", 3)
    ranks = re.findall("# k_best = ([0-9]+)", found)
    assert ranks == ["1", "2", "3"] * 20


def test_json_has_a_line_for_each_sentence(data: Path) -> None:
    lines = invoke("parse", data / "blank.conllu", "--model", data / "model", "--format", "json").splitlines()
    sentences = [json.loads(line) for line in lines]
    assert len(sentences) == 20
    for sentence in sentences:
        assert sentence["log_probability"] <= 0
        for token in sentence["words"]:
            assert 0 <= token["confidence"] <= 1
            assert token["head"] in range(len(sentence["words"]) + 1)


def test_log_messages_are_printed_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "Compiling for this processor, once."
    monkeypatch.setattr(cli, "app", lambda: logging.getLogger("biatt.compiled").info(message))
    cli.main()
    assert capsys.readouterr() == ("", f"biatt: {message}\n")


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "missing"])
def test_log_messages_do_not_need_a_standard_error(
    closed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(cli, "app", lambda: logging.getLogger("biatt.compiled").info("Compiling."))
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    cli.main()
    assert capsys.readouterr().out == ""


def test_calibrate_fits_a_model_and_stores_the_fit(tmp_path: Path) -> None:
    model, gold = tmp_path / "model", tmp_path / "gold.conllu"
    random_parser().save(model)
    biatt.write(generate(300, seed=7), gold)
    before = json.loads(invoke("calibrate", str(gold), "--model", str(model), "-f", "json"))
    fitted = json.loads(invoke("calibrate", str(gold), "--model", str(model), "--fit", "-f", "json"))
    after = json.loads(invoke("calibrate", str(gold), "--model", str(model), "-f", "json"))
    assert list(biatt.load(model).curves) == ["head", "arc", "relation", "word"]
    for figures in (fitted, after):
        assert figures["fitted"]["arc"]["error"] < before["fitted"]["arc"]["error"]
    assert fitted["fitted"] != after["fitted"]  # the first is cross-validated
    assert fitted["temperature"] == after["temperature"] != before["temperature"]
    biatt.write(generate(5), gold)
    result = CliRunner().invoke(app, ["calibrate", str(gold), "--model", str(model), "--fit"])
    assert result.exit_code == 2
    assert "at least 2,000 words" in result.output


def test_suggest_writes_the_sentences_to_annotate_next(tmp_path: Path) -> None:
    random_parser().save(tmp_path / "model")
    biatt.write(generate(30, seed=7), tmp_path / "pool.conllu")
    command = ["suggest", tmp_path / "pool.conllu", "--model", tmp_path / "model", "--count", 3]
    text = invoke(*command)
    assert invoke(*command) == text
    sentences = biatt.reads(text)
    assert [f"# suggestion = {rank}" in s.comments for rank, s in enumerate(sentences, 1)] == [True] * 3
    assert all(head is not None for s in sentences for head in s.heads)
