"""Guarantees and figures in words, the same wherever they are said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from darrm.numerics.printed import at_least as at_least
from darrm.numerics.printed import exactly as exactly
from darrm.problem import limits
from darrm.problem.limits import adjacency_in_print

if TYPE_CHECKING:
    from darrm.accounting.fresh import Total
    from darrm.problem.decision import DecisionProblem
    from darrm.problem.groups import ByGroups
    from darrm.problem.majority import MajorityProblem

_MOST_NAMES = 12
LARGEST_LOSS = "the most by which one change of the data can move the logarithm of the probability of a label"
NOT_RESTING = f"No guarantee rests on it, {limits.ELSEWHERE}."  # where somebody is asked for it
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


def guarantee(problem: MajorityProblem | DecisionProblem) -> str:
    """(epsilon, delta) of one release in print, rounded up."""
    return f"({at_least(problem.release_epsilon)}, {at_least(problem.delta, 4)})-DP"


def without_privacy(problem: ByGroups) -> bool:
    """Whether no voter is private, in any group: only then does a guarantee rest on the coins of labels alone.

    It is not enough that one change of the data may reach voters without privacy only: it may reach others instead.
    """
    return all(math.isinf(group.epsilon) for group in problem.groups)


def condition(problem: ByGroups, voters: str | None = None, *, absent: bool = False, once: bool = True) -> str:
    """What the guarantee of one label rests on, in print; that of a total for ``voters``, "fresh" or "fixed".

    ``absent``: whether voters may be absent. ``once``: whether each row of votes must be released once.
    """
    each, bare = _each(problem)
    beside = f"{bare}, but are independent of the others given the data" if bare else ""
    private = {
        None: f"the votes are independent given the data, each is {each}{bare},",
        "fresh": f"the new coins of every answer, independent of all others, make it {each} by themselves, whatever "
        f"else the voter keeps{beside},",
        "fixed": f"the voters are independent given the data, each is {each} with all its answers together{bare},",
    }[voters]
    if voters is not None and without_privacy(problem):
        private = "the coins of every label are new, whether or not voters are,"
    reached = "of them" if voters != "fresh" else "voters" if problem.max_affected > 1 else "voter"
    reached = f"at most {problem.max_affected} {reached}{_of_groups(problem)}"
    reaches = f"one change ({adjacency_in_print(problem.adjacency)}) reaches {reached}"
    others = []
    if once and voters == "fresh" and not without_privacy(problem):
        others.append("each row of votes is released once")
    if absent:
        others.append("who is absent depends neither on the data nor on votes or their noise")
    if not others:
        return f"if {private} and {reaches}."
    return f"if {private} {', '.join([reaches, *others[:-1]])}, and {others[-1]}."


def _each(problem: ByGroups) -> tuple[str, str]:
    """How private one voter is; where there are several groups, in which, and in which it need not be private."""
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


def _of_groups(problem: ByGroups) -> str:
    """How many voters of single groups one change reaches, where that says more than their number and the total."""
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


def some(names: Sequence[str]) -> str:
    """Names with commas between; of many the first ones, and how many there are more."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def named_groups(problem: ByGroups) -> str:
    """Which voters are in which group, by their names."""
    groups = enumerate(problem.groups, start=1)
    return "; ".join(f"{some(group.names or ())} in group {g}" for g, group in groups)


def pair(epsilon: float, delta: float) -> str:
    """(epsilon, delta) as they were given."""
    return f"({exactly(epsilon)}, {exactly(delta)})"


def of_neighbours(problem: ByGroups) -> str:
    """What to ask of fixed voters, whose privacy may be for other neighbours than the problem's; else nothing."""
    private = [kind.Delta for kind in problem.affected if not math.isinf(kind.epsilon)]
    return limits.of_neighbours(problem.adjacency, private)


NOT_ADDED = "Do not add it to another total of the same voters: the sum does not bound both."
THESE_ONLY = "It is for one set of voters. Others on the same records come on top, however much alike they are."


def cost(total: Total, problem: ByGroups) -> str:
    """What labels of a problem cost, in a sentence or two."""
    labels = f"{total.queries} label{'s' * (total.queries > 1)}"
    price = f"({at_least(total.upper)}, {exactly(total.delta)})"
    if total.voters == "fresh":
        return (
            f"Fresh voters: {labels} cost {price} together, queries chosen adaptively. Proved; at least "
            f"{total.lower:.6g} for the worst voters that are as private as stated."
        )
    if "one label" in total.bounds:
        return f"Fixed voters: one label costs {price}. The cost of another must not be added to it."
    together = f"Fixed voters: {labels} cost {price} together, queries chosen adaptively. "
    alone = total.bounds.get("the voters themselves")
    if without_privacy(problem):
        return f"{together}The voters are not private, so the coins of the labels pay alone."
    if alone is None:
        private = not any(kind.voters and math.isinf(kind.epsilon) for kind in problem.affected)
        why = (
            "At this delta the voters themselves bound nothing"
            if private
            else "One record can reach voters without privacy"
        )
        return f"{together}{why}, so it grows with every label. {NOT_ADDED}"
    if alone == total.upper:
        return (
            f"Fixed voters: {labels}, or any number of them, cost {price} in all. That is what the voters that one "
            "record reaches cost, with all their answers."
        )
    return (
        f"{together}The coins of the labels bring this below what the voters themselves cost; any number of labels "
        f"costs at most {at_least(alone)}. {NOT_ADDED}"
    )


def number_of(text: object) -> Any:
    """The whole or real number that a text stands for, or the text: the problem says what is wrong with it."""
    if isinstance(text, str):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
