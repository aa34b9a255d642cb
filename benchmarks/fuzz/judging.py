"""What the targets share: findings, and what is accepted judged by others."""

from __future__ import annotations

import json
import math
from typing import Any

import darrm

Case = dict[str, Any]
JUDGED = 3000  # steps of the independent check, at most
LIGHT = ("the worst case is not", "the tight epsilon is below")
PRECISE = 20_000  # nats of m epsilon, at most: its balls need as many bits


class Finding(AssertionError):
    """Something that must not happen, and did."""


def ordinary(design: darrm.Design) -> bool:
    """Whether float64 can tell which multiset is worst, and how much less epsilon would do."""
    problem, certificate = design.problem, design.certificate
    epsilon = problem.m * problem.epsilon
    delta_counts = problem.Delta == 0 or problem.Delta >= 1e-9
    if not (delta_counts and problem.delta <= 0.99 and problem.epsilon >= 1e-6 and epsilon <= 300):
        return False
    # What a millionth of epsilon changes must be more than rounding; with voters at (D,0) alone it is nothing.
    return certificate.probabilities[1] * math.expm1(epsilon * 1e-6) * math.exp(epsilon) > 2 * certificate.rounding


def confirm(design: darrm.Design) -> str:
    """`Finding` if the independent check on a design that darrm accepted differs.

    What is guaranteed must hold for any numbers. Which multiset is named as the worst, and whether the tight epsilon
    is the least, guarantees nothing, and is held to it where the numbers are `ordinary`.
    """
    from independent_check import independent_check

    from darrm.design.design import as_dict

    problem = design.problem
    K, t = problem.K, problem.max_affected
    steps = K**5 / 60 if problem.Delta else K * t * t / 2
    if steps > JUDGED or problem.m * problem.epsilon > PRECISE:
        return "accepted, not judged"
    content = as_dict(design) | {"gamma_hex": [value.hex() for value in design.gamma.tolist()]}
    wrong = independent_check(json.loads(json.dumps(content)))
    grave = [claim for claim in wrong if ordinary(design) or not claim.startswith(LIGHT)]
    if grave:
        raise Finding(f"wrong accept: {'; '.join(grave)}: {problem}")
    return "accepted, described loosely" if wrong else "accepted"


def one_line(error: BaseException) -> None:
    if not str(error).strip():
        raise Finding(f"{type(error).__name__} says nothing") from error
