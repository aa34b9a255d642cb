"""`darrm.solve` by the name, and in the order, in which other modules ask for decisions."""

from __future__ import annotations

from typing import Any

from darrm.design.design import Design
from darrm.design.solve import solve
from darrm.objectives import Objective


def solve_decision(problem: Any, objective: Objective, **options: Any) -> Design:
    """`darrm.solve` of a decision."""
    return solve(problem, objective=objective, **options)
