"""What is made of a solver's answer: is it an optimum, and how far is it from the best?"""

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

# Weights below this share of the largest are raised to it, so that no entry of a table is left to chance and ties fall
# to the larger one; where many are, to so much less that it costs no more than this in all. The cost is part of the
# gap, which is computed with the true weights.
WEIGHT_FLOOR = 1e-9
_LATER = 0.1  # seconds: loops look at the time first, so that it is known whose ended
_EXACT = Decimal("1e-40")  # relative, of some million operations with 60 digits


@contextmanager
def searching(until: float, engine: str = "cutting-planes") -> Iterator[float]:
    """A search that ends at a moment of `time.monotonic`, or sooner if one around it does; gives HiGHS its seconds.

    Raises
    ------
    SolverError
    OutOfTime
        If the time of a search around this one is over.
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
    """`SolverError` unless the solver found an optimum, or ended before and the best there is will do."""
    gave_up = solution.status is Status.NUMERICAL and engine == "cutting-planes"  # others call wrong programs so too
    if on_time_limit == "best" and (gave_up or solution.status is Status.TIME_LIMIT):
        return
    if solution.status is not Status.OPTIMAL:
        best = gave_up or (solution.status is Status.TIME_LIMIT and engine == "cutting-planes")
        raise SolverError(
            f"{engine} ended without an optimum ({solution.message}, {solution.iterations} iterations): "
            f"{solution.status.value}. No gamma is returned."
            + ' Pass on_time_limit="best" for the best table so far, certified, with its gap.'
            * best
        )
    if not np.all((solution.x >= 0) & (solution.x <= 1)):
        raise SolverError(f"{engine} returned an optimum outside [0, 1]. No gamma is returned; try another engine.")


def raised(weights: Array, floor: float = WEIGHT_FLOOR) -> Array:
    """The weights as shares of the largest, none too small for the solver to see."""
    share = weights / weights.max()
    low = int(np.count_nonzero(share < floor))
    most = low * float(weights.max())  # infinite for costs near the end of float64: then nothing is raised
    return np.asarray(np.maximum(share, floor / max(1.0, most)))


def upper_bound(
    rounding: float, weights: Array, program: LinearProgram, multipliers: Array, *, exact: int = 0
) -> float:
    """Upper bound on weights @ half over all that satisfy the guarantee, by weak duality with the true weights.

    ``rounding`` is how far a row of the program can be from the constraint that it stands for; the first ``exact`` rows
    are what they stand for.
    """
    n = weights.size
    bound = LinearProgram(weights / weights.max(), program.rows, program.limits).dual_bound(multipliers)
    # The rows stand for exact ones, and the bound is a sum: every multiplier pays for the rounding in its row.
    paid = multipliers[multipliers > 0]
    sums = 2.0**-52 * (paid.size + n)
    widest = float(np.abs(program.rows[multipliers > 0]).sum(axis=1).max(initial=0.0))
    rounded = multipliers[exact:]
    bound += float(rounded[rounded > 0].sum()) * rounding + float(paid.sum()) * (1e-16 + sums * widest)
    return (bound + sums * (1 + bound)) * float(weights.max())


def exact_upper_bound(weights: Array, rows: NDArray[Any], limits: NDArray[Any], multipliers: Array) -> float:
    """Upper bound on weights @ x over rows @ x <= limits and 0 <= x <= 1, by weak duality in decimals.

    ``rows`` and ``limits`` are exact, in decimals, so no rounding of theirs is paid for. ``multipliers`` are of the
    program that maximises weights / weights.max(), and any will do. To be called with at least 60 digits.
    """
    y = in_decimals(np.maximum(multipliers, 0.0)) * Decimal(float(weights.max()))
    terms = np.concatenate([limits * y, (in_decimals(weights) - y @ rows).clip(min=Decimal(0))])
    return rounded_up(terms.sum() + _EXACT * (np.abs(terms).sum() + (y @ np.abs(rows)).sum()))
