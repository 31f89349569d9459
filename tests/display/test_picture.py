"""Pictures as documents: themes, and styles that do not disturb other pictures of a page."""

from __future__ import annotations

import re

import pytest

from biatt.display.picture import Picture, stacked
from biatt.display.style import scoped_style
from biatt.options import Theme

PICTURE = Picture(40, 30, "a < b", "", ['<g class="biatt-words"><text x="1" y="2">a</text></g>'], "s1")
THEMES: tuple[Theme, ...] = ("auto", "light", "dark")


@pytest.mark.parametrize("theme", THEMES)
def test_every_rule_holds_within_pictures_of_its_class_only(theme: Theme) -> None:
    scope, sheet = scoped_style(theme)
    assert f'class="{scope}"' in PICTURE.svg(theme=theme)
    selectors = re.findall(r"^(.*?) \{ ", sheet, re.MULTILINE)
    assert len(selectors) > 20
    assert all(re.match(rf"\.{scope}($| )", selector) for selector in selectors)


def test_pictures_that_differ_in_style_differ_in_class() -> None:
    assert len({scoped_style(theme)[0] for theme in THEMES}) == 3


def test_no_element_has_an_id() -> None:
    assert " id=" not in PICTURE.svg()


def test_classes_are_not_those_of_other_pages() -> None:
    for name in re.findall(r'class="([^"]*)"', stacked([PICTURE, PICTURE]).svg()):
        assert name.startswith("biatt-")


def test_only_the_theme_auto_asks_for_the_colour_scheme() -> None:
    asks = {theme: "prefers-color-scheme: dark" in PICTURE.svg(theme=theme) for theme in THEMES}
    assert asks == {"auto": True, "light": False, "dark": False}
    light, dark = (set(re.findall(r"#\w{6}", scoped_style(theme)[1])) for theme in ("light", "dark"))
    assert not light & dark
    assert set(re.findall(r"#\w{6}", scoped_style("auto")[1])) == light | dark


def test_several_pictures_are_one_with_one_style_sheet() -> None:
    both = stacked([PICTURE, PICTURE._replace(width=60, caption="")])
    assert both.width == 60
    assert both.height > 60
    assert both.svg().count("<style>") == 1
    assert both.svg().count("<svg ") == 3
    assert re.findall(r'"biatt-caption"[^>]*>(\w+)<', both.svg()) == ["s1"]


def test_pictures_that_are_read_from_the_right_begin_there() -> None:
    narrow = PICTURE._replace(width=60, from_right=True)
    both = stacked([PICTURE._replace(width=100), narrow]).svg()
    assert re.findall(r'<svg [^>]*?x="(\d+)" y="\d+"[^>]*?width="(\d+)"', both) == [
        ("0", "100"),
        ("40", "60"),
    ]
    assert re.findall(r'"biatt-caption" x="(\d+)"[^>]*text-anchor="(\w+)"', both) == [
        ("16", "start"),
        ("84", "end"),
    ]


def test_a_single_picture_stays_as_it_is_unless_it_has_a_caption() -> None:
    bare = PICTURE._replace(caption="")
    assert stacked([bare]) is bare
    assert stacked([PICTURE]).height > PICTURE.height
    assert stacked([PICTURE]).title == PICTURE.title
