"""Arithmetic as NumPy and Python do it by default, whatever the caller has asked them to raise or to round."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from decimal import ROUND_HALF_EVEN, Context, DivisionByZero, InvalidOperation, Overflow, localcontext
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
_TRAPS = (InvalidOperation, DivisionByZero, Overflow)
_usual: ContextVar[bool] = ContextVar("usual", default=False)  # NumPy and decimals keep theirs by context, too


def usual_arithmetic(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` under the defaults of NumPy's errors and of decimals, which are put back after it.

    An underflow to 0 is what bounds count on, and no error. After ``np.seterr(all="raise")``, which is for the whole
    thread, it would be one. What needs more digits of decimals asks for them itself (`darrm.numerics.exact`).
    """

    @wraps(function)
    def under_defaults(*arguments: P.args, **named: P.kwargs) -> T:
        if _usual.get():  # a function of ours calls another, and many do so for every solve
            return function(*arguments, **named)
        usual = Context(28, ROUND_HALF_EVEN, -999_999, 999_999, 1, 0, [], [*_TRAPS])
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"), localcontext(usual):
            before = _usual.set(True)
            try:
                return function(*arguments, **named)
            finally:
                _usual.reset(before)

    return under_defaults
