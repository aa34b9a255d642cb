"""Guarantees and figures in words, the same wherever they are said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from darrm.numerics.printed import at_least as at_least
from darrm.numerics.printed import counted
from darrm.numerics.printed import exactly as exactly
from darrm.problem import limits
from darrm.problem.groups import AT_COLLUDERS, assumption, called, without_privacy
from darrm.problem.limits import adjacency_in_print

if TYPE_CHECKING:
    from darrm.accounting.fresh import Total
    from darrm.design.design import Design
    from darrm.problem.decision import DecisionProblem
    from darrm.problem.groups import ByGroups
    from darrm.problem.majority import MajorityProblem

_MOST_NAMES = 12
PURE_EPSILON = "the largest change, between neighbouring data sets, of the logarithm of the probability of a label"
NOT_RESTING = f"No guarantee rests on it, {limits.ELSEWHERE}."  # where somebody is asked for it
AT_A_TIE = " A tie releases a fair coin."  # which an even number of votes alone has
# Why gamma may fall where the vote is clearer; between the two stands how to ask for the shape monotone.
NOT_RISING = (
    "The optimal gamma need not increase with the majority. It adds noise where the worst pair of neighbouring data "
    "sets has the largest privacy loss, which need not be at the closest vote. With ",
    " a larger majority never has more noise, usually with little more error.",
)
PURE = "pure-DP epsilon times labels"
# How totals of many labels are certified, by the names in `darrm.accounting.Total.bounds`: the name in print, and how.
RULES = {
    "exact composition": (
        "exact composition",
        "the worst case over adaptive queries, from all output distributions of a label",
    ),
    "exact composition of blocks": (
        "exact composition of blocks",
        "the same for blocks of labels, some percent larger",
    ),
    "largest loss, all queries": (PURE, f"pure-DP epsilon is {PURE_EPSILON}"),
    "one label": ("the label alone", "the certified epsilon of one label"),
    "simple composition": ("simple composition", "the sum of the single-label guarantees"),
    "the voters themselves": (
        "the voters themselves",
        "the optimal composition of the affected voters, for any number of labels",
    ),
    "the voters and the coins of the labels": (
        "voters and output noise",
        "the privacy of the affected voters and the output noise together",
    ),
    "the votes themselves": (
        "the votes themselves",
        "the optimal composition of all votes behind the labels, as if the votes were published",
    ),
    "own profile, any accountant": (
        "PLD composition",
        "the privacy profile of one label (worst votes at each epsilon), composed as a privacy loss distribution",
    ),
    "Renyi DP": ("Renyi DP", "the Renyi divergence of the noisy counts"),
    "Gaussian DP": ("Gaussian DP", "the Gaussian DP of the noisy counts"),
    "ladder of Gaussian profiles": (
        "ladder of Gaussian profiles",
        f"the labels themselves, for {limits.ANY_NUMBER} (docs/composition.md)",
    ),
    "optimal composition": (
        "optimal composition of the single-label guarantee",
        "the optimal composition of the single-label guarantee alone",
    ),
}


def rule(name: str) -> str:
    """The printed name of a bound in `darrm.accounting.Total.bounds`."""
    return RULES[name][0]


def guarantee(problem: MajorityProblem | DecisionProblem) -> str:
    """(epsilon, delta) of one release in print, rounded up; of every kind of change, if each has its own."""
    return limits.by_kind(
        problem, lambda kind: f"({at_least(limits.epsilon_in_print(kind))}, {at_least(kind.delta, 4)})-DP"
    )


def condition(problem: ByGroups, voters: str | None = None, *, absent: bool = False, once: bool = True) -> str:
    """The condition of the guarantee of one label, in print; that of a total for ``voters``, "fresh" or "fixed".

    ``absent``: whether voters may be absent. ``once``: whether each row of votes must be released once.
    """
    each, bare = _each(problem)
    beside = f"{bare}, but are independent of the others given the data" if bare else ""
    private = {
        None: f"the votes are independent given the data,{f' each is {each}{bare},' if each else ''}",
        "fresh": "the fresh randomness of every answer, independent of all other randomness, alone makes the answer "
        f"{each}, whatever else the voter keeps{beside},",
        "fixed": f"the voters are independent given the data, each is {each} over all its answers together{bare},",
    }[voters]
    known = assumption(problem)
    if known:
        if all(group.randomizer is not None for group in problem.groups):
            private, once = f"{known},", False
        else:
            private = f"{known}, {private}"
    if without_privacy(problem.groups):  # then votes may depend on each other: no vote is trusted with anything
        private = f"the output noise of every label is fresh{', whether voters are fresh or fixed,' * bool(voters)}"
    affected = f"at most {counted(problem.max_affected, 'voter')}{_of_groups(problem)}"
    if len(problem.kinds) == len(problem.groups) > 1 and problem.max_affected > 1:
        affected += ", all of one group"
    affects = f"a change to a neighbouring data set ({adjacency_in_print(problem.adjacency)}) affects {affected}"
    others = []
    if voters == "fresh" and not without_privacy(problem.groups):
        others += ["no voter learns the votes of others"] * (private != f"{known},")
        others += ["each row of votes is released once"] * once
    if voters is not None and not known:
        others.append("no vote decides what to ask, draw again or release")
    if absent:
        others.append("who is absent depends neither on the data nor on votes or their noise")
    colluders = AT_COLLUDERS * any(group.colluders for group in problem.groups)
    if not others:
        return f"if {private} and {affects}.{colluders}"
    return f"if {private} {', '.join([affects, *others[:-1]])}, and {others[-1]}.{colluders}"


def joined(conditions: Iterable[str]) -> str:
    """Several of `condition`, all of which must hold, as one sentence; "" if there are none."""
    each = list(dict.fromkeys(conditions))
    clauses = "; and ".join(one.removesuffix(AT_COLLUDERS).removesuffix(".") for one in each)
    return f"{clauses}.{AT_COLLUDERS * any(one.endswith(AT_COLLUDERS) for one in each)}" if each else ""


def of_check(mechanism: object) -> str:
    """The check before each label of noisy max, if there is one; it goes on after the noise of the counts."""
    sigma = getattr(mechanism, "sigma_check", None)
    if sigma is None:
        return ""
    threshold: float = getattr(mechanism, "threshold", 0.0)
    return f'; "none" where the largest count with noise of sigma {exactly(sigma)} is below {threshold:.6g}'


def of_noisy_max(votes: ByGroups | None, what: str = "This", *, affected: int = 1) -> str:
    """The condition of ``what``, a total of noisy max, for these votes or for any of which so many are affected."""
    affected = affected if votes is None else votes.max_affected
    changes = "one vote" if affected == 1 else f"at most {affected} votes"
    votes_alone, silent = limits.ANY_NUMBER, f", {limits.ADDED}"
    if votes is not None:
        votes_alone, silent = f"{votes.K} votes for {votes.n_classes} classes", ""
    return (
        f"{what} holds for {votes_alone}, if a change of one record changes {changes}{silent}, every label has new "
        "noise, and no vote decides what to ask, draw again or release."
    )


def _each(problem: ByGroups) -> tuple[str, str]:
    """How private one voter is; where there are several groups, in which, and in which it need not be private.

    Empty if no voter is private.
    """
    groups = [
        (f"group {g} ({counted(group.count, 'voter')})", group) for g, group in enumerate(problem.groups, start=1)
    ]
    private = [(name, group) for name, group in groups if not math.isinf(group.epsilon)]
    if not private:
        return "", ""
    if len(groups) == 1:
        return f"{pair(groups[0][1].epsilon, groups[0][1].delta)}-DP", ""
    others = [name for name, group in groups if math.isinf(group.epsilon)]
    each = listed(f"{pair(group.epsilon, group.delta)}-DP in {name}" for name, group in private)
    return each, f"; voters of {listed(others)} need not be private" if others else ""


def _of_groups(problem: ByGroups) -> str:
    """How many voters of single groups are affected, where that says more than their number and the total."""
    fewer = [
        f"{group.max_affected} of group {g}"
        for g, group in enumerate(problem.groups, start=1)
        if group.max_affected < min(group.count, problem.max_affected)
    ]
    return f", of these at most {listed(fewer)}" if fewer else ""


def such_voters(problem: ByGroups) -> str:
    """The voters for all of which a guarantee of the problem holds."""
    return "non-private voters" if without_privacy(problem.groups) else "voters that are as private as stated"


def tight(epsilon: float) -> str:
    """A certified epsilon in a table; what is below a billionth is rounded up to it, because it is rounding."""
    return at_least(max(epsilon, 1e-9) if epsilon else 0.0)


def of_bits(design: Design) -> str:
    """For a table of few bits how few, and where its cost is; nothing for others. Not of several answers."""
    from darrm.design.design import MOST_BITS

    if not design.problem.binary or design.bits > MOST_BITS or math.isinf(design.gap):
        return ""
    if not design.bits:
        return " No noise is added: all probabilities are 0 or 1."
    return f" All probabilities are multiples of 2^-{design.bits}; the distance from the optimum counts what that cost."


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


def budgets(status: Mapping[str, Any], problems: Sequence[ByGroups]) -> str:
    """The budget of a ledger in print (from its status): (epsilon, delta)-DP, for each kind of change if several."""
    epsilons, deltas = status["total_epsilon"], status["total_delta"]
    if not isinstance(epsilons, list):
        return f"{pair(epsilons, deltas)}-DP"
    kinds = zip(problems[0].kinds, epsilons, deltas, strict=True)
    return listed(f"{pair(epsilon, delta)}-DP for a change in {kind}" for kind, epsilon, delta in kinds)


def voters_of(status: Mapping[str, Any], problems: Sequence[ByGroups]) -> str:
    """What the voters of a ledger are called in print: "fresh", "fixed", or those of noisy max "non-private"."""
    known = problems or status["rule"] == "exact"  # without a design that rule is for noisy max
    return "non-private" if known and all(without_privacy(one.groups) for one in problems) else status["voters"]


def of_neighbours(problem: ByGroups) -> str:
    """What to ask of fixed voters, whose privacy may be for other neighbours than the problem's; else nothing."""
    private = [kind.Delta for kind in problem.affected if not math.isinf(kind.epsilon)]
    return limits.of_neighbours(problem.adjacency, private)


