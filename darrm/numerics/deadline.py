"""A time at which a search ends, looked at inside its long loops, however deep."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float] = ContextVar("until", default=math.inf)


class OutOfTime(TimeoutError):
    """The time for a search is over.

    A `TimeoutError`, which is what separators of darrm_solvers may end a solve with. It is an `OSError` so: no search
    runs inside a block that turns errors of files into ours.
    """


@contextmanager
def ends_at(moment: float) -> Iterator[None]:
    """Let all loops inside end at a moment of `time.monotonic`, or sooner if those around it do."""
    before = _until.set(min(moment, _until.get()))
    try:
        yield
    finally:
        _until.reset(before)


def time_left() -> float:
    """Seconds until then, not below 0."""
    return max(0.0, _until.get() - time.monotonic())


def check_time() -> None:
    """`OutOfTime` if the time is over."""
    if time.monotonic() > _until.get():
        raise OutOfTime
