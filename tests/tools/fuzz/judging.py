"""What the targets share: findings, and what is accepted judged by others."""

from __future__ import annotations

import json
import math
from typing import Any

import darrm

Case = dict[str, Any]
JUDGED = 0.5  # seconds of the independent check, at most


class Finding(AssertionError):
    """Something that must not happen, and did."""


def ordinary(design: darrm.Design) -> bool:
    """Whether float64 can tell which multiset is worst, and how much less epsilon would do."""
    problem, certificate = design.problem, design.certificate
    epsilon = problem.m * problem.epsilon
    delta_counts = problem.Delta == 0 or problem.Delta >= 1e-9
    if not (delta_counts and problem.delta <= 0.99 and problem.epsilon >= 1e-6 and epsilon <= 300):
        return False
    # What a millionth of the tight epsilon changes must be more than rounding; with voters at (D,0) it is nothing.
    tight = min(epsilon, certificate.tight_epsilon)
    return certificate.probabilities[1] * math.expm1(tight * 1e-6) * math.exp(tight) > 2 * certificate.rounding


def confirm(design: darrm.Design) -> str:
    """`Finding` if an independent check on a design that darrm accepted differs.

    What is guaranteed must hold for any numbers. Which multiset is named as the worst, and whether the tight epsilon
    is the least, guarantees nothing, and is held to it where the numbers are `ordinary`.
    """
    from darrm.design.design import in_file
    from darrm.independent import check, cost

    if design.encoding.key == "table":
        return confirm_decision(json.loads(json.dumps(in_file(design))))
    content = json.loads(json.dumps(in_file(design)))
    if cost(content).seconds > JUDGED:
        return "accepted, not judged"
    found = check(content)
    grave = found.wrong + (found.loose if ordinary(design) else ())
    if grave:
        raise Finding(f"wrong accept: {'; '.join(grave)}: {design.problem}")
    return "accepted, described loosely" if found.loose else "accepted"


def confirm_decision(content: dict[str, Any]) -> str:
    """`Finding` if the oracles of the tests, or the independent check, differ on the file of an accepted decision."""
    from judging_decisions import judged

    from darrm.independent import check, cost

    wrong, outcome = judged(content)
    try:
        short = cost(content).seconds <= JUDGED
    except darrm.InputError:  # it reads figures of the certificate that `darrm.load` computes anew
        short = False
    if short:
        wrong += check(content).wrong
        outcome = outcome.replace("not judged", "judged by the independent check alone")
    if wrong:
        raise Finding(f"wrong accept: {'; '.join(wrong)}: {content['problem']}")
    return outcome


def one_line(error: BaseException) -> None:
    if not str(error).strip():
        raise Finding(f"{type(error).__name__} says nothing") from error
