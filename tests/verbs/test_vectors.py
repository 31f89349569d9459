"""vectors: from files or a pipe, for train."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import biatt
from commands import ENVIRONMENT, FAST, biatt_process, invoke


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


@pytest.mark.slow
def test_vectors_of_standard_input_go_to_standard_output(data: Path) -> None:
    text = "".join(" ".join(sentence.forms) + "\n" for sentence in biatt.read(data / "a.conllu")).encode()
    done = biatt_process("vectors", "-", "-o", "-", "--size", 3, "--input", "tokens", input=text)
    assert done.returncode == 0
    assert re.match(rb"\d+ 3\n", done.stdout)


@pytest.mark.slow
def test_vectors_without_gensim_say_what_to_install(data: Path) -> None:
    code = "import sys; sys.modules['gensim'] = None; from biatt.cli import main; main()"
    command = [sys.executable, "-c", code, "vectors", str(data / "a.conllu"), "-o", "-"]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "biatt: training word vectors needs gensim: pip install 'biatt[vectors]'.\n"
