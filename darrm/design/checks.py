"""What makes a table a design: a certificate, and an objective that suits it."""

from __future__ import annotations

from collections.abc import Sequence

from darrm._validation import choice, refusal
from darrm.certificate.certificate import Certificate, beyond_profile, certificate_of
from darrm.errors import CertificateError
from darrm.numerics.arrays import Array
from darrm.objectives.under_priors import Paper
from darrm.priors import Prior
from darrm.priors.prior import OBJECTIVES
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem

_WHICH_PRIOR = "Pass priors.independent(), where all p in [1/2, 1] are equally likely, or another prior."
_OF_A_DECISION = ("Mix it with random answers", "by", "epsilon")  # words of an error


def proved(
    table: Array, problem: AnyProblem, encoding: encodings.Encoding, profile: Sequence[tuple[float, float]]
) -> Certificate:
    """The certificate of a table; `CertificateError` if it, or a point of the profile, does not hold."""
    certificate = certificate_of(table, problem)
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


def of_a_majority(prior: object, name: object) -> Paper:
    """The objective of a noise function: `paper` ("tv" if not named), or "custom" with the user's own terms.

    An `Objective` of the paper may be passed as ``prior`` or as ``objective``, and then sets both.
    """
    for goal in (prior, name):
        if isinstance(goal, Paper):
            return goal
    if not isinstance(prior, Prior):
        raise refusal("prior", "a prior of darrm.priors", prior, _WHICH_PRIOR)
    name = "tv" if name is None else name
    choice("objective", name, (*OBJECTIVES, "custom"))
    return Paper(prior, str(name))
