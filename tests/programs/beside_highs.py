"""Solve of every kind after others used HiGHS in this process; prints what came out as JSON, and that others go on.

The argument says who used HiGHS before: nothing, highspy, lp, mip (through CVXPY), linprog, milp, three (threads).
"""

import json
import sys
import tempfile
from pathlib import Path


def ours(threads: int | None = None) -> str:
    """The status of a run of HiGHS that is not darrm's, in this thread."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    if threads is not None:
        solver.setOptionValue("threads", threads)
    solver.addVar(0, 1)
    solver.changeColCost(0, -1.0)
    return solver.run().name


def through_cvxpy(**kind: bool) -> None:
    import cvxpy

    x = cvxpy.Variable(3, **kind)
    cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(x)), [x <= 1, x >= 0, cvxpy.sum(x) <= 2]).solve(solver=cvxpy.HIGHS)


def through_scipy(kind: str) -> None:
    from scipy import optimize

    if kind == "linprog":
        assert optimize.linprog([-1, -1], A_ub=[[1, 1]], b_ub=[1], method="highs").success
    else:
        assert optimize.milp([-1, -1], integrality=[1, 1], bounds=optimize.Bounds(0, 3)).success


def solved() -> dict[str, str]:
    """What darrm makes of some problems, to the last bit."""
    import cvxpy

    import darrm

    found = {}
    for engine in ("cutting-planes", "full-list", "full-list-cvxpy"):
        design = darrm.solve(K=5, m=2, epsilon=0.5, Delta=1e-3, engine=engine)
        found[engine] = design.gamma.tobytes().hex()
    for name, term in (("linear", lambda g: -g[0] - 2 * g[1]), ("square", lambda g: cvxpy.sum_squares(g - 0.5))):
        design = darrm.solve(K=5, m=2, epsilon=0.5, custom=lambda g, term=term: (term(g), []))
        found[name] = design.gamma.tobytes().hex()
    truth = darrm.objectives.truth([0.7])
    for name, kind in (("decision", {}), ("classes", {"classes": 3})):
        problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=1.0)], epsilon=1.0, **kind)
        found[name] = darrm.solve(problem, objective=truth).table.tobytes().hex()
    with tempfile.TemporaryDirectory() as folder:
        table = darrm.tables.solve_grid([3, 5], 2, 0.5, out=Path(folder) / "table.jsonl", jobs=2)
        found["table"] = str([row["gamma"] for row in table])
    total = {"queries": 2, "total_epsilon": 1.0, "total_delta": 0.0}
    found["plan"] = str(darrm.plan([(3, 1.0)], accuracy=0.8, voters="fresh", max_affected=1, **total))
    found["compare"] = str([entry.error for entry in darrm.compare(darrm.MajorityProblem(5, 2, 0.5))])
    return found


def main(before: str) -> None:
    if before == "highspy":
        assert ours() == "kOk"
    elif before == "three":
        assert ours(3) == "kOk"
    elif before in ("lp", "mip"):
        through_cvxpy(**({"boolean": True} if before == "mip" else {}))
    elif before in ("linprog", "milp"):
        through_scipy(before)
    found = solved()
    if before in ("nothing", "three"):
        assert ours(3) == "kOk", "the number of threads is not left to others"
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
