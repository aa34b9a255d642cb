"""Promises and figures in words, the same wherever they are said."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

from darrm.problem.majority import MajorityProblem

LARGEST_LOSS = "the most by which one change of the data can move the logarithm of the probability of a label"
# How totals of many labels are proved, by the names in `darrm.accounting.Total.bounds`.
RULES = {
    "exact composition": "the worst that adaptive queries can do, from all that one label gives away",
    "exact composition of blocks": "the same in blocks of labels, at some percent more",
    "largest loss, all queries": f"for each label its largest loss, {LARGEST_LOSS}",
    "simple composition": "the promises of single labels added up",
    "the voters themselves": "the optimal composition of the voters that one record reaches, for any number of labels",
    "the voters and the coins of the labels": "the privacy of the voters and the coins of the labels together",
    "the votes themselves": "the optimal composition of all votes behind the labels, as if they were published",
    "optimal composition": "of labels as private as one is alone, of which no more is used",
}


def promise(problem: MajorityProblem) -> str:
    """(m epsilon, delta) in print."""
    return f"({problem.total_epsilon:.6g}, {problem.delta:.4g})-DP"


def condition(problem: MajorityProblem) -> str:
    """What the promise rests on, in print."""
    return (
        f"if each vote is ({problem.epsilon:g}, {problem.Delta:g})-DP and one change ({problem.adjacency}) reaches at "
        f"most {problem.changed} of them."
    )


def number(value: float) -> str:
    """A figure for a table; a word where there is none."""
    return "none" if math.isinf(value) else f"{value:.6g}"


def at_least(value: float) -> str:
    """A certified upper bound to six digits, rounded up where it is above them by more than rounding."""
    if math.isinf(value) or not value:
        return number(value)
    exact = Decimal(value) * (1 - Decimal("1e-12"))
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - 5), rounding=ROUND_CEILING).normalize():f}"
