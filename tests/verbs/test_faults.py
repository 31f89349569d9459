"""Every fault of the user's is one line and exit code 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from biatt.cli import app
from commands import biatt_process

TRAIN = ["train", "--train", "a.conllu", "--output", "new"]
PARSE = ["parse", "--model", "model"]


def check_fault(code: Any, output: str, error: str, message: str) -> None:
    assert (code, output) == (2, ""), error
    assert error.startswith("biatt: ")
    assert error.count("\n") == 1
    assert error.endswith(".\n")
    assert message in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--train", "gone.conllu", "--output", "new"], "gone.conllu: cannot be read: no such file"),
        ([*TRAIN, "--dev", "gone.conllu"], "gone.conllu: cannot be read: no such file"),
        ([*TRAIN, "--dev-fraction", "1.5"], "between 0 and 1, not 1.5"),
        ([*TRAIN, "--dev", "a.conllu", "--dev-fraction", "0.1"], "only where there is no dev file"),
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
        ([*TRAIN[:-1], "model"], "model is not empty, and was not made by training"),
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
        *(
            ([*words, "-o", "a.conllu"], "a.conllu is both the input and the output")
            for words in (
                ["search", "a.conllu", "{}"],
                ["view", "a.conllu", "--format", "svg"],
                ["raw", "a.conllu"],
                ["detokenise", "a.conllu"],
                ["noise", "a.conllu"],
                ["vectors", "a.conllu"],
                ["evaluate", "a.conllu", "b.conllu", "--format", "text"],
                ["compare", "b.conllu", "b.conllu", "a.conllu", "--format", "text"],
            )
        ),
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
