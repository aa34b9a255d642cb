"""The state of a new ledger: its budget and its rule, and a budget that covers a label of what it is made for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from darrm._validation import check_total_delta, check_total_epsilon, check_voters, shown
from darrm.accounting import filters, rules
from darrm.accounting.accounts import Labels, NoisyLabels
from darrm.accounting.charges import check_planned, checked_design, labels_of, noise_of
from darrm.accounting.ledger_state import FOR_FIXED, OLD_RULES, RULES, State, checked_fallback
from darrm.accounting.noisy_max import queries_within
from darrm.accounting.releases import for_each_kind, one_label
from darrm.accounting.rules import noise, renyi_filter
from darrm.accounting.rules.common import delta_alone
from darrm.accounting.search import max_queries
from darrm.accounting.theorems import MOST_LABELS
from darrm.errors import BudgetError, InputError
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import OF_ANY_OTHERS
from darrm.problem.limits import adjacency_text

_NEIGHBOURS = "replace-one"


def new_state(
    design: Any,
    total_epsilon: Any,
    total_delta: Any,
    fallback_epsilon: Any,
    voters: str | None,
    rule: str,
    adjacency: str | None,
) -> State:
    """The state of a ledger that `Ledger.create` makes with these arguments."""
    rule = OLD_RULES.get(rule, rule) if isinstance(rule, str) else rule
    several = list(design) if isinstance(design, list | tuple) else []
    if several:
        _check_several(several, rule)
        design = several[0]
    of_one = design is not None and rule == "exact"  # other rules take other designs too
    noisy = noise_of(design) is not None
    kind = check_voters(voters, _epsilons(design)) if of_one else check_voters(voters)
    check_planned(design, kind)
    if rule not in RULES:
        raise InputError(f"rule must be one of {', '.join(RULES)}. Got {rule!r}.")
    if kind == "fixed" and rule not in FOR_FIXED:
        raise InputError(
            f'rule "{rule}" adds up single labels, which is invalid for fixed voters. Use rule "exact" or "in-advance".'
        )
    if design is None and rule == "exact":
        raise InputError(
            'Rule "exact" is for one Design. Got none. Pass it (FILE), or rule="in-advance" (--rule in-advance) for '
            "several designs or charges of other kinds."
        )
    if of_one and not noisy and isinstance(total_epsilon, list | tuple):
        problem = checked_design(design).problem
        epsilons = for_each_kind(problem, "total_epsilon", total_epsilon).values()
        deltas = for_each_kind(problem, "total_delta", total_delta).values()
        budget: tuple[Any, Any] = (
            [check_total_epsilon(one) + 0.0 for one in epsilons],
            [check_total_delta(one, "total_delta") + 0.0 for one in deltas],
        )
    else:
        budget = (check_total_epsilon(total_epsilon) + 0.0, check_total_delta(total_delta, "total_delta") + 0.0)
    second = _second_budget(fallback_epsilon, budget[0], design if of_one else None, kind)
    known = _NEIGHBOURS if design is None or noisy else checked_design(design).problem.adjacency
    neighbours = known if adjacency is None else adjacency_text(adjacency)
    by_order = rule == "renyi-filter"
    order, failure = (filters.best_order(*budget), filters.FAILURES * budget[1]) if by_order else (None, None)
    state = State(*budget, kind, rule, neighbours, order, failure, {}, {}, [], fallback_epsilon=second)
    if by_order and renyi_filter.limits(state).divergence <= 0:
        raise BudgetError(
            f'Rule "renyi-filter" allows nothing for a total of ({budget[0]:g}, {budget[1]:g}). Raise the budget, '
            'or use rule "basic-filter".'
        )
    if design is not None:
        for each in several or [design]:
            account = labels_of(each, neighbours, kind)
            state.like(account)[account.name] = account
        if len(state.noisy) > 1:
            _check_pays_each(state)
        else:
            _check_pays(state, account, design)
    return state


def _check_several(mechanisms: Sequence[object], rule: str) -> None:
    """`InputError` unless these are several noises of noisy max for the rule "exact"."""
    wrong = next((one for one in mechanisms if noise_of(one) is None), None)
    if rule != "exact" or wrong is not None:
        got = f"rule {rule!r}" if wrong is None else type(wrong).__name__
        raise InputError(
            f'A list is of noisy max with Gaussian noise, for the rule "exact". Got {got}. Pass one design, or make a '
            "ledger by another rule, which takes charges of any."
        )
    affected = {getattr(one, "max_affected", 1) for one in mechanisms}
    if len(affected) > 1:
        raise InputError(
            f"All noisy max of a ledger must have the same max_affected. Got {min(affected)} and {max(affected)}. Pass "
            "the largest number of votes that one record can change in every mechanism."
        )


def _epsilons(design: object) -> Sequence[float]:
    """The epsilons of the voters of a release; those of noisy max are not private."""
    return [math.inf] if noise_of(design) is not None else one_label(checked_design(design)).epsilons


def _second_budget(given: Any, total: Any, design: object, voters: str) -> Any:
    """The checked second budget, of each kind of change if the first is a list; None if there is none."""
    if given is None or (isinstance(given, float) and given == math.inf):
        return None
    problem: AnyProblem | None = getattr(design, "problem", None)  # noisy max has none
    if voters == "fixed" or (design is not None and not (problem is not None and problem.known)):
        raise InputError(
            f"fallback_epsilon is for labels of fresh voters by a known randomizer. Got {given!r} for others. Leave it "
            "out: the total rests on no randomizer."
        )
    if problem is None or not (isinstance(given, list | tuple) or isinstance(total, list)):
        return checked_fallback(given, total)
    totals = for_each_kind(problem, "total_epsilon", total)
    each = for_each_kind(problem, "fallback_epsilon", given)
    return [checked_fallback(one, totals[kind]) for kind, one in each.items()]


def _check_pays_each(state: State) -> None:
    """The number of labels that the budget covers of each noise alone; `BudgetError` if it is none of some."""
    for account, share in zip(state.noisy.values(), noise.shares_of(state), strict=True):
        if share > 1:
            raise BudgetError(
                f"A total of {state.budget} does not cover one label with noise of {account.short_name}. Raise the "
                "budget, or leave it out."
            )
        account.allowed = math.floor(1 / Fraction(share))


def _check_pays(state: State, account: Labels | NoisyLabels, design: Any) -> None:
    """`BudgetError` if the budget does not cover one label. By rule "exact" the account gets the number it covers."""
    try:
        if state.rule == "exact":
            account.allowed = _allowed(state, account, design) or None
            pays = account.allowed is not None
        else:
            rules.take(replace(state, fallback_epsilon=None), account, 1)
            account.charged, pays = 0, True
    except BudgetError:
        pays = False
    if not pays:
        raise BudgetError(
            f"A total of {state.budget} does not cover one label of this design.{delta_alone(state, account)} "
            + (
                "By rule in-advance fixed voters are charged their whole own cost, epsilon and delta, which covers any "
                "number of labels. Raise the budget to it, or use rule exact for a design with noise."
                if state.voters == "fixed" and state.rule == "in-advance"
                else "Raise the budget, or plan a design for it."
            )
        )
    if state.fallback_epsilon is not None and rules.remaining(state, account) == 0:
        raise BudgetError(
            f"A second budget of {shown(state.fallback_epsilon)} does not cover one label of this design, if "
            f"{OF_ANY_OTHERS}. Raise fallback_epsilon, or plan a design for it."
        )


def _allowed(state: State, account: Labels | NoisyLabels, design: Any) -> int:
    """The number of labels that the budget covers; of noisy max for any number of votes and classes."""
    total = state.total_epsilon, state.total_delta
    if isinstance(account, NoisyLabels):
        return queries_within(account, *total, MOST_LABELS).queries
    return max_queries(design, *total, voters=state.voters)
