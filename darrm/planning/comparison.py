"""`darrm.compare`: the optimum and all baselines, each verified for one release or calibrated to one privacy budget."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from darrm import objectives
from darrm._validation import check_count, check_total_delta, real, refusal
from darrm.accounting.fresh import exact_guarantee, of_region
from darrm.accounting.profile import region
from darrm.baselines.baseline import certified
from darrm.baselines.entries import Comparison, Entry
from darrm.baselines.registry import BASELINES
from darrm.certificate.certificate import Certificate, verify
from darrm.design.design import Design
from darrm.design.rules import cost_of
from darrm.design.solve import solve
from darrm.errors import InputError, SolverError
from darrm.measures.error import sampled_error
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import OutOfTime
from darrm.objectives import Objective, OfVoters
from darrm.planning.asked import budget_of, for_each_kind, setting_of
from darrm.planning.at_one_total import at_one_total
from darrm.priors import Prior, independent
from darrm.priors.prior import errors
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import rests_on
from darrm.problem.majority import MajorityProblem, given_problem
from darrm.problem.noise_function import Given

_SAME = 1e-9  # expected costs this close count as equal


@usual_arithmetic
def compare(
    problem: AnyProblem | None = None,
    prior: Prior | str | None = None,
    objective: str | Objective | None = None,
    *,
    base_accuracy: float | Sequence[float] | None = None,
    queries: int | None = None,
    total_epsilon: float | Sequence[float] | None = None,
    total_delta: float | None = None,
    fallback_epsilon: float | None = None,
    voters: str | None = None,
    draws: int | None = None,
    rng: np.random.Generator | None = None,
    extra: Mapping[str, Given] | None = None,
    time_limit: float = math.inf,
    **parameters: Any,
) -> Comparison:
    """Compare the optimum with other mechanisms, for one release or for many labels at one total budget.

    For one release the optimum comes first, under a prior gamma_opt and its monotone form. Then every baseline of
    `darrm.baselines.registry` that serves the problem:

    * under a prior double subsampling of (``2 floor(m) - 1``) votes, and subsampling of (``floor(m)``) votes;
    * under a prior constant randomized response: the largest constant that verifies, and that of Lemma A.1;
    * for several groups the best table for all votes together, as if all had the largest epsilon, and for one group
      alone;
    * the optimum for the majority, or plurality, of all votes;
    * with as little noise as the guarantee allows, each of these: the Bayes rule mixed with a random answer,
      tuned subsampling (a random sample of one of two sizes), Gaussian and Laplace noisy max, permute-and-flip, the
      exponential mechanism;
    * for several classes decisions for each class against the rest;
    * the constant answer of least expected cost, if one answer has it alone;
    * without any noise the majority and the Bayes rule, which are only as private as the votes.

    With ``total_epsilon``: every mechanism with one parameter is calibrated to the same certified total of ``queries``
    labels, as by `darrm.plan`. Only the voters of the problem matter then; its own epsilon and delta are ignored.

    Where each group has a limit, or a budget, of its own, a mechanism of one parameter has the least noise that keeps
    all of them, so that mostly one of them decides. The table for all votes together knows one limit only, and is held
    to the strictest. For one group alone its own limit holds, and the optimum for the majority keeps all.

    Parameters
    ----------
    problem : MajorityProblem or DecisionProblem, optional
        Or pass the parameters of a majority by name: ``compare(K=11, m=3, epsilon=0.1)``.
    prior, objective
        As in `darrm.solve`; an accuracy is ``objective=darrm.objectives.truth([0.8])``. To choose a mechanism by this
        comparison, they must come from elsewhere than the votes or records to be protected.
    queries, total_delta : int, float, optional
        Under a prior: also give the cumulative privacy loss of that many labels of FRESH voters, by exact adaptive
        composition. For fixed voters the loss is bounded by that of the voters, the same for every mechanism and any
        number of labels: see `darrm.accounting.compose`.
    base_accuracy, total_epsilon, fallback_epsilon, voters : optional
        For one total budget; see `darrm.plan`. The guarantee does not rest on the accuracy, if it comes from elsewhere
        than these votes or records. Pass either ``base_accuracy`` or an ``objective`` of `darrm.objectives`.
    draws, rng
        Under a prior: also give each entry an ``interval``, from that many draws of the vote probabilities
        (`measures.sampled_error`).
    extra : mapping of str to array_like or to function, optional
        For one release: your own tables by name, such as a gamma, which may be a function of the number of ones. Each
        is taken unchanged and may miss the guarantee.
    time_limit : float, seconds
        Limit of each solve, as in `darrm.solve`. There are two solves, and for decisions one more for each group.

    Returns
    -------
    Comparison
        ``within`` of each entry is whether it keeps the guarantee, or the total. A baseline that misses the guarantee
        only by rounding is scaled down, by a relative 1e-9 at most.

    Raises
    ------
    InputError, SolverError
        As `darrm.solve`.

    Examples
    --------
    >>> import darrm
    >>> for entry in darrm.compare(darrm.MajorityProblem(K=11, m=3, epsilon=0.1)):
    ...     print(f"{entry.error:.3f}  {entry.name}{'' if entry.within else ': not private'}")
    0.041  gamma_opt
    0.041  monotone
    0.069  double subsampling of 5 votes
    0.122  subsampling of 3 votes
    0.060  randomized response (largest)
    0.327  randomized response (A.1)
    0.059  tuned subsampling
    0.049  Gaussian noisy max
    0.045  Laplace noisy max
    0.045  permute-and-flip
    0.046  exponential mechanism
    0.000  plain majority: not private
    """
    problem = given_problem("compare", problem, parameters)
    if total_epsilon is not None:
        _refuse("A comparison at one total", {"prior": prior, "draws": draws, "rng": rng, "extra": extra})
        totals = (queries, total_epsilon, total_delta, fallback_epsilon)
        return _of_many(problem, objective, base_accuracy, *totals, voters, time_limit)
    others = {"base_accuracy": base_accuracy, "voters": voters, "fallback_epsilon": fallback_epsilon}
    _refuse("A comparison without total_epsilon", others)
    if (queries is None) != (total_delta is None):
        raise InputError("queries and total_delta go together. Pass both, or none.")
    if queries is not None:
        queries, total_delta = check_count("queries", queries), check_total_delta(total_delta, "total_delta")
    best = solve(problem, prior=prior, objective=objective, time_limit=time_limit)
    for_a_prior = {"queries": queries, "draws": draws, "rng": rng}
    if best.encoding is not encodings.GAMMA:
        _refuse("A comparison of decisions", for_a_prior)
        rows = _with(extra, best, [entry_of("optimum", best)], _baselines(best, time_limit))
        return Comparison(rows, assumption=rests_on(best.problem))
    monotone = solve(problem, prior=prior, objective=objective, shape="monotone", time_limit=time_limit)
    optima = [entry_of("gamma_opt", best), entry_of("monotone", monotone)]
    entries = _with(extra, best, optima, _baselines(best, time_limit))
    if queries is not None and total_delta is not None:
        entries = tuple(replace(entry, total=_total(entry, problem, queries, total_delta)) for entry in entries)
    if draws is not None:
        intervals = sampled_error({each.name: each.gamma for each in entries}, best.prior, draws=draws, rng=rng)
        entries = tuple(replace(entry, interval=intervals[entry.name]) for entry in entries)
    return Comparison(entries)


def _with(
    extra: Mapping[str, Given] | None, best: Design, optima: Sequence[Entry], baselines: Sequence[Entry]
) -> tuple[Entry, ...]:
    """The optima, the user's own tables, and the baselines."""
    if extra is not None and not isinstance(extra, Mapping):
        raise refusal("extra", 'tables by name, such as {"mine": gamma}', extra)
    own: dict[str, Array] = {}
    for name, given in (extra or {}).items():
        try:
            own[str(name)] = encodings.table(given, best.problem)
        except InputError as error:
            raise InputError(f"extra {str(name)!r}: {error}") from None
    for entry in (*optima, *baselines):
        if entry.name in own:
            raise InputError(f"extra must have names that no other mechanism has. Got {entry.name!r}. Rename it.")
    rows = [_row(name, "", table, verify(table, best.problem), best) for name, table in own.items()]
    return (*optima, *rows, *baselines)


