"""What makes a table a design: a certificate, and an objective that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from darrm._validation import choice
from darrm.certificate.certificate import Certificate, beyond_profile, verify
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.objectives.under_priors import Paper
from darrm.priors import parse
from darrm.priors.prior import OBJECTIVES
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem

_OF_A_DECISION = ("Mix it with random answers", "by", "epsilon")  # words of an error


def proved(
    table: Array, problem: AnyProblem, encoding: encodings.Encoding, profile: Sequence[tuple[float, float]]
) -> Certificate:
    """The certificate of a table; `CertificateError` if it, or a point of the profile, does not hold."""
    certificate = verify(table, problem)
    noise, by, epsilon = ("Scale it down", "with", "m") if encoding is encodings.GAMMA else _OF_A_DECISION
    for name, kind in problem.kinds.items():
        own = certificate.kinds.get(name, certificate)
        if own.holds:
            continue
        raise CertificateError(
            f"This {encoding.key} is not certified ({kind.release_epsilon:.15g}, {kind.delta:.15g})-DP"
            f"{f' for a change in {name}' * bool(name)}: it needs delta up to {own.needed_delta:.17g}, at "
            f"{own.worst_case}. {noise} {by} `darrm.repair`, or raise {epsilon} or delta.",
            problem=problem,
            certificate=certificate,
        )
    if broken := beyond_profile(table, problem, profile):
        raise CertificateError(
            f"This {encoding.key} is {broken}. {noise}, or loosen the profile.",
            problem=problem,
            certificate=certificate,
        )
    return certificate


def of_a_majority(table: Array, problem: AnyProblem, prior: object, name: object, shape: str) -> tuple[Any, str]:
    """The objective and the shape of a noise function: `paper` ("tv" if not named), or "custom" with own terms.

    The prior is "uniform" if none is given, as in `darrm.solve`.
    An `Objective` of the paper may be passed as ``prior`` or as ``objective``, and then sets both.
    """
    goal = next((goal for goal in (prior, name) if isinstance(goal, Paper)), None)
    if goal is None:
        taken = parse("uniform" if prior is None else prior)  # type: ignore[arg-type]  # it refuses anything else
        name = "tv" if name is None else name
        choice("objective", name, (*OBJECTIVES, "custom"))
        goal = Paper(taken, str(name))
    if shape == "monotone" and np.any(np.diff(table[problem.K // 2 + 1 :]) < 0):
        raise InputError('shape "monotone" needs gamma(l) nondecreasing for l > K/2. Got a gamma that falls.')
    return goal, "free" if shape == "ordered" else shape


def of_a_decision(table: Array, problem: AnyProblem, prior: object, objective: object, shape: str) -> tuple[Any, str]:
    """The objective and the shape of a decision, whose objective may come in the place of a prior."""
    goal = prior if objective is None else objective
    if not isinstance(goal, Objective):
        raise InputError(
            f"objective must come from darrm.objectives. Got {goal!r}. Pass e.g. darrm.objectives.truth([0.8]); the "
            "guarantee does not rest on it."
        )
    if shape == "monotone":
        raise InputError('shape "monotone" is for a MajorityProblem. A decision can be "ordered".')
    return goal.of(problem), shape
