"""How many examples a property test tries."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(count: int, **options: Any) -> settings:
    """Settings for so many examples with `--random`; otherwise a half of them, and with `--quick` a fifth."""
    usual = 100  # of tests without these settings, with `--random`
    return settings(max_examples=max(1, count * settings.default.max_examples // usual), **options)