def beside(design: Design, *, time_limit: float = math.inf) -> Comparison:
    """A comparison of a design, called "this design", with all entries of `compare`; once if it is the optimum."""
    problem, objective = design.problem, design.objective
    best = design if _is_plain_optimum(design) else solve(problem, objective=objective, time_limit=time_limit)
    entries = [entry_of("optimum", best), *_baselines(best, time_limit)]
    same = abs(best.expected_cost - design.expected_cost) <= _SAME
    if design.profile:
        entries[0] = replace(entries[0], name="optimum without the profile")
    this = entry_of("this design" + " (optimum)" * same, design)
    return Comparison((this, *entries[same:]), assumption=rests_on(problem))


def _is_plain_optimum(design: Design) -> bool:
    """Whether a design was solved to the optimum, and under no constraint but the guarantee."""
    return not (design.shape != "free" or design.profile or design.absent) and design.gap <= _SAME


def entry_of(name: str, design: Design) -> Entry:
    """The entry of a design in a comparison, under its own objective."""
    return replace(_row(name, "", design.table, design.certificate, design), design=design)


def mechanisms_of(problem: MajorityProblem, extra: Iterable[str] = ()) -> list[str]:
    """The mechanisms of `compare` for one release of a majority, before they are computed."""
    objective = objectives.paper(independent())
    own = (one.names(problem, objective, math.inf) for one in BASELINES if one.serves(problem, objective))
    return ["gamma_opt", "monotone", *extra, *(name for names in own for name in names)]


