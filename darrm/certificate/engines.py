"""The separation engine of each type of problem, and the calls by which other modules get worst cases."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm.certificate import classes, finer, groups, truths
from darrm.certificate.protocol import Separation, WorstCase
from darrm.certificate.separation import CornerSeparation, check_arithmetic, check_size
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem import encodings
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit, Problem
from darrm.problem.majority import MajorityProblem


class _Kept(threading.local):
    """The searches kept for one thread; a search caches its last result, so threads must not share one."""

    search: Separation | None = None
    key: tuple[bytes, tuple[int, ...], Limit[Any]] | None = None


_kept = _Kept()


class Engine(NamedTuple):
    """The functions that separate the releases of one type of problem.

    A problem is a hashable object with the members of `darrm.problem.limits.Problem`. To serve a new type, put its
    engine, or a function from a problem to one, into `ENGINES` and its rows into `darrm.constraints.engines.ROWS`;
    tests/oracles/two_voters.py is an example.
    Neighbours are symmetric: with (D, D') the pair (D', D) is allowed.

    Attributes
    ----------
    check_size : callable
        Takes a problem; raises `InputError` if it is too large for the engine, `CertificateError` if the arithmetic of
        this process certifies nothing.
    separation : callable
        Takes a release and a `Limit`; returns a `Separation`. Raises `InputError` if the release is invalid.
    kept_up_to : int
        The largest number of table entries for which a search is kept; 1024 of a majority hold some 120 MB.
    """

    check_size: Callable[[Any], None]
    separation: Callable[[ArrayLike, Limit[Any]], Separation]
    kept_up_to: int = 256


_TWO = Engine(groups.check_size, finer.by(groups.GroupSeparation))
_SEVERAL = Engine(classes.check_size, finer.by(classes.ClassSeparation))
_KNOWN = Engine(truths.check_size, finer.by(truths.TruthSeparation))


def _of_decisions(problem: DecisionProblem) -> Engine:
    if problem.known:
        return _KNOWN
    return _TWO if problem.binary else _SEVERAL


ENGINES: dict[type, Engine | Callable[[Any], Engine]] = {
    MajorityProblem: Engine(check_size, CornerSeparation, kept_up_to=1024),
    DecisionProblem: _of_decisions,
}


def engine(problem: Problem) -> Engine:
    """The engine for the type of a problem; `InputError` for any other type."""
    for kind in type(problem).__mro__:
        if kind in ENGINES:
            found = ENGINES[kind]
            return found if isinstance(found, Engine) else found(problem)
    raise InputError(f"problem must be one of {', '.join(kind.__name__ for kind in ENGINES)}. Got {problem!r}.")


def separation(release: ArrayLike, limit: Limit[Problem]) -> Separation:
    """The search over all cases of a release that must keep ``limit``."""
    return search(encodings.table(release, limit.problem), limit)


def search(table: Array, limit: Limit[Problem]) -> Separation:
    """`separation` of the table of a release; each thread keeps its last one, unless the table is large."""
    check_arithmetic()
    if table.size > engine(limit.problem).kept_up_to:
        return engine(limit.problem).separation(table, limit)
    key = table.tobytes(), table.shape, limit
    if _kept.search is None or _kept.key != key:
        _kept.search, _kept.key = engine(limit.problem).separation(np.frombuffer(key[0]).reshape(key[1]), limit), key
    return _kept.search


def worst_cases(table: Array, limit: Limit[Problem]) -> tuple[WorstCase, ...]:
    """`Separation.worst_cases` of a release at the epsilon of its limit; the last results are kept."""
    return _worst_cases(table.tobytes(), table.shape, limit)


@lru_cache(maxsize=64)
def _worst_cases(content: bytes, shape: tuple[int, ...], limit: Limit[Problem]) -> tuple[WorstCase, ...]:
    return tuple(search(np.frombuffer(content).reshape(shape), limit).worst_cases(limit.epsilon))


def forget() -> None:
    """Clear all kept results, for timing."""
    _kept.search = None
    _worst_cases.cache_clear()
