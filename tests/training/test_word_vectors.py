"""Training of word vectors: like words get like vectors, repeatable, every kind of input."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from biatt import Sentence, write
from biatt.encoding.word_vectors import WordVectors, read_vectors
from biatt.errors import BiattError, ConfigError, FormatError
from biatt.training import word_vectors
from biatt.training.listener import Silent
from biatt.training.word_vectors import train_vectors

pytestmark = pytest.mark.slow  # gensim alone takes seconds to start

SOURCE = Path(__file__).parents[2] / "src"


def topics(sentences: int = 400) -> list[str]:
    """Words of two topics that never meet: those of one have the same neighbours."""
    chance = random.Random(1)
    words = [["owl", "hawk", "crow", "dove"], ["sofa", "lamp", "desk", "shelf"]]
    return [" ".join(chance.choices(words[i % 2], k=6)) for i in range(sentences)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(topics()) + "\n")
    return path


def numbers(vectors: WordVectors, word: str) -> NDArray[np.float32]:
    found = vectors.get(word)
    assert found is not None
    return found / np.linalg.norm(found)


def test_words_with_the_same_neighbours_get_like_vectors(text: Path, tmp_path: Path) -> None:
    done = train_vectors([text], tmp_path / "v", size=10, epochs=20)
    assert done == (400, 2400, 8)
    vectors = read_vectors(tmp_path / "v")
    assert vectors.vectors.shape == (8, 10)
    owl, hawk, sofa, lamp = (numbers(vectors, word) for word in ("owl", "hawk", "sofa", "lamp"))
    assert min(owl @ hawk, sofa @ lamp) > max(owl @ sofa, owl @ lamp, hawk @ sofa, hawk @ lamp)


def test_every_digit_comes_back(text: Path, tmp_path: Path) -> None:
    train_vectors([text], tmp_path / "v", size=10)
    vectors = read_vectors(tmp_path / "v").vectors
    header, *lines = (tmp_path / "v").read_text().splitlines()
    assert header == "8 10"
    assert [[str(number) for number in row] for row in vectors] == [line.split()[1:] for line in lines]


def test_same_seed_gives_the_same_file_whatever_strings_hash_to(text: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from biatt.training import word_vectors; "
        "word_vectors.train_vectors([sys.argv[1]], sys.argv[2], seed=3)"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # another than here
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": seed}
    subprocess.run([sys.executable, "-c", code, text, tmp_path / "1"], env=environment, check=True)
    train_vectors([text], tmp_path / "2", seed=3)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    train_vectors([text], tmp_path / "3", seed=4)
    assert (tmp_path / "3").read_bytes() != (tmp_path / "1").read_bytes()


def test_every_input_gives_its_words(tmp_path: Path) -> None:
    """The same sentences as text, tokens and CoNLL, told by content where that is enough."""
    raw = "(Owls hunt at 3.5 m/s, it's said...) Owls!\n" * 2
    tokens = "( Owls hunt at 3.5 m/s , it's said ... ) Owls !\n" * 2
    conll = "# a comment\n" + "".join(
        f"{i}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n" for i, form in enumerate(tokens.split("\n")[0].split(), 1)
    )
    written = []
    for name, content, input in (
        ("raw", raw, None),
        ("raw", raw, "text"),
        ("tokens", tokens, "tokens"),
        ("conll", f"{conll}\n{conll}\n", None),
        ("conll", f"{conll}\n{conll}\n", "conllu"),
        ("conll.xz", f"{conll}\n{conll}\n", None),
        ("bom", "\ufeff" + raw, None),
    ):
        data = content.encode()
        (tmp_path / name).write_bytes(lzma.compress(data) if name.endswith(".xz") else data)
        done = train_vectors([tmp_path / name], tmp_path / "v", size=3, input=input)  # type: ignore[arg-type]
        assert done == (2, 26, 12)
        written.append((tmp_path / "v").read_bytes())
    assert len(set(written)) == 1
    assert train_vectors([tmp_path / "raw"], tmp_path / "v", input="tokens").vocabulary == 8
    assert read_vectors(tmp_path / "v").get("(Owls") is not None


def test_several_files_are_one_text(text: Path, tmp_path: Path) -> None:
    lines = text.read_text().splitlines(keepends=True)
    (tmp_path / "1").write_text("".join(lines[:150]))
    (tmp_path / "2").write_bytes(gzip.compress("".join(lines[150:]).encode()))
    train_vectors([text], tmp_path / "whole", size=5)
    train_vectors([tmp_path / "1", tmp_path / "2"], tmp_path / "parts", size=5)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


def test_a_form_of_a_treebank_may_hold_a_space(tmp_path: Path) -> None:
    write([Sentence.from_words(["10 000", "owls"])] * 3, tmp_path / "in.conllu")
    train_vectors([tmp_path / "in.conllu"], tmp_path / "v", size=3)
    assert read_vectors(tmp_path / "v").get("10 000") is not None


def test_a_text_without_line_ends_is_used_to_its_end(tmp_path: Path) -> None:
    """gensim alone leaves out what comes after 10,000 words of a sentence."""
    words = [f"w{i % 2000}" for i in range(20_000)]
    (tmp_path / "long").write_text(" ".join(words))
    (tmp_path / "cut").write_text(" ".join(words[:10_000]) + "\n" + " ".join(words[10_000:]))
    listener = Listening()
    done = train_vectors([tmp_path / "long"], tmp_path / "v", size=4, epochs=2, listener=listener)
    assert done == (1, 20_000, 2000)
    assert listener.words == 40_000
    train_vectors([tmp_path / "cut"], tmp_path / "w", size=4, epochs=2)
    assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()


class Listening(Silent):
    def __init__(self) -> None:
        self.starts: list[tuple[str, int, int | None]] = []
        self.messages: list[str] = []
        self.words = 0

    def message(self, text: str) -> None:
        self.messages.append(text)

    def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
        self.starts.append((title, words, words_after))

    def batch(self, words: int, loss: float | None = None) -> None:
        self.words += words


def test_listener_hears_of_every_epoch(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "REPORTED_WORDS", 6)
    listener = Listening()
    train_vectors([text], tmp_path / "v", size=4, epochs=3, listener=listener)
    assert listener.starts == [
        ("epoch 1/3", 2400, 4800),
        ("epoch 2/3", 2400, 2400),
        ("epoch 3/3", 2400, 0),
    ]
    assert [line[:8] for line in listener.messages] == ["epoch  1", "epoch  2", "epoch  3"]
    assert listener.words == 3 * 2400


def test_rare_words_get_no_vector(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("owl owl owl hawk hawk crow\n")
    assert train_vectors([tmp_path / "in"], tmp_path / "v", size=2, min_count=3).vocabulary == 1
    assert train_vectors([tmp_path / "in"], tmp_path / "v", size=2, min_count=1).vocabulary == 3


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"", BiattError, "in: there are no words to train vectors on"),
        (b" \n\n", BiattError, "in: there are no words to train vectors on"),
        (b"owl hawk\n", ConfigError, "No word occurs 2 times: take a lower --min-count, or more text"),
        (b"fine\n\xff\n", FormatError, "in, line 2: bad UTF-8"),
        (b"1\towl\t_\n", FormatError, "in, line 1: the line has 3 columns separated by tabs, not 10"),
    ],
)
def test_faults_leave_the_old_file(
    tmp_path: Path, content: bytes, kind: type[BiattError], message: str
) -> None:
    (tmp_path / "in").write_bytes(content)
    (tmp_path / "v").write_text("old")
    with pytest.raises(kind, match=message):
        train_vectors([tmp_path / "in"], tmp_path / "v")
    assert (tmp_path / "v").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "v"]


def test_without_gensim_the_error_says_what_to_install(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "gensim"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(ConfigError, match=r"needs gensim: pip install 'biatt\[vectors\]'\."):
        train_vectors([text], tmp_path / "v")
