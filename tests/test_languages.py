"""Japanese, Chinese and Arabic through the whole of it: offsets, files, pictures, pages and the service.

Japanese has its package. The others have tiny pipelines, whose tokenisers know the sentences below: no
treebank of these languages may be shipped.
"""

from __future__ import annotations

import io
import random
import re
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

import biatt
from biatt.data.conll import reads
from biatt.data.document import Document
from biatt.display.text_width import text_width
from biatt.parser import Parser
from biatt.presets import PipelineConfig
from browsers import PATIENCE, chromium
from commands import invoke
from trainings import SMALL_BEST

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[1] / "packages" / "biatt-ja" / "biatt_ja"
COPIES = 20  # of each sentence in a treebank: its tokeniser learns characters that occur four times
SVG = "{http://www.w3.org/2000/svg}"

# No token is followed by a space, not even the last one of a sentence.
CHINESE = """\
1	昨天	昨天	NOUN	_	_	5	nmod:tmod	_	SpaceAfter=No
2	我	我	PRON	_	_	5	nsubj	_	SpaceAfter=No
3	在	在	ADP	_	_	4	case	_	SpaceAfter=No
4	北京	北京	PROPN	_	_	5	obl	_	SpaceAfter=No
5	吃	吃	VERB	_	_	0	root	_	SpaceAfter=No
6	了	了	AUX	_	_	5	aux	_	SpaceAfter=No
7	「	「	PUNCT	_	_	8	punct	_	SpaceAfter=No
8	烤鸭	烤鸭	NOUN	_	_	5	obj	_	SpaceAfter=No
9	」	」	PUNCT	_	_	8	punct	_	SpaceAfter=No
10	。	。	PUNCT	_	_	5	punct	_	SpaceAfter=No

1	猫	猫	NOUN	_	_	3	nsubj	_	SpaceAfter=No
2	在	在	AUX	_	_	3	aux	_	SpaceAfter=No
3	睡觉	睡觉	VERB	_	_	0	root	_	SpaceAfter=No
4	！	！	PUNCT	_	_	3	punct	_	SpaceAfter=No

1	你	你	PRON	_	_	2	nsubj	_	SpaceAfter=No
2	看	看	VERB	_	_	0	root	_	SpaceAfter=No
3	（	（	PUNCT	_	_	5	punct	_	SpaceAfter=No
4	2026	2026	NUM	_	_	5	nummod	_	SpaceAfter=No
5	年	年	NOUN	_	_	8	nmod	_	SpaceAfter=No
6	）	）	PUNCT	_	_	5	punct	_	SpaceAfter=No
7	的	的	PART	_	_	5	case	_	SpaceAfter=No
8	书	书	NOUN	_	_	2	obj	_	SpaceAfter=No
9	吗	吗	PART	_	_	2	discourse	_	SpaceAfter=No
10	？	？	PUNCT	_	_	2	punct	_	SpaceAfter=No

"""
# Conjunctions and prepositions of one letter are joined with the next word.
ARABIC = """\
1	قرأت	قرأ	VERB	_	_	0	root	_	_
2	البنت	بنت	NOUN	_	_	1	nsubj	_	_
3	كتابا	كتاب	NOUN	_	_	1	obj	_	_
4-5	بالمدرسة	_	_	_	_	_	_	_	_
4	ب	ب	ADP	_	_	5	case	_	_
5	المدرسة	مدرسة	NOUN	_	_	1	obl	_	_
6	أمس	أمس	ADV	_	_	1	advmod	_	SpaceAfter=No
7	.	.	PUNCT	_	_	1	punct	_	_

1	هل	هل	PART	_	_	2	mark	_	_
2	نام	نام	VERB	_	_	0	root	_	_
3	الولد	ولد	NOUN	_	_	2	nsubj	_	SpaceAfter=No
4	؟	؟	PUNCT	_	_	2	punct	_	_

1-2	وكتب	_	_	_	_	_	_	_	_
1	و	و	CCONJ	_	_	2	cc	_	_
2	كتب	كتب	VERB	_	_	0	root	_	_
3	المعلم	معلم	NOUN	_	_	2	nsubj	_	_
4	الدرس	درس	NOUN	_	_	2	obj	_	SpaceAfter=No
5	،	،	PUNCT	_	_	7	punct	_	_
6	ثم	ثم	CCONJ	_	_	7	cc	_	_
7	ذهب	ذهب	VERB	_	_	2	conj	_	SpaceAfter=No
8	.	.	PUNCT	_	_	2	punct	_	_

"""


