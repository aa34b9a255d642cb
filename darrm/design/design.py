"""A certified noise function together with what it was made for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from darrm.certificate.certificate import Certificate, verify
from darrm.certificate.separation import largest, worst_by_level
from darrm.certificate.smoothing import noise_function
from darrm.errors import CertificateError, InputError
from darrm.priors import OBJECTIVES, Prior, combine
from darrm.problem.majority import MajorityProblem, profile_limits, profile_points

SHAPES = ("free", "monotone")


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """A noise function that keeps the promise of its problem; there is no way to hold one that does not.

    The certificate is computed here, from the table, whoever made it: `darrm.solve`, `darrm.load` or you.

    Parameters
    ----------
    problem : MajorityProblem
    gamma : array_like, shape (K + 1,), float in [0, 1], symmetric
        Probability of the true majority when l votes are 1; kept read-only.
    prior : Prior
        Where votes come from, for the error.
    shape : {"free", "monotone"}
    objective : {"tv", "disagreement", "custom"}
        What was minimised; "custom" if the user gave terms or constraints.
    profile : sequence of (epsilon, delta)
        Further limits that one release keeps, verified like the promise; see `darrm.solve`.
    gap : float, at least 0
        Certified bound on the objective minus its least possible value among all noise functions of that shape;
        infinite if nothing is known.

    Attributes
    ----------
    certificate : Certificate
    error : float
        1/2 sum over l > K/2 of E[alpha_l - alpha_(K-l)] (1 - gamma(l)): the paper's E|TV| (Definition 2.4) if the prior
        is on p >= 1/2. For vote histograms and fixed p the same sum, where it can cancel.
    disagreement : float
        1/2 E[1 - gamma(L)], ties left out: the probability that the released bit is not the majority of the votes cast.

    Raises
    ------
    CertificateError
        If the noise function does not keep the promise.
    InputError
        If an argument is not what it should be.
    """

    problem: MajorityProblem
    gamma: NDArray[np.float64]
    prior: Prior
    shape: str = "free"
    objective: str = "tv"
    gap: float = float("inf")
    profile: tuple[tuple[float, float], ...] = ()
    certificate: Certificate = field(init=False)
    error: float = field(init=False)
    disagreement: float = field(init=False)

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise InputError(f"shape must be one of {', '.join(SHAPES)}. Got {self.shape!r}.")
        if self.objective not in (*OBJECTIVES, "custom"):
            raise InputError(f"objective must be one of {', '.join(OBJECTIVES)}, custom. Got {self.objective!r}.")
        if not self.gap >= 0:
            raise InputError(f"gap must be at least 0. Got {self.gap}.")
        K = self.problem.K
        gamma = noise_function(self.gamma, K)
        half = gamma[K // 2 + 1 :]
        if self.shape == "monotone" and np.any(np.diff(half) < 0):
            raise InputError('shape "monotone" needs gamma(l) nondecreasing for l > K/2. Got one that falls.')
        gamma = np.frombuffer(gamma.tobytes())  # nothing can make it writeable again
        certificate = verify(gamma, self.problem)
        if not certificate.holds:
            raise CertificateError(
                f"This gamma is not proved ({self.problem.total_epsilon:g}, {self.problem.delta:g})-DP: its cost is up "
                f"to {certificate.cost:.17g} and {certificate.limit:.17g} is the limit, at {certificate.worst_case}. "
                "Scale it down with darrm.repair, or raise m or delta."
            )
        for limit in profile_limits(self.problem, self.profile):
            bound = largest(worst_by_level(gamma.tobytes(), limit)).bound
            if not bound <= limit.delta:
                raise CertificateError(
                    f"This gamma is not proved ({limit.total_epsilon:g}, {limit.delta:g})-DP, a point of its profile: "
                    f"delta is up to {bound:.17g} there. Scale it down, or loosen the profile."
                )
        mean = self.prior.ones(K)
        values = {
            "gamma": gamma,
            "profile": profile_points(self.profile),
            "certificate": certificate,
            "error": float(combine(mean, "tv") @ (1 - half)) / 2,
            "disagreement": float(combine(mean, "disagreement") @ (1 - half)) / 2,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[type[Design], tuple[object, ...]]:
        # Copies and pickles are made, and so verified, like any other.
        return Design, (self.problem, self.gamma, self.prior, self.shape, self.objective, self.gap, self.profile)

    def __repr__(self) -> str:
        problem = self.problem
        return (
            f"<Design K={problem.K} m={problem.m:g} epsilon={problem.epsilon:g} Delta={problem.Delta:g} "
            f"delta={problem.delta:g} changed={problem.changed}: error {self.error:.6g} ({self.objective}, "
            f"{self.shape}, {self.prior}), gap {self.gap:.1g}>"
        )

    def _repr_html_(self) -> str:
        from darrm.show.inline import design_html  # notebooks call this; nothing else needs it

        return design_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design file; the old file stays if that fails. `darrm.load` reads and verifies it.

        Raises
        ------
        OutputError
            If the path cannot be written.
        """
        from darrm.design.files import save

        save(self, path)
