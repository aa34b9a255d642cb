"""A certified noise function together with what it was made for."""

from __future__ import annotations

import math
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from darrm._lazy import view
from darrm._validation import choice, real
from darrm.certificate.certificate import Certificate, verify
from darrm.certificate.engines import worst_cases
from darrm.certificate.protocol import largest
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.priors import OBJECTIVES, Prior, combine, from_dict
from darrm.problem.limits import profile_limits, profile_points
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import noise_function
from darrm.storage.sealed_json import finite, read, write

SHAPES = ("free", "monotone")
FORMAT, VERSION = "darrm-design", 2
# Certificates are computed in float64 in a fixed order, errors through library functions: equal up to this.
_SAME = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """A noise function that satisfies the guarantee of its problem; there is no way to hold one that does not.

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
        choice("shape", self.shape, SHAPES)
        choice("objective", self.objective, (*OBJECTIVES, "custom"))
        K = self.problem.K
        gamma = noise_function(self.gamma, K)
        half = gamma[K // 2 + 1 :]
        if self.shape == "monotone" and np.any(np.diff(half) < 0):
            raise InputError('shape "monotone" needs gamma(l) nondecreasing for l > K/2. Got one that falls.')
        gamma = np.frombuffer(gamma.tobytes())  # nothing can make it writeable again
        certificate = verify(gamma, self.problem)
        if not certificate.holds:
            raise CertificateError(
                f"This gamma is not proved ({self.problem.total_epsilon:g}, {self.problem.delta:g})-DP: it needs delta "
                f"up to {certificate.needed_delta:.17g}, at {certificate.worst_case}. "
                "Scale it down with darrm.repair, or raise m or delta."
            )
        for limit in profile_limits(self.problem, self.profile):
            bound = largest(worst_cases(gamma, limit)).bound
            if not bound <= limit.delta:
                raise CertificateError(
                    f"This gamma is not proved ({float(limit.epsilon):g}, {limit.delta:g})-DP, a point of its profile: "
                    f"delta is up to {bound:.17g} there. Scale it down, or loosen the profile."
                )
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

    def _repr_html_(self) -> str:
        return str(view(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design file; the old file stays if that fails. `darrm.load` reads and verifies it.

        Raises
        ------
        OutputError
            If the path cannot be written.
        """
        content: dict[str, object] = {"format": FORMAT, "version": VERSION, **as_dict(self)}
        content["gamma_hex"] = [value.hex() for value in self.gamma.tolist()]
        content["made_with"] = {
            "python": platform.python_version(),
            **{name: version(name) for name in ("darrm", "highspy", "numpy", "scipy")},
        }
        write(path, content)


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


def load(path: str | os.PathLike[str]) -> Design:
    """Read a design file, verify its noise function anew, and refuse what does not match.

    Gamma is taken from the exact hex values. The certificate and the errors are computed again and compared with
    what the file says.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If the file is missing, foreign, truncated or edited.
    CertificateError
        If its noise function does not satisfy the guarantee of its problem.
    """
    name = Path(path)
    again = "Export the design again with save, or solve it anew."
    content = read(name, FORMAT, VERSION, "design", again)
    try:
        gamma = [float.fromhex(value) for value in content["gamma_hex"]]
        if gamma != content["gamma"]:
            raise InputError(f"{name}: gamma and gamma_hex disagree. {again}")
        gap, names = content["gap"], tuple(content["problem"])
        if gap is not None and type(gap) is not float:
            raise InputError(f"{name}: gap must be a number with a point, or null. Got {gap!r}. {again}")
        if sorted(names) != sorted(MajorityProblem.__dataclass_fields__):
            raise InputError(f"{name}: problem must have exactly its own parameters. Got {', '.join(names)}. {again}")
        design = Design(
            problem=MajorityProblem(**content["problem"]),
            gamma=gamma,  # type: ignore[arg-type]
            prior=from_dict(content["prior"]),
            shape=content["shape"],
            objective=content["objective"],
            gap=math.inf if gap is None else gap,
            profile=tuple(
                (math.inf if epsilon is None else epsilon, delta) for epsilon, delta in content.get("profile", [])
            ),
        )
        now = as_dict(design)
        size = certificate_size(design.problem)
        for key in ("error", "disagreement", "certificate"):
            if not _same(now[key], content[key], size if key == "certificate" else 1.0):
                raise InputError(f"{name}: {key} is not what its gamma gives ({content[key]} for {now[key]}). {again}")
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{name} is not a complete design file ({error!r}). {again}") from error
    except ValueError as error:
        if isinstance(error, InputError) and str(name) in str(error):
            raise
        raise InputError(f"{name} is not a valid design file ({error}). {again}") from error
    return design


def certificate_size(problem: MajorityProblem) -> float:
    """What the figures of a certificate are compared beside: e^(m eps) - 1 + 2 delta, at most 1."""
    return min(1.0, math.expm1(min(1.0, problem.total_epsilon)) + 2 * problem.delta)


def _same(now: object, then: object, size: float) -> bool:
    if isinstance(now, dict) and isinstance(then, dict):
        # Which of several equally bad multisets is named first may depend on the last bit.
        keys = now.keys() - {"worst_case", "probabilities", "rounding"}
        return now.keys() == then.keys() and all(_same(now[key], then[key], size) for key in keys)
    if isinstance(now, float) and isinstance(then, float):
        return math.isclose(now, then, rel_tol=_SAME, abs_tol=_SAME * size)
    return now == then
