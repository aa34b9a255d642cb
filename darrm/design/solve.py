"""`darrm.solve`: checks of its arguments, the linear program, the certificate and the design."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from darrm._validation import choice, real, truth, whole
from darrm.certificate.engines import engine as engine_of
from darrm.certificate.scaling import repair_all
from darrm.constraints import rows as constraints
from darrm.constraints.classes import check_variables
from darrm.constraints.rows import HalfColumns
from darrm.design.absent import attendances, check_absent
from darrm.design.design import MOST_BITS, SHAPES, Design
from darrm.design.optimum import check_optimal, raised, searching
from darrm.design.program import Search, variables
from darrm.errors import ImpossiblePriorWarning, InputError, SolverError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, Paper, paper
from darrm.priors.prior import Prior
from darrm.priors.randomized import Randomized, why_impossible
from darrm.priors.texts import parse
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import without_privacy
from darrm.problem.limits import guarantees, profile_limits, profile_points
from darrm.problem.majority import given_problem
from darrm_solvers import Progress, Status, solve_convex_by_cuts

if TYPE_CHECKING:
    import cvxpy

    Custom = Callable[[cvxpy.Expression], tuple[cvxpy.Expression | None, list[cvxpy.Constraint]]]

CUTS = "cutting-planes"
ENGINES = (CUTS, "full-list", "full-list-cvxpy")
# Largest violation of the user's constraints by the certified table: solvers stop at about 1e-9, and repair scales.
CUSTOM_TOLERANCE = 1e-6


@dataclass
class Binding:
    """The binding constraints of an optimum, with which the next solve begins.

    Attributes
    ----------
    counts : list of tuple of 8 int
        Multisets of corners, in the order of `darrm.problem.corners.NAMES`.

    Examples
    --------
    Three designs for the same voters; each search begins with the binding constraints of the previous one:

    >>> import darrm
    >>> from darrm.design.solve import Binding
    >>> binding = Binding()
    >>> [round(darrm.solve(K=21, m=m, epsilon=0.1, binding=binding).error, 4) for m in (2, 3, 4)]
    [0.1215, 0.0612, 0.031]
    >>> len(binding.counts) > 0
    True
    """

    counts: list[tuple[int, ...]] = field(default_factory=list)


@usual_arithmetic
def solve(
    problem: AnyProblem | None = None,
    *,
    prior: Prior | str | None = None,
    shape: str = "free",
    objective: str | Objective | None = None,
    engine: str = "cutting-planes",
    ordered: bool = False,
    absent: bool = False,
    bits: int | None = None,
    profile: Iterable[tuple[float, float]] | None = None,
    custom: Custom | None = None,
    time_limit: float = math.inf,
    on_time_limit: str = "error",
    report: Callable[[Progress], None] | None = None,
    binding: Binding | None = None,
    **parameters: Any,
) -> Design:
    """Find the certified release of least error among all that satisfy the guarantee of the problem.

    For a `MajorityProblem` this is the noise function gamma of least error:

        minimise    1/2 sum over l > K/2 of  w_l (1 - gamma(l))
        subject to  A(p) - e^(m eps) A(p') <= e^(m eps) - 1 + 2 delta     for every multiset of corners
                    0 <= gamma(l) <= 1,   gamma(l) = gamma(K - l)

    and, for shape "monotone", gamma(l) <= gamma(l + 1) for l > K/2. The weights w come from the prior in closed form
    (`darrm.priors`). The answer of the solver is not trusted: it is scaled down until it is certified, with all
    rounding counted. Weak duality bounds its distance from the optimum.

    For a `DecisionProblem` it is the probabilities X(n) of answer 1 at the numbers n of ones in each group:

        minimise    sum over n, o of  C(n, o) X_o(n),      C from the objective (`darrm.objectives`)
        subject to  E_P[X_o] - e^eps E_P'[X_o] <= delta    for both answers o and all multisets of corners
                    0 <= X(n) <= 1

    Parameters
    ----------
    problem : MajorityProblem or DecisionProblem, optional
        The problem; or pass the parameters of a majority by name: ``solve(K=11, m=3, epsilon=0.1)``.
    prior : Prior or str, default "uniform" for a majority
        The distribution of the votes: a `darrm.priors` object or its text. "uniform" is that of the paper's
        surrogate objective (202): independent, on [1/2, 1]. The guarantee does not rest on it, if it comes from
        elsewhere than these votes or records. A decision between two answers takes one in the place of an objective:
        `darrm.objectives.paper`.
    shape : {"free", "ordered", "monotone"}
        "free" is the paper's linear program; its optimum need not be monotone. "monotone", for a majority, does not
        fall from the tie to the unanimous vote. "ordered", for a decision, never makes the answer that the objective
        prefers less likely than another at the same counts. An optimum without it can, see ``design.reversals``.
    objective : {"tv", "disagreement"}, optional, or an object of `darrm.objectives`
        A decision without a prior needs the object; it takes no engine, custom or binding. Under a prior the default is
        "tv" (the paper's) for independent and common ones, "disagreement" for vote histograms and fixed p. Its
        accuracies, costs and thresholds must come from elsewhere than these votes or records too. So must m, epsilon
        and the choice of the design, because the certificate is for a table that was chosen without these votes and
        records.
    engine : {"cutting-planes", "full-list", "full-list-cvxpy"}
        "cutting-planes" adds violated constraints; the others list all constraints (the paper's method, the reference)
        and pass them to HiGHS, directly or through CVXPY.
    ordered : bool
        Whether the shape is "ordered".
    absent : bool
        For a decision: whether voters may be absent. If so, a table is computed for every vector of present voters. Who
        is absent must not depend on the data, on votes or on their noise.
    bits : int in [1, 50], optional
        If given, probabilities are multiples of 2^-bits: the optimum is rounded towards noise by `Design.rounded` and
        certified as it is drawn; its gap has what rounding cost.
    profile : iterable of (epsilon, delta), optional
        Further limits that the same release must keep, with rising epsilons (nats, inf allowed) and falling deltas.
        `darrm.accounting.gdp` returns those of a whole curve. Engine "cutting-planes" only.
    custom : callable, optional
        Convex terms and constraints of your own: from gamma, a CVXPY expression of shape (K + 1,), to (objective,
        constraints). The objective is minimised; None keeps the objective above. The engine must be "cutting-planes".
        The gap is then infinite, because the distance of a general convex solver from the optimum is not certified.
    time_limit : float, seconds
        The time for the search of the optimum, checked within its steps too. Verification of the result takes extra
        time.
    on_time_limit : {"error", "best"}
        The action if there is no optimum by then, or if HiGHS fails: raise `SolverError`, or certify the best table so
        far (engine "cutting-planes"). The gap of the design bounds its distance from the optimum.
    report : callable, optional
        Called with a `darrm_solvers.Progress` after each round of engine "cutting-planes".
    binding : Binding, optional
        The search begins with the binding constraints of the last solve with this object, as far as this problem has
        them; afterwards the object holds those of this solve. It helps for the same K, Delta and ``max_affected`` and a
        similar m; for K up to 64 it saves no time and changes nothing. For one limit (no profile) and engine
        "cutting-planes".

    Returns
    -------
    Design

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
    Engines that list them reach K of about 21, or 115. With cutting planes some hundred rows are enough
    (docs/theory.md): K = 101 takes a few hundredths of a second, K = 1001 at m = 30 about a second
    (docs/benchmarks.md). A small m can take far longer.

    Examples
    --------
    A majority, and the larger error of the majority of three random votes at the same guarantee:

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
    problem = given_problem("solve", problem, parameters)
    for name, value in (("ordered", ordered), ("absent", absent)):
        truth(name, value)
    shape = "ordered" if ordered else choice("shape", shape, (*SHAPES, "ordered"))
    bits = None if bits is None else whole("bits", bits, 1, MOST_BITS)
    choice("engine", engine, ENGINES)
    choice("on_time_limit", on_time_limit, ("error", "best"))
    time_limit = real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    points, until = profile_points(profile), time.monotonic() + time_limit
    goal = _goal(problem, prior, objective)
    _check_together(problem, goal, shape, engine, absent, custom, binding, points, on_time_limit)
    if isinstance(goal, Paper) and isinstance(goal.prior, Randomized):  # it describes the voters
        for group in problem.groups:
            impossible = why_impossible(goal.prior, group.epsilon, group.delta)
            if impossible is not None:
                warnings.warn(impossible, ImpossiblePriorWarning, stacklevel=2)
    held = (*guarantees(problem), *profile_limits(problem, points))
    for limit in held:
        _check_size(limit.problem)
    if engine != CUTS:
        constraints.check_size(problem)  # type: ignore[arg-type]  # a majority's, as was checked
    if absent:
        _check_absent(problem, goal)
    looked_for = variables(problem, goal, shape, math.inf if on_time_limit == "best" else until)
    search = Search(looked_for, held, until, on_time_limit, report)
    gap = math.inf
    if looked_for.anything is not None:
        table, gap = looked_for.anything, 0.0
    elif custom is not None:
        table, goal = _custom(search, custom), Paper(goal.prior, "custom")  # type: ignore[attr-defined]  # as was checked
    elif engine != CUTS:
        table, gap = search.listed(engine)
    else:
        table, gap, bound_by = search.by_cuts(() if binding is None else binding.counts)
        if binding is not None:
            binding.counts = bound_by
    fewer = {}
    for present in attendances(problem) if absent else ():
        fewer[present] = solve(
            problem.with_present(present),
            objective=goal.with_present(present),
            shape=shape,
            profile=points,
            time_limit=max(1e-3, until - time.monotonic()),
            on_time_limit=on_time_limit,
            report=report,
        )
    design = Design(problem, table, goal, shape, gap=gap, profile=points, fewer=fewer)
    return design if bits is None else design.rounded(bits)


def _check_size(problem: AnyProblem) -> None:
    """`InputError` where no table fits; for non-private voters it says how noisy max is found in place of one."""
    try:
        engine_of(problem).check_size(problem)
    except InputError as error:
        if encodings.of(problem, ()) is encodings.GAMMA or not without_privacy(problem.groups):
            raise
        commands = "darrm plan" if problem.max_affected > 1 else "darrm plan or darrm compare"
        epsilon, delta = problem.epsilon, problem.delta or 1e-5
        raise InputError(
            f"{error} Noisy max needs no table: run {commands} with --queries 1 --total-epsilon {epsilon:g} "
            f"--total-delta {delta:g} in place of --release-epsilon (in Python darrm.plan with queries=1, "
            f"total_epsilon={epsilon:g}, total_delta={delta:g})."
        ) from None


def _goal(problem: AnyProblem, prior: Prior | str | None, objective: str | Objective | None) -> Objective:
    """The requested objective: one of `darrm.objectives`, or the paper's under a prior."""
    if isinstance(objective, Objective):
        if prior is None or prior == getattr(objective, "prior", None):
            return objective
        raise InputError(f"An objective of darrm.objectives takes no prior beside it. Got {prior!r}. Leave one out.")
    if prior is None:
        if encodings.of(problem, ()) is not encodings.GAMMA:
            raise InputError(
                "A decision needs an objective, such as darrm.objectives.truth(accuracy=[0.8, 0.7]), or a prior. Got "
                f"{objective!r}."
            )
        prior = "uniform"
    prior = parse(prior)
    return paper(prior, prior.default_objective if objective is None else objective)


def _check_together(
    problem: AnyProblem,
    goal: Objective,
    shape: str,
    engine: str,
    absent: bool,
    custom: Custom | None,
    binding: Binding | None,
    points: Sequence[tuple[float, float]],
    on_time_limit: str,
) -> None:
    """`InputError` for arguments that exclude each other."""
    if encodings.of(problem, ()) is encodings.GAMMA:
        if absent or not isinstance(goal, Paper):
            raise InputError(
                "absent, and an objective of darrm.objectives that has no prior, are for a darrm.DecisionProblem. Got "
                f"{problem!r}."
            )
    else:
        asked = {"engine": engine != CUTS, "custom": custom is not None, "binding": binding is not None}
        for name in (name for name, given in asked.items() if given):
            raise InputError(f"A decision is solved without {name!r}, which is for a majority. Leave it out.")
        if shape == "monotone":
            raise InputError('shape "monotone" is for a MajorityProblem. A decision can be "ordered".')
    if engine != CUTS and (custom is not None or points or on_time_limit == "best"):
        raise InputError(f'custom, profile and on_time_limit "best" need engine "{CUTS}". Got {engine!r}.')
    if binding is not None and (points or custom is not None or engine != CUTS):
        raise InputError(f'binding needs engine "{CUTS}" and neither profile nor custom.')


def _check_absent(problem: Any, goal: Objective) -> None:
    """Refuse tables for absent voters that are too large, or too many."""
    alike = not problem.binary and goal.symmetric(problem)
    if not problem.binary:
        check_variables(problem, alike=alike)
    check_absent(problem, alike=alike)
    for present in islice(attendances(problem), 1):
        goal.with_present(present)


def _custom(search: Search, custom: Custom) -> Array:
    """The certified table of least custom objective."""
    import cvxpy

    K, weights, first = search.held[0].problem.K, search.of.weights, search.of.first
    whole = np.array([HalfColumns(K).table(unit) for unit in np.eye(weights.size)]).T
    stated: list[tuple[cvxpy.Variable, list[cvxpy.Constraint]]] = []

    def model(half: cvxpy.Variable) -> tuple[cvxpy.Expression, list[cvxpy.Constraint]]:
        objective, own = _terms(custom(cvxpy.Constant(whole) @ half))
        stated.append((half, own))
        if objective is None:
            objective = cvxpy.Constant(raised(weights)) @ (1 - half)
        return objective, [*own, cvxpy.Constant(first.rows) @ half <= 0] if len(first.rows) else own

    try:
        with searching(search.until) as left:
            solution, _ = solve_convex_by_cuts(weights.size, model, search.cuts, time_limit=left, report=search.report)
    except InputError:
        raise
    except (ValueError, cvxpy.DCPError) as error:
        raise InputError(f"custom cannot be solved: {error}.") from None
    if solution.status is Status.INFEASIBLE:
        raise SolverError(
            "No noise function satisfies the guarantee and meets the constraints of custom. Loosen them, or raise m or "
            "delta."
        )
    check_optimal(solution, "custom", search.on_time_limit)
    gamma = repair_all(search.candidates.released(solution.x), search.held)
    # The constraints are evaluated at the certified table, with the user's own variables as solved.
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
