"""Plans and comparisons at one total budget, in Python: what they say, beside what the labels certainly cost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from judging import Case, Finding, confirm, one_line
from mutate import Draw, rarely
from of_charges import SAME, Cost, worst_pair_of

import darrm
from darrm.errors import DarrmError

EPSILONS = st.one_of(st.sampled_from([0.1, 0.5, 1.0, 2.0, 1e-9, 5e-324, 40.0, 745.2, math.inf]), st.floats(0.01, 4))
CHANCES = st.one_of(st.sampled_from([0.5, 1.0, 0.85, 0.7, 0.0]), st.floats(0, 1))
ODD = st.sampled_from([-1, 0, math.nan, "x", True, [], 10**30, 1e308, 5e-324])


@st.composite
def plans(draw: Draw) -> Case:
    classes = draw(st.sampled_from([2, 2, 2, 3, ["no", "yes"], ["a", "b", "c"]]))
    many = classes in (3, ["a", "b", "c"])
    counts = draw(st.sampled_from([[2], [3]] if many else [[1], [3], [5], [4], [2, 2], [1, 3], [1, 1, 1]]))
    auto = rarely(draw, 5)
    epsilons = ["auto" if auto and g == 0 else draw(EPSILONS) for g in range(len(counts))]
    given: dict[str, Any] = {
        "max_affected": draw(st.sampled_from([1, 1, 2, None, sum(counts)])),
        "queries": draw(st.sampled_from([1, 2, 5, 50, 300, 1000])),
        "total_epsilon": draw(st.sampled_from([0.1, 1.0, 3.0, 6.0, 20.0, 1e-9, 690.0, 1e6])),
        "total_delta": draw(st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.5, 5e-324])),
        "voters": draw(st.sampled_from(["fresh", "fresh", "fixed"])),
        "classes": classes,
        "ordered": rarely(draw, 5),
        "compare": rarely(draw, 3),
        "time_limit": draw(st.sampled_from([1e-3, 3.0, 3.0, 3.0])),
    }
    if len(counts) == 1 and draw(st.booleans()):
        given |= {"K": counts[0], "epsilon": epsilons[0]}
    else:
        given["groups"] = [[n, epsilon] for n, epsilon in zip(counts, epsilons, strict=True)]
    if draw(st.integers(0, 3)) and not (given["voters"] == "fixed" and draw(st.integers(0, 3))):
        given["base_accuracy"] = draw(st.one_of(CHANCES, st.just([draw(CHANCES) for _ in counts])))
    else:
        given["accuracy"] = [draw(CHANCES) for _ in counts]
    if auto or rarely(draw, 9):
        given["at_most"] = draw(st.sampled_from([1.0, 2.0, 0.1, None]))
        given["aggregator_epsilon"] = draw(st.sampled_from([None, 50.0, 1.0, 1e6]))
    if rarely(draw, 5):
        given["prior"] = draw(st.sampled_from([[0.3, 0.7], [0.0, 1.0], "uniform", "common:2,2", [0.2, 0.3, 0.5]]))
    if rarely(draw, 7):
        given["cost"] = draw(st.sampled_from([[[0, 5], [1, 0]], [[0, 0], [0, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]]))
    if rarely(draw, 7):
        given[draw(st.sampled_from(sorted(given)))] = draw(ODD)
    return given


def run_plan(case: Case) -> str:
    try:
        plan = darrm.plan(**case)
    except DarrmError as error:
        one_line(error)
        return "refused"
    outcome = confirm(plan.design)
    if not 0 <= plan.spent <= case["total_epsilon"]:
        raise Finding(f"spent {plan.spent} of {case['total_epsilon']}")
    for name in ("wrong", "disagreement", "wrong_without_noise", "wrong_without_privacy"):
        value = getattr(plan, name)
        if not (math.isnan(value) or -1e-12 <= value <= 1 + 1e-12):
            raise Finding(f"{name} is {value}")
    plan.design.save("plan.json")
    cost = Cost(case["voters"])
    pair = worst_pair_of(json.loads(Path("plan.json").read_bytes()))
    if pair is not None:
        cost.add_labels(pair, int(case["queries"]))
        for name, epsilon in (("spent", plan.spent), ("the total", case["total_epsilon"])):
            least = cost.delta(epsilon)
            if least > case["total_delta"] * (1 + SAME) + 1e-12:
                raise Finding(f"{name} {epsilon}, where the labels certainly need delta {least}: {plan.design!r}")
    return f"{outcome}, {'complete' if plan.complete else 'stopped'}"
