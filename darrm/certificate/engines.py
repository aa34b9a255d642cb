"""Which engine separates the releases of which problem. All but `verify(identical=True)` ask here for worst cases."""

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

    A problem is a hashable object with the members of `darrm.problem.limits.Problem`. To serve a new type, put its
    engine into `ENGINES` and its rows into `darrm.constraints.engines.ROWS`; tests/oracles/two_voters.py is an example.
    Releases are noise functions over K votes: symmetric, so that the sets of answers {0} and {1} mirror each other, and
    neighbours must be symmetric too.

    Attributes
    ----------
    check_size : callable
        Takes a problem; raises `InputError` if it is too large for the engine, `CertificateError` if this process
        cannot prove anything.
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
    raise InputError(f"problem must be one of {', '.join(kind.__name__ for kind in ENGINES)}. Got {problem!r}.")


def separation(gamma: ArrayLike, limit: Limit[Problem]) -> Separation:
    """The search over all cases of a noise function that is held to ``limit``."""
    return engine(limit.problem).separation(gamma, limit)


def worst_cases(gamma: Array, limit: Limit[Problem]) -> tuple[WorstCase, ...]:
    """`Separation.worst_cases` of a noise function at the epsilon of its limit; the last answers are kept."""
    return _worst_cases(gamma.tobytes(), gamma.shape, limit)


@lru_cache(maxsize=64)
def _worst_cases(content: bytes, shape: tuple[int, ...], limit: Limit[Problem]) -> tuple[WorstCase, ...]:
    gamma = np.frombuffer(content).reshape(shape)
    return tuple(separation(gamma, limit).worst_cases(limit.epsilon))


forget = _worst_cases.cache_clear  # for timing