class Language(NamedTuple):
    model: Path
    text: str
    tokens: list[list[str]]  # of each sentence
    from_right: bool = False


def trained(folder: Path, treebank: str) -> Path:
    """A pipeline that knows where the tokens and sentences of a treebank end; its trees are what they are."""
    sentences = treebank.split("\n\n")[:-1]
    draw = random.Random(1)
    copies = [sentence for _ in range(COPIES) for sentence in draw.sample(sentences, len(sentences))]
    (folder / "train.conllu").write_text("\n\n".join([*copies, ""]), encoding="utf-8")
    (folder / "dev.conllu").write_text(treebank, encoding="utf-8")
    sure = ["hidden=24", "epochs=4", "least_batches=250", "rate=0.02", "dropout=0", "word_dropout=0"]
    biatt.train(
        folder / "train.conllu",
        dev=folder / "dev.conllu",
        out=folder / "model",
        config=SMALL_BEST,
        pipeline=PipelineConfig().with_settings(
            [f"tokeniser.{setting}" for setting in [*sure, "clip=1", "batch_words=200"]]
        ),
    )
    return folder / "model"


@pytest.fixture(scope="module", params=["Japanese", "Chinese", "Arabic"])
def language(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Language:
    if request.param == "Japanese":
        if not PACKAGE.exists():
            pytest.skip("the packages of languages are not part of the package")
        sentences = [
            "昨日 、 東京 で 友達 と 「 寿司 」 を 食べ まし た 。",
            "とても おいしかっ た です ！",
            "あなた は どこ に 行き ます か ？",
        ]
        return Language(PACKAGE, "".join(sentences).replace(" ", ""), [s.split() for s in sentences])
    folder = tmp_path_factory.mktemp("model")
    if request.param == "Chinese":
        text = "猫在睡觉！昨天我在北京吃了「烤鸭」。你看（2026年）的书吗？"
        tokens = [s.split() for s in ("猫 在 睡觉 ！", "昨天 我 在 北京 吃 了 「 烤鸭 」 。")]
        tokens.append(["你", "看", "（", "2026", "年", "）", "的", "书", "吗", "？"])
        return Language(trained(folder, CHINESE), text, tokens)
    text = "هل نام الولد؟ قرأت البنت كتابا بالمدرسة أمس. وكتب المعلم الدرس، ثم ذهب."
    tokens = [re.findall(r"\w+|\S", part) for part in re.findall(r".+?[.؟]", text)]
    return Language(trained(folder, ARABIC), text, tokens, from_right=True)


@pytest.fixture(scope="module")
def parser(language: Language) -> Parser:
    return biatt.load(language.model)


@pytest.fixture(scope="module")
def document(language: Language, parser: Parser) -> Document:
    return parser(language.text)


@pytest.fixture
def written(language: Language, tmp_path: Path) -> Callable[[str], str]:
    """What `biatt parse` writes for the text in a format."""
    (tmp_path / "text.txt").write_text(language.text, encoding="utf-8")
    command = ["parse", tmp_path / "text.txt", "--model", language.model]
    return lambda format: invoke(*command, "--format", format)


def test_tokens_and_sentences_are_exact_places_of_the_text(language: Language, document: Document) -> None:
    assert document.text == language.text
    assert [[token.form for token in sentence.tokens] for sentence in document] == language.tokens
    end = 0
    for token in document.tokens:
        assert language.text[token.start_char : token.end_char] == token.form
        assert language.text[end : token.start_char].strip() == ""
        end = token.end_char
    assert end == len(language.text)
    for sentence in document:
        assert language.text[sentence.start_char : sentence.end_char] == sentence.text
        assert sentence.start_char == sentence.tokens[0].start_char
        assert sentence.end_char == sentence.tokens[-1].end_char


def test_joined_words_are_words_of_one_token(language: Language, document: Document) -> None:
    joined = [[word.form for word in token.words] for token in document.tokens if token.is_multiword]
    assert joined == ([["ب", "المدرسة"], ["و", "كتب"]] if language.from_right else [])


def test_conllu_gives_back_the_trees_and_the_text(
    language: Language, document: Document, written: Callable[[str], str], tmp_path: Path
) -> None:
    conllu = written("conllu")
    assert [s.heads for s in reads(conllu)] == [s.heads for s in document]
    assert [s.text for s in reads(conllu)] == [s.text for s in document]
    (tmp_path / "parsed.conllu").write_text(conllu, encoding="utf-8")
    assert invoke("raw", tmp_path / "parsed.conllu") == language.text


def places_of(svg: str, forms: list[str]) -> list[float]:
    """Where the words of a sentence stand in its picture; each is found by its form."""
    texts = [
        (text, float(item.get("x", "nan")))
        for item in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if (text := "".join(item.itertext()).strip("\u2068\u2069"))
    ]
    places = []
    for form in forms:
        place = next(i for i, (text, _) in enumerate(texts) if text == form)
        places.append(texts.pop(place)[1])
    return places


def test_pictures_have_the_words_in_the_direction_of_the_script(
    language: Language, document: Document
) -> None:
    for sentence in document:
        places = places_of(sentence.svg(), sentence.forms)
        assert places == sorted(places, reverse=language.from_right)
        gaps = [abs(after - before) for before, after in pairwise(places)]
        sizes = [(text_width(a, 16) + text_width(b, 16)) / 2 for a, b in pairwise(sentence.forms)]
        assert all(gap > size for gap, size in zip(gaps, sizes, strict=True))  # no word stands on another


def test_png_has_a_picture_of_every_sentence(document: Document) -> None:
    pytest.importorskip("resvg_py")
    for sentence in document:
        data = sentence.png()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        wide, high = struct.unpack(">II", data[16:24])
        assert wide > 30 * len(sentence)
        assert high > 100


def test_terminal_has_a_line_for_each_word(document: Document, written: Callable[[str], str]) -> None:
    drawn = written("tree")
    for sentence in document:
        lines = [line for line in drawn.splitlines() if line]
        for word in sentence:
            assert any(word.form in line and re.search(rf"\b{word.upos}\b", line) for line in lines)


def test_page_of_trees_has_the_direction_of_the_script(
    language: Language, document: Document, written: Callable[[str], str]
) -> None:
    page = written("html")
    directions = re.findall(r'<section id="s\d" dir="(\w+)"', page)
    assert directions == ["rtl" if language.from_right else "ltr"] * len(document)
    for sentence in document:
        assert all(f">{form}<" in re.sub("[\u2068\u2069]", "", page) for form in sentence.forms)


def test_service_gives_the_same_document(language: Language, parser: Parser, document: Document) -> None:
    pytest.importorskip("fastapi")
    from services import running

    with running({"toy": parser}) as client:
        answer = client.post("/parse", json={"text": language.text})
        assert answer.status_code == 200
        answered = Document.from_dict(answer.json())
        assert answered.text == document.text
        for found, sentence in zip(answered, document, strict=True):
            assert (found.rows, found.text) == (sentence.rows, sentence.text)
            assert found.word_places == sentence.word_places
        answer = client.post("/parse", json={"text": language.text}, headers={"Accept": "text/x-conllu"})
        assert [s.forms for s in biatt.read(io.BytesIO(answer.content))] == [s.forms for s in document]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("fastapi")
    with chromium() as opened:
        yield opened


def test_page_of_the_service_draws_it(
    language: Language, parser: Parser, document: Document, browser: Any
) -> None:
    from services import running

    with running({"toy": parser}) as client:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{client.base_url}/#text={quote(language.text)}")
        page.click("#tab-attention")
        page.wait_for_selector("#view-attention .map")
        words = len(document.words)
        assert page.inner_text("#status") == f"{len(document)} sentences, {words} words"
        forms = page.locator("#tree .form")
        assert forms.all_text_contents() == document[0].forms
        places = [forms.nth(i).bounding_box()["x"] for i in range(3)]
        assert places == sorted(places, reverse=language.from_right)
        # The names in the maps of attention are inside of their drawings, also when they are bold.
        assert page.evaluate("""
            [...document.querySelectorAll(".map")].every((map) => {
                const frame = map.getBoundingClientRect();
                return [...map.querySelectorAll("text")].every((text) => {
                    text.classList.add("named");
                    const { left, top } = text.getBoundingClientRect();
                    return left >= frame.left && top >= frame.top;
                });
            })
        """)
        page.close()