def _baselines(best: Design, time_limit: float) -> list[Entry]:
    """All baselines that serve the problem and objective of the optimum."""
    problem, objective = best.problem, best.objective.of(best.problem)
    found = []
    for baseline in BASELINES:
        if baseline.serves(problem, objective):
            for name, (setting, table) in baseline.tables(problem, objective, time_limit).items():
                found.append(_row(name, setting, *certified(table, problem), best))
    return found


def _row(name: str, setting: str, table: Array, certificate: Certificate, best: Design) -> Entry:
    """The entry of a mechanism, under the objective of the optimum."""
    problem, objective = best.problem, best.objective
    error = wrong = disagreement = math.nan
    if best.encoding is encodings.GAMMA:
        error, disagreement = errors(best.prior, table)
        cost = disagreement if str(objective) == "disagreement" else error
    else:
        cost = cost_of(table, problem, objective)
        if isinstance(objective, OfVoters):
            own, none = objective.of(problem), 1.0 if problem.none else None
            wrong = cost_of(table, problem, objectives.truth(own.confusion, own.prior, none=none))
            disagreement = cost_of(table, problem, objectives.rule("plurality", own.confusion, own.prior, none=none))
    return Entry(name, setting, table, cost, wrong, disagreement, error, certificate, within=certificate.holds)


def _total(entry: Entry, problem: AnyProblem, queries: int, total_delta: float) -> float:
    """The cumulative privacy loss of labels of fresh voters."""
    kept = exact_guarantee(problem) if entry.within else None
    try:
        return of_region(region(entry.table, problem), problem.affected, queries, total_delta, guaranteed=kept).upper
    except InputError:  # delta is below the unavoidable one
        return math.inf


def _refuse(what: str, others: Mapping[str, object]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"{what} takes no {given[0]!r}. Leave it out.")


def _of_many(
    problem: AnyProblem,
    objective: str | Objective | None,
    base_accuracy: float | Sequence[float] | None,
    queries: int | None,
    total_epsilon: float | Sequence[float],
    total_delta: float | None,
    fallback_epsilon: float | None,
    voters: str | None,
    time_limit: float,
) -> Comparison:
    if isinstance(objective, str):
        raise InputError(f"A comparison at one total takes an objective of darrm.objectives. Got {objective!r}.")
    if queries is None or total_delta is None:
        raise InputError("total_epsilon goes with queries and total_delta. Pass all three.")
    until = time.monotonic() + real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    groups, adjacency = problem.groups, problem.adjacency
    budget, each = budget_of(groups, queries, total_epsilon, total_delta, fallback_epsilon, voters, until)
    asked = (base_accuracy, None, None, None, objective, False, problem.classes, adjacency, budget.voters)
    setting, budget = for_each_kind(setting_of(groups, problem.max_affected, *asked), budget, each)
    try:
        return at_one_total(setting, budget)
    except OutOfTime:
        raise SolverError("The time limit ended before all mechanisms were calibrated. Pass a longer one.") from None
