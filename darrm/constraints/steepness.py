"""The check for guarantees too strict for a linear program in float64."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from darrm.errors import InputError
from darrm.problem.limits import Limit, Problem

_STEEPEST = 10**12  # largest coefficient that a solver accepts


def check_steepness(limit: Limit[Problem], gap: float, right: float | Decimal) -> None:
    """Refuse a guarantee under which a release is practically independent of the votes.

    Parameters
    ----------
    gap : float
        The largest |p - p'| of one voter. At that corner it gives gap |X(z+1) - X(z)| <= e^eps' right for every z, so
        the influence of K votes is at most K e^eps' right / gap.
    right : float or Decimal
        1 - e^-eps' + 2 delta e^-eps'.
    """
    if gap > _STEEPEST / 10 * float(right) and Fraction(gap) > _STEEPEST * Fraction(right):
        label = f"({float(limit.epsilon):g}, {limit.delta:g})"
        raise InputError(
            f"A guarantee of {label} for one label leaves less than {1 / _STEEPEST:.0e} of a vote of these voters: "
            "every label would be a fair coin flip, or a random answer. Raise m, release_epsilon or delta."
        )
