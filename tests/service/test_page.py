"""The page in a real browser, against a service on a model of random weights."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra `serve`")

import httpx

import biatt
from biatt.data.arcs import is_tree
from biatt.data.conll import reads
from biatt.data.document import Document
from biatt.service.app import PAGE
from browsers import PATIENCE, chromium, serious_faults
from services import patient, running, toy_parser

pytestmark = pytest.mark.slow

SENTENCE = "the old cat sleeps near a small dog"
LIMITS = patient(sentence_words=60, words=400)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running({"toy": toy_parser(), "other": toy_parser(seed=1)}, LIMITS) as client:
        yield str(client.base_url)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Open]:
    """Opens the page with a text; at the end, there must have been no fault on the console."""
    faults: list[str] = []
    contexts = []

    def opened(text: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{address}/#text={quote(text)}" if text else address)
        if text:
            parsed(page)
        return page

    opened.faults = faults  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def parsed(page: Any) -> None:
    """Wait until the chosen sentence has its trees and its attention."""
    page.wait_for_selector("#tree .arc")
    page.wait_for_selector("#view-attention .map", state="attached")


def conllu(*sentences: str) -> str:
    """Sentences of these words, so that the random tokeniser does not split them."""
    return biatt.dumps(biatt.Sentence.from_words(sentence.split(" ")) for sentence in sentences)


def heads(page: Any) -> list[int]:
    """The heads in the table view."""
    cells = page.locator("#view-table tbody td:nth-of-type(5)").all_text_contents()
    return [0 if text == "ROOT" else int(text.split()[0]) for text in cells]


def word(page: Any, number: int) -> Any:
    return page.locator(f'#tree .word[data-word="{number}"]')


def centre(page: Any, number: int) -> tuple[float, float]:
    box = word(page, number).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Any, number: int, head: int) -> None:
    (x, y), (to_x, to_y) = centre(page, number), centre(page, head)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, y - 40, steps=3)
    page.mouse.move(to_x, to_y, steps=3)
    page.mouse.up()


# Text and trees


def test_an_arc_for_each_word_appears_while_typing(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector("#empty", state="visible")
    page.locator("#text").press_sequentially("the cat")
    parsed(page)
    assert page.locator("#result").is_visible()
    assert not page.locator("#empty").is_visible()
    # Both numbers of the same moment: another letter may have been parsed meanwhile.
    count = "['.word', '.arc .arrow'].map((part) => document.querySelectorAll(`#tree ${part}`).length)"
    words, arrows = page.evaluate(count)
    assert words == arrows >= 1


def test_conllu_keeps_its_words(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    assert page.locator("#tree .form").all_text_contents() == SENTENCE.split(" ")
    assert page.inner_text("#status") == "1 sentence, 8 words"
    assert is_tree(heads(page))


def test_long_sentences_wrap_or_scroll_sideways(open_page: Open) -> None:
    page = open_page(conllu(" ".join([SENTENCE] * 4)))
    width = page.evaluate("document.querySelector('#tree').clientWidth")
    assert float(page.get_attribute("#tree svg", "width")) <= width
    page.uncheck("#wrap")
    assert float(page.get_attribute("#tree svg", "width")) > width
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_sentences_from_right_to_left_begin_at_the_right(open_page: Open) -> None:
    page = open_page(conllu("הילד הקטן ראה כלב"))
    places = [centre(page, number)[0] for number in (1, 2, 3, 4)]
    assert places == sorted(places, reverse=True)
    word(page, 1).focus()
    page.keyboard.press("ArrowLeft")
    assert word(page, 2).get_attribute("aria-pressed") == "true"
    page.click("#tab-attention")
    word(page, 2).hover()
    assert "→ \u2068הקטן\u2069:" in page.inner_text(".readout")  # its direction reorders nothing else


def test_hostile_words_stay_text(open_page: Open) -> None:
    hostile = [
        "<script>document.title='x'</script>",
        "<img/src/onerror=alert(1)>",
        "\"&quot;'",
        "a\x1b[31mb",
        "\u202eevil",
    ]
    page = open_page(conllu(" ".join(hostile)))
    shown = page.locator("#tree .form").all_text_contents()
    assert shown[:3] == hostile[:3]
    assert shown[3:] == ["a\\x1b[31mb", "\\u202eevil"]
    for number in range(1, 6):
        word(page, number).hover()
    for view in ("attention", "table"):
        page.click(f"#tab-{view}")
    assert page.title() == "biatt"
    assert page.locator("main script, main img").count() == 0


@pytest.mark.parametrize("decoder", ["projective", "argmax"])
def test_the_decoder_can_be_changed(open_page: Open, decoder: str) -> None:
    page = open_page(conllu(" ".join([SENTENCE] * 2)))
    page.select_option("#decoder", decoder)
    page.wait_for_selector("#rank:disabled", state="attached")
    parsed(page)
    if decoder == "projective":
        assert page.locator("#tree .arc.crossing").count() == 0
    assert f"decoder={decoder}" in page.url


def test_sentences_too_long_for_ten_trees_have_one(open_page: Open) -> None:
    page = open_page(conllu(" ".join([SENTENCE] * 6)))
    assert page.locator("#tree .word").count() == 48
    assert page.locator("#rank").is_disabled()
    open_page.faults.clear()  # type: ignore[attr-defined]  # the browser reports the status 413


# What the parser thinks


def test_pointing_at_a_word_shows_its_probabilities(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    page.wait_for_selector("#view-word .legend")
    word(page, 3).hover()
    assert page.inner_text("#view-word h3") == "cat"
    assert page.locator("#view-word .certainty").first.inner_text().endswith("%")
    assert page.locator("#view-word .candidate").count() > 1
    assert page.locator("#tree .overlay text").count() >= 1  # runner-up heads
    assert page.locator("#tree .arc.active").count() >= 1
    page.mouse.move(1, 1)
    page.wait_for_selector("#view-word .legend")


def test_attention_and_arcs_are_linked(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    page.click("#tab-attention")
    assert page.locator("#view-attention .map").count() == 3
    word(page, 2).hover()
    assert page.locator("#view-attention .here").count() == 3
    assert "→ old:" in page.inner_text(".readout")
    # The cell of a word and its head lights up the arc.
    head = heads(page)[3]
    page.locator("#view-attention .map").nth(1).scroll_into_view_if_needed()
    frame = page.locator("#view-attention .map .frame").nth(1).bounding_box()
    across, down = frame["width"] / 9, frame["height"] / 8
    page.mouse.move(frame["x"] + across * (head + 0.5), frame["y"] + down * 3.5)
    page.wait_for_selector('#tree .arc.active[data-word="4"]', state="attached")
    assert "→ sleeps:" in page.inner_text(".readout")
    page.locator("#view-attention .map").first.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector('#tree .word.active[data-word="5"]')


def test_the_slider_shows_other_trees_and_what_changes(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    first, name = heads(page), page.inner_text("#rank-number")
    assert name.startswith("1 of 10, ")
    page.locator("#rank").focus()
    for number in (2, 3):
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#rank-number").startswith(f"{number} of 10, ")
        assert page.locator("#rank-change li").count() >= 1
        assert page.locator("#tree .arc.changed").count() >= 1
    page.keyboard.press("Home")
    assert heads(page) == first


# Corrections


def other_head(page: Any, number: int) -> int:
    """A word that is not the head of this one; as its head, it makes no row of arcs higher than the page."""
    return next(head for head in range(1, 9) if head not in (number, heads(page)[number - 1]))


def test_dragging_corrects_a_head_and_the_rest_follows(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    before, head = heads(page), other_head(page, 3)
    drag(page, 3, head)
    page.wait_for_selector('#tree .arc.fixed[data-word="3"]', state="attached")
    after = heads(page)
    assert after[2] == head
    assert is_tree(after)
    page.click("#undo")
    page.wait_for_selector("#tree .arc.fixed", state="detached")
    assert heads(page) == before
    page.click("#redo")
    page.wait_for_selector("#tree .arc.fixed", state="attached")
    assert heads(page) == after


def test_a_finger_that_holds_a_word_drags_it_and_one_that_taps_does_not(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE), viewport={"width": 390, "height": 640}, has_touch=True)
    word(page, 3).scroll_into_view_if_needed()
    head = other_head(page, 3)
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    word(page, 3).tap()
    assert page.locator("#tree .arc.fixed").count() == 0
    scrolled = page.evaluate("scrollY")
    touch("touchStart", centre(page, 3))
    page.wait_for_selector("#tree.dragging")
    touch("touchMove", centre(page, head))
    page.wait_for_selector(f'#tree .word.target[data-word="{head}"]')
    touch("touchEnd")
    page.wait_for_selector('#tree .arc.fixed[data-word="3"]', state="attached")
    assert heads(page)[2] == head
    assert page.evaluate("scrollY") == scrolled


def test_corrections_are_kept_when_the_text_changes(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    head = other_head(page, 3)
    drag(page, 3, head)
    page.wait_for_selector("#tree .arc.fixed", state="attached")
    page.fill("#text", conllu(SENTENCE, "a dog barks"))
    page.wait_for_selector("#sentences button >> nth=1")
    parsed(page)
    assert heads(page)[2] == head
    assert page.locator("#tree .arc.fixed").count() >= 1


def test_another_decoder_that_finds_no_such_tree_says_so(open_page: Open) -> None:
    page = open_page(conllu("a b c d"))
    for number, head in ((1, 3), (2, 4)):  # they cross
        word(page, number).click()
        page.select_option("#head-choice", str(head))
        page.wait_for_selector(f'#tree .arc.fixed[data-word="{number}"]', state="attached")
    page.select_option("#decoder", "projective")
    page.wait_for_selector("#status:has-text('Not possible')")
    page.select_option("#decoder", "mst")
    page.wait_for_selector("#status:has-text('1 sentence')")
    parsed(page)
    assert heads(page)[:2] == [3, 4]
    open_page.faults.clear()  # type: ignore[attr-defined]  # the browser reports the status 422


def test_arcs_that_no_tree_can_have_are_refused(open_page: Open) -> None:
    page = open_page(conllu("a b c"))
    word(page, 1).click()
    page.select_option("#head-choice", "2")
    page.wait_for_selector('#tree .arc.fixed[data-word="1"]', state="attached")
    word(page, 2).click()
    page.select_option("#head-choice", "1")
    page.wait_for_selector("#status:has-text('Not possible')")
    assert is_tree(heads(page))
    assert page.locator('#tree .arc.fixed[data-word="2"]').count() == 0
    open_page.faults.clear()  # type: ignore[attr-defined]  # the browser reports the status 422


def test_the_keyboard_alone_is_enough(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector("#text:focus")
    page.keyboard.insert_text(conllu(SENTENCE))
    parsed(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#tree .word')"):
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#view-word h3") == "cat"
    head = other_head(page, 3)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "head-choice"
    page.keyboard.type(str(head))
    page.wait_for_selector('#tree .arc.fixed[data-word="3"]', state="attached")
    assert heads(page)[2] == head
    assert page.evaluate("document.activeElement.id") == "head-choice"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.word") == "3"
    page.keyboard.press("Control+z")
    page.wait_for_selector("#tree .arc.fixed", state="detached")


# Files and addresses


def saved(page: Any, kind: str) -> bytes:
    page.click("#downloads summary")
    with page.expect_download(timeout=PATIENCE) as download:
        page.click(f"#save-{kind}")
    return Path(download.value.path()).read_bytes()


def test_downloads_are_what_is_shown(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE, "a dog barks"))
    head = other_head(page, 3)
    drag(page, 3, head)
    page.wait_for_selector("#tree .arc.fixed", state="attached")
    sentences = reads(saved(page, "conllu").decode())
    assert [sentence.forms for sentence in sentences] == [SENTENCE.split(), ["a", "dog", "barks"]]
    assert sentences[0].heads == heads(page)
    document = Document.from_dict(json.loads(saved(page, "json")))
    assert [sentence.heads for sentence in document] == [sentence.heads for sentence in sentences]
    picture = ElementTree.fromstring(saved(page, "svg"))
    texts = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert set(SENTENCE.split()) <= set(texts)
    assert saved(page, "png").startswith(b"\x89PNG")
    assert not page.locator("#save-png").is_visible()


MANY_LINES = (
    "# sent_id = s1\n# text = don't go\n"
    "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tA=b\n"
    "1\tdo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t_\t_\t_\t_\n"
    "2\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_\n"
    "2.1\tyou\tyou\tPRON\t_\t_\t_\t_\t3:nsubj\t_\n"
    "3\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\tSpaceAfter=No|B\n\n"
)


def test_conllu_is_written_as_the_service_does(open_page: Open, address: str) -> None:
    page = open_page(MANY_LINES)
    request = {"conllu": MANY_LINES, "model": "toy"}
    answer = httpx.post(
        f"{address}/parse", json=request, headers={"Accept": "text/x-conllu"}, timeout=None, trust_env=False
    )
    assert saved(page, "conllu").decode() == answer.text


def test_the_address_has_the_text_and_no_server_sees_it(open_page: Open) -> None:
    page = open_page("a small cat")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.reload()
    parsed(page)
    assert page.input_value("#text") == "a small cat"
    assert requests
    assert not [url for url in requests if "small" in url.partition("#")[0]]
    page.evaluate("(text) => { location.hash = 'text=' + text }", quote(conllu("another dog")))
    page.wait_for_selector("#tree .form:has-text('another')")


def test_a_model_can_be_chosen(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    with page.expect_request(lambda request: "parse" in request.url) as request:
        page.select_option("#model", "other")
    assert request.value.post_data_json["model"] == "other"
    parsed(page)


# Several sentences


def test_sentences_are_sorted_by_doubt(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE, "a dog barks", "the cat", "old dog sleeps near cat"))
    sure = page.locator("#sentences .sure")
    places = page.locator("#sentences .number").all_text_contents()
    assert places == ["1", "2", "3", "4"]
    page.select_option("#order", "doubt")
    shares = [int(text.strip("<> %")) for text in sure.all_text_contents()]
    assert shares == sorted(shares)
    first = page.locator("#sentences button").first
    assert first.get_attribute("aria-current") == "true"
    parsed(page)
    assert " ".join(page.locator("#tree .form").all_text_contents()) == first.locator(".start").inner_text()


def test_search_shows_the_sentences_and_words_that_match(open_page: Open) -> None:
    page = open_page(conllu("a dog barks", SENTENCE, "the cat"))
    page.fill("#pattern", "{form:/cat|old/}")
    page.wait_for_selector("#found:has-text('3 matches in 2 sentences')")
    page.wait_for_selector("#tree .word.found")
    assert page.locator("#sentences .number").all_text_contents() == ["2", "3"]
    assert page.locator("#tree .word.found .form").all_text_contents() == ["old", "cat"]
    page.fill("#pattern", "{form:cat} >")
    page.wait_for_selector("#pattern[aria-invalid=true]")
    assert page.inner_text("#found").startswith("Character ")
    page.fill("#pattern", "")
    page.wait_for_selector("#sentences li >> nth=2")
    open_page.faults.clear()  # type: ignore[attr-defined]  # the browser reports the status 422


# States


def test_long_sentences_are_refused_with_the_reason(open_page: Open) -> None:
    page = open_page()
    page.fill("#text", conllu("cat " * 70 + "."))
    page.wait_for_selector("#problem", state="visible")
    assert page.inner_text("#problem-title") == "Too long"
    assert "60" in page.inner_text("#problem-detail")
    page.fill("#text", conllu("a cat"))
    parsed(page)
    assert not page.locator("#problem").is_visible()
    open_page.faults.clear()  # type: ignore[attr-defined]  # the browser reports the status 413


def test_the_page_says_that_the_service_is_gone_and_waits_for_it(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    page.route("**/parse", lambda route: route.abort())
    page.route("**/health", lambda route: route.abort())
    page.fill("#text", conllu("a dog"))
    page.wait_for_selector("#problem", state="visible")
    assert page.inner_text("#problem-title") == "The service is gone"
    assert page.locator("#tree .word").count() == 8  # what there was is still there
    page.unroute_all()
    page.wait_for_selector("#problem", state="hidden")
    assert page.locator("#tree .word").count() == 2
    open_page.faults.clear()  # type: ignore[attr-defined]  # the browser reports the connections


def test_nothing_moves_while_parsing(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE))
    held: list[Any] | None = []
    page.route("**/parse", lambda route: route.continue_() if held is None else held.append(route))
    before = page.locator("#sentence").bounding_box()
    page.fill("#text", conllu(SENTENCE.replace("old", "big")))
    page.wait_for_selector("#status:has-text('Parsing')")
    assert page.locator("#sentence").bounding_box() == before
    waiting, held = held, None
    for route in waiting:
        route.continue_()
    page.wait_for_selector("#tree .form:has-text('big')")
    parsed(page)
    after = page.locator("#sentence").bounding_box()
    assert {**after, "height": 0} == {**before, "height": 0}  # another tree can have other levels of arcs


# Everybody


LINK = r"""(?:\b(?:src|href)=|from |import |fetch\(|answer\()["']([^"']+)["']"""


def test_all_addresses_are_relative_and_of_the_page() -> None:
    """So that it works offline and under a path prefix."""
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"(^|\s)//.*", "", text), path.name
        for link in re.findall(LINK, text):
            assert not link.startswith("/"), (path.name, link)
            file = PAGE / link
            assert file.exists() or link in ("docs", "health", "models", "parse", "search"), (path.name, link)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(open_page: Open, scheme: str) -> None:
    page = open_page(conllu(SENTENCE, "a dog barks"), color_scheme=scheme)
    page.fill("#pattern", "{form:old}")
    page.wait_for_selector("#tree .word.found")
    faults = serious_faults(page)
    word(page, 2).click()
    for view in ("word", "attention", "table"):
        page.click(f"#tab-{view}")
        faults += serious_faults(page)
    assert faults == []


def test_a_narrow_telephone_shows_everything(open_page: Open) -> None:
    page = open_page(conllu(SENTENCE, "a dog barks"), viewport={"width": 320, "height": 640}, has_touch=True)
    word(page, 2).tap()
    assert page.inner_text("#view-word h3") == "old"
    for view in ("word", "attention", "table"):
        page.click(f"#tab-{view}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("#tab-word")
    page.click("#downloads summary")
    for part in ("#text", "#decoder", "#rank", "#undo", "#downloads summary", "#save-png", "#head-choice"):
        box = page.locator(part).bounding_box()
        assert box["x"] >= 0
        assert math.floor(box["x"] + box["width"]) <= 320
