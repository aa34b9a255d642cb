"""gamma_opt: rows in, linear program, certified table out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from darrm._validation import choice, real
from darrm.certificate.engines import engine as engine_of
from darrm.certificate.scaling import repair_all
from darrm.constraints import rows as constraints
from darrm.constraints.rows import HalfColumns
from darrm.design.cuts import Candidates, CutFinder, separators
from darrm.design.decision import DecisionDesign
from darrm.design.design import SHAPES, Design
from darrm.design.optimum import check_optimal, upper_bound
from darrm.design.solve_decision import solve_decision
from darrm.errors import ImpossiblePriorWarning, InputError, SolverError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.priors.prior import Prior
from darrm.priors.prior import weights as weights_of
from darrm.priors.randomized import Randomized, why_impossible
from darrm.priors.texts import parse
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit, Problem, guarantee, profile_limits, profile_points
from darrm.problem.majority import MajorityProblem
from darrm_solvers import (
    LinearProgram,
    Progress,
    Rows,
    Separator,
    Status,
    solve_by_cuts,
    solve_convex_by_cuts,
    solve_cvxpy,
    solve_highs,
)

if TYPE_CHECKING:
    import cvxpy

    Custom = Callable[[cvxpy.Expression], tuple[cvxpy.Expression | None, list[cvxpy.Constraint]]]

ENGINES = ("cutting-planes", "full-list", "full-list-cvxpy")
# Weights below this share of the largest are raised to it, so that no gamma(l) is left to chance and ties fall to
# the largest gamma; where many are, to so much less that it costs half of this in all. The cost is part of the gap,
# which is computed with the true weights.
WEIGHT_FLOOR = 1e-9
# By how much the certified table may break a constraint of the user's: solvers stop at about 1e-9, and repair scales.
CUSTOM_TOLERANCE = 1e-6


@dataclass
class Binding:
    """The constraints that bound an optimum, for the next solve to begin with.

    Attributes
    ----------
    counts : list of tuple of 8 int
        Multisets of corners, in the order of `darrm.problem.corners.NAMES`.

    Examples
    --------
    Three designs of the same voters, each begun with the constraints that bound the one before:

    >>> import darrm
    >>> from darrm.design.solve import Binding
    >>> binding = Binding()
    >>> [round(darrm.solve(K=21, m=m, epsilon=0.1, binding=binding).error, 4) for m in (2, 3, 4)]
    [0.1215, 0.0612, 0.031]
    >>> len(binding.counts) > 0
    True
    """

    counts: list[tuple[int, ...]] = field(default_factory=list)


@overload
def solve(
    problem: DecisionProblem,
    *,
    objective: Objective,
    ordered: bool = False,
    absent: bool = False,
    profile: Iterable[tuple[float, float]] | None = None,
    time_limit: float = math.inf,
    on_time_limit: str = "error",
    report: Callable[[Progress], None] | None = None,
) -> DecisionDesign: ...


@overload
def solve(
    problem: MajorityProblem | None = None,
    *,
    prior: Prior | str | None = None,
    shape: str | None = None,
    objective: str | None = None,
    engine: str | None = None,
    profile: Iterable[tuple[float, float]] | None = None,
    custom: Custom | None = None,
    time_limit: float = math.inf,
    on_time_limit: str = "error",
    report: Callable[[Progress], None] | None = None,
    binding: Binding | None = None,
    **parameters: Any,
) -> Design: ...


def solve(
    problem: MajorityProblem | DecisionProblem | None = None,
    *,
    prior: Prior | str | None = None,
    shape: str | None = None,
    objective: str | Objective | None = None,
    engine: str | None = None,
    ordered: bool = False,
    absent: bool = False,
    profile: Iterable[tuple[float, float]] | None = None,
    custom: Custom | None = None,
    time_limit: float = math.inf,
    on_time_limit: str = "error",
    report: Callable[[Progress], None] | None = None,
    binding: Binding | None = None,
    **parameters: Any,
) -> Design | DecisionDesign:
    """The release of least error among all that satisfy the guarantee of the problem, certified.

    For a `MajorityProblem` the noise function gamma of least error:

        minimise    1/2 sum over l > K/2 of  w_l (1 - gamma(l))
        subject to  A(p) - e^(m eps) A(p') <= e^(m eps) - 1 + 2 delta     for every multiset of corners
                    0 <= gamma(l) <= 1,   gamma(l) = gamma(K - l)

    and, for shape "monotone", gamma(l) <= gamma(l + 1) for l > K/2. The weights w come from the prior in closed form
    (`darrm.priors`). The answer of the solver is not trusted. It is scaled down by the certified ratio until it is
    verified, with rounding counted. Weak duality bounds its distance from the optimum.

    For a `DecisionProblem` the probabilities X(n) of answer 1 at the numbers n of ones in each group:

        minimise    sum over n, o of  C(n, o) X_o(n),      C from the objective (`darrm.objectives`)
        subject to  E_P[X_o] - e^eps E_P'[X_o] <= delta    for both answers o and all multisets of corners
                    0 <= X(n) <= 1

    Parameters
    ----------
    problem : MajorityProblem or DecisionProblem, optional
        Or the parameters of the first by name: ``solve(K=11, m=3, epsilon=0.1)``.
    prior : Prior or str, default "uniform"
        Where votes come from: a `darrm.priors` object or its text. "uniform" is the paper's: independent, on [1/2, 1].
    shape : {"free", "monotone"}
        "free" is the paper's linear program; its optimum may dip. "monotone" rises from the tie to the unanimous vote.
    objective : {"tv", "disagreement"}, optional, or an object of `darrm.objectives`
        A decision needs the object; it takes no prior, shape, engine, custom or binding. For a majority the default is
        "tv" (the paper's) for the paper's priors, "disagreement" for vote histograms and fixed p.
    engine : {"cutting-planes", "full-list", "full-list-cvxpy"}
        "cutting-planes" adds constraints where they are broken; the others list all of them (the paper's method, the
        reference) and hand them to HiGHS, directly or through CVXPY.
    ordered : bool
        For a decision: whether the answer that the objective prefers at given counts must never be less likely than the
        other there. An optimum can do otherwise, see ``design.reversals``.
    absent : bool
        For a decision: whether voters may be absent. Then a decision is made for every vector of present voters.
        Who is absent must not depend on the data, on votes or on their noise.
    profile : iterable of (epsilon, delta), optional
        Further limits for one release, all to be kept at once; rising epsilons (nats, inf allowed), falling deltas. A
        whole curve: `darrm.accounting.gdp`. Engine "cutting-planes".
    custom : callable, optional
        Convex terms and constraints of your own: from gamma, a CVXPY expression of shape (K + 1,), to (objective,
        constraints). The objective is minimised; None stands for the one above. The engine must be "cutting-planes".
        The gap is then infinite: there is no proof of how far from the optimum a general convex solver stopped.
    time_limit : float, seconds
        For the search of the optimum; checked between rounds. Verifying comes on top.
    on_time_limit : {"error", "best"}
        What to do without an optimum by then, or if HiGHS gives up: raise `SolverError`, or certify the best table so
        far (engine "cutting-planes"). Its gap bounds its distance from the optimum.
    report : callable, optional
        Called with a `darrm_solvers.Progress` after each round of engine "cutting-planes".
    binding : Binding, optional
        Begin with the constraints that bound the last solve that this object was passed to, as far as this problem has
        them. Best for the same K, Delta and ``max_affected`` and a near m; for K up to 64 it saves no time, and changes
        nothing. Afterwards it holds the constraints of this solve. For one limit (no profile) and engine
        "cutting-planes".

    Returns
    -------
    Design or DecisionDesign

    Raises
    ------
    InputError
        If a parameter is out of range, or the constraints are too many for an engine that lists them.
    SolverError
        If the solver ends without an optimum, or your constraints cannot be met.

    Warns
    -----
    ImpossiblePriorWarning
        If the prior is one of `darrm.priors.randomized_response` that is less private than the voters of the problem.

    Notes
    -----
    Section 5 of Jiang, Zhang, Joshi (TMLR 2024). Its list of constraints has C(K+7,7) rows, or C(K+3,3) if Delta = 0.
    Engines that list them reach K of about 21, or 115. By cuts some hundred rows do (docs/theory.md): K = 101 takes
    a few hundredths of a second, K = 1001 at m = 30 about a second (docs/benchmarks.md). A small m can take far longer.

    Examples
    --------
    A majority, and how much worse the same guarantee is by releasing that of three random votes:

    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> subsampled = darrm.repair(darrm.baselines.subsampling(11, 3), design.problem)
    >>> round(design.error, 4), round(darrm.Design(design.problem, subsampled, design.prior).error, 4)
    (0.0413, 0.1219)

    A decision by two groups of voters, right in 71 cases of 100:

    >>> groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.2)
    >>> decision = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.55]))
    >>> round(decision.expected_cost, 4)
    0.2889
    """
    if isinstance(problem, DecisionProblem):
        strange = {"prior": prior, "shape": shape, "engine": engine, "custom": custom, "binding": binding, **parameters}
        given = [name for name, value in strange.items() if value is not None]
        if given:
            raise InputError(f"A decision is solved without {given[0]!r}: its objective says all. Leave it out.")
        return solve_decision(
            problem,
            objective,
            ordered=ordered,
            absent=absent,
            profile=profile,
            time_limit=time_limit,
            on_time_limit=on_time_limit,
            report=report,
        )
    if ordered or absent or isinstance(objective, Objective):
        raise InputError(
            f"ordered, absent and the objectives of darrm.objectives are for a darrm.DecisionProblem. Got {problem!r}."
        )
    prior = "uniform" if prior is None else prior
    shape = "free" if shape is None else shape
    engine = "cutting-planes" if engine is None else engine
    if problem is None:
        allowance = "total_epsilon" if "total_epsilon" in parameters else "m"
        missing = [name for name in ("K", allowance, "epsilon") if name not in parameters]
        if missing:
            raise InputError(
                f"solve needs a problem, or K, m (or total_epsilon) and epsilon. Missing: {', '.join(missing)}."
            )
        try:
            problem = MajorityProblem(**parameters)
        except TypeError as error:
            names = (*MajorityProblem.__dataclass_fields__, "total_epsilon")
            unknown = sorted(set(parameters) - set(names))
            if not unknown:
                raise
            allowed = ", ".join(names)
            raise InputError(f"solve has no parameter {unknown[0]!r}. A problem takes {allowed}.") from error
    elif isinstance(problem, type) or not hasattr(problem, "exact_epsilon") or parameters:
        raise InputError(
            f"A problem must be one MajorityProblem, or its parameters by name, not both. Got {problem!r} and "
            f"{parameters}."
        )
    if isinstance(prior, str):
        prior = parse(prior)
    if not isinstance(prior, Prior):
        raise InputError(f"prior must come from darrm.priors, or be its text. Got {prior!r}.")
    if isinstance(prior, Randomized):  # it says what the voters are
        impossible = why_impossible(prior, problem.epsilon, problem.Delta)
        if impossible is not None:
            warnings.warn(impossible, ImpossiblePriorWarning, stacklevel=2)
    choice("shape", shape, SHAPES)
    choice("engine", engine, ENGINES)
    time_limit = real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    choice("on_time_limit", on_time_limit, ("error", "best"))
    if engine != "cutting-planes" and (custom is not None or profile is not None or on_time_limit == "best"):
        raise InputError(f'custom, profile and on_time_limit "best" need engine "cutting-planes". Got {engine!r}.')
    points = profile_points(profile)
    if binding is not None and (points or custom is not None or engine != "cutting-planes"):
        raise InputError('binding needs engine "cutting-planes" and neither profile nor custom.')
    held = (guarantee(problem), *profile_limits(problem, points))
    engine_of(problem).check_size(problem)
    if engine != "cutting-planes":
        constraints.check_size(problem)
    objective = prior.default_objective if objective is None else objective
    weights = weights_of(prior, problem.K, objective)
    columns = HalfColumns(problem.K, monotone=shape == "monotone")
    candidates = Candidates(held, columns)
    finders = [CutFinder(limit, candidates) for limit in held]
    cuts = separators(finders)
    rising = _rising(weights.size) if shape == "monotone" else np.zeros((0, weights.size))
    if custom is not None:
        gamma = _custom(held, weights, candidates, cuts, rising, custom, time_limit, on_time_limit, report)
        return Design(problem, gamma, prior, shape, "custom", profile=points)
    if engine == "cutting-planes":
        start = Rows(rising, np.zeros(len(rising)))
        if binding is not None:
            try:
                near = finders[0].begin_with(binding.counts)
            except (TypeError, ValueError, OverflowError):
                raise InputError("binding.counts must be multisets: 8 whole numbers each.") from None
            start = Rows(np.concatenate([start.rows, near.rows]), np.concatenate([start.limits, near.limits]))
        answer = solve_by_cuts(_raised(weights), cuts, first=start, time_limit=time_limit, report=report)
        solution, program = answer.solution, answer.program
        if binding is not None:
            bound_by = solution.multipliers[len(rising) :] > 0
            binding.counts = [counts for counts, binds in zip(finders[0].proposed, bound_by, strict=True) if binds]
    else:
        listed = constraints.all_rows(problem)
        limits = np.append(np.zeros(len(rising)), np.ones(len(listed)))
        program = LinearProgram(_raised(weights), np.vstack([rising, listed]), limits)
        solution = (solve_highs if engine == "full-list" else solve_cvxpy)(program, time_limit=time_limit)
    check_optimal(solution, engine, on_time_limit)
    # One common factor, as in repair, keeps a monotone table monotone.
    gamma = repair_all(candidates.released(solution.x), held)
    rounding = max([finder.rows.rounding for finder in finders])
    bound = upper_bound(rounding, weights, program, solution.multipliers, exact=len(rising))
    attained = float(weights @ gamma[problem.K // 2 + 1 :])
    return Design(problem, gamma, prior, shape, objective, gap=max(0.0, bound - attained) / 2, profile=points)


def _rising(n: int) -> Array:
    """gamma(l) - gamma(l+1) <= 0 as rows."""
    return np.asarray(np.eye(n)[:-1] - np.eye(n, k=1)[:-1])


def _raised(weights: Array) -> Array:
    share = weights / weights.max()
    low = np.count_nonzero(share < WEIGHT_FLOOR)
    return np.asarray(np.maximum(share, WEIGHT_FLOOR / max(1.0, low * weights.max())))


def _custom(
    held: Sequence[Limit[Problem]],
    weights: Array,
    candidates: Candidates,
    cuts: Sequence[Separator],
    rising: Array,
    custom: Custom,
    time_limit: float,
    on_time_limit: str,
    report: Callable[[Progress], None] | None,
) -> Array:
    """The certified table of least custom objective."""
    import cvxpy

    K = held[0].problem.K
    whole = np.array([HalfColumns(K).table(unit) for unit in np.eye(weights.size)]).T
    stated: list[tuple[cvxpy.Variable, list[cvxpy.Constraint]]] = []

    def model(half: cvxpy.Variable) -> tuple[cvxpy.Expression, list[cvxpy.Constraint]]:
        objective, own = _terms(custom(cvxpy.Constant(whole) @ half))
        stated.append((half, own))
        if objective is None:
            objective = cvxpy.Constant(_raised(weights)) @ (1 - half)
        return objective, [*own, cvxpy.Constant(rising) @ half <= 0] if len(rising) else own

    try:
        solution, _ = solve_convex_by_cuts(weights.size, model, cuts, time_limit=time_limit, report=report)
    except InputError:
        raise
    except (ValueError, cvxpy.DCPError) as error:
        raise InputError(f"custom cannot be solved: {error}.") from None
    if solution.status is Status.INFEASIBLE:
        raise SolverError(
            "No noise function satisfies the guarantee and meets the constraints of custom. Loosen them, or raise m or "
            "delta."
        )
    check_optimal(solution, "custom", on_time_limit)
    gamma = repair_all(candidates.released(solution.x), held)
    # What is released, beside the variables of the user's own as they were solved for.
    half, own = stated[0]
    half.value = gamma[K // 2 + 1 :]
    broken = max((float(np.max(constraint.violation())) for constraint in own), default=0.0)  # type: ignore[no-untyped-call]
    if not broken <= CUSTOM_TOLERANCE:
        raise SolverError(
            f"The certified table breaks a constraint of custom by {broken:.3g}, more than {CUSTOM_TOLERANCE:g}: the "
            f"solver stopped too early ({solution.message}). Loosen the constraint, or give it more time."
        )
    return gamma


def _terms(answer: object) -> tuple[cvxpy.Expression | None, list[cvxpy.Constraint]]:
    import cvxpy

    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise InputError(f"custom must return (objective or None, list of constraints). Got {answer!r}.")
    objective, own = answer
    if isinstance(objective, cvxpy.Minimize):
        objective = objective.args[0]
    if objective is not None and not (isinstance(objective, cvxpy.Expression) and objective.is_scalar()):
        raise InputError(f"The objective of custom must be a scalar CVXPY expression or None. Got {objective!r}.")
    if not (isinstance(own, list | tuple) and all(isinstance(constraint, cvxpy.Constraint) for constraint in own)):
        raise InputError(f"The constraints of custom must be a list of CVXPY constraints. Got {own!r}.")
    return objective, list(own)
