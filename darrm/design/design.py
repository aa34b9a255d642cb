"""A certified noise function together with what it was made for."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from darrm._lazy import view
from darrm._validation import choice, real, refusal
from darrm.certificate.certificate import Certificate, beyond_profile, verify
from darrm.design.columns import ForAnalysis, check_design_file, majority_columns
from darrm.design.content import (
    AGAIN,
    FORMAT,
    VERSION,
    certificate_size,
    check_filed,
    check_same,
    headed,
    problem_of,
    profile_of,
)
from darrm.design.decision import DecisionDesign, from_content
from darrm.design.decision import in_file as decision_in_file
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.priors import OBJECTIVES, Prior, combine, from_dict
from darrm.problem.limits import profile_points
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import noise_function
from darrm.storage.sealed_json import finite, read, write

SHAPES = ("free", "monotone")
_WHICH_PRIOR = "Pass priors.independent(), where all p in [1/2, 1] are as likely, or another one."


@dataclass(frozen=True, eq=False, repr=False)
class Design(ForAnalysis):
    """A noise function that satisfies the guarantee of its problem; a table that does not is refused.

    The certificate is computed here, from the table, whoever made it: `darrm.solve`, `darrm.load` or you. Designs are
    equal if all that they are made from is: parameters, gamma to the last bit, prior and gap.

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
        Further limits that one release keeps, verified like the guarantee; see `darrm.solve`.
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
        If the noise function does not satisfy the guarantee.
    InputError
        If an argument is not what it should be.

    Examples
    --------
    Of a noise function of your own; without noise it is refused:

    >>> import darrm
    >>> problem, prior = darrm.MajorityProblem(K=5, m=2, epsilon=0.5), darrm.priors.independent()
    >>> design = darrm.Design(problem, [1.0, 0.5, 0.2, 0.2, 0.5, 1.0], prior)
    >>> design.certificate.holds, round(design.error, 4)
    (True, 0.1655)
    >>> try:
    ...     darrm.Design(problem, darrm.baselines.plain_majority(5), prior)
    ... except darrm.CertificateError as error:
    ...     print(str(error).split(":")[0])
    This gamma is not proved (1, 0)-DP
    """

    problem: MajorityProblem
    gamma: Array
    prior: Prior
    shape: str = "free"
    objective: str = "tv"
    gap: float = float("inf")
    profile: tuple[tuple[float, float], ...] = ()
    certificate: Certificate = field(init=False)
    error: float = field(init=False)
    disagreement: float = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Prior):
            raise refusal("prior", "a prior of darrm.priors", self.prior, _WHICH_PRIOR)
        choice("shape", self.shape, SHAPES)
        choice("objective", self.objective, (*OBJECTIVES, "custom"))
        K = self.problem.K
        gamma = noise_function(self.gamma, K)
        half = gamma[K // 2 + 1 :]
        if self.shape == "monotone" and np.any(np.diff(half) < 0):
            raise InputError('shape "monotone" needs gamma(l) nondecreasing for l > K/2. Got a gamma that falls.')
        gamma = np.frombuffer(gamma.tobytes())  # nothing can make it writeable again
        certificate = verify(gamma, self.problem)
        if not certificate.holds:
            raise CertificateError(
                f"This gamma is not proved ({self.problem.total_epsilon:.15g}, {self.problem.delta:.15g})-DP: it needs "
                f"delta up to {certificate.needed_delta:.17g}, at {certificate.worst_case}. "
                "Scale it down with darrm.repair, or raise m or delta."
            )
        if broken := beyond_profile(gamma, self.problem, self.profile):
            raise CertificateError(f"This gamma is {broken}. Scale it down, or loosen the profile.")
        mean = self.prior.ones(K)
        values = {
            "gamma": gamma,
            "gap": real("gap", self.gap, 0),
            "profile": profile_points(self.profile),
            "certificate": certificate,
            "error": float(combine(mean, "tv") @ (1 - half)) / 2,
            "disagreement": float(combine(mean, "disagreement") @ (1 - half)) / 2,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Design) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """All that a design is made from."""
        gamma = tuple(self.gamma.tolist())
        return self.problem, gamma, self.prior, self.shape, self.objective, self.gap, self.profile

    def __reduce__(self) -> tuple[type[Design], tuple[object, ...]]:
        # Copies and pickles are made, and so verified, like any other.
        return Design, (self.problem, self.gamma, self.prior, self.shape, self.objective, self.gap, self.profile)

    def __repr__(self) -> str:
        problem = self.problem
        return (
            f"<Design K={problem.K} m={problem.m:g} epsilon={problem.epsilon:g} Delta={problem.Delta:g} "
            f"delta={problem.delta:g} max_affected={problem.max_affected}: error {self.error:.6g} ({self.objective}, "
            f"{self.shape}, {self.prior}), gap {self.gap:.1g}>"
        )

    @property
    def table(self) -> Array:
        """gamma, by the name that the releases of all problems share."""
        return self.gamma

    def columns(self) -> dict[str, list[Any]]:
        return majority_columns(self.gamma)

    def _repr_html_(self) -> str:
        return str(view(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design file; the old file stays if that fails. `darrm.load` reads and verifies it.

        Raises
        ------
        InputError
            If the name ends in .csv or .parquet: a design file is JSON. If the problem is of a type that `darrm.load`
            does not read.
        OutputError
            If the path cannot be written.
        """
        check_design_file(path)
        check_filed(self.problem)
        write(path, headed(in_file(self)))


