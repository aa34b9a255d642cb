"""Decisions by groups of voters that darrm accepted, judged from their files by the oracles of the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

STEPS = 120_000  # of a table, at most: cases times entries
NATS = 600.0  # of all voters and the release, at most: so many digits are needed
SPARE = 150  # digits
LOOSE = 1e-6  # more delta than needed that is named loose


def judged(content: dict[str, Any]) -> tuple[list[str], str]:
    """What a file of a decision claims and is not so, and how it was judged: "accepted" or why no more is said."""
    import decisions

    problem = content["problem"]
    everybody = [group["count"] for group in problem["groups"]]
    parts = [(everybody, content, content["certificate"])]
    parts += [(part["present"], part, None) for part in content.get("fewer", [])]
    wrong, looser, left_out = [], False, False
    for present, part, certificate in parts:
        truth = truth_of(problem, present, part["table_hex"])
        if truth is None:
            left_out = True
            continue
        tiny = Decimal(10) ** (50 - decisions._CONTEXT.prec)
        needed = _excess(truth, problem["epsilon"])
        if needed > Decimal(problem["delta"]) + tiny:
            wrong.append(f"{present}: needs delta {float(needed):.17g}")
        for epsilon, delta in content.get("profile", []):
            if _excess(truth, epsilon) > Decimal(delta) + tiny:
                wrong.append(f"{present}: a point of the profile, ({epsilon}, {delta}), does not hold")
        if certificate is None:
            continue
        if needed > Decimal(certificate["needed_delta"]) + tiny:
            wrong.append(f"needed_delta {certificate['needed_delta']} is below {float(needed):.17g}")
        looser = certificate["needed_delta"] > max(0.0, float(needed)) + LOOSE
        tight = certificate["tight_epsilon"]
        if (tight is None or tight <= NATS) and _excess(truth, tight) > Decimal(problem["delta"]) + tiny:
            wrong.append(f"tight_epsilon {tight} is too small")
    outcome = "not judged" if left_out else "described loosely" if looser else ""
    return wrong, ", ".join(["accepted", *[outcome] * bool(outcome)])


def truth_of(problem: dict[str, Any], present: Sequence[int], table_hex: list[str]) -> Any:
    """What a decision answers in every case, in decimals of enough digits; None if that is too much work."""
    import decisions
    import numpy as np
    import several_classes

    groups = [
        decisions.Group(
            int(n), math.inf if g["epsilon"] is None else g["epsilon"], g["delta"], int(min(n, g["max_affected"]))
        )
        for n, g in zip(present, problem["groups"], strict=True)
        if n
    ]
    reach = min(problem["max_affected"], sum(group.reach for group in groups))
    classes, answers = _sizes(problem)
    values = [float.fromhex(value) for value in table_hex]
    nats = problem["epsilon"] + sum(g.count * g.epsilon for g in groups if g.epsilon < math.inf)
    if nats > NATS or _steps(groups, classes, answers) > STEPS:
        return None
    least = min(x for x in (*values, *(x for g in groups for x in (g.epsilon, g.delta)), 1.0) if x > 0)
    for oracle in (decisions, several_classes):
        oracle._CONTEXT.prec = SPARE + int(nats) + (0 if least > 1e-12 else 1300)
    if answers == 2:
        return decisions.truth(np.array(values).reshape([group.count + 1 for group in groups]), groups, reach)
    of_classes = [several_classes.Group(*group) for group in groups]
    table = np.array(values).reshape(-1, answers)
    if len(table) == math.prod(_votes(group.count, classes) for group in groups):
        rows = several_classes.full(table, of_classes, classes)
    else:
        rows = several_classes.symmetric(table, groups[0].count, classes)
    return several_classes.truth(rows, of_classes, classes, reach)


def _sizes(problem: dict[str, Any]) -> tuple[int, int]:
    """How many classes, and how many answers."""
    classes = problem["classes"] if isinstance(problem["classes"], int) else len(problem["classes"])
    return classes, classes + problem.get("none", False)


def _excess(truth: Any, epsilon: float | None) -> Decimal:
    """The least delta at epsilon; at an infinite one what one side never gives."""
    import decisions

    if epsilon is not None:
        return Decimal(truth.excess(epsilon))
    with localcontext(decisions._CONTEXT):
        cases = zip(truth.p_side, truth.q_side, strict=True)
        return max(sum((p for p, q in zip(*case, strict=True) if not q), Decimal(0)) for case in map(_rows, cases))


def _rows(case: tuple[Any, Any]) -> tuple[Any, Any]:
    """One case as rows of answers, whichever oracle it is from."""
    p, q = case
    return (p, q) if hasattr(p, "__len__") else ([p], [q])


def _votes(count: int, classes: int) -> int:
    return math.comb(count + classes - 1, classes - 1)


def _steps(groups: Sequence[Any], classes: int, answers: int) -> float:
    steps = 1.0
    for group in groups:
        if answers == 2:
            corners, entries = (8 if group.delta and group.epsilon < math.inf else 4), group.count + 1
        else:
            corners = classes**4 if group.delta and group.epsilon < math.inf else classes**2
            entries = 4 * _votes(group.count, classes)
        steps *= math.comb(group.count + corners - 1, group.count) * entries
    return steps
