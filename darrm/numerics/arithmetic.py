"""Arithmetic with the defaults of NumPy and Python, whatever error handling or rounding the caller has set."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from decimal import ROUND_HALF_EVEN, Context, DivisionByZero, InvalidOperation, Overflow, localcontext
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from darrm._validation import check_given

P = ParamSpec("P")
T = TypeVar("T")
_TRAPS = (InvalidOperation, DivisionByZero, Overflow)
_usual: ContextVar[bool] = ContextVar("usual", default=False)  # NumPy and decimals keep theirs by context, too


def usual_arithmetic(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` under the default error handling of NumPy and decimals, which is restored afterwards.

    Bounds rely on underflow to 0 without an error, which ``np.seterr(all="raise")`` of the caller would raise. Code
    that needs more digits of decimals sets them itself (`darrm.numerics.exact`).
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
            except TypeError:
                check_given(function, arguments, named)
                raise
            finally:
                _usual.reset(before)

    return under_defaults
