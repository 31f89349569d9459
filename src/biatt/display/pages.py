"""Many pictures as files: pages of SVG or PNG of a size that can be looked at, or HTML."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from biatt.data.files import COMPRESSED, writing
from biatt.display.picture import Picture, stacked
from biatt.errors import ConfigError
from biatt.options import PictureFormat, Theme

PAGE_HEIGHT = 1600  # pixels; a picture that is higher has a page of its own

log = logging.getLogger(__name__)  # INFO: how many pages there are


def write_pictures(
    pictures: Iterable[Picture],
    target: str | Path | BinaryIO,
    format: PictureFormat,
    *,
    theme: Theme = "auto",
    title: str = "Trees",
) -> None:
    """Write pictures to a file, "-" or a binary stream.

    What does not fit on one page continues in further files: after trees.svg follow trees-2.svg, trees-3.svg
    and so on. HTML has many more sentences on a page, and a table of contents.
    """
    pages = (
        _html_pages(pictures, target, theme, title) if format == "html" else _pages(pictures, format, theme)
    )
    first = next(pages, None)
    if first is None:
        raise ConfigError("There is no sentence to draw.")
    if not _is_file(target):
        if next(pages, None) is not None:
            raise ConfigError("The pictures fill several pages, each of which is a file: use --output.")
        pages = iter(())
    number = 0
    for number, page in enumerate(chain([first], pages), 1):
        with writing(page_target(target, number)) as stream:
            stream.write(page)
    if number > 1:
        log.info("%d pages: %s … %s", number, target, page_target(target, number))


def page_target(target: str | Path | BinaryIO, number: int) -> str | Path | BinaryIO:
    """Where a page goes: the first to the target itself, page 2 of trees.svg to trees-2.svg."""
    if number == 1 or not isinstance(target, (str, Path)):
        return target
    path = Path(target)
    compression = path.suffix if path.suffix in COMPRESSED else ""
    name = Path(path.name.removesuffix(compression))
    return path.with_name(f"{name.stem}-{number}{name.suffix}{compression}")


def _is_file(target: str | Path | BinaryIO) -> bool:
    return isinstance(target, (str, Path)) and str(target) != "-"


def _pages(pictures: Iterable[Picture], format: PictureFormat, theme: Theme) -> Iterator[bytes]:
    from biatt.display.png import to_png

    for page in _fitting(_with_captions(pictures)):
        picture = stacked(page)
        yield to_png(picture, theme=theme) if format == "png" else f"{picture.svg(theme=theme)}\n".encode()


def _with_captions(pictures: Iterable[Picture]) -> Iterator[Picture]:
    """The pictures with numbers in their captions; a single picture has no caption."""
    rest = iter(pictures)
    start = list(islice(rest, 2))
    for number, picture in enumerate(chain(start, rest), 1):
        numbered = f"{number} · {picture.caption}" if picture.caption else str(number)
        yield picture._replace(caption=numbered if len(start) > 1 else "")


def _fitting(pictures: Iterable[Picture]) -> Iterator[Sequence[Picture]]:
    """The pictures of each page."""
    page: list[Picture] = []
    height = 0.0
    for picture in pictures:
        if page and height + picture.height > PAGE_HEIGHT:
            yield page
            page, height = [], 0.0
        page.append(picture)
        height += picture.height
    if page:
        yield page


def _html_pages(
    pictures: Iterable[Picture], target: str | Path | BinaryIO, theme: Theme, title: str
) -> Iterator[bytes]:
    from biatt.display.html import SENTENCES_PER_PAGE, html_page

    shown = list(pictures)
    step = SENTENCES_PER_PAGE if _is_file(target) else max(len(shown), 1)
    count = -(-len(shown) // step)
    names = [Path(str(page_target(target, number))).name for number in range(1, count + 1)]
    for number in range(count):
        page = shown[number * step : (number + 1) * step]
        yield html_page(
            page, first=number * step + 1, of=len(shown), pages=names, page=number, theme=theme, title=title
        ).encode()
