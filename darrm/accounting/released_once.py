"""Whether a row of votes had a label before, and what then covers a second one.

The total of fresh voters is for votes that are new for every label: their coins are a part of the proof. A second label
of the same votes has no such coins. All that can be said of it is that it is computed from the votes: so it is covered
if the total pays for all votes behind the labels, as if they were published. Fixed voters, and voters without privacy,
count it as one label more.
"""

from __future__ import annotations

import math

from darrm.accounting.accounts import Labels
from darrm.accounting.ledger_file import State
from darrm.accounting.voters import among, epsilon_of
from darrm.errors import BudgetError
from darrm.numerics.bisection import largest_that
from darrm.numerics.printed import at_least, exactly
from darrm.problem.decision import AnyProblem

_NOTHING_CHARGED = "Nothing was released or charged."


def conditions(state: State) -> list[str]:
    """What is assumed of the rows of votes: only new votes are private by themselves."""
    charged = any(account.charged for account in state.accounts.values())
    labels = [account.problem for account in state.designs.values() if account.charged or not charged]
    if state.voters != "fresh" or not (any(map(answer_anew, labels)) if labels else not charged):
        return []
    if state.again:
        return ["which rows of votes are released again is settled without a look at what was released"]
    if state.ids is not None and state.ids.labels == state.released:
        return ["no row of votes has two ids"]
    same = ", a stream that is started again gives the same rows in the same order" if state.streams else ""
    return [f"each row of votes is released once{same}"]


def answer_anew(problem: AnyProblem) -> bool:
    """Whether some voters are private by coins of their own, which a second label of the same votes does not have.

    Else the coins of labels alone protect, and those are new for the same votes too.
    """
    return any(math.isfinite(group.epsilon) for group in problem.groups)


def votes_themselves(state: State, account: Labels, labels: int) -> float:
    """The epsilon of all votes behind so many labels of fresh voters, however often they are released, from above."""
    return epsilon_of(among(account.problem.affected, labels), state.total_delta)


def take_again(state: State, account: Labels, rows: int) -> None:
    """Count labels of votes that had a label before, or none of them by a `BudgetError`; to be taken as labels too.

    Fixed voters and the coins of labels pay for one label more. Votes that are private by coins of their own do not:
    nothing but the cost of all these votes covers what a second label tells of them. What is released again must be
    settled, because two ways to spend one budget are no budget if answers choose between them.
    """
    if not rows or state.voters != "fresh" or not answer_anew(account.problem):
        return
    if state.rule != "exact":
        raise BudgetError(
            f'{_said(rows)} A ledger by the rule "{state.rule}" does not count that. Charge what all votes cost '
            f"(an epsilon and a delta) in place of their labels. {_NOTHING_CHARGED}"
        )
    state.again += rows


def _said(rows: int) -> str:
    have = "of the rows have" if rows > 1 else "row has"
    return f"{rows} {have} a label, and of fresh voters only the cost of the votes themselves covers a second one."


def check(state: State, account: Labels) -> None:
    """`BudgetError` if votes were released again, and the total does not pay for all votes themselves."""
    if not state.again:
        return
    cost = votes_themselves(state, account, account.charged)
    if cost > state.total_epsilon:
        needed = f"cost ({at_least(cost)}, {exactly(state.total_delta)})" if cost < math.inf else "have no proved cost"
        raise BudgetError(
            f"{_said(state.again)} All votes behind {account.charged} labels {needed}, and the budget is "
            f"({exactly(state.total_epsilon)}, {exactly(state.total_delta)}). {_NOTHING_CHARGED}"
        )


def limit(state: State, account: Labels) -> int:
    """How many labels of the one design of a ledger there can be in all."""
    most = state.limit(account)
    if not state.again:
        return most

    def paid(more: int) -> bool:
        return votes_themselves(state, account, account.charged + more) <= state.total_epsilon

    return account.charged + largest_that(most - account.charged, paid)
