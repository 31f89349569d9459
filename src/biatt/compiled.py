"""How functions become machine code: once, kept on disk for later processes, without Python's global lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

T = TypeVar("T")


def compiled(function: Callable[..., T], **options: Any) -> Callable[..., T]:
    """The function as machine code, made at its first call."""
    # Python's check for division by zero is a branch in every loop that divides; numpy's rules need none.
    # Each kernel takes in all that it calls: where several kernels had a copy of a function, calls could be
    # linked to any of the copies, which round differently, depending on what a process loads first.
    options = {"nogil": True, "error_model": "numpy", "forceinline": True, **options}
    try:
        kernel: Callable[..., T] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache folder can be written
        kernel = numba.njit(**options)(function)
    return kernel


def compiled_fast(function: Callable[..., T]) -> Callable[..., T]:
    """The same where sums may be taken in any order, which lets them use vector instructions."""
    return compiled(function, fastmath={"reassoc", "contract", "nsz", "arcp"})
