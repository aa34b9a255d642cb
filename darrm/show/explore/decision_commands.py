"""The command line and the Python that make the design of the page of decisions."""

from __future__ import annotations

import math

from darrm import objectives
from darrm.problem.decision import DecisionProblem
from darrm.show.explore.decision_choices import Choice
from darrm.show.explore.options import plain, problem_options


def _most(problem: DecisionProblem) -> int:
    return sum(group.max_affected for group in problem.groups)


def _prior(choice: Choice) -> tuple[float, ...]:
    """The chances of the truths, where they are not even."""
    objective, classes = choice.objective, choice.problem.n_classes
    prior = objective.prior or () if isinstance(objective, objectives.OfVoters) else ()
    return () if prior == (1 / classes,) * classes else prior


def _cost(choice: Choice) -> tuple[tuple[float, ...], ...]:
    """What the classes cost as answers, where it is not 1 if they are wrong."""
    objective, classes = choice.objective, choice.problem.n_classes
    rows = (objective.cost or ())[:classes] if isinstance(objective, objectives.Truth) else ()
    usual = tuple(tuple(float(r != y) for y in range(classes)) for r in range(classes))
    return () if rows == usual else rows


def _none_cost(choice: Choice) -> float | None:
    """What the further answer costs, the same whatever is true; None if there is none."""
    objective = choice.objective
    if not choice.problem.none or not isinstance(objective, objectives.OfVoters):
        return None
    return objective.cost[-1][0] if isinstance(objective, objectives.Truth) and objective.cost else objective.none


def solve_command(choice: Choice) -> str:
    """The command that makes the same design."""
    problem, objective = choice.problem, choice.objective
    parts = ["darrm solve", *problem_options(problem), f"--total-epsilon {plain(problem.release_epsilon)}"]
    if problem.delta:
        parts.append(f"--delta {plain(problem.delta)}")
    if problem.max_affected != _most(problem):
        parts.append(f"--max-affected {problem.max_affected}")
    parts.append(f"--accuracy {','.join(map(repr, choice.accuracies))}")
    prior, cost, none = _prior(choice), _cost(choice), _none_cost(choice)
    if prior:
        parts.append(f"--prior {','.join(map(repr, prior))}")
    if isinstance(objective, objectives.Rule):
        name = f"at-least:{objective.numbers[0]:.0f}" if objective.name == "at least" else objective.name
        parts.append(f"--objective {name}")
    if cost:
        parts.append(f"--cost {','.join(plain(value) for row in cost for value in row)}")
    if none is not None:
        parts.append(f"--none {plain(none)}")
    if choice.ordered:
        parts.append("--ordered")
    return " ".join(parts)


def solve_python(choice: Choice) -> str:
    """The Python that makes the same design."""
    problem, objective = choice.problem, choice.objective
    lines = ["import darrm", "from darrm import objectives", "", "groups = ["]
    for group in problem.groups:
        epsilon = 'float("inf")' if math.isinf(group.epsilon) else plain(group.epsilon)
        reached = f", max_affected={group.max_affected}" if group.max_affected < group.count else ""
        lines.append(f"    darrm.VoterGroup({group.count}, epsilon={epsilon}{reached}),")
    given = [f"groups, epsilon={plain(problem.release_epsilon)}"]
    if problem.delta:
        given.append(f"delta={plain(problem.delta)}")
    if problem.n_classes > 2:
        given.append(f"classes={problem.n_classes}")
    if problem.max_affected != _most(problem):
        given.append(f"max_affected={problem.max_affected}")
    if problem.none:
        given.append("none=True")
    lines += ["]", f"problem = darrm.DecisionProblem({', '.join(given)})"]
    lines += ["accuracy = [", *(f"    {python}," for python in choice.accuracies_python), "]"]
    arguments, prior, cost, none = ["accuracy"], _prior(choice), _cost(choice), _none_cost(choice)
    if prior:
        arguments.append(f"prior={list(prior)!r}")
    if cost:
        rows = (f"[{', '.join(map(plain, row))}]" for row in cost)
        arguments.append(f"cost=[{', '.join(rows)}]")
    if none is not None:
        arguments.append(f"none={plain(none)}")
    if isinstance(objective, objectives.Rule):
        at_least = objective.name == "at least"
        which = f"objectives.at_least({objective.numbers[0]:.0f})" if at_least else repr(objective.name)
        stated = f"objectives.rule({', '.join([which, *arguments])})"
    else:
        stated = f"objectives.truth({', '.join(arguments)})"
    ordered = ", ordered=True" if choice.ordered else ""
    return "\n".join([*lines, f"design = darrm.solve(problem, objective={stated}{ordered})"])
