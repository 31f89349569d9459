from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from biatt.errors import ConfigError
from biatt.service.limits import Limits


@pytest.mark.parametrize("name", [item.name for item in fields(Limits)])
def test_a_limit_is_positive(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ConfigError, match=name):
        Limits(**wrong)
