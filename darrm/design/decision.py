"""A certified decision by groups of voters together with what it was made for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, real
from darrm.certificate.certificate import Certificate, verify
from darrm.certificate.engines import engine, worst_cases
from darrm.certificate.protocol import largest
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import profile_limits, profile_points


@dataclass(frozen=True, eq=False, repr=False)
class DecisionDesign:
    """A decision that satisfies the guarantee of its problem; there is no way to hold one that does not.

    The certificate is computed here, from the table, whoever made it: `darrm.solve`, `darrm.load` or you.

    Parameters
    ----------
    problem : DecisionProblem
    table : array_like, shape ``problem.shape``, float in [0, 1]
        X(n): the probability of answer 1 when n = (n_1, ..., n_G) voters of each group say 1; kept read-only.
    objective : Objective
        What the decision should cost little of; see `darrm.objectives`.
    ordered : bool
        Whether the answer that the objective prefers at given counts is never less likely than the other there.
    profile : sequence of (epsilon, delta)
        Further limits that one decision keeps, verified like the guarantee.
    gap : float, at least 0
        Certified bound on ``expected_cost`` minus its least possible value; infinite if nothing is known.

    Attributes
    ----------
    certificate : Certificate
    expected_cost : float
        The objective's: the probability of a wrong answer if costs are 1; for a rule that of an answer that differs.

    Raises
    ------
    CertificateError
        If the table does not satisfy the guarantee.
    InputError
        If an argument is not what it should be.
    """

    problem: DecisionProblem
    table: Array
    objective: Objective
    ordered: bool = False
    profile: tuple[tuple[float, float], ...] = ()
    gap: float = math.inf
    certificate: Certificate = field(init=False)
    expected_cost: float = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        if not isinstance(problem, DecisionProblem):
            raise InputError(f"problem must be a darrm.DecisionProblem. Got {problem!r}.")
        if not isinstance(self.objective, Objective):
            raise InputError(f"objective must come from darrm.objectives. Got {self.objective!r}.")
        table = engine(problem).table(self.table, problem)
        table = np.frombuffer(table.tobytes()).reshape(problem.shape)  # nothing can make it writeable again
        certificate = verify(table, problem)
        if not certificate.holds:
            raise CertificateError(
                f"This table is not proved ({problem.epsilon:g}, {problem.delta:g})-DP: it needs delta up to "
                f"{certificate.needed_delta:.17g}, at {certificate.worst_case}. Mix it with a fair coin by "
                "darrm.repair, or raise epsilon or delta."
            )
        for limit in profile_limits(problem, self.profile):
            bound = largest(worst_cases(table, limit)).bound
            if not bound <= limit.delta:
                raise CertificateError(
                    f"This table is not proved ({float(limit.epsilon):g}, {limit.delta:g})-DP, a point of its profile: "
                    f"delta is up to {bound:.17g} there. Mix it with a fair coin, or loosen the profile."
                )
        costs = self.objective.costs(problem)
        if self.ordered and np.any((table - 0.5) * (costs[..., 0] - costs[..., 1]) < 0):
            raise InputError("An ordered table must never prefer the answer that costs more. Got one that does.")
        values = {
            "table": table,
            "ordered": bool(self.ordered),
            "gap": real("gap", self.gap, 0),
            "profile": profile_points(self.profile),
            "certificate": certificate,
            "expected_cost": math.fsum((costs[..., 1] * table + costs[..., 0] * (1 - table)).ravel().tolist()),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[type[DecisionDesign], tuple[object, ...]]:
        # Copies and pickles are made, and so verified, like any other.
        return DecisionDesign, (self.problem, self.table, self.objective, self.ordered, self.profile, self.gap)

    def __repr__(self) -> str:
        problem = self.problem
        groups = ", ".join(f"{group.count} of epsilon {group.epsilon:g}" for group in problem.groups)
        return (
            f"<DecisionDesign {groups}; epsilon={problem.epsilon:g} delta={problem.delta:g} "
            f"max_affected={problem.max_affected}: expected cost {self.expected_cost:.6g} ({self.objective}), "
            f"gap {self.gap:.1g}>"
        )

    def probabilities(self, counts: ArrayLike) -> Array:
        """The probabilities of the answers 0 and 1 for given numbers of ones in each group.

        Parameters
        ----------
        counts : array_like of int, shape (n, groups) or (groups,)

        Returns
        -------
        ndarray, shape (n, 2) or (2,)
        """
        ones = array("counts", counts, None, 0, wholes=True)
        sizes = np.array([group.count for group in self.problem.groups])
        if ones.ndim not in (1, 2) or ones.shape[-1] != len(sizes):
            raise InputError(
                f"counts must have one column for each of the {len(sizes)} groups. Got shape {ones.shape}."
            )
        if np.any(ones > sizes):
            raise InputError(f"counts must be at most the group sizes {sizes.tolist()}. Got {ones.max(axis=0)}.")
        X = self.table[tuple(np.moveaxis(ones.astype(np.int64), -1, 0))]
        return np.stack([1 - X, X], axis=-1)

    @property
    def reversals(self) -> int:
        """At how many count vectors the answer that the objective prefers is less likely than the other."""
        costs = self.objective.costs(self.problem)
        return int(np.count_nonzero((self.table - 0.5) * (costs[..., 0] - costs[..., 1]) < 0))
