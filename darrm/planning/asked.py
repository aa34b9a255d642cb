"""Checks of the arguments of a plan: the voters, their accuracy, and the allowed epsilon of a vote."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from darrm import objectives
from darrm._validation import MAX_EPSILON, check_count, real, refusal, shown, truth, whole
from darrm.accounting.fixed import check_fresh
from darrm.accounting.search import FALLBACK, Budget, checked_budget
from darrm.errors import BudgetError, InputError
from darrm.numerics.deadline import check_time
from darrm.numerics.printed import counted
from darrm.objectives import Objective
from darrm.planning.setting import Setting, randomized
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import OF_ANY_OTHERS, VoterGroup
from darrm.problem.limits import adjacency_text
from darrm.problem.randomizers import RESPONSE

AUTO = "auto"
_MANTISSAS = (1.0, 2.0, 5.0)
_MOST_STEPS = 6  # points of the curve, the plan itself not counted
_NOTHING = 1e-9  # share of the upper end; votes of a smaller epsilon are almost pure noise
_SURE = 40.0  # nats; above it randomized response changes practically no answer


def reached_of(max_affected: object, most: int) -> int:
    """The largest number of affected voters, which must be given: a default could be wrong."""
    if max_affected is None and most == 1:
        return 1
    if max_affected is None:
        raise InputError(
            "max_affected must be given for a total: how many voters can one record affect? Got none. Pass 1 "
            f"(--max-affected 1) if at most one, {most} if all."
        )
    return whole(
        "max_affected", max_affected, 1, most, allowed=f"in [1, {most}], the number that the groups allow together"
    )


def setting_of(
    groups: Sequence[VoterGroup],
    max_affected: object,
    base_accuracy: float | Sequence[float] | None,
    accuracy: float | Sequence[object] | None,
    prior: ArrayLike | None,
    cost: ArrayLike | None,
    objective: Objective | None,
    ordered: bool,
    classes: int | Iterable[str],
    adjacency: str,
    voters: str,
    none: float | None = None,
    *,
    may_be_none: bool = False,
) -> Setting:
    """The checked setting of a plan. ``none`` is the cost of the further answer that labels may be."""
    truth("ordered", ordered)
    groups = tuple(groups)
    reached = reached_of(max_affected, sum(group.max_affected for group in groups))
    named = DecisionProblem(groups, 1.0, 0.5, classes, reached, adjacency_text(adjacency), may_be_none)
    if voters == "fixed":
        check_fresh(named)  # before what fixed voters may not have: to mend this may be to make them fresh
    if base_accuracy is not None and voters == "fixed":
        raise InputError(
            "base_accuracy is for fresh voters, who randomize every answer. Got fixed voters, which were trained with "
            "DP once: pass accuracy, the probability that a vote is right, e.g. accuracy=0.8 (--accuracy 0.8)."
        )
    if base_accuracy is not None and any(group.randomizer not in (None, RESPONSE) for group in groups):
        raise InputError(
            "base_accuracy is for votes by randomized response. Got a randomizer that is a table. Pass accuracy, the "
            "probability that a vote as cast is right, e.g. accuracy=0.8 (--accuracy 0.8)."
        )
    if sum(way is not None for way in (base_accuracy, accuracy, objective)) != 1:
        ways = {"base_accuracy": base_accuracy, "accuracy": accuracy, "objective": objective}
        given = [name for name, way in ways.items() if way is not None]
        raise InputError(
            "The accuracy of the voters must be one of base_accuracy, accuracy and objective. Got "
            f"{' and '.join(given) or 'none'}. Pass e.g. "
            "base_accuracy=0.85 (--base-accuracy 0.85) for votes that pass through randomized response. For votes as "
            "they are cast, such as those of fixed voters, pass accuracy=0.85 (--accuracy 0.85). If nothing is known "
            'of the truth, pass prior="uniform" alone (--prior uniform).'
        )
    base = None
    if base_accuracy is not None:
        base = tuple(real("base_accuracy", b, 0, 1) for b in _of_groups("base_accuracy", base_accuracy, len(groups)))
        accuracy = list(randomized(base, tuple(group.epsilon for group in groups), named.n_classes))
    if objective is None:
        objective = objectives.truth(_of_groups("accuracy", accuracy, len(groups), " or table"), prior, cost, none)
    elif prior is not None or cost is not None or none is not None:
        raise InputError("prior, cost and the cost of none are part of the objective. Leave them out (none=True).")
    elif not isinstance(objective, Objective):
        raise refusal("objective", "an object of darrm.objectives", objective)
    objective.of(named).symmetric(named)  # raises if the objective does not fit
    shape = "ordered" if ordered else "free"
    return Setting(groups, reached, adjacency, named.classes, objective, base, shape, none=may_be_none)


def _of_groups(name: str, given: object, count: int, or_table: str = "") -> list[Any]:
    """One number for each group; a single number counts for all groups."""
    several = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0)
    each = list(given) if several else [given] * count  # type: ignore[call-overload]
    if len(each) != count:
        raise refusal(name, f"one number, or one number{or_table} for each of {counted(count, 'group')}", given)
    return each


def groups_of(
    groups: Iterable[VoterGroup | Sequence[Any]] | None,
    K: int | None,
    epsilon: float | str | None,
    Delta: float,
) -> tuple[list[VoterGroup], tuple[int, ...]]:
    """The voters, and the groups whose epsilon is "auto"."""
    hint = 'Pass e.g. [darrm.VoterGroup(25, epsilon=0.5)], [(25, "auto")], or K=25, epsilon=0.5.'
    if (groups is None) == (K is None):
        raise InputError(f"Describe the voters either by groups or by K and epsilon. {hint}")
    if groups is None:
        groups = [(check_count("K", K), epsilon, Delta)]
    elif epsilon is not None or Delta != 0:
        raise InputError(f"epsilon and Delta go with K; groups have their own. {hint}")
    made, free = [], []
    try:
        listed = list(groups)
    except TypeError:
        raise refusal("groups", "a list", groups, hint) from None
    for g, group in enumerate(listed):
        if isinstance(group, VoterGroup):
            made.append(group)
            continue
        if not isinstance(group, tuple | list) or not 2 <= len(group) <= 7:
            raise refusal("A group", "a darrm.VoterGroup, or its arguments: (count, epsilon, ...)", group, hint)
        count, each, *others = group
        if isinstance(each, str) and each == AUTO:
            free.append(g)
            each = 1.0
        made.append(VoterGroup(count, each, *others))
    if not made:
        raise refusal("groups", "a list of at least one group", listed, hint)
    return made, tuple(free)


def budget_of(
    groups: Sequence[VoterGroup],
    queries: object,
    total_epsilon: object,
    total_delta: object,
    fallback_epsilon: float | None,
    voters: object,
    until: float,
) -> tuple[Budget, tuple[float, ...]]:
    """The checked budget, whose epsilon is the largest, and the epsilons of all kinds of change if they are several."""
    listed = list(total_epsilon) if isinstance(total_epsilon, list | tuple) else []
    each = tuple(checked_budget(queries, one, total_delta, voters, until).epsilon for one in listed)
    budget = checked_budget(queries, max(each, default=total_epsilon), total_delta, voters, until)
    G = len(groups)
    if each and (G == 1 or G not in (len(each), len(each) - 1)):
        several = f", or a list of {G}, one for each group" * (G > 1)
        raise InputError(
            f"total_epsilon must be a number{several}. Got {shown(total_epsilon)}. Each of several budgets belongs to "
            "a group of voters: pass as many groups (--group), or run once for each total."
        )
    return replace(budget, fallback=_fallback(fallback_epsilon, groups, budget.epsilon)), each


def for_each_kind(setting: Setting, budget: Budget, each: tuple[float, ...]) -> tuple[Setting, Budget]:
    """The setting and the budget with these epsilons for the kinds of change; unchanged if there are none."""
    if not each:
        return setting, budget
    setting = replace(setting, shares=tuple(one / budget.epsilon for one in each))
    return setting, replace(budget, of=dict(zip(setting.problem(1.0, 0.5).kinds, each, strict=True)))


def _fallback(epsilon: float | None, groups: Sequence[VoterGroup], total: float) -> float:
    """The budget of all labels if the assumption on known randomizers fails."""
    known = any(group.randomizer is not None for group in groups)
    if epsilon is None:
        return FALLBACK * total if known else math.inf
    if not known:
        raise InputError(
            f"fallback_epsilon is for voters of a known randomizer. Got {epsilon!r}, and no randomizer. Leave it out: "
            "the total rests on no randomizer."
        )
    hint = f"Pass the total if {OF_ANY_OTHERS}, e.g. twice total_epsilon, or math.inf for none."
    return real("fallback_epsilon", epsilon, total, ends="[]", hint=hint)


def end_of(
    setting: Setting, free: tuple[int, ...], budget: Budget, at_most: float | None, aggregator: float | None
) -> float:
    """The largest allowed epsilon of a vote."""
    if setting.base is None:
        raise InputError(
            'epsilon "auto" needs base_accuracy, the accuracy of answers before they are randomized. Got none. Pass '
            "base_accuracy=0.85 (--base-accuracy 0.85): it gives the accuracy of votes at each epsilon."
        )
    if at_most is None and aggregator is None:
        raise InputError(
            'epsilon "auto" needs an upper end, because a larger epsilon always gives better labels. Pass at_most=2.0 '
            "(--at-most 2, nats of a vote), or aggregator_epsilon=50 (--aggregator-epsilon 50, nats of all votes "
            "together)."
        )
    end = min(_SURE, MAX_EPSILON) if at_most is None else real("at_most", at_most, 0, _SURE, "(]", hint="Pass nats.")
    if aggregator is None:
        return end
    limit = real("aggregator_epsilon", aggregator, 0, ends="(]", hint="Pass nats, e.g. 50.0.")

    def learnt(epsilon: float) -> float:
        return setting.with_epsilon(epsilon, free).votes_total(budget.queries, budget.delta, budget.voters)

    low, high = end * _NOTHING, end
    if learnt(end) <= limit:
        return end
    if learnt(low) > limit:
        raise BudgetError(
            f"No epsilon of a vote keeps the epsilon of all votes together within {limit:g}. Raise aggregator_epsilon, "
            "ask fewer queries, or lower max_affected."
        )
    while high - low > 1e-6 * high:
        check_time()
        middle = (low + high) / 2
        low, high = (middle, high) if learnt(middle) <= limit else (low, middle)
    return low


def series(end: float) -> list[float]:
    """The largest values of 1, 2 and 5 times powers of ten below the end, in rising order."""
    top = math.floor(math.log10(end))
    values = [m * 10.0**power for power in range(top - 3, top + 1) for m in _MANTISSAS]
    return [float(f"{value:.6g}") for value in values if value < end * 0.99][-_MOST_STEPS:]
