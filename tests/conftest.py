"""Settings of every test."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# No test fails because the machine is slow or busy, and each run tries the same examples, so that a failure
# is a failure of the change at hand. `scripts/test --random` chooses new examples, `--quick` tries fewer.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", PATIENT, derandomize=True)
settings.register_profile("random", PATIENT, print_blob=True)
settings.register_profile("quick", PATIENT, derandomize=True, max_examples=20)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _one_torch_thread() -> Iterator[None]:
    """Use one thread of torch: on networks as small as the tests', threads wait longer than they work."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
