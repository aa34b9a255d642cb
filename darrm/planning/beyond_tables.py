"""Plans for non-private voters that no table fits: Gaussian noisy max, whose total holds for any votes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from darrm._validation import MAX_CLASSES
from darrm.accounting.composition import compose
from darrm.accounting.ladder import any_votes_sigma
from darrm.accounting.search import Budget
from darrm.certificate.engines import engine
from darrm.errors import InputError, SolverError
from darrm.mechanisms.noisy_max import GaussianNoisyMax
from darrm.numerics.deadline import OutOfTime, ends_at
from darrm.objectives import OfVoters
from darrm.planning.answers import Plan
from darrm.planning.asked import reached_of
from darrm.planning.assumed import of_noisy_max
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup, without_privacy
from darrm.problem.model import VoterModel

_DRAWS = 1000  # of votes, whose mean error rate is within a percent or two


def beyond_tables(
    groups: Sequence[VoterGroup], max_affected: object, classes: object, adjacency: str
) -> VoterModel | None:
    """The voters, if they are non-private and no table fits, even if they are one group."""
    if not without_privacy(groups):
        return None
    reached = reached_of(max_affected, sum(group.max_affected for group in groups))
    model = VoterModel(groups, classes, reached, adjacency)  # type: ignore[arg-type]  # which it checks
    if model.n_classes > MAX_CLASSES:
        return model
    merged = VoterGroup(model.K, math.inf, max_affected=reached)
    problem = DecisionProblem([merged], 1.0, 0.5, model.classes, reached, model.adjacency)
    try:
        engine(problem).check_size(problem)
    except InputError:
        return model
    return None


def noisy_max_plan(model: VoterModel, budget: Budget, objective: OfVoters | None) -> Plan:
    """Noisy max with nearly the least noise for the budget, and its error rates under the accuracy of ``objective``.

    The total is that of any votes, whatever the numbers of voters and classes.
    """
    kind, total = GaussianNoisyMax, (budget.queries, budget.epsilon, budget.delta)
    try:
        with ends_at(budget.until):
            sigma = any_votes_sigma(*total, model.max_affected)
            made = kind(sigma, max_affected=model.max_affected)
            spent = compose(made, budget.queries, delta=budget.delta).upper
    except OutOfTime:
        raise SolverError("The time limit ended before the noise was found. Pass half a minute or more.") from None
    chosen = kind(sigma, K=model.K, classes=model.classes, voters=model.voters, max_affected=model.max_affected)
    rates = (math.nan,) * 3 if objective is None else _rates(chosen, model, objective)
    wrong, disagreement, without_noise = rates
    return Plan(
        chosen,
        *total,
        budget.voters,
        spent,
        wrong,
        disagreement,
        without_noise,
        math.nan,
        math.inf,
        math.inf,
        (),
        None,
        of_noisy_max(model, "" if objective is None else "accuracy of the votes"),
        complete=True,
    )


def _rates(mechanism: GaussianNoisyMax, model: VoterModel, objective: OfVoters) -> tuple[float, float, float]:
    """The label error rate, the disagreement rate, and the error rate without noise, as means over drawn votes."""
    rng = np.random.default_rng(0)  # the same figures on every run; nothing is released from these votes
    truth = rng.choice(model.n_classes, _DRAWS, p=objective.prior)
    counts = np.zeros((_DRAWS, model.n_classes), dtype=np.int64)
    for group, table in zip(model.groups, objective.confusion, strict=True):
        counts += rng.multinomial(group.count, np.array(table)[truth])
    chances, most = mechanism.chances(counts), counts == counts.max(axis=1, keepdims=True)
    at, shares = np.arange(_DRAWS), most / most.sum(axis=1, keepdims=True)
    right = chances[at, truth].mean(), (chances * most).sum(axis=1).mean(), shares[at, truth].mean()
    wrong, disagreement, without_noise = (float(max(0.0, 1 - share)) for share in right)
    return wrong, disagreement, without_noise
