"""Which way windows are computed: by compiled kernels, if there are several."""

from __future__ import annotations

import pytest

from biatt.machine import kernel_choice
from biatt.machine.kernel_choice import Choice
from biatt.parsing import parts
from builders import TREEBANK, random_parser


@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_kernels_on_disk_compute_all_windows_of_several(
    size: int, on_disk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_choice, "_choice", Choice("auto"))
    monkeypatch.setattr(kernel_choice, "is_complete", lambda: on_disk)
    monkeypatch.setattr(kernel_choice, "start_in_background", lambda: True)
    monkeypatch.setattr(parts, "WINDOW_SENTENCES", 2)
    ways = []
    parser = random_parser()
    parse_window = parser._parse_window

    def noting(*arguments: object, **options: object) -> object:
        ways.append(kernel_choice.choice().compiled)
        return parse_window(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(parser, "_parse_window", noting)
    sentences = TREEBANK[: 2 * size]
    assert len(list(parts.parsed_sentences(parser, sentences))) == len(sentences)
    assert ways == [size > 1 and on_disk] * size
