"""gamma_opt: rows in, linear program, certified table out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from darrm import priors
from darrm.design import constraints
from darrm.design.certificate import repair
from darrm.design.cuts import CutFinder
from darrm.design.design import SHAPES, Design
from darrm.design.separation import check_size
from darrm.errors import InputError, SolverError
from darrm.priors import Prior
from darrm.problem import MajorityProblem

Array = NDArray[np.float64]
ENGINES = ("cuts", "highs", "cvxpy")
# Weights below this share of the largest are raised to it, so that no gamma(l) is left to chance and ties fall to
# the largest gamma. What it costs is part of the gap, which is computed with the true weights.
WEIGHT_FLOOR = 1e-9


def solve(
    problem: MajorityProblem | None = None,
    *,
    prior: Prior | str = "uniform",
    shape: str = "free",
    objective: str | None = None,
    engine: str = "cuts",
    time_limit: float = math.inf,
    **parameters: object,
) -> Design:
    """The noise function of least error among all that keep the promise of the problem, certified.

        minimise    1/2 sum over l > K/2 of  w_l (1 - gamma(l))
        subject to  A(p) - e^(m eps) A(p') <= e^(m eps) - 1 + 2 delta     for every multiset of corners
                    0 <= gamma(l) <= 1,   gamma(l) = gamma(K - l)

    and, for shape "monotone", gamma(l) <= gamma(l + 1) for l > K/2. The weights w come from the prior in closed form
    (`darrm.priors`). The answer of the solver is not trusted: it is scaled down by the certified ratio until it is
    verified, with rounding counted, and its distance from the optimum is bounded by weak duality.

    Parameters
    ----------
    problem : MajorityProblem, optional
        Or its parameters by name: ``solve(K=11, m=3, epsilon=0.1)``.
    prior : Prior or str, default "uniform"
        Where votes come from: a `darrm.priors` object or its text. "uniform" is the paper's: independent, on [1/2, 1].
    shape : {"free", "monotone"}
        "free" is the paper's linear program; its optimum may dip. "monotone" rises from the tie to the unanimous vote.
    objective : {"tv", "disagreement"}, optional
        Default: "tv" (the paper's) for the paper's priors, "disagreement" for vote histograms and fixed p.
    engine : {"cuts", "highs", "cvxpy"}
        "cuts" adds constraints where they are broken; the others list all of them (the paper's method, the reference)
        and hand them to HiGHS, directly or through CVXPY.
    time_limit : float, seconds
        For the search of the optimum; without one by then, `SolverError`. Verifying comes on top.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If a parameter is out of range, or the constraints are too many for an engine that lists them.
    SolverError
        If the solver ends without an optimum.

    Notes
    -----
    Section 5 of Jiang, Zhang, Joshi (TMLR 2024), whose list of constraints has C(K+7,7) rows, or C(K+3,3) if Delta = 0;
    listing them ends at K of about 21, or 115. By cuts some hundred rows do (docs/theory.md): K = 101 takes tenths of a
    second, K = 1001 about a minute.
    """
    if problem is None:
        missing = [name for name in ("K", "m", "epsilon") if name not in parameters]
        if missing:
            raise InputError(f"solve needs a problem, or K, m and epsilon. Missing: {', '.join(missing)}.")
        try:
            problem = MajorityProblem(**parameters)  # type: ignore[arg-type]
        except TypeError as error:
            unknown = sorted(set(parameters) - set(MajorityProblem.__dataclass_fields__))
            if not unknown:
                raise
            allowed = ", ".join(MajorityProblem.__dataclass_fields__)
            raise InputError(f"solve has no parameter {unknown[0]!r}. A problem takes {allowed}.") from error
    elif not isinstance(problem, MajorityProblem) or parameters:
        raise InputError(
            f"solve takes one MajorityProblem, or its parameters by name, not both. Got {problem!r} and {parameters}."
        )
    if isinstance(prior, str):
        prior = priors.parse(prior)
    if not isinstance(prior, Prior):
        raise InputError(f"prior must come from darrm.priors, or be its text. Got {prior!r}.")
    if shape not in SHAPES:
        raise InputError(f"shape must be one of {', '.join(SHAPES)}. Got {shape!r}.")
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}. Got {engine!r}.")
    if isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not time_limit > 0:
        raise InputError(f"time_limit must be above 0 seconds. Got {time_limit!r}.")
    check_size(problem)
    if engine != "cuts":
        constraints.check_size(problem)
    objective = prior.default_objective if objective is None else objective
    weights = priors.weights(prior, problem.K, objective)
    finder = CutFinder(problem, monotone=shape == "monotone")
    half, bound = _optimum(problem, weights, finder, shape, engine, time_limit)
    # One common factor, as in repair, keeps a monotone table monotone.
    gamma = repair(finder.table(half), problem)
    attained = float(weights @ gamma[problem.K // 2 + 1 :])
    return Design(problem, gamma, prior, shape, objective, gap=max(0.0, bound - attained) / 2)


def _optimum(
    problem: MajorityProblem, weights: Array, finder: CutFinder, shape: str, engine: str, time_limit: float
) -> tuple[Array, float]:
    """The half gamma(floor(K/2) + 1), ..., gamma(K) that the solver found, and an upper bound on weights @ half."""
    from darrm_solvers import LinearProgram, Rows, Status, solve_by_cuts, solve_cvxpy, solve_highs

    n = weights.size
    rising = np.eye(n)[:-1] - np.eye(n, k=1)[:-1] if shape == "monotone" else np.zeros((0, n))
    scaled = weights / weights.max()
    raised = np.maximum(scaled, WEIGHT_FLOOR)
    if engine == "cuts":
        answer = solve_by_cuts(raised, finder, first=Rows(rising, np.zeros(len(rising))), time_limit=time_limit)
        solution, program = answer.solution, answer.program
    else:
        listed = constraints.all_rows(problem)
        limits = np.append(np.ones(len(listed)), np.zeros(len(rising)))
        program = LinearProgram(raised, np.vstack([listed, rising]), limits)
        solution = (solve_highs if engine == "highs" else solve_cvxpy)(program, time_limit=time_limit)
    if solution.status is not Status.OPTIMAL:
        raise SolverError(
            f"{engine} ended without an optimum ({solution.message}, {solution.iterations} iterations): "
            f"{solution.status.value}. No gamma is returned."
        )
    if not np.all((solution.x >= 0) & (solution.x <= 1)):
        raise SolverError(f"{engine} returned an optimum outside [0, 1]. No gamma is returned; try another engine.")
    bound = LinearProgram(scaled, program.rows, program.limits).dual_bound(solution.multipliers)
    # The rows stand for exact ones, and the bound is a sum: every multiplier pays for the rounding in its row.
    paid = solution.multipliers[solution.multipliers > 0]
    sums = 2.0**-52 * (paid.size + n)
    bound += float(paid.sum()) * (
        constraints.rounding(problem) + 1e-16 + sums * float(np.abs(program.rows).max(initial=0.0))
    )
    return solution.x, (bound + sums * (1 + bound)) * float(weights.max())
