"""gamma_opt beside the other mechanisms, each by what `darrm.verify` says of it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from darrm import baselines
from darrm._validation import check_count, check_total_delta, check_voters, real
from darrm.accounting.fresh import exact_guarantee, of_region
from darrm.accounting.profile import region
from darrm.accounting.search import Budget
from darrm.certificate.certificate import Certificate, verify
from darrm.certificate.scaling import repair
from darrm.design.design import Design
from darrm.design.solve import solve
from darrm.errors import InputError, SolverError
from darrm.measures.decision_comparison import DecisionEntry, compare_decision
from darrm.measures.error import Interval, sampled_error
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import OutOfTime
from darrm.objectives import Objective
from darrm.planning.asked import setting_of
from darrm.planning.at_one_total import Comparison, at_one_total
from darrm.priors import Prior
from darrm.priors.prior import errors
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup
from darrm.problem.majority import MajorityProblem

# A baseline that meets its limit exactly in theory misses it by rounding; this much is scaled away, and no more.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Entry:
    """One mechanism of a comparison.

    Attributes
    ----------
    name : str
    gamma : ndarray, shape (K + 1,)
    certificate : Certificate
        ``holds`` says whether the mechanism satisfies the guarantee of the problem.
    error, disagreement : float
        As of a `darrm.Design`, under the prior of the comparison.
    design : Design or None
        For the mechanisms that were solved for.
    total : float or None
        Least epsilon that is proved for ``queries`` labels of fresh voters together; infinite if ``total_delta`` does
        not allow any. None if it was not asked for.
    interval : Interval or None
        Mean of the absolute error of Definition 2.4 over sampled vote probabilities, and its 95 % interval: the same
        draws for every mechanism. None if it was not asked for.
    """

    name: str
    gamma: Array
    certificate: Certificate
    error: float
    disagreement: float
    design: Design | None = None
    total: float | None = None
    interval: Interval | None = None


@overload
def compare(problem: DecisionProblem, *, objective: Objective, time_limit: float = math.inf) -> list[DecisionEntry]: ...


@overload
def compare(
    problem: MajorityProblem,
    prior: Prior | str = "uniform",
    objective: str | None = None,
    *,
    queries: int | None = None,
    total_delta: float | None = None,
    draws: int | None = None,
    rng: np.random.Generator | None = None,
    time_limit: float = math.inf,
) -> list[Entry]: ...


@overload
def compare(
    problem: MajorityProblem | DecisionProblem,
    *,
    objective: Objective | None = None,
    base_accuracy: float | Sequence[float] | None = None,
    queries: int,
    total_epsilon: float,
    total_delta: float,
    voters: str,
    time_limit: float = math.inf,
) -> Comparison: ...


@usual_arithmetic
def compare(
    problem: MajorityProblem | DecisionProblem,
    prior: Prior | str | None = None,
    objective: str | Objective | None = None,
    *,
    base_accuracy: float | Sequence[float] | None = None,
    queries: int | None = None,
    total_epsilon: float | None = None,
    total_delta: float | None = None,
    voters: str | None = None,
    draws: int | None = None,
    rng: np.random.Generator | None = None,
    time_limit: float = math.inf,
) -> list[Entry] | list[DecisionEntry] | Comparison:
    """The optimum beside other mechanisms: for one release, or for many labels at one total budget.

    For a `MajorityProblem`: gamma_opt (free); monotone; from m = 1 on double subsampling of (2 floor(m) - 1) votes and
    subsampling of (floor(m)) votes; constant randomized response, by Lemma A.1 and the largest constant that verifies;
    the plain majority.

    For a `DecisionProblem`: the optimum; the best table of the number of all ones, as if all had the largest epsilon;
    the best table of one group alone; the optimum for the majority of all votes; the best rule, mixed with a fair coin;
    for one group the majority of as many random votes as stay within the guarantee; the cheaper answer without any
    votes, unless both cost the same; and without any noise the majority and the best rule, which are as private as
    votes and rule make them. With several classes the plurality stands for the majority; besides, for each as little
    noise as the guarantee allows: Gaussian and Laplace noisy max, permute-and-flip, and decisions for each class
    against the rest.

    With ``total_epsilon``: every mechanism calibrated to the same proved total of ``queries`` labels, as `darrm.plan`
    does it. Of the problem the voters count, its own epsilon and delta do not.

    Parameters
    ----------
    problem : MajorityProblem or DecisionProblem
    prior, objective
        As in `darrm.solve`; a decision takes an object of `darrm.objectives` and, besides, only ``time_limit``. To
        choose a mechanism by this comparison, they must come from elsewhere than the votes or records to be protected.
    queries, total_delta : int, float, optional
        Say also what so many labels of FRESH voters cost together, by exact adaptive composition. Fixed voters cost at
        most the same with every mechanism, whatever the number of labels: `darrm.accounting.compose`.
    base_accuracy, total_epsilon, voters : optional
        For one total budget; see `darrm.plan`. The guarantee does not rest on the accuracy, if it comes from elsewhere
        than these votes or records. Say either ``base_accuracy`` or an ``objective`` of `darrm.objectives`.
    draws, rng
        Give each entry an ``interval`` too, from so many draws of the vote probabilities (`measures.sampled_error`).
    time_limit : float, seconds
        Of each solve, as in `darrm.solve`: two, for decisions up to three and one more for each group.

    Returns
    -------
    list of Entry, or of DecisionEntry, or Comparison
        The last for a total budget. Baselines are scaled down where rounding alone puts them over the limit; all else
        is told by the certificate. Of decisions, all but the last two keep the guarantee.

    Raises
    ------
    InputError, SolverError
        As `darrm.solve`.

    Examples
    --------
    >>> import darrm
    >>> for entry in darrm.compare(darrm.MajorityProblem(K=11, m=3, epsilon=0.1)):
    ...     print(f"{entry.error:.3f}  {entry.name}{'' if entry.certificate.holds else ': not private'}")
    0.041  gamma_opt
    0.041  monotone
    0.069  double subsampling (5)
    0.122  subsampling (3)
    0.060  randomized response (largest)
    0.327  randomized response (A.1)
    0.000  plain majority: not private
    """
    if total_epsilon is not None:
        _refuse("A comparison at one total", {"prior": prior, "draws": draws, "rng": rng})
        return _at_one_total(problem, objective, base_accuracy, queries, total_epsilon, total_delta, voters, time_limit)
    _refuse("A comparison without total_epsilon", {"base_accuracy": base_accuracy, "voters": voters})
    if isinstance(problem, DecisionProblem):
        if not isinstance(objective, Objective):
            raise InputError(f"A decision needs an objective of darrm.objectives. Got {objective!r}.")
        others = {"prior": prior, "queries": queries, "total_delta": total_delta, "draws": draws, "rng": rng}
        _refuse("A comparison of decisions", others)
        return compare_decision(problem, objective, time_limit=time_limit)
    if isinstance(objective, Objective):
        raise InputError(f"The objectives of darrm.objectives are for a darrm.DecisionProblem. Got {problem!r}.")
    prior = "uniform" if prior is None else prior
    if (queries is None) != (total_delta is None):
        raise InputError("queries and total_delta go together. Pass both, or none.")
    if queries is not None:
        queries, total_delta = check_count("queries", queries), check_total_delta(total_delta, "total_delta")
    free = solve(problem, prior=prior, objective=objective, time_limit=time_limit)
    monotone = solve(problem, prior=prior, objective=objective, shape="monotone", time_limit=time_limit)
    m = math.floor(problem.m)

    def entry(name: str, gamma: Array, design: Design | None = None) -> Entry:
        certificate = verify(gamma, problem) if design is None else design.certificate
        if not certificate.holds:
            scaled = repair(gamma, problem)
            if np.all(scaled >= gamma * (1 - _ROUNDING)):
                gamma, certificate = scaled, verify(scaled, problem)
        error, disagreement = errors(free.prior, gamma)
        total = None
        if queries is not None and total_delta is not None:
            kept = exact_guarantee(problem) if certificate.holds else None
            try:
                total = of_region(region(gamma, problem), problem.affected, queries, total_delta, guaranteed=kept).upper
            except InputError:  # less than is unavoidable
                total = math.inf
        return Entry(name, gamma, certificate, error, disagreement, design, total)

    entries = [
        entry("gamma_opt", free.gamma, free),
        entry("monotone", monotone.gamma, monotone),
    ]
    if m:
        entries += [
            entry(f"double subsampling ({min(2 * m - 1, problem.K)})", baselines.double_subsampling(problem.K, m)),
            entry(f"subsampling ({m})", baselines.subsampling(problem.K, m)),
        ]
    entries += [
        entry("randomized response (largest)", baselines.largest_constant(problem)),
        entry("randomized response (A.1)", baselines.constant(problem)),
        entry("plain majority", baselines.plain_majority(problem.K)),
    ]
    if draws is None:
        return entries
    intervals = sampled_error({each.name: each.gamma for each in entries}, prior, draws=draws, rng=rng)
    return [replace(each, interval=intervals[each.name]) for each in entries]


def _refuse(what: str, others: Mapping[str, object]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"{what} takes no {given[0]!r}. Leave it out.")


def _at_one_total(
    problem: MajorityProblem | DecisionProblem,
    objective: str | Objective | None,
    base_accuracy: float | Sequence[float] | None,
    queries: int | None,
    total_epsilon: float,
    total_delta: float | None,
    voters: str | None,
    time_limit: float,
) -> Comparison:
    if isinstance(objective, str):
        raise InputError(f"A comparison at one total takes an objective of darrm.objectives. Got {objective!r}.")
    kind = check_voters(voters)
    if queries is None or total_delta is None:
        raise InputError("total_epsilon goes with queries and total_delta. Pass all three.")
    groups = (
        problem.groups
        if isinstance(problem, DecisionProblem)
        else (VoterGroup(problem.K, problem.epsilon, problem.Delta),)
    )
    classes = problem.classes if isinstance(problem, DecisionProblem) else 2
    setting = setting_of(
        groups,
        problem.max_affected,
        base_accuracy,
        None,
        None,
        None,
        objective,
        False,
        classes,
        problem.adjacency,
        kind,
    )
    total_epsilon = real("total_epsilon", total_epsilon, 0, ends="()", hint="Pass nats, e.g. 1.0.")
    until = time.monotonic() + real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    total_delta = check_total_delta(total_delta, "total_delta")
    try:
        return at_one_total(setting, Budget(check_count("queries", queries), total_epsilon, total_delta, kind, until))
    except OutOfTime:
        raise SolverError("The time limit ended before all mechanisms were calibrated. Pass a longer one.") from None
