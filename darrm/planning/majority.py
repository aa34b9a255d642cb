"""Planning a noise function for many labels of a majority, where only a prior of the votes is known."""

from __future__ import annotations

from darrm._validation import choice
from darrm.accounting.search import checked_budget
from darrm.design.design import SHAPES, Design
from darrm.objectives import paper
from darrm.planning.designs import design_within
from darrm.planning.setting import Setting
from darrm.priors import Prior, parse, weights
from darrm.problem.majority import MajorityProblem


def plan(
    *,
    K: int,
    epsilon: float,
    queries: int,
    total_epsilon: float,
    total_delta: float,
    voters: str | None = None,
    Delta: float = 0.0,
    max_affected: int | None = None,
    adjacency: str = "replace-one",
    prior: Prior | str = "uniform",
    shape: str | None = None,
    objective: str | None = None,
) -> Design:
    """The noise function of least disagreement rate with ``queries`` labels within one privacy budget.

    Parameters
    ----------
    K, epsilon, Delta, max_affected, adjacency
        The voters; see `darrm.MajorityProblem`.
    queries : int
        Number of labels.
    total_epsilon : float > 0, nats
    total_delta : float in [0, 1)
    voters : {"fresh", "fixed"}
        No default; see `darrm.accounting.compose`. If the budget covers fixed voters' own cost, their plain majority is
        returned, because output noise gains nothing then. Otherwise the noise function is planned as for non-private
        voters, and its output noise protects the records.
    prior, objective
        As in `darrm.solve`, but the objective is "disagreement" if not given. They must come from elsewhere than these
        votes or records.
    shape : {"free", "monotone"}, optional
        "free" if not given; see `darrm.solve`.

    Returns
    -------
    Design
        Its `darrm.accounting.compose` at ``total_delta`` is certified to be at most ``total_epsilon``.

    Raises
    ------
    InputError
    BudgetError
        If no noise function is within the budget.

    Notes
    -----
    The search of `darrm.plan`, whose families are listed at `darrm.planning.designs.design_within`: one label takes one
    solve. m of the design is the value that it achieves.

    Examples
    --------
    Five labels of three voters; one label in five differs from the majority of its votes:

    >>> import darrm
    >>> budget = {"queries": 5, "total_epsilon": 2.0, "total_delta": 1e-5, "voters": "fresh"}
    >>> design = darrm.accounting.plan(K=3, epsilon=0.5, **budget)
    >>> round(design.disagreement, 2)
    0.21
    >>> darrm.accounting.compose(design, 5, delta=1e-5, voters="fresh").upper <= 2.0
    True
    """
    budget = checked_budget(queries, total_epsilon, total_delta, voters)
    if shape is not None:
        choice("shape", shape, SHAPES)
    voting = MajorityProblem(K, 1, epsilon, Delta, max_affected=max_affected, adjacency=adjacency)
    return design_within(under_prior(voting, prior, objective, shape), budget)


def under_prior(
    voting: MajorityProblem, prior: Prior | str, objective: str | None = None, shape: str | None = None
) -> Setting:
    """The setting of a plan for the majority of these voters, whose votes come from a prior."""
    taken = parse(prior)
    goal = paper(taken, "disagreement" if objective is None else objective)
    weights(taken, voting.K, goal.name)  # raises if the prior does not fit
    return Setting(
        voting.groups,
        voting.max_affected,
        voting.adjacency,
        2,
        goal,
        shape="free" if shape is None else shape,
        of_gamma=True,
    )