AnyDesign: TypeAlias = Design | DecisionDesign


def as_dict(design: Design) -> dict[str, object]:
    """The design as plain JSON values; an infinite number is None."""
    values = {
        "problem": asdict(design.problem),
        "gamma": design.gamma.tolist(),
        "shape": design.shape,
        "objective": design.objective,
        "prior": design.prior.as_dict(),
        "error": design.error,
        "disagreement": design.disagreement,
        "gap": design.gap,
        "certificate": asdict(design.certificate),
        "profile": [[finite(epsilon), delta] for epsilon, delta in design.profile],
    }
    return {key: finite(value) for key, value in values.items()}


def in_file(design: AnyDesign) -> dict[str, object]:
    """What a design file says of the design, as plain JSON values: `as_dict` and the exact numbers."""
    if isinstance(design, DecisionDesign):
        return decision_in_file(design)
    return {**as_dict(design), "gamma_hex": [value.hex() for value in design.gamma.tolist()]}


def load(path: str | os.PathLike[str]) -> AnyDesign:
    """Read a design file, verify its release anew, and refuse what does not match.

    Gamma, or the table of a decision, is taken from the exact hex values. The certificate and the errors are computed
    again and compared with what the file says.

    Returns
    -------
    Design or DecisionDesign
        As what was saved.

    Raises
    ------
    InputError
        If the file is missing, foreign, truncated or edited.
    CertificateError
        If its release does not satisfy the guarantee of its problem.

    Examples
    --------
    >>> import darrm
    >>> darrm.solve(K=5, m=1, epsilon=0.5).save("gamma.json")
    >>> design = darrm.load("gamma.json")
    >>> design.problem.K, design.certificate.holds
    (5, True)
    """
    name = Path(path)
    content = read(name, FORMAT, VERSION, "design", AGAIN)
    try:
        if isinstance(content["problem"], dict) and "groups" in content["problem"]:
            return from_content(content)
        return _from_content(content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{name} is not a complete design file ({error!r}). {AGAIN}") from error
    except ValueError as error:
        raise InputError(f"{name} is not a valid design file ({error}). {AGAIN}") from error


def _from_content(content: dict[str, Any]) -> Design:
    gamma = [float.fromhex(value) for value in content["gamma_hex"]]
    if gamma != content["gamma"]:
        raise InputError("gamma and gamma_hex disagree")
    gap, problem = content["gap"], problem_of(content["problem"])
    if gap is not None and type(gap) is not float:
        raise InputError(f"gap must be a number with a point, or null. Got {gap!r}")
    if not isinstance(problem, MajorityProblem):
        raise InputError("problem has groups")
    design = Design(
        problem=problem,
        gamma=gamma,  # type: ignore[arg-type]
        prior=from_dict(content["prior"]),
        shape=content["shape"],
        objective=content["objective"],
        gap=math.inf if gap is None else gap,
        profile=profile_of(content),
    )
    now = as_dict(design)
    size = certificate_size(design.problem)
    for key in ("error", "disagreement", "certificate"):
        check_same(key, now[key], content[key], size if key == "certificate" else 1.0)
    return design
