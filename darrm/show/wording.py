"""Guarantees and figures in words, the same wherever they are said."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

from darrm.numerics.exact import decimals
from darrm.problem.decision import DecisionProblem

if TYPE_CHECKING:
    from darrm.accounting.fresh import Total
    from darrm.objectives import Objective
    from darrm.problem.majority import MajorityProblem

    Problem = MajorityProblem | DecisionProblem

LARGEST_LOSS = "the most by which one change of the data can move the logarithm of the probability of a label"
# Why gamma may fall where the vote is clearer; between the two stands how to ask for the shape monotone.
NOT_RISING = (
    "The best gamma need not rise with the majority. It puts noise where the worst pair of neighbouring data sets "
    "would give most away, and that need not be at the closest vote. With ",
    " noise never grows with the majority, usually at little more error.",
)
# How totals of many labels are proved, by the names in `darrm.accounting.Total.bounds`.
RULES = {
    "exact composition": "the worst that adaptive queries can do, from all that one label gives away",
    "exact composition of blocks": "the same in blocks of labels, at some percent more",
    "largest loss, all queries": f"for each label its largest loss, {LARGEST_LOSS}",
    "simple composition": "the guarantees of single labels added up",
    "the voters themselves": "the optimal composition of the voters that one record reaches, for any number of labels",
    "the voters and the coins of the labels": "the privacy of the voters and the coins of the labels together",
    "the votes themselves": "the optimal composition of all votes behind the labels, as if they were published",
    "own profile, any accountant": "the largest profile of all votes, composed as that of one pair",
    "Renyi DP": "the Renyi divergence of the noisy counts",
    "optimal composition": "of labels as private as one is alone, of which no more is used",
}


def guarantee(problem: Problem) -> str:
    """(epsilon, delta) of one release in print, rounded up."""
    return f"({at_least(problem.total_epsilon)}, {at_least(problem.delta, 4)})-DP"


def without_privacy(problem: Problem) -> bool:
    """Whether no voter is private, in any group: only then does a guarantee rest on the coins of labels alone.

    It is not enough that one change of the data may reach voters without privacy only: it may reach others instead.
    """
    return isinstance(problem, DecisionProblem) and all(math.isinf(group.epsilon) for group in problem.groups)


def condition(problem: Problem, voters: str | None = None, *, absent: bool = False) -> str:
    """What the guarantee of one label rests on, in print; that of a total for ``voters``, "fresh" or "fixed".

    ``absent``: whether voters may be absent.
    """
    each, others = _each(problem)
    private = {
        None: f"the votes are independent given the data, each is {each}{others},",
        "fresh": f"the new coins of every answer, independent of all others, make it {each} by themselves, whatever "
        f"else the voter keeps{others},",
        "fixed": f"the voters are independent given the data, each is {each} with all its answers together{others},",
    }[voters]
    if voters is not None and without_privacy(problem):
        private = "the coins of every label are new, whether or not voters are,"
    reached = "of them" if voters != "fresh" else "voters" if problem.max_affected > 1 else "voter"
    reaches = (
        f"one change ({_adjacency(problem)}) reaches at most {problem.max_affected} {reached}{_of_groups(problem)}"
    )
    if absent:
        return f"if {private} {reaches}, and who is absent depends neither on the data nor on votes or their noise."
    return f"if {private} and {reaches}."


def _each(problem: Problem) -> tuple[str, str]:
    """How private one voter is; where there are several groups, in which, and in which it need not be private."""
    if not isinstance(problem, DecisionProblem):
        return f"{pair(problem.epsilon, problem.Delta)}-DP", ""
    groups = [
        (f"group {g} ({group.count} voter{'s' * (group.count > 1)})", group)
        for g, group in enumerate(problem.groups, start=1)
    ]
    private = [(name, group) for name, group in groups if not math.isinf(group.epsilon)]
    if not private:
        return "private or not", ""
    if len(groups) == 1:
        return f"{pair(groups[0][1].epsilon, groups[0][1].delta)}-DP", ""
    others = [name for name, group in groups if math.isinf(group.epsilon)]
    each = listed(f"{pair(group.epsilon, group.delta)}-DP in {name}" for name, group in private)
    return each, f"; voters of {listed(others)} need not be private" if others else ""


def _adjacency(problem: Problem) -> str:
    """What neighbours are: a name as it is, any other text in quotes, so that it cannot pass for a part of ours."""
    return problem.adjacency if re.fullmatch(r"[\w-]+", problem.adjacency) else repr(problem.adjacency)


def _of_groups(problem: Problem) -> str:
    """How many voters of single groups one change reaches, where that says more than their number and the total."""
    if not isinstance(problem, DecisionProblem):
        return ""
    fewer = [
        f"{group.max_affected} of group {g}"
        for g, group in enumerate(problem.groups, start=1)
        if group.max_affected < min(group.count, problem.max_affected)
    ]
    return f", of these at most {listed(fewer)}" if fewer else ""


def listed(parts: Iterable[str]) -> str:
    """a, b and c."""
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last


def pair(epsilon: float, delta: float) -> str:
    """(epsilon, delta) as they were given."""
    return f"({exactly(epsilon)}, {exactly(delta)})"


def exactly(value: float) -> str:
    """A number that was given, in full: six digits if that is all of it."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def at_least(value: float, digits: int = 6) -> str:
    """A certified upper bound to so many digits, rounded up where it is above them by more than rounding.

    "infinite": there is no finite one.
    """
    if math.isinf(value) or not value:
        return "infinite" if value else "0"
    with decimals(Decimal(1)):
        exact = Decimal(value) * (1 - Decimal("1e-12"))
        rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING).normalize()
    return f"{rounded:f}" if rounded.adjusted() >= -5 else f"{rounded:e}".replace("E", "e")


def cost(total: Total) -> str:
    """What labels cost, in a sentence or two."""
    labels = f"{total.queries} label{'s' * (total.queries > 1)}"
    price = f"({at_least(total.upper)}, {exactly(total.delta)})"
    if total.voters == "fixed" and "one label" in total.bounds:
        return f"Fixed voters: one label costs {price}. The cost of another must not be added to it."
    if total.voters == "fixed":
        alone = total.bounds.get("the voters themselves")
        if alone == total.upper:
            return (
                f"Fixed voters: {labels}, or any number of them, cost {price} in all. That is what the voters that one "
                "record reaches cost, with all their answers."
            )
        any_number = (
            f"any number of labels costs at most {at_least(alone)}"
            if alone is not None
            else "it grows with every label"
        )
        return (
            f"Fixed voters: {labels} cost {price} together, queries chosen adaptively. The coins of the labels bring "
            f"this below what the voters themselves cost; {any_number}."
        )
    return (
        f"Fresh voters: {labels} cost {price} together, queries chosen adaptively. Proved; at least {total.lower:.6g} "
        "for the worst voters that are as private as stated."
    )


def counted(objective: Objective) -> str:
    """What an expected cost counts."""
    from darrm.objectives import Rule, Truth

    if isinstance(objective, Rule) and objective.none is not None:
        return f"how often the answer is another class than that of the rule {objective}, and the costs of none"
    if isinstance(objective, Rule):
        return f"how often the answer is not that of the rule {objective}"
    if not isinstance(objective, Truth):
        return f"by {objective}"
    return "how often the answer is wrong" if objective.plain else "with the costs given"


def number_of(text: object) -> Any:
    """The whole or real number that a text stands for, or the text: the problem says what is wrong with it."""
    if isinstance(text, str):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
