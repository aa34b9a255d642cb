"""The linear program of the paper as arrays: what is in a row, and that any solver finds gamma_opt with it."""

import numpy as np
import pytest
from scipy.optimize import linprog

import darrm
from darrm.constraints.rows import MajorityRows
from darrm.errors import InputError, OutputError
from darrm.problem.corners import CornerCounts
from darrm.problem.limits import guarantee
from darrm_solvers import LinearProgram, solve_cvxpy, solve_highs


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["free", "monotone"])
@pytest.mark.parametrize(("K", "Delta", "reached"), [(5, 1e-4, None), (6, 0.0, None), (8, 0.0, 2)])
def test_scipy_cvxpy_and_highs_find_the_optimum_of_solve(K: int, Delta: float, reached: int | None, shape: str) -> None:
    problem = darrm.MajorityProblem(K, 2, 0.3, Delta, max_affected=reached)
    program = darrm.linear_program(problem, "common:2,2", shape=shape)
    design = darrm.solve(problem, prior="common:2,2", shape=shape)
    maximised = LinearProgram(-program.c, program.A, program.b)
    for x in (
        linprog(program.c, program.A, program.b, bounds=(0, 1)).x,
        solve_highs(maximised).x,
        solve_cvxpy(maximised).x,
    ):
        assert program.constant + program.c @ x == pytest.approx(design.error, abs=1e-7)
        gamma = darrm.repair(program.gamma(x), problem)
        assert darrm.verify(gamma, problem).holds
        assert gamma == pytest.approx(design.gamma, abs=1e-5)


def test_every_row_is_that_of_its_multiset() -> None:
    problem = darrm.MajorityProblem(5, 2, 0.3, 1e-3)
    program = darrm.linear_program(problem)
    rows = MajorityRows(guarantee(problem)).of([CornerCounts(*counts) for counts in program.multisets.tolist()])
    assert pytest.approx(rows.rows, abs=1e-13) == program.A
    assert program.b.tolist() == rows.limits.tolist() == [1.0] * len(program.A)
    assert len({tuple(counts) for counts in program.multisets.tolist()}) == len(program.A) == 792
    assert np.all(program.multisets.sum(axis=1) == 5)


def test_rows_that_make_gamma_rise_have_no_multiset() -> None:
    program = darrm.linear_program(darrm.MajorityProblem(7, 2, 0.3), shape="monotone")
    assert program.multisets[-3:].any() == 0
    assert program.A[-1].tolist() == [0.0, 0.0, 1.0, -1.0]
    assert program.b[-3:].tolist() == [0.0] * 3


def test_a_coin_costs_the_constant_and_the_majority_nothing() -> None:
    for objective in ("tv", "disagreement"):
        program = darrm.linear_program(darrm.MajorityProblem(4, 1, 0.3), objective=objective)
        assert program.constant + program.c.sum() == pytest.approx(0, abs=1e-15)
        coin = darrm.Design(program.problem, np.zeros(5), darrm.priors.independent(), objective=objective)
        assert program.constant == pytest.approx(coin.expected_cost, abs=1e-15)


def test_what_does_not_fit_is_refused(tmp_path: object) -> None:
    program = darrm.linear_program(darrm.MajorityProblem(3, 1, 0.5))
    with pytest.raises(InputError, match="2 numbers, one for each of gamma"):
        program.gamma([1.0])
    with pytest.raises(OutputError):
        program.write(f"{tmp_path}/nowhere/x.lp")
    with pytest.raises(InputError, match="MajorityProblem"):
        darrm.linear_program(darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="15,000,000 coefficients"):
        darrm.linear_program(darrm.MajorityProblem(51, 1, 0.5, 1e-5))
