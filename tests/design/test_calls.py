"""How much a solve does, in calls and passes: what a slow machine cannot change."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import darrm
from darrm.certificate.engines import forget
from darrm.certificate.separation import CornerSeparation


def calls_of_solve(**problem: Any) -> int:
    """Python functions that one solve calls when libraries are loaded."""
    darrm.solve(**problem)
    forget()
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        darrm.solve(**problem)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(("K", "m", "Delta", "most"), [(5, 2, 1e-5, 1500), (11, 3, 1e-5, 1700), (31, 4, 1e-5, 2500)])
def test_a_solve_makes_few_calls(K: int, m: int, Delta: float, most: int) -> None:
    assert 100 < calls_of_solve(K=K, m=m, epsilon=0.1, Delta=Delta) <= most


@pytest.mark.parametrize(
    ("problem", "most"),
    [
        ({"K": 11, "m": 3, "epsilon": 0.1, "Delta": 1e-5}, 1),
        ({"K": 101, "m": 10, "epsilon": 0.1, "Delta": 1e-5}, 2),
        # No noise is needed, and less than its epsilon: the least one is looked for.
        ({"K": 11, "m": 10.96, "epsilon": 0.012, "Delta": 1e-5}, 4),
    ],
    ids=["bound by it", "many voters", "no noise"],
)
def test_a_solve_separates_the_complete_set_rarely(
    problem: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []
    complete = CornerSeparation.worst_cases

    def counted(self: CornerSeparation, epsilon: Any) -> Any:
        passes.append(epsilon)
        return complete(self, epsilon)

    monkeypatch.setattr(CornerSeparation, "worst_cases", counted)
    forget()
    design = darrm.solve(**problem)
    assert 1 <= len(passes) <= most
    assert design.certificate.tight_epsilon <= design.problem.release_epsilon * (1 + 1e-15)
