"""Checks of a solver's answer: whether it is an optimum, and a bound on its distance from the optimum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import SolverError
from darrm.numerics.arrays import Array, in_decimals
from darrm.numerics.deadline import OutOfTime, check_time, ends_at, time_left
from darrm.numerics.exact import rounded_up
from darrm_solvers import LinearProgram, Solution, Status

# Weights below this share of the largest are raised to it, so that no entry of a table is arbitrary and ties fall to
# the larger one. Where there are many, they are raised to less, so that the total cost is at most this share. The cost
# is part of the gap, which is computed with the true weights.
WEIGHT_FLOOR = 1e-9
_LATER = 0.1  # seconds; loops check the time first, so that it is known which limit ended
_EXACT = Decimal("1e-40")  # relative, of some million operations with 60 digits


@contextmanager
def searching(until: float, engine: str = "cutting-planes") -> Iterator[float]:
    """A search that ends at a moment of `time.monotonic`, or with an enclosing search; yields the seconds for HiGHS.

    Raises
    ------
    SolverError
    OutOfTime
        If the time of an enclosing search is over.
    """
    try:
        with ends_at(until):
            yield time_left() + _LATER
    except OutOfTime:
        check_time()
        raise SolverError(
            f"{engine} ended without an optimum: the time limit was reached before any table was found. "
            "Pass a longer one, fewer voters, or a lower max_affected."
        ) from None
    check_time()


def check_optimal(solution: Solution, engine: str, on_time_limit: str) -> None:
    """`SolverError` unless the solver found an optimum, or ended early where the best table so far is accepted."""
    gave_up = solution.status is Status.NUMERICAL and engine == "cutting-planes"  # elsewhere also wrong programs
    if on_time_limit == "best" and (gave_up or solution.status is Status.TIME_LIMIT):
        return
    if solution.status is not Status.OPTIMAL:
        best = gave_up or (solution.status is Status.TIME_LIMIT and engine == "cutting-planes")
        raise SolverError(
            f"{engine} ended without an optimum ({solution.message}, {solution.iterations} iterations): "
            f"{solution.status.value}. No gamma is returned."
            + ' Pass on_time_limit="best" (--on-time-limit best) for the best table so far, certified, with its gap.'
            * best
        )
    if not (solution.x.min() >= 0 and solution.x.max() <= 1):
        raise SolverError(f"{engine} returned an optimum outside [0, 1]. No gamma is returned; try another engine.")


def raised(weights: Array, floor: float = WEIGHT_FLOOR) -> Array:
    """The weights as shares of the largest, small ones raised to the resolution of the solver."""
    share = weights / weights.max()
    low = int(np.count_nonzero(share < floor))
    if not low:
        return np.asarray(share)
    most = low * float(weights.max())  # infinite for costs near the end of float64: then nothing is raised
    return np.asarray(np.maximum(share, floor / max(1.0, most)))


def upper_bound(
    rounding: float, weights: Array, program: LinearProgram, multipliers: Array, *, exact: int = 0
) -> float:
    """Upper bound on weights @ half over all that satisfy the guarantee, by weak duality with the true weights.

    ``rounding`` bounds the distance of a row of the program from its exact constraint; the first ``exact`` rows have
    none.
    """
    most = float(weights.max())
    bound = program.dual_bound(multipliers, weights / most)
    # Rows are rounded, and the bound is a sum: each multiplier adds the rounding of its row.
    binds = (multipliers > 0).nonzero()[0]
    paid = multipliers[binds]
    sums = 2.0**-52 * (paid.size + weights.size)
    widest = float(abs(program.rows[binds]).sum(axis=1).max(initial=0.0))
    rounded = multipliers[exact:]
    bound += float(rounded[rounded > 0].sum()) * rounding + float(paid.sum()) * (1e-16 + sums * widest)
    return (bound + sums * (1 + bound)) * most


def exact_upper_bound(weights: Array, rows: NDArray[Any], limits: NDArray[Any], multipliers: Array) -> float:
    """Upper bound on weights @ x over rows @ x <= limits and 0 <= x <= 1, by weak duality in decimals.

    ``rows`` and ``limits`` are exact, in decimals, so no rounding is added for them. ``multipliers`` belong to the
    program that maximises weights / weights.max(); all values give a valid bound. The context needs at least 60
    digits.
    """
    y = in_decimals(np.maximum(multipliers, 0.0)) * Decimal(float(weights.max()))
    terms = np.concatenate([limits * y, (in_decimals(weights) - y @ rows).clip(min=Decimal(0))])
    return rounded_up(terms.sum() + _EXACT * (np.abs(terms).sum() + (y @ np.abs(rows)).sum()))
