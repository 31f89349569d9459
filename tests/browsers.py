"""A real browser for the tests of the page, and axe-core to look for barriers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(__file__).parents[1] / ".venv" / "axe-core" / "axe.min.js"  # scripts/axe puts it there
PATIENCE = 900_000  # milliseconds: a busy machine is no failure


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser that the system has; tests are skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        # Containers that run as root have no sandbox; the tests open pages of their own only.
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


def serious_faults(page: Any) -> list[str]:
    """What axe-core finds on a page that is serious or critical: the rule and the first element."""
    if not AXE.exists():
        pytest.skip("axe-core is not there: scripts/axe fetches it from npm")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("axe.run().then((result) => result.violations)")
    return [
        f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html']}"
        for fault in violations
        if fault["impact"] in ("serious", "critical")
    ]
