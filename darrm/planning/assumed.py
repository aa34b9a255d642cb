"""The assumptions of a plan, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping

from darrm import objectives
from darrm.accounting.search import Budget
from darrm.baselines.entries import DRAWS
from darrm.numerics.printed import exactly
from darrm.planning.setting import Setting
from darrm.problem.groups import rests_on, without_privacy
from darrm.problem.limits import adjacency_in_print, of_neighbours, rests_not_on
from darrm.problem.model import VoterModel

_NON_PRIVATE = "Voters are non-private, fresh or fixed: all privacy comes from output noise, fresh for every label."
_INDEPENDENT = "Given the data, voters vote independently of each other, and no voter learns the votes of others."
_NO_CHOICE = "No vote decides which queries are asked or which rows are released. Released labels may."
_AGAIN = "A second label of the same votes counts as one label more."  # the noise is new for each, whatever the votes
_ONCE = "The votes of each label are released once: the total does not cover a second release of the same votes."


def assumptions(setting: Setting, budget: Budget, spent: Mapping[str, float]) -> tuple[str, ...]:
    """The assumptions on the voters, their votes and their accuracy, for labels of the loss ``spent`` by a change."""
    if without_privacy(setting.groups):
        kind = _NON_PRIVATE
    elif budget.voters == "fresh":
        which = " that do not collude" * any(group.colluders for group in setting.groups)
        kind = f"Voters{which} are fresh: every answer is {_private(setting)} by its own randomness alone."
    else:
        kind = (
            f"Voters are fixed: each is trained with DP once. All answers of a voter together are {_private(setting)}."
        )
        hint = of_neighbours(setting.adjacency, [g.delta for g in setting.groups if not math.isinf(g.epsilon)])
        kind += f" {hint}" if hint else ""
    known = rests_on(setting.problem(1.0, 0.5))
    open_to_all = [str(g) for g, group in enumerate(setting.groups, 1) if math.isinf(group.epsilon)]
    if 0 < len(open_to_all) < len(setting.groups):
        kind += f" No privacy is assumed of the voters in group {' and '.join(open_to_all)}."
    goal, beside = "prior" if setting.of_gamma else "objective given", ""
    if isinstance(setting.objective, objectives.OfVoters):
        goal = "accuracy of the votes" if setting.base is None else "base accuracy"
        beside = "" if setting.base is None or without_privacy(setting.groups) else ", on votes by randomized response"
    t, reaches = setting.max_affected, _reaches(setting)
    if len(setting.shares) == len(setting.groups):
        reaches += " All of them are of one group." * (t > 1)
        reaches += " No budget covers a change that affects voters of several groups."
    return (
        reaches,
        kind,
        *([f"The guarantee holds if {known}"] if known else []),
        *([] if without_privacy(setting.groups) else [_INDEPENDENT]),
        *([_all_vote(setting)] if open_to_all else []),
        _NO_CHOICE,
        _again(setting, budget, spent),
        *_figures_rest(setting, f"{goal}{beside}"),
        rests_not_on(f"the {goal}"),
    )


def of_noisy_max(model: VoterModel, rates: str, *, evenly: bool = False) -> tuple[str, ...]:
    """The assumptions of noisy max for any votes; ``rates`` is what its error rates rest on, if there are any.

    ``evenly`` is whether a wrong vote is as likely for each other class.
    """
    figures = (
        f"The error rates are means over {DRAWS:,} drawn vectors of votes, and rest on the {rates}, on voters that err "
        f"independently of each other, {'evenly over the wrong classes, ' * evenly}and as often on every query."
    )
    return (
        _reaches(model),
        _NON_PRIVATE,
        f"All {model.K} vote on every query. Rows with other numbers of votes are refused.",
        _NO_CHOICE,
        _AGAIN,
        *([figures, rests_not_on(f"the {rates}")] if rates else []),
    )


def _reaches(voters: Setting | VoterModel) -> str:
    """The largest change between neighbouring data sets."""
    t, K = voters.max_affected, sum(group.count for group in voters.groups)
    reach = "every one" if t == K else f"{t} of the {K} voters at most" if t > 1 else f"one of the {K} voters at most"
    caps = [
        f", {group.max_affected} of group {g} at most"
        for g, group in enumerate(voters.groups, 1)
        if group.max_affected < min(group.count, t)
    ]
    neighbours = adjacency_in_print(voters.adjacency)
    reaches = f"A change between neighbouring data sets ({neighbours}) affects {reach}{''.join(caps)}."
    if voters.adjacency == "replace-one" and t < K:
        reaches += " If a record may be replaced by a record of another voter, count both voters."
    return reaches


def _figures_rest(setting: Setting, goal: str) -> list[str]:
    if isinstance(setting.objective, objectives.Paper):
        return [f"The error rates rest on the prior {setting.objective.prior}."]
    return [f"The label error rate rests on the {goal}, and on voters that err independently of each other."]


def _all_vote(setting: Setting) -> str:
    """The condition of attendance for non-private voters, on which the output noise of the labels relies."""
    problem = setting.problem(1.0, 0.5)
    return (
        f"All {problem.K} vote on every query: the total is for {problem.K} votes for {problem.n_classes} classes. The "
        "total covers changed votes. It does not cover a voter that abstains because of its data."
    )


def _private(setting: Setting) -> str:
    """The privacy parameters of the voters in private groups, in words."""
    private = {
        g: f"({exactly(group.epsilon)}, {exactly(group.delta)})-DP"
        for g, group in enumerate(setting.groups, 1)
        if not math.isinf(group.epsilon)
    }
    if len(private) == len(setting.groups) and len(set(private.values())) == 1:
        return private[1]
    return " and ".join(f"{pair} in group {g}" for g, pair in private.items())


def _again(setting: Setting, budget: Budget, spent: Mapping[str, float]) -> str:
    """Whether the total covers more labels than those planned."""
    once = _ONCE
    fixed = budget.voters == "fixed"
    prices = setting.votes_totals(budget.queries, budget.delta, budget.voters)
    if all(spent[kind] >= price for kind, price in prices.items()):
        return (
            "The total covers the voters' own cost: it holds for any number of labels of their answers, repeated "
            "releases of these votes included."
            if fixed
            else "The total covers the cost of the votes themselves: it holds for a second release of them."
        )
    if without_privacy(setting.groups):
        return _AGAIN
    if fixed:
        once += (
            " It must not be added to the cost of other labels of these voters, from another plan or another ledger: "
            "plan all of them together, or keep one ledger."
        )
    if all(price <= budget.own(kind) for kind, price in prices.items()):
        once += f" The budget covers that, because it covers the {'voters' if fixed else 'votes'} themselves."
    return once
