"""What the targets share: findings, and what is accepted judged by others."""

from __future__ import annotations

import json
from typing import Any

import darrm

Case = dict[str, Any]
JUDGED = 3000  # steps of the second opinion, at most
PRECISE = 20_000  # nats of m epsilon, at most: its balls need as many bits


class Finding(AssertionError):
    """Something that must not happen, and did."""


def confirm(design: darrm.Design) -> str:
    """`Finding` if the second opinion on a design that darrm accepted differs."""
    from second_opinion import opinion

    from darrm.design.files import as_dict

    problem = design.problem
    K, t = problem.K, problem.changed
    steps = K**5 / 60 if problem.Delta else K * t * t / 2
    if steps > JUDGED or problem.m * problem.epsilon > PRECISE:
        return "accepted, not judged"
    content = as_dict(design) | {"gamma_hex": [value.hex() for value in design.gamma.tolist()]}
    wrong = opinion(json.loads(json.dumps(content)))
    if wrong:
        raise Finding(f"wrong accept: {'; '.join(wrong)}: {problem}")
    return "accepted"


def one_line(error: BaseException) -> None:
    if not str(error).strip():
        raise Finding(f"{type(error).__name__} says nothing") from error
