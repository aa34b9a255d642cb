"""The options of a decision on the command line: its groups and classes."""

from __future__ import annotations

import math

from darrm.problem.decision import DecisionProblem


def plain(value: float) -> str:
    """A number as both Python and the command line read it."""
    return repr(int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value))


def _group_options(problem: DecisionProblem) -> list[str]:
    options = []
    for group in problem.groups:
        reached = f":0:{group.max_affected}" if group.max_affected < group.count else ""
        options.append(f"--group {group.count}:{_epsilon(group.epsilon)}{reached}")
    return options


def _epsilon(epsilon: float) -> str:
    return "inf" if math.isinf(epsilon) else plain(epsilon)


def problem_options(problem: DecisionProblem) -> list[str]:
    """The options for groups and classes."""
    classes = [] if problem.n_classes == 2 else [f"--classes {problem.n_classes}"]
    return [*_group_options(problem), *classes]
