"""Repeated releases: whether a row of votes had a label before, and which total covers a second one.

The total for fresh voters relies on fresh randomness in the votes of every label. A second label of the same votes has
no such randomness; it is only post-processing of the votes. So it is covered if the total covers all votes behind the
labels, as if they were published. For fixed and for non-private voters it counts as one label more.
"""

from __future__ import annotations

import math

from darrm.accounting.accounts import Account, Labels
from darrm.accounting.ledger_state import NOTHING_CHARGED, State
from darrm.accounting.voters import among, epsilon_of
from darrm.errors import BudgetError, InputError
from darrm.numerics.bisection import largest_that
from darrm.numerics.printed import at_least, counted, exactly
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import assumption
from darrm.problem.limits import ADDED


def conditions(state: State) -> list[str]:
    """The assumptions on the rows of votes, in words."""
    charged = any(account.charged for account in state.accounts.values())
    labels = [account.problem for account in state.designs.values() if account.charged or not charged]
    known = [f"{assumption(problem)}" for problem in labels if problem.known]
    noisy = (
        [_of_votes(state.affected_votes)]
        if any(account.charged or not charged for account in state.noisy.values())
        else []
    )
    secret = ["the key of labels by key is as secret as the votes"] if state.computational else []
    return [*dict.fromkeys(known), *noisy, *_of_rows(state, labels, charged=charged), *secret]


def _of_votes(affected: int) -> str:
    votes = "one vote" if affected == 1 else f"{affected} votes"
    return f"a change of one record changes {votes} of noisy max at most, {ADDED}, and every label has new noise"


def _of_rows(state: State, labels: list[AnyProblem], *, charged: bool) -> list[str]:
    if state.voters != "fresh" or not (any(map(answer_anew, labels)) if labels else not (charged or state.noisy)):
        return []
    if state.again:
        return ["which rows of votes are released again is fixed in advance, independently of what was released"]
    if state.ids and state.ids == state.released:
        return ["no row of votes has two ids"]
    same = ", a restarted stream has the same rows in the same order" if state.streams else ""
    return [f"each row of votes is released once{same}"]


def answer_anew(problem: AnyProblem) -> bool:
    """Whether some voters are private by fresh randomness, which a second label of the same votes does not have.

    Else only output noise protects, which is fresh for a second label too.
    """
    return any(math.isfinite(group.epsilon) for group in problem.groups)


def votes_themselves(state: State, account: Labels, labels: int) -> float:
    """Upper bound on the epsilon of all votes behind that many labels of fresh voters, for any number of releases."""
    return epsilon_of(among(account.problem.affected, labels), state.total_delta)


def check_ids(state: State, account: Account) -> None:
    """`InputError` if the ledger knows rows by their ids, and rows without ids could have a label already."""
    if not state.ids or state.voters != "fresh" or not isinstance(account, Labels):
        return
    if answer_anew(account.problem):
        raise InputError(
            f"The ledger knows by their ids which rows have a label ({state.ids:,} so far), and these rows have "
            f"none, so some could get a second label. {NOTHING_CHARGED} Give each row the id of its query (a column "
            "id, or ids=). For other rows without ids keep a ledger of their own, whose budget is added."
        )


def take_again(state: State, account: Labels, rows: int) -> None:
    """Count labels of votes that had a label before, or raise `BudgetError`; they must be charged as labels too.

    For fixed voters, and where only output noise protects, each counts as one label more. For votes that are private by
    their own fresh randomness, only the cost of all these votes covers a second label. The repeated rows must be fixed
    in advance, because the budget does not hold if answers choose between two ways to spend it.
    """
    if not rows or state.voters != "fresh" or not answer_anew(account.problem):
        return
    if state.rule != "exact":
        raise BudgetError(
            f'{_said(rows)} A ledger by the rule "{state.rule}" does not cover that. Charge the cost of all votes '
            f"(an epsilon and a delta) in place of their labels. {NOTHING_CHARGED}"
        )
    state.again += rows


def _said(rows: int) -> str:
    have = "of the rows have" if rows > 1 else "row has"
    return f"{rows} {have} a label, and for fresh voters only the cost of the votes themselves covers a second one."


def check(state: State, account: Labels) -> None:
    """`BudgetError` if votes were released again, and the total does not cover all votes themselves."""
    if not state.again:
        return
    cost = votes_themselves(state, account, account.charged)
    if cost > state.total_epsilon:
        needed = f"cost ({at_least(cost)}, {exactly(state.total_delta)})" if cost < math.inf else "have no known cost"
        raise BudgetError(
            f"{_said(state.again)} All votes behind {counted(account.charged, 'label')} {needed}, and the budget is "
            f"({exactly(state.total_epsilon)}, {exactly(state.total_delta)}). {NOTHING_CHARGED}"
        )


def limit(state: State, account: Labels, most: int) -> int:
    """The largest number of labels in all, up to ``most``, for a ledger of one design."""
    if not state.again:
        return most

    def paid(more: int) -> bool:
        return votes_themselves(state, account, account.charged + more) <= state.total_epsilon

    return account.charged + largest_that(most - account.charged, paid)
