"""Places of tokens and words in texts that are put together from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from biatt.data.places import parts_of, places_of
from biatt.data.spaces import item_for

TOKENS = st.lists(st.tuples(st.text("ab", min_size=1, max_size=3), st.text(" \n", max_size=2)), max_size=6)


@given(TOKENS)
def test_tokens_are_at_their_places(tokens: list[tuple[str, str]]) -> None:
    with_misc = [(form, item_for(space) or "_") for form, space in tokens]
    places = places_of(with_misc, None)
    assert places.text == "".join(form + space for form, space in tokens).rstrip(" \n")
    found = zip(places.starts, places.ends, strict=True)
    assert [places.text[start:end] for start, end in found] == [form for form, _ in tokens]


@given(TOKENS, st.text(" \n", max_size=2))
def test_comment_is_the_text_if_it_has_the_tokens(tokens: list[tuple[str, str]], before: str) -> None:
    comment = before + "".join(form + space for form, space in tokens)
    places = places_of([(form, "_") for form, _ in tokens], comment)
    assert places.text == comment
    found = zip(places.starts, places.ends, strict=True)
    assert [comment[start:end] for start, end in found] == [form for form, _ in tokens]
    if tokens:
        other = places_of([(form, "_") for form, _ in tokens], comment + "c")
        assert other.text == " ".join(form for form, _ in tokens)


def test_words_have_the_places_of_their_parts_or_of_the_whole() -> None:
    assert list(parts_of("can't", 3, ["ca", "n't"])) == [(3, 5), (5, 8)]
    assert list(parts_of("du", 3, ["de", "le"])) == [(3, 5), (3, 5)]
    assert list(parts_of("a", 0, ["a"])) == [(0, 1)]