NOT_ADDED = "Do not add this total to another total of the same voters: the sum is not a bound for both."
THESE_ONLY = (
    "This total is for one set of voters. Add the total of other voters on the same records, however similar they are."
)


def labels_are(number: int) -> str:
    """The beginning of a guarantee of so many labels: "one label is", "2 labels together are"."""
    return "one label is" if number == 1 else f"{number} labels together are"


def cost(total: Total, problem: ByGroups) -> str:
    """The total of labels of a problem, in a sentence or two."""
    labels = labels_are(total.queries)
    price = f"({at_least(total.upper)}, {exactly(total.delta)})"
    if total.voters == "fresh":
        kind = called(problem, "fresh").capitalize()
        return (
            f"{kind} voters: {labels} {price}-DP, also for adaptively chosen queries (certified). For "
            f"some {such_voters(problem)}, epsilon is at least {total.lower:.6g}."
        )
    if "one label" in total.bounds:
        return (
            f"Fixed voters: one label is {price}-DP. Do not add another label to it: the sum is not a bound for both."
        )
    together = f"Fixed voters: {labels} {price}-DP, also for adaptively chosen queries. "
    alone = total.bounds.get("the voters themselves")
    if without_privacy(problem.groups):
        return f"{together}The voters are non-private, so only the output noise protects their records."
    if alone is None:
        private = not any(kind.voters and math.isinf(kind.epsilon) for kind in problem.affected)
        why = (
            "At this delta the voters themselves have no finite epsilon"
            if private
            else "Affected voters may be non-private"
        )
        return f"{together}{why}, so this bound grows with every label. {NOT_ADDED}"
    if alone == total.upper:
        return (
            f"Fixed voters: {counted(total.queries, 'label')}, or any number of them, are together {price}-DP. That is "
            "the composition of the affected voters, each with all its answers."
        )
    return (
        f"{together}The output noise brings this below the cost of the voters themselves; any number of labels has "
        f"epsilon at most {at_least(alone)}. {NOT_ADDED}"
    )


def number_of(text: object) -> Any:
    """The integer or real number that a text stands for, or the text: the problem says what is wrong with it."""
    if isinstance(text, str):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
