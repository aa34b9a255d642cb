"""Time limits of searches, checked within their long loops."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float] = ContextVar("until", default=math.inf)


class OutOfTime(TimeoutError):
    """The time for a search is over.

    A `TimeoutError`, with which separators of darrm_solvers may end a solve. It is therefore an `OSError`: no search
    may run inside a block that converts errors of files.
    """


@contextmanager
def ends_at(moment: float) -> Iterator[None]:
    """End all loops inside at a moment of `time.monotonic`, or earlier with an enclosing limit."""
    before = _until.set(min(moment, _until.get()))
    try:
        yield
    finally:
        _until.reset(before)


def end_sooner(moment: float) -> None:
    """End all loops of the innermost `ends_at` at that moment already, if it is the earlier one."""
    _until.set(min(moment, _until.get()))


def time_left() -> float:
    """Seconds until then, not below 0."""
    return max(0.0, _until.get() - time.monotonic())


def check_time() -> None:
    """`OutOfTime` if the time is over."""
    if time.monotonic() > _until.get():
        raise OutOfTime
