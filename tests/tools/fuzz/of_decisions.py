"""Decisions by groups of voters, of several classes, with the answer none, or with absent voters, near their limits."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st
from judging import Case, Finding, confirm
from mutate import Draw, rarely
from of_designs import UNIT

import darrm
from darrm.errors import CertificateError, DarrmError

EPSILONS = st.one_of(
    st.sampled_from([0.1, 1.0, 2.0, math.inf, 1e-9, 5e-324, 36.8, 40.0, 350.0, 745.2]), st.floats(0.01, 5)
)
TOTALS = st.one_of(st.sampled_from([0.1, 1.0, 2.0, 1e-9, 36.8, 40.0]), st.floats(0.01, 6))
DELTAS = st.one_of(st.just(0.0), st.just(0.0), st.sampled_from([1e-5, 1e-300, 5e-324, 0.3, 0.999]), st.floats(0, 0.5))
CHANCES = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 0.7, 0.9]), st.floats(0, 1))
SHAPES = [
    *((2, [3]), (2, [5]), (2, [2, 1]), (2, [1, 1]), (2, [2, 2]), (2, [1, 3]), (2, [1, 1, 1])),
    *((3, [1]), (3, [2]), (3, [3]), (4, [2]), (3, [1, 1])),
]


@st.composite
def decisions(draw: Draw) -> Case:
    classes, counts = draw(st.sampled_from(SHAPES))
    usual = draw(st.integers(0, 2)) > 0  # what is mostly allowed
    delta = draw(st.sampled_from([0.0, 0.0, 1e-5, 1e-3])) if usual else draw(DELTAS)
    groups = [[n, draw(EPSILONS), delta if usual else draw(DELTAS), draw(st.integers(1, n))] for n in counts]
    problem: dict[str, Any] = {
        "epsilon": draw(TOTALS),
        "delta": draw(st.sampled_from([None if delta == 0 else 0.1, 0.05, 5 * delta])) if usual else draw(DELTAS),
        "classes": draw(st.sampled_from([classes, ["no", "yes", "perhaps", "never"][:classes]])),
        "max_affected": draw(st.sampled_from([None, *range(1, sum(counts) + 1)])),
        "none": rarely(draw, 3),
    }
    if problem["max_affected"] is not None:
        problem["max_affected"] = min(problem["max_affected"], sum(group[3] for group in groups))
    cost = [[draw(st.floats(0, 5)) for _ in range(classes)] for _ in range(classes)]
    rules = ["plurality"] if classes > 2 else ["majority"]
    objective = {
        "accuracy": [draw(CHANCES) for _ in counts],
        "prior": draw(st.sampled_from([None, None, _chances(draw, classes)])),
        "cost": draw(st.sampled_from([None, None, cost])),
        "none": draw(st.floats(0, 1)) if problem["none"] else None,
        "rule": draw(st.sampled_from([None, None, None, *rules])),
    }
    profile = draw(st.sampled_from([None, None, None, "drawn"])) and sorted(
        [draw(TOTALS), draw(DELTAS)] for _ in range(2)
    )
    changes: list[Any] = [
        "solve",
        "repair",
        "drawn",
        *(1 + x for x in (0.0, 2e-16, 1e-15, 1e-13, 1e-12, 1e-10, 1e-9, 1e-6, 0.1)),
    ]
    return {
        "groups": groups,
        "problem": problem,
        "objective": objective,
        "options": {
            "ordered": rarely(draw, 3),
            "absent": classes == 2 and not problem["none"] and sum(counts) < 5 and rarely(draw, 2),
            "profile": profile,
        },
        "change": draw(st.sampled_from(changes)),
        "at": draw(st.integers(0, 10**6)),
        "drawn": [draw(UNIT) for _ in range(8)],
    }


def _chances(draw: Draw, n: int) -> list[float]:
    drawn = [draw(st.floats(0, 1)) + 1e-3 for _ in range(n)]
    return [x / sum(drawn) for x in drawn]


def run_decision(case: Case) -> str:
    try:
        problem = darrm.DecisionProblem([darrm.VoterGroup(*group) for group in case["groups"]], **case["problem"])
        given = dict(case["objective"])
        which = given.pop("rule")
        if which is None:
            objective = darrm.objectives.truth(**given)
        else:
            del given["cost"]
            objective = darrm.objectives.rule(which, **given)
        design = darrm.solve(problem, objective=objective, time_limit=5, **case["options"])
        outcome = confirm(design)
        table, change, at = design.table.copy(), case["change"], case["at"]
        entry = at % table.size
        if change == "drawn":
            values = case["drawn"] * (table.size // 8 + 1)
            table.flat[:] = values[: table.size]
            table = table if problem.binary else table / table.sum(axis=-1, keepdims=True)
        elif change == "repair":
            rough = table.round(2) if problem.binary else table
            table = darrm.repair(rough, problem)
        elif change != "solve":
            table.flat[entry] = min(1.0, table.flat[entry] * change)
        made = darrm.Design(problem, table, objective, design.shape, profile=design.profile, fewer=design.fewer)
    except CertificateError:
        return "not proved"
    except DarrmError:
        return "refused"
    made.save("decision.json")
    again = darrm.load("decision.json")
    if again != made:
        raise Finding("a saved decision is read as another")
    return outcome if change == "solve" else confirm(again)
