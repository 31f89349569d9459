"""How functions become machine code: once, kept on disk for later processes, without Python's global lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T], **options: Any) -> Callable[P, T]:
    """The function as machine code, made at its first call."""
    try:
        kernel: Callable[P, T] = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache folder can be written
        kernel = numba.njit(nogil=True, **options)(function)
    return kernel


def compiled_fast(function: Callable[P, T]) -> Callable[P, T]:
    """The same where sums may be taken in any order, which lets them use vector instructions."""
    return compiled(function, fastmath={"reassoc", "contract", "nsz", "arcp"})
