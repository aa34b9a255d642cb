"""The full linear program of the paper: its arrays, the multiset behind every row, and export to files."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import choice, refusal
from darrm._validation import path as check_path
from darrm.constraints.multisets import corner_points, multisets
from darrm.constraints.rows import HalfColumns, all_rows
from darrm.design.design import SHAPES
from darrm.errors import OutputError
from darrm.numerics.arrays import Array
from darrm.priors import Prior, parse, weights
from darrm.problem.majority import MajorityProblem, given_problem
from darrm.storage.atomic import replacing
from darrm_solvers.highs import set_options, silent

ENDINGS = (".mps", ".lp", ".npz")
_SMALLEST = 1e-12  # HiGHS drops smaller coefficients, by default those below 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class GammaProgram:
    """``minimise constant + c @ x  subject to  A @ x <= b, 0 <= x <= 1``; see `linear_program`.

    Examples
    --------
    >>> import darrm
    >>> program = darrm.linear_program(darrm.MajorityProblem(K=3, m=1, epsilon=0.5))
    >>> program.variables, program.corners
    (('gamma(2)', 'gamma(3)'), ('(0,0)', '(1,1)', '(hi,lo)', '(lo,hi)'))
    >>> program.gamma([0.25, 1.0]).tolist()
    [1.0, 0.25, 0.25, 1.0]

    Attributes
    ----------
    problem : MajorityProblem
    A : ndarray, shape (n, K - K // 2)
    b : ndarray, shape (n,)
    c : ndarray, shape (K - K // 2,)
    constant : float
        The error of gamma = 0, which releases a fair coin flip at all votes.
    multisets : ndarray of int16, shape (n, corners)
        The number of voters at each corner in the constraint of a row; all 0 in a row that makes gamma monotone.
    corners, variables : tuple of str
        The names of the columns of ``multisets``, and of ``A``.
    """

    problem: MajorityProblem
    A: Array
    b: Array
    c: Array
    constant: float
    multisets: NDArray[np.int16]
    corners: tuple[str, ...]
    variables: tuple[str, ...]

    def __repr__(self) -> str:
        rows, columns = self.A.shape
        return f"<linear program of K = {self.problem.K} voters: {rows} constraints, {columns} variables>"

    def gamma(self, x: Any) -> Array:
        """The noise function of a point: symmetric, and 0 at a tie. It is not certified: pass it to `darrm.repair`."""
        half = np.asarray(x, dtype=np.float64)
        if half.shape != self.c.shape:
            raise refusal("x", f"{len(self.c)} numbers, one for each of {', '.join(self.variables)}", half.shape)
        return HalfColumns(self.problem.K).table(half.clip(0, 1))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file that any solver reads: MPS if ``path`` ends in .mps, LP if it ends in .lp.

        A row is named by its multiset, such as n_9_0_2_0, and a column gamma_6. Coefficients below 1e-12 are left out.
        If ``path`` ends in .npz, it has the arrays ``A``, ``b``, ``c``, ``constant`` and ``multisets`` for
        `numpy.load`, with all coefficients, and names as the CSV of ``darrm constraints`` has them: ``variables`` of
        the columns of ``A``, and ``corners`` of those of ``multisets``, whose rows tell the rows of ``A`` apart.

        Raises
        ------
        InputError
            If the path has another ending.
        OutputError
            If the file cannot be written.
        """
        import highspy

        ending = check_path("path", path).suffix.lower()
        if ending not in ENDINGS:
            raise refusal("path", f"the name of a file that ends in {', '.join(ENDINGS)}", str(path))
        if ending == ".npz":
            arrays = {name: getattr(self, name) for name in ("A", "b", "c", "constant", "multisets")}
            # As text, which needs no pickle to be read.
            names: dict[str, Any] = {name: np.array(getattr(self, name)) for name in ("corners", "variables")}
            with replacing(path) as file:
                np.savez_compressed(file, **arrays, **names)
            return
        rows, columns = self.A.shape
        lp = highspy.HighsLp()
        lp.model_name_, lp.num_row_, lp.num_col_, lp.offset_ = "darrm", rows, columns, self.constant
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = self.c, np.zeros(columns), np.ones(columns)
        lp.row_lower_, lp.row_upper_ = np.full(rows, -highspy.kHighsInf), self.b
        at, of = self.A.nonzero()
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.searchsorted(at, np.arange(rows + 1)).astype(np.int32)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = of.astype(np.int32), self.A[at, of]
        lp.col_names_ = [name.translate(str.maketrans("(", "_", ")")) for name in self.variables]
        lp.row_names_ = [
            "n_" + "_".join(map(str, counts)) if any(counts) else f"rises_{row}"
            for row, counts in enumerate(self.multisets.tolist())
        ]
        solver = silent()
        set_options(solver, {"output_flag": False, "small_matrix_value": _SMALLEST})
        solver.passModel(lp)
        with tempfile.TemporaryDirectory() as folder, replacing(path) as file:
            written = Path(folder) / f"program{ending}"
            if solver.writeModel(str(written)) == highspy.HighsStatus.kError:
                raise OutputError(f"{path} could not be written: HiGHS refused the program. Pass another path.")
            file.write(written.read_bytes())


def linear_program(
    problem: MajorityProblem | None = None,
    prior: Prior | str = "uniform",
    objective: str | None = None,
    shape: str = "free",
    **parameters: Any,
) -> GammaProgram:
    """All constraints of the paper's linear program as arrays, with the multiset of corner points behind each.

        minimise    constant + c @ gamma(l > K/2),        c_l = -w_l / 2
        subject to  A @ gamma(l > K/2) <= b,   0 <= gamma <= 1

    where the error is 1/2 sum of w_l (1 - gamma(l)), w of `darrm.priors.weights`. The row of a multiset, of which alpha
    and alpha' are the distributions of the number of ones, is

        [(alpha_l - alpha_(K-l)) - e^(m eps) (alpha'_l - alpha'_(K-l))] / (e^(m eps) - 1 + 2 delta)   <=   1

    `darrm.solve` needs few of these rows, and certifies its result.

    Parameters
    ----------
    problem : MajorityProblem, optional
        Or pass its parameters by name: ``linear_program(K=11, m=3, epsilon=0.1)``.
    prior, objective, shape
        As in `darrm.solve`; "monotone" adds rows that make gamma monotone.

    Returns
    -------
    GammaProgram

    Raises
    ------
    InputError
        If the list has more than 15 million coefficients, or for a `DecisionProblem`.

    Notes
    -----
    Lemmas 3.4 and 5.1 of Jiang, Zhang, Joshi (TMLR 2024). C(K + 7, 7) = O(K^7) rows
    for Delta > 0 and C(K + 3, 3) = O(K^3) for Delta = 0, of at most K / 2 + 1 coefficients each.

    Examples
    --------
    The program solved by SciPy and certified by `darrm.repair` gives gamma_opt of `darrm.solve`:

    >>> import darrm
    >>> from scipy.optimize import linprog
    >>> problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1)
    >>> program = darrm.linear_program(problem)
    >>> program.A.shape, program.multisets[-1].tolist()
    ((364, 6), [0, 0, 0, 11])
    >>> found = linprog(program.c, program.A, program.b, bounds=(0, 1))
    >>> gamma = darrm.repair(program.gamma(found.x), problem)
    >>> bool(abs(gamma - darrm.solve(problem).gamma).max() < 1e-6)
    True
    """
    problem = given_problem("linear_program", problem, parameters)
    if not isinstance(problem, MajorityProblem):
        raise refusal("problem", "a MajorityProblem", type(problem).__name__, "Pass a decision to darrm.solve.")
    choice("shape", shape, SHAPES)
    taken = parse(prior)
    gains = weights(taken, problem.K, taken.default_objective if objective is None else objective) / 2
    rows = all_rows(problem)
    [votes] = problem.groups
    corners = corner_points(votes.epsilon, votes.delta).names
    counts = np.concatenate(list(multisets(problem.K, len(corners), problem.max_affected)))
    limits = np.ones(len(rows))
    if shape == "monotone":
        rises = np.eye(len(gains))[:-1] - np.eye(len(gains))[1:]
        rows, limits = np.concatenate([rows, rises]), np.concatenate([limits, np.zeros(len(rises))])
        counts = np.concatenate([counts, np.zeros((len(rises), len(corners)), dtype=np.int16)])
    names = tuple(f"gamma({l})" for l in range(problem.K // 2 + 1, problem.K + 1))
    return GammaProgram(problem, rows, limits, -gains, float(gains.sum()), counts, corners, names)
