"""Whose labels a ledger charges: fixed voters are one set, and the voters of known randomizers are the same in all."""

from __future__ import annotations

from darrm._validation import shown
from darrm.accounting.accounts import Labels, NoisyLabels
from darrm.accounting.fixed import check_fresh
from darrm.accounting.ledger_state import State
from darrm.errors import InputError
from darrm.problem.decision import AnyProblem


def voters_of(problem: AnyProblem) -> tuple[object, ...]:
    """The properties of a problem's voters, for comparison."""
    return (*problem.groups, problem.max_affected)


def are_the_same(state: State) -> bool:
    """Whether all labels of fixed voters may come from one set of voters, which is charged once."""
    charged = [labels.problem for labels in state.designs.values() if labels.charged]
    return state.voters != "fixed" or len({voters_of(problem) for problem in charged}) <= 1


def other_voters(state: State, problem: AnyProblem) -> str:
    """Why a ledger for fixed voters takes no labels of a problem, if the names of its voters are others; else "".

    Names are compared where both have them, group by group in any order.
    """
    own = _names_of(problem)
    for account in state.designs.values() if state.voters == "fixed" and own else ():
        known = _names_of(account.problem) if account.charged or state.rule == "exact" else ()
        if known and known != own:
            return (
                f"This ledger charges the fixed voters {shown(account.problem.voters)}, once. Got a design for "
                f"{shown(problem.voters)}. Other voters need a ledger of their own, whose budget is added. If they are "
                "the same, use the same names in every design, group by group."
            )
    return ""


def check_names(state: State, problem: AnyProblem) -> None:
    """`InputError` if the names are those of other fixed voters, who would not be charged."""
    if why := other_voters(state, problem):
        raise InputError(why)


def keep_names(account: Labels, problem: AnyProblem) -> None:
    """Give the account the names of the voters of this problem, if it had none."""
    if not _names_of(account.problem):
        account.problem = problem


def _names_of(problem: AnyProblem) -> tuple[frozenset[str], ...]:
    """The names of the voters of each group, empty if they have none."""
    return tuple(frozenset(group.names) for group in problem.groups if group.names)


def check_known(state: State, account: Labels | NoisyLabels) -> None:
    """Refuse labels by a known randomizer for fixed voters, or beside labels for which other voters are assumed.

    Votes of one design may be computed from earlier votes of another, unless both rest on the same assumption. A label
    of the second could then reveal randomness that protects the first. So can noisy max of the same votes.
    """
    assumed = [one for one in state.designs.values() if one.problem.known and (one.charged or one is account)]
    if assumed and (isinstance(account, NoisyLabels) or any(noisy.charged for noisy in state.noisy.values())):
        raise InputError(
            "A ledger with labels by a known randomizer takes no labels of noisy max, which may be of the same votes "
            "and reveal randomness that protects the others. Keep a ledger for noisy max, of other votes."
        )
    if isinstance(account, NoisyLabels):
        others = {other.max_affected for other in state.noisy.values() if other.charged} - {account.max_affected}
        if others:  # the condition of the total is one for all labels of noisy max
            raise InputError(
                f"This ledger charges noisy max for max_affected = {min(others)}. Got {account.max_affected}. Pass the "
                "largest number of votes that one record can change in every mechanism."
            )
        return
    if state.voters == "fixed":
        check_fresh(account.problem)
    if state.rule != "exact" and len(account.problem.kinds) > 1:
        raise InputError(
            f'Rule "{state.rule}" has one budget, and this design a limit for each group. Keep a ledger by the rule '
            '"exact" for it, with a budget for each.'
        )
    for other in state.designs.values():
        known = account.problem.known or other.problem.known
        if known and other.charged and voters_of(other.problem) != voters_of(account.problem):
            raise InputError(
                "A ledger with labels by a known randomizer takes labels of the same voters alone, with the same "
                "randomizer and colluders, because the randomness of all their votes protects the labels. Got "
                "other voters. Describe the voters alike in all designs, or keep a ledger for each."
            )
