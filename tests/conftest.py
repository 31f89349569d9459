"""Settings of every test."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Compiled kernels from the first call on, also in processes that tests start; else it would depend on what
# the tests before have computed. `ways.py` is for tests of the plain way.
os.environ.setdefault("BIATT_KERNELS", "compiled")

# No test fails because the machine is slow or busy, and each run tries the same examples, so that a failure
# is a failure of the change at hand. `scripts/test --random` chooses new examples and tries twice as many,
# `--quick` tries fewer.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", PATIENT, derandomize=True, max_examples=50)
settings.register_profile("random", PATIENT, print_blob=True)
settings.register_profile("quick", PATIENT, derandomize=True, max_examples=20)
settings.load_profile("repeatable")

# A module all of whose tests are slow.
SLOW_MODULE = re.compile(r"^pytestmark = (?:\[[^\]]*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import modules of slow tests where these are left out: what they import takes seconds."""
    if config.getoption("markexpr") != "not slow" or not collection_path.name.startswith("test_"):
        return None
    return SLOW_MODULE.search(collection_path.read_text(encoding="utf-8")) is not None or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay to the end: each garbage collection would look through them without `freeze`."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tests that start a process must be marked slow, so that `scripts/test --quick` stays quick."""
    if item.get_closest_marker("slow"):
        return (yield)

    def refuse(_: object, command: Any, *__: object, **___: object) -> None:
        pytest.fail(f"This test starts a process and is not marked slow: {command}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", refuse)
        return (yield)


@pytest.fixture(autouse=True)
def _one_torch_thread() -> None:
    """Use one thread of torch: on networks as small as the tests', threads wait longer than they work.

    It stays one: fixtures of a module train before this one is called, and where torch has been told to use
    several threads, training cannot limit them.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """For `ways.both_ways`."""
    from ways import on_the

    with on_the(request.param):
        yield request.param
