"""Which engine separates the releases of which problem. Everything that needs a worst case asks here."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm.certificate.protocol import Separation, WorstCase
from darrm.certificate.separation import CornerSeparation, check_size
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.limits import Limit, Problem
from darrm.problem.majority import MajorityProblem


class Engine(NamedTuple):
    """How releases of one type of problem are separated.

    Attributes
    ----------
    check_size : callable
        Takes a problem; raises `InputError` if it is too large for the engine.
    separation : callable
        Takes a noise function and a `Limit`; returns a `Separation`. Raises `InputError` if the noise function is none.
    """

    check_size: Callable[[Any], None]
    separation: Callable[[ArrayLike, Limit[Any]], Separation]


ENGINES: dict[type, Engine] = {MajorityProblem: Engine(check_size, CornerSeparation)}


def engine(problem: Problem) -> Engine:
    """The engine for the type of a problem; `InputError` if there is none."""
    for kind in type(problem).__mro__:
        if kind in ENGINES:
            return ENGINES[kind]
    raise InputError(f"problem must be a darrm.MajorityProblem. Got {problem!r}.")


def separation(gamma: ArrayLike, limit: Limit[Problem]) -> Separation:
    """The search over all cases of a noise function that is held to ``limit``."""
    return engine(limit.problem).separation(gamma, limit)


def levels(gamma: Array, limit: Limit[Problem]) -> tuple[WorstCase, ...]:
    """`Separation.levels` of a noise function at the epsilon of its limit; the last answers are kept."""
    return _levels(gamma.tobytes(), gamma.shape, limit)


@lru_cache(maxsize=64)
def _levels(content: bytes, shape: tuple[int, ...], limit: Limit[Problem]) -> tuple[WorstCase, ...]:
    gamma = np.frombuffer(content).reshape(shape)
    return tuple(separation(gamma, limit).levels(limit.epsilon))


forget = _levels.cache_clear  # for timing
