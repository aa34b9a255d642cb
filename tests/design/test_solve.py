"""gamma_opt: golden figures, every engine against the full list, and solvers that lie."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cases import thorough
from oracles import golden

import darrm
from darrm import baselines, priors
from darrm.constraints.rows import HalfColumns
from darrm.design.cuts import Candidates, CutFinder
from darrm.design.optimum import WEIGHT_FLOOR, check_optimal
from darrm.design.solve import Binding
from darrm.problem.limits import guarantee
from darrm_solvers import (
    HighsModel,
    LinearProgram,
    Progress,
    Rows,
    Solution,
    Status,
    solve_by_cuts,
    solve_cvxpy,
    solve_highs,
)


@pytest.mark.parametrize(("case", "half"), golden.GAMMA, ids=str)
@pytest.mark.parametrize("engine", ["cutting-planes", "full-list", "full-list-cvxpy"])
def test_golden_gamma(case: tuple[int, float, float, float], half: list[float], engine: str) -> None:
    K, epsilon, m, Delta = case
    design = darrm.solve(K=K, m=m, epsilon=epsilon, Delta=Delta, engine=engine)
    assert design.gamma[K // 2 + 1 :] == pytest.approx(half, abs=1e-8)
    assert design.certificate.holds
    assert design.gap <= 1e-9


@pytest.mark.parametrize(("case", "value"), golden.OBJECTIVE, ids=str)
def test_golden_objective(case: tuple[int, float, float], value: float) -> None:
    K, epsilon, m = case
    design = darrm.solve(K=K, m=m, epsilon=epsilon)
    weights = priors.weights(priors.independent(), K, "tv")
    assert -weights @ design.gamma[K // 2 + 1 :] / 2 == pytest.approx(value, abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["free", "monotone"])
def test_error_at_101_votes(shape: str) -> None:
    design = darrm.solve(K=101, m=10, epsilon=0.1, Delta=1e-5, prior="common", shape=shape)
    assert design.error == pytest.approx(golden.ERROR_101[shape], abs=1e-7)
    assert design.gap <= 1e-9


def test_golden_baselines() -> None:
    assert baselines.subsampling(11, 3)[6:] == pytest.approx(golden.SUBSAMPLING_11_3, abs=1e-11)
    assert baselines.double_subsampling(11, 3)[6:] == pytest.approx(golden.DOUBLE_SUBSAMPLING_11_3, abs=1e-11)
    constant = baselines.constant(darrm.MajorityProblem(11, 3, 0.1))
    assert constant == pytest.approx(golden.CONSTANT_11_3_PURE, abs=1e-15)
    # Table 3 of the paper: tau = 14.0328, lambda = .1003 by general composition; the constant must verify.
    problem = darrm.MajorityProblem(35, 6.4521, 0.1, 1e-5, delta=0.1001)
    assert darrm.verify(baselines.constant(problem, tau=14.0328, lam=0.1003), problem).holds


SIZES = [(K, max_affected) for K in (1, 2, 3, 6, 7, 9) for max_affected in sorted({1, max(1, K // 2), K})]


@pytest.mark.first(14, 134)
@pytest.mark.parametrize("shape", ["free", "monotone"])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 5.0])
@pytest.mark.parametrize("Delta", [0.0, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize(("K", "max_affected"), SIZES)
def test_cuts_find_what_the_full_list_gives(
    K: int, Delta: float, epsilon: float, max_affected: int, shape: str
) -> None:
    m = 1 + (K - 1) * 0.37
    problem = darrm.MajorityProblem(K, m, epsilon, Delta, max_affected=max_affected)
    prior = "common" if K % 2 else "uniform"
    by_cuts, by_list = (
        darrm.solve(problem, prior=prior, shape=shape, engine=e) for e in ("cutting-planes", "full-list")
    )
    assert by_cuts.gap <= 1e-9
    # The solver's multipliers for the full list are right to 1e-10 each, so that its gap may be larger.
    assert by_list.gap <= 1e-8
    assert abs(by_cuts.error - by_list.error) <= 1e-9


@pytest.mark.first(1)
@pytest.mark.parametrize("Delta", [0.0, 1e-5, 0.1])
@pytest.mark.parametrize("K", [4, 7, 11])
def test_cvxpy_agrees(K: int, Delta: float) -> None:
    problem = darrm.MajorityProblem(K, 2, 0.2, Delta)
    values = [darrm.solve(problem, prior="common", engine=engine).error for engine in ("full-list", "full-list-cvxpy")]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"K": 12, "m": 3, "epsilon": 0.1},
        {"K": 1, "m": 1, "epsilon": 0.1},
        {"K": 11, "m": 11, "epsilon": 0.1},
        {"K": 11, "m": 3, "epsilon": 30},
        {"K": 11, "m": 3, "epsilon": 1e-9},
        {"K": 11, "m": 3, "epsilon": 0.1, "Delta": 0.3},
        {"K": 11, "m": 3, "epsilon": 0.1, "Delta": 1e-5, "delta": 0.5},
        {"K": 20, "m": 2.5, "epsilon": 0.3, "max_affected": 3, "Delta": 1e-6},
    ],
    ids=str,
)
def test_edges_are_solved_and_certified(parameters: dict[str, float]) -> None:
    design = darrm.solve(**parameters)
    assert design.certificate.holds
    assert design.certificate.needed_delta <= design.problem.delta
    assert design.gap <= 1e-9
    assert design.certificate.tight_epsilon <= design.problem.release_epsilon * (1 + 1e-15)


@pytest.mark.parametrize("K", [11, 101])
def test_one_changed_voter_needs_no_noise(K: int) -> None:
    assert darrm.solve(K=K, m=1, epsilon=0.1, max_affected=1).gamma.min() >= 1 - 1e-12


def test_monotone_rises_and_costs_a_little() -> None:
    free, monotone = (darrm.solve(K=11, m=3, epsilon=0.1, shape=shape) for shape in ("free", "monotone"))
    assert np.all(np.diff(monotone.gamma[6:]) >= 0)
    assert np.any(np.diff(free.gamma[6:]) < 0)
    assert free.error < monotone.error < free.error + 1e-3


def test_the_same_inputs_give_the_same_bytes() -> None:
    tables = [darrm.solve(K=21, m=4, epsilon=0.2, Delta=1e-6).gamma.tobytes() for _ in range(2)]
    assert tables[0] == tables[1]


def answer(x: object, status: Status = Status.OPTIMAL) -> Solution:
    return Solution(status, np.asarray(x, dtype=float), np.full(364, np.nan), 3, "made up")


@pytest.mark.parametrize("x", [np.ones(6), np.zeros(6), [1, 0, 1, 0, 1, 0], np.full(6, 0.7)])
def test_a_lying_solver_cannot_harm(monkeypatch: pytest.MonkeyPatch, x: object) -> None:
    monkeypatch.setattr("darrm.design.program.solve_highs", lambda *_, **__: answer(x))
    design = darrm.solve(K=11, m=3, epsilon=0.1, engine="full-list")
    assert design.certificate.holds
    honest = darrm.solve(K=11, m=3, epsilon=0.1)
    assert design.error - honest.error <= design.gap + 1e-12


@pytest.mark.parametrize("x", [np.full(6, np.nan), np.full(6, 1.5), np.full(6, -1e-9)])
def test_impossible_answers_are_refused(monkeypatch: pytest.MonkeyPatch, x: object) -> None:
    monkeypatch.setattr("darrm.design.program.solve_highs", lambda *_, **__: answer(x))
    with pytest.raises(darrm.SolverError, match="outside"):
        darrm.solve(K=11, m=3, epsilon=0.1, engine="full-list")


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OPTIMAL])
def test_other_statuses_say_what_happened(monkeypatch: pytest.MonkeyPatch, status: Status) -> None:
    monkeypatch.setattr("darrm.design.program.solve_highs", lambda *_, **__: answer(np.ones(6), status))
    with pytest.raises(darrm.SolverError, match=status.value[:20]):
        darrm.solve(K=11, m=3, epsilon=0.1, engine="full-list")


@pytest.mark.parametrize("engine", ["cutting-planes", "full-list"])
def test_a_time_limit_ends_in_an_error(engine: str) -> None:
    with pytest.raises(darrm.SolverError, match="time"):
        darrm.solve(K=15, m=3, epsilon=0.1, Delta=1e-5, engine=engine, time_limit=1e-9)


PLANTED = [
    # maximise x + y, x + y <= 1.5
    (LinearProgram(np.ones(2), np.ones((1, 2)), np.array([1.5])), 1.5),
    (LinearProgram(np.array([3.0, 1.0]), np.array([[1.0, 2.0]]), np.array([2.0])), 3.5),
    (LinearProgram(np.array([1.0]), np.zeros((0, 1)), np.zeros(0)), 1.0),
]


@pytest.mark.parametrize(("program", "value"), PLANTED)
@pytest.mark.parametrize("engine", [solve_highs, solve_cvxpy])
def test_planted_solutions(engine: object, program: LinearProgram, value: float) -> None:
    solution = engine(program)  # type: ignore[operator]
    assert solution.status is Status.OPTIMAL
    assert program.objective @ solution.x == pytest.approx(value, abs=1e-9)
    assert program.violation(solution.x) <= 1e-9
    assert program.dual_bound(solution.multipliers) == pytest.approx(value, abs=1e-9)


def test_engines_report_what_cannot_be() -> None:
    impossible = LinearProgram(np.ones(1), np.array([[-1.0]]), np.array([-2.0]))
    assert solve_highs(impossible).status is Status.INFEASIBLE
    assert solve_cvxpy(impossible).status is Status.INFEASIBLE


def test_nothing_but_numbers_reaches_the_solver() -> None:
    with pytest.raises(ValueError, match="finite"):
        LinearProgram(np.ones(2), np.array([[1.0, np.nan]]), np.ones(1))
    with pytest.raises(ValueError, match="shapes"):
        LinearProgram(np.ones(2), np.ones((1, 3)), np.ones(1))
    with pytest.raises(ValueError, match="rejected"):
        solve_highs(PLANTED[0][0], options={"primal_feasibility_tolerance": 1e-30})


@pytest.mark.parametrize(
    ("K", "m", "Delta", "prior"),
    [
        (11, 3, 1e-5, "uniform"),
        (41, 5, 0.0, "uniform"),
        *thorough(
            (41, 5, 0.3, "common"),
            (101, 10, 1e-5, "common"),
            (101, 10, 0.0, "uniform"),
            (101, 10, 1e-5, "uniform"),
            (201, 20, 0.0, "common"),
        ),
    ],
)
def test_row_order_and_algorithm_do_not_matter(K: int, m: float, Delta: float, prior: str) -> None:
    problem = darrm.MajorityProblem(K, m, 0.1, Delta)
    weights = priors.weights(priors.parse(prior), K, "tv")
    found = []
    for shuffled, options in ((False, None), (True, {"simplex_strategy": 4}), (True, {"solver": "ipm"})):
        rng = np.random.default_rng(3)

        def reordered(separator: object, rng: np.random.Generator = rng, shuffled: bool = shuffled) -> object:
            def ask(x: np.ndarray) -> Rows:
                rows, limits = separator(x)  # type: ignore[operator]
                order = rng.permutation(limits.size) if shuffled else np.arange(limits.size)
                return Rows(rows[order], limits[order])

            return ask

        finder = CutFinder(guarantee(problem), Candidates([guarantee(problem)], HalfColumns(problem.K)))
        raised = np.maximum(weights / weights.max(), WEIGHT_FLOOR)
        answer = solve_by_cuts(raised, [reordered(s) for s in finder.all()], options=options)
        assert answer.solution.status is Status.OPTIMAL
        found.append(answer.solution.x)
    assert np.abs(found[0] - found[1]).max() <= 1e-7
    assert np.abs(found[0] - found[2]).max() <= 1e-7


@pytest.mark.parametrize(("K", "Delta"), [(11, 0.0), (11, 1e-5), (41, 0.1), (101, 1e-5)])
def test_the_complete_set_is_rarely_separated(K: int, Delta: float) -> None:
    problem = darrm.MajorityProblem(K, 3, 0.1, Delta)
    finder = CutFinder(guarantee(problem), Candidates([guarantee(problem)], HalfColumns(problem.K)))
    weights = priors.weights(priors.common(), K, "tv")
    answer = solve_by_cuts(weights / weights.max(), finder.all())
    assert answer.solution.status is Status.OPTIMAL
    assert 1 <= finder.full_passes <= 4


@pytest.mark.parametrize("Delta", [0.0, 1e-5])
def test_usual_cases_rest_from_when_all_held_to_the_next_complete_pass(Delta: float) -> None:
    problem = darrm.MajorityProblem(101, 3, 0.1, Delta)
    finder = CutFinder(guarantee(problem), Candidates([guarantee(problem)], HalfColumns(problem.K)))
    coin, majority = np.zeros(51), np.ones(51)
    assert not finder.all_usual(coin).limits.size
    assert not finder.usual(majority).limits.size
    assert not finder.everywhere(coin).limits.size
    assert finder.full_passes == 1
    assert finder.usual(majority).limits.size
    assert finder.all_usual(majority).limits.size


def test_refining_keeps_the_optimum_and_prices_it() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        program = LinearProgram(rng.random(7), rng.random((30, 7)), np.ones(30))
        model = HighsModel(program.objective)
        model.add_rows(program.rows[:10], program.limits[:10])
        model.add_rows(program.rows[10:], program.limits[10:])
        refined = model.refine(model.solve())
        assert program.violation(refined.x) <= 1e-15
        assert program.dual_bound(refined.multipliers) - program.objective @ refined.x <= 1e-14
        assert model.solve().x == pytest.approx(refined.x, abs=1e-9)


LIES = {
    "wrong": lambda n: Solution(Status.OPTIMAL, np.tile([1.0, 0.0], n)[:n], np.zeros(0), 1, "made up"),
    "all ones": lambda n: Solution(Status.OPTIMAL, np.ones(n), np.zeros(0), 1, "made up"),
    "time": lambda n: Solution(Status.TIME_LIMIT, np.zeros(n), np.zeros(0), 1, "made up"),
    "numbers": lambda n: Solution(Status.NUMERICAL, np.zeros(n), np.zeros(0), 1, "made up"),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("Delta", [0.0, 1e-3])
def test_cuts_survive_a_lying_solver(monkeypatch: pytest.MonkeyPatch, lie: str, after: int, Delta: float) -> None:
    honest, calls = HighsModel._run, itertools.count()

    def run(self: HighsModel, time_limit: float, *fallbacks: int) -> Solution:
        true = honest(self, time_limit, *fallbacks)
        if next(calls) < after:
            return true
        made_up = LIES[lie](true.x.size)
        return replace(made_up, multipliers=np.zeros(true.multipliers.size))

    problem = darrm.MajorityProblem(11, 3, 0.1, Delta)
    best = darrm.solve(problem)
    monkeypatch.setattr(HighsModel, "_run", run)
    if lie in ("time", "numbers"):
        with pytest.raises(darrm.SolverError, match=r'made up.*on_time_limit="best"'):
            darrm.solve(problem)
        early = darrm.solve(problem, on_time_limit="best")
        assert early.certificate.holds
        assert early.error - early.gap - 1e-12 <= best.error <= early.error
    else:
        design = darrm.solve(problem)
        assert design.certificate.holds
        assert design.error - best.error <= design.gap + 1e-12


@pytest.mark.parametrize("status", list(Status))
def test_the_best_so_far_is_taken_of_no_wrong_program(status: Status) -> None:
    """A general convex solver calls unbounded programs numerical too."""
    ended = Solution(status, np.ones(2), np.zeros(0), 1, "made up")
    for engine, taken in (
        ("cutting-planes", {Status.OPTIMAL, Status.TIME_LIMIT, Status.NUMERICAL}),
        ("custom", {Status.OPTIMAL, Status.TIME_LIMIT}),
    ):
        if status in taken:
            check_optimal(ended, engine, "best")
        else:
            with pytest.raises(darrm.SolverError, match="made up"):
                check_optimal(ended, engine, "best")


def test_a_solver_that_returns_nan_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import highspy

    class Nothing:
        col_value = [float("nan")] * 6
        row_dual = [0.0] * 6

    monkeypatch.setattr(highspy.Highs, "getSolution", lambda self: Nothing())
    with pytest.raises(darrm.SolverError, match="numerical"):
        darrm.solve(K=11, m=3, epsilon=0.1)


def test_the_best_so_far_is_certified_and_says_what_it_may_miss() -> None:
    problem = darrm.MajorityProblem(41, 5, 0.1, 1e-5)
    optimum = darrm.solve(problem, prior="common")
    early = darrm.solve(problem, prior="common", time_limit=1e-9, on_time_limit="best")
    assert early.certificate.holds
    assert early.error - early.gap <= optimum.error + 1e-12
    assert optimum.error <= early.error
    late = darrm.solve(problem, prior="common", time_limit=1e3, on_time_limit="best")
    assert late.gamma.tolist() == optimum.gamma.tolist()


def test_progress_is_reported() -> None:
    seen: list[Progress] = []
    design = darrm.solve(K=41, m=5, epsilon=0.1, Delta=1e-5, prior="common", report=seen.append)
    assert [one.rounds for one in seen] == list(range(1, len(seen) + 1))
    assert all(a.rows < b.rows and a.value >= b.value - 1e-9 for a, b in itertools.pairwise(seen))
    assert design.gap <= 1e-9


@pytest.mark.thorough
def test_custom_terms_and_constraints() -> None:
    import cvxpy

    problem = darrm.MajorityProblem(11, 3, 0.1, 1e-5)
    plain = darrm.solve(problem)
    same = darrm.solve(problem, custom=lambda gamma: (None, []))
    assert same.error == pytest.approx(plain.error, abs=1e-8)
    assert str(same.objective) == "custom"
    both = f"expected TV error {same.error:.6g}, disagreement rate {same.disagreement:.6g}"
    assert f"{both} (objective custom, terms of your own" in repr(same)
    assert same.objective.cost_in_words == "the value of your own terms"
    assert same.gap == np.inf
    # A floor on gamma where the optimum dips.
    floor = darrm.solve(problem, custom=lambda gamma: (None, [gamma[7] >= 0.7]))
    assert floor.gamma[7] >= 0.7 - 1e-6
    assert floor.gamma[4] == floor.gamma[7]
    assert floor.error > plain.error
    # The smallest worst-case error over a set of p: no table does better on its own worst p.
    alphas = np.array([priors.fixed(np.full(11, p)).ones(11) for p in (0.55, 0.6, 0.7, 0.9)])
    gains = (alphas - alphas[:, ::-1])[:, 6:]
    minimax = darrm.solve(problem, custom=lambda gamma: (cvxpy.max(gains @ (1 - gamma[6:])) / 2, []))
    worst = [max(gains @ (1 - design.gamma[6:])) / 2 for design in (minimax, plain, floor)]
    assert worst[0] < min(worst[1:])
    # A quadratic objective, and one that rises.
    assert darrm.solve(problem, custom=lambda gamma: (cvxpy.sum_squares(1 - gamma), [])).certificate.holds


def test_custom_terms_with_variables_of_their_own() -> None:
    import cvxpy

    problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1)

    def epigraph(gamma: cvxpy.Expression) -> tuple[cvxpy.Expression, list[cvxpy.Constraint]]:
        least = cvxpy.Variable()
        return -least, [gamma[l] >= least for l in range(6, 12)]

    direct = darrm.solve(problem, custom=lambda gamma: (-cvxpy.min(gamma[6:]), []))
    assert darrm.solve(problem, custom=epigraph).gamma.min() == pytest.approx(direct.gamma.min(), abs=1e-6)


def test_custom_terms_and_the_monotone_shape() -> None:
    problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1)
    rising = darrm.solve(problem, shape="monotone", custom=lambda gamma: (None, [gamma[6] <= 0.1]))
    assert rising.gamma[6] <= 0.1 + 1e-6
    assert np.all(np.diff(rising.gamma[6:]) >= 0)


@pytest.mark.parametrize(
    ("custom", "error", "words"),
    [
        (lambda gamma: 3, darrm.InputError, "must return"),
        (lambda gamma: (None, [3]), darrm.InputError, "list of CVXPY constraints"),
        (lambda gamma: ("error", []), darrm.InputError, "scalar CVXPY expression"),
        (lambda gamma: (None, [gamma[6] ** 2 >= 0.5]), darrm.InputError, "convex"),
        (lambda gamma: (None, [gamma >= 0.999]), darrm.SolverError, "meets the constraints"),
        (lambda gamma: (None, [gamma[6] >= 1.5]), darrm.SolverError, "meets the constraints"),
    ],
)
def test_custom_that_cannot_be(custom: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        darrm.solve(K=11, m=3, epsilon=0.1, custom=custom)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("Delta", [0.0, 1e-5])
def test_a_thousand_and_one_votes(Delta: float) -> None:
    design = darrm.solve(K=1001, m=30, epsilon=0.1, Delta=Delta, prior="common")
    assert design.certificate.holds
    assert design.gap <= 1e-9


def test_cuts_stop_at_a_round_limit() -> None:
    """A separator that is never satisfied must not run for ever."""
    rng = np.random.default_rng(0)

    def restless(x: np.ndarray) -> Rows:
        return Rows(rng.random((1, 2)), np.array([1e3]))

    ended = solve_by_cuts(np.ones(2), [restless], max_rounds=5)
    assert ended.solution.status is Status.ITERATION_LIMIT
    assert ended.rounds == 5


def test_solve_says_what_it_takes() -> None:
    problem = darrm.MajorityProblem(3, 1, 0.1)
    for bad in (
        {"K": 3, "m": 1},
        {"K": 3, "m": 1, "epsilon": 0.1, "colour": "red"},
        {"problem": problem, "K": 3},
        {"problem": "K = 3"},
        {"problem": problem, "shape": "round"},
        {"problem": problem, "engine": "gurobi"},
        {"problem": problem, "prior": 3},
        {"problem": problem, "objective": "profit"},
        {"problem": problem, "on_time_limit": "never"},
        {"problem": problem, "engine": "full-list", "on_time_limit": "best"},
        {"problem": problem, "engine": "full-list", "custom": lambda gamma: (None, [])},
    ):
        with pytest.raises(darrm.InputError):
            darrm.solve(**bad)  # type: ignore[arg-type]


@pytest.mark.first(1)
@pytest.mark.parametrize("Delta", [0.0, 1e-5])
@pytest.mark.parametrize("shape", ["free", "monotone"])
def test_binding_constraints_of_a_neighbour_change_nothing(Delta: float, shape: str) -> None:
    binding = Binding()
    for m in (1, 2, 2.5, 3, 6):
        problem = darrm.MajorityProblem(K=13, m=m, epsilon=0.2, Delta=Delta)
        alone = darrm.solve(problem, shape=shape)
        design = darrm.solve(problem, shape=shape, binding=binding)
        assert design.gamma == pytest.approx(alone.gamma, abs=1e-9)
        assert design.gap <= 1e-10
        assert all(sum(counts) == 13 and len(counts) == 8 for counts in binding.counts)
        again = darrm.solve(problem, shape=shape, binding=Binding(list(binding.counts)))
        assert again.gamma == pytest.approx(alone.gamma, abs=1e-9)
    with pytest.raises(darrm.InputError, match="binding needs"):
        darrm.solve(problem, engine="full-list", binding=Binding())


@pytest.mark.parametrize("other", [{"max_affected": 11}, {"K": 9}, {"K": 15}, {"Delta": 1e-3}, {"epsilon": 2.0}])
def test_binding_constraints_of_another_problem_do_no_harm(other: dict[str, float]) -> None:
    binding = Binding()
    darrm.solve(**{"K": 11, "m": 3, "epsilon": 0.1, "Delta": 0.0, **other}, binding=binding)
    binding.counts += binding.counts[:2]
    problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1, max_affected=1)
    found, alone = darrm.solve(problem, binding=binding), darrm.solve(problem)
    assert found.error == pytest.approx(alone.error, abs=1e-10)
    assert found.gap <= 1e-10


@pytest.mark.parametrize("counts", [[(1, 2)], ["x"], [None], [(10**30,) * 8]])
def test_binding_of_no_multisets(counts: list[object]) -> None:
    with pytest.raises(darrm.InputError, match=r"binding\.counts"):
        darrm.solve(K=11, m=3, epsilon=0.1, binding=Binding(counts))  # type: ignore[arg-type]


def test_what_is_printed_of_a_guarantee_is_not_below_it() -> None:
    """Of voters what they promise, with all its digits: more than that would be another guarantee."""
    problem = darrm.MajorityProblem(K=3, m=1.234568, epsilon=0.500000012, Delta=1.00004e-6, delta=1.23444e-3)
    design = darrm.solve(problem)
    guaranteed = darrm.numerics.printed.at_least(problem.release_epsilon)
    assert float(guaranteed) > problem.release_epsilon > float(f"{problem.release_epsilon:g}")
    assert f"3 of epsilon 0.500000012; epsilon={guaranteed} delta=0.001235 " in repr(design)
    title = darrm.show.plots.plot(design).get_title()
    assert "m = 1.23457, epsilon = 0.500000012, Delta = 1.00004e-06, delta = 0.00124" in title.replace("\n", " ")
    decision = darrm.DecisionProblem([darrm.VoterGroup(3, 0.5)], epsilon=0.6172834, delta=1.231e-3)
    assert "epsilon = 0.617284, delta = 0.00124" in darrm.show.figures.limits_of(decision)
