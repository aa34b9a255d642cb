"""What was chosen on the page of decisions: from a query string to a problem and an objective, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from darrm import objectives
from darrm._validation import MAX_COUNT, choice, real
from darrm.errors import InputError
from darrm.objectives import Objective
from darrm.problem.decision import DecisionProblem, VoterGroup
from darrm.problem.group_corners import entries
from darrm.show.explore import query
from darrm.show.explore.query import built, checked, groups_there
from darrm.show.wording import number_of

GROUPS = (1, 2, 3)
OF_GROUP = ("count", "epsilon", "max_affected", "accuracy")
OBJECTIVES = {"truth": "the truth", "majority": "the majority of the votes", "at-least": "1 if at least k votes are 1"}
# Beyond, an answer takes more than a few seconds: the design, four others and the certificates of all.
MAX_VECTORS = 300
MAX_MULTISETS = 200_000
FIRST = {
    **{f"{name}{g}": "" for g in GROUPS for name in OF_GROUP},
    **{"count1": "4", "epsilon1": "1", "count2": "7", "epsilon2": "0.2"},
    **{"max_affected": "", "base": "0.9", "epsilon": "1.4", "delta": ""},
    **{"objective": "truth", "k": "", "prior": "0.5", "miss": "1", "false_alarm": "1", "ordered": ""},
}
_HARMLESS_GROUP = {"count": MAX_VECTORS, "epsilon": 1.0, "max_affected": None}
_HARMLESS = {"epsilon": 1.0, "delta": None, "max_affected": None}


@dataclass(frozen=True)
class Choice:
    """All that determines a design; a key of a cache.

    Attributes
    ----------
    problem : DecisionProblem
    objective : Objective
    ordered : bool
    accuracies : tuple of float
        How often a vote of each group is the truth.
    accuracies_python : tuple of str
        The same as Python that says where they come from.
    """

    problem: DecisionProblem
    objective: Objective
    ordered: bool
    accuracies: tuple[float, ...]
    accuracies_python: tuple[str, ...] = field(compare=False)


Choices: TypeAlias = query.Choices[Choice]


def read(pairs: Iterable[tuple[str, str]]) -> Choices:
    """Read a query string, given as pairs; what is wrong is in ``errors``, and nothing is raised."""
    return query.read(pairs, FIRST, _choice)


def _choice(texts: Mapping[str, str], errors: dict[str, str]) -> Choice | None:
    before = len(errors)
    there = groups_there(texts, GROUPS, errors)
    groups = [_group(texts, g, errors) for g in there]
    fine = len(errors) == before
    members = [group for group in groups if group is not None] if fine else [VoterGroup(MAX_COUNT, 1.0)]
    values = {name: number_of(texts[name]) for name in _HARMLESS if texts[name] or name == "epsilon"}
    problem = built(lambda **given: DecisionProblem(members, **given), values, _HARMLESS, errors)
    pairs = [_accuracy(texts, g, group, errors) for g, group in zip(there, groups, strict=True)]
    given = [pair for pair in pairs if pair is not None]
    accuracies = tuple(value for value, _ in given)
    objective = _objective(texts, list(accuracies) or [0.5], errors)
    checked("ordered", errors, lambda: choice("ordered", texts["ordered"] or "no", ("yes", "no")))
    if problem is not None and fine:
        checked("groups", errors, lambda: check_page_size(problem))
    if len(errors) > before or problem is None or objective is None:
        return None
    if checked("k", errors, lambda: objective.costs(problem)) is None:
        return None
    return Choice(problem, objective, texts["ordered"] == "yes", accuracies, tuple(python for _, python in given))


def _group(texts: Mapping[str, str], g: int, errors: dict[str, str]) -> VoterGroup | None:
    values = {
        name: number_of(texts[f"{name}{g}"])
        for name in ("count", "epsilon", "max_affected")
        if texts[f"{name}{g}"] or name != "max_affected"
    }
    return built(VoterGroup, values, _HARMLESS_GROUP, errors, lambda name: f"{name}{g}")


def _accuracy(
    texts: Mapping[str, str], g: int, group: VoterGroup | None, errors: dict[str, str]
) -> tuple[float, str] | None:
    """How often a vote of a group is the truth, and the Python that says so."""
    own = texts[f"accuracy{g}"]
    if own:
        value = checked(f"accuracy{g}", errors, lambda: real("accuracy", number_of(own), 0, 1))
        return None if value is None else (value, repr(value))
    epsilon = 1.0 if group is None else group.epsilon
    base = number_of(texts["base"])
    value = checked("base", errors, lambda: objectives.randomized_response_accuracy(base, epsilon))
    if value is None:
        return None
    if math.isinf(epsilon):
        return value, repr(value)
    return value, f"objectives.randomized_response_accuracy({base!r}, {epsilon!r})"


def _objective(texts: Mapping[str, str], accuracies: list[float], errors: dict[str, str]) -> Objective | None:
    kind = checked("objective", errors, lambda: choice("objective", texts["objective"], tuple(OBJECTIVES)))
    one = checked("prior", errors, lambda: real("prior", number_of(texts["prior"]), 0, 1))
    if kind is None or one is None:
        return None
    prior = [1 - one, one]
    if kind == "majority":
        return objectives.rule("majority", accuracies, prior)
    if kind == "at-least":
        return checked(
            "k", errors, lambda: objectives.rule(objectives.at_least(number_of(texts["k"])), accuracies, prior)
        )
    costs = [
        checked(name, errors, lambda name=name: real(name, number_of(texts[name]), 0, math.inf, "[)"))  # type: ignore[misc]
        for name in ("miss", "false_alarm")
    ]
    miss, false_alarm = costs
    if miss is None or false_alarm is None:
        return None
    return checked("miss", errors, lambda: objectives.truth(accuracies, prior, [[0.0, miss], [false_alarm, 0.0]]))


def check_page_size(problem: DecisionProblem) -> bool:
    """Refuse what would take more than some seconds, with what would fit."""
    line = f"For more use the command line: darrm solve {' '.join(_group_options(problem))} ..."
    vectors = math.prod(problem.shape)
    many = len(problem.groups)
    if vectors > MAX_VECTORS:
        each = max(n for n in range(1, MAX_VECTORS) if (n + 1) ** many <= MAX_VECTORS)
        raise InputError(
            f"The vectors of counts, each count + 1 multiplied, must be at most {MAX_VECTORS} on this page. Got "
            f"{vectors:,}. {many} group{'s' * (many > 1)} of at most {each} voters would fit. {line}"
        )
    multisets = entries(problem)
    if multisets > MAX_MULTISETS:
        sizes = ((t, entries(_reaching(problem, t))) for t in range(problem.max_affected - 1, 0, -1))
        fits = next((t for t, size in sizes if size <= MAX_MULTISETS), 0)
        would = f"max_affected = {fits} would fit" if fits else "Fewer voters would fit"
        raise InputError(
            f"These groups have {multisets:,} multisets of corners, at most {MAX_MULTISETS:,} on this page. {would}, "
            f"if one change of the data reaches no more voters. {line}"
        )
    return True


def _reaching(problem: DecisionProblem, voters: int) -> DecisionProblem:
    return DecisionProblem(problem.groups, problem.epsilon, problem.delta, max_affected=voters)


def _plain(value: float) -> str:
    """A number as both Python and the command line read it."""
    return repr(int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value))


def _group_options(problem: DecisionProblem) -> list[str]:
    options = []
    for group in problem.groups:
        reached = f":0:{group.max_affected}" if group.max_affected < group.count else ""
        options.append(f"--group {group.count}:{_plain_epsilon(group.epsilon)}{reached}")
    return options


def _plain_epsilon(epsilon: float) -> str:
    return "inf" if math.isinf(epsilon) else _plain(epsilon)


def _most(problem: DecisionProblem) -> int:
    return sum(group.max_affected for group in problem.groups)


def solve_command(choice: Choice) -> str:
    """The command that makes the same design."""
    problem, objective = choice.problem, choice.objective
    parts = ["darrm solve", *_group_options(problem), f"--total-epsilon {_plain(problem.epsilon)}"]
    if problem.delta:
        parts.append(f"--delta {_plain(problem.delta)}")
    if problem.max_affected != _most(problem):
        parts.append(f"--max-affected {problem.max_affected}")
    parts.append(f"--accuracy {','.join(map(repr, choice.accuracies))}")
    if isinstance(objective, objectives.OfVoters) and objective.prior != (0.5, 0.5):
        parts.append(f"--prior {','.join(map(repr, objective.prior))}")
    if isinstance(objective, objectives.Rule):
        name = f"at-least:{objective.numbers[0]:.0f}" if objective.name == "at least" else objective.name
        parts.append(f"--objective {name}")
    if isinstance(objective, objectives.Truth) and objective.cost != ((0.0, 1.0), (1.0, 0.0)):
        parts.append(f"--cost {','.join(_plain(cost) for row in objective.cost for cost in row)}")
    if choice.ordered:
        parts.append("--ordered")
    return " ".join(parts)


def solve_python(choice: Choice) -> str:
    """The Python that makes the same design."""
    problem, objective = choice.problem, choice.objective
    lines = ["import darrm", "from darrm import objectives", "", "groups = ["]
    for group in problem.groups:
        epsilon = 'float("inf")' if math.isinf(group.epsilon) else _plain(group.epsilon)
        reached = f", max_affected={group.max_affected}" if group.max_affected < group.count else ""
        lines.append(f"    darrm.VoterGroup({group.count}, epsilon={epsilon}{reached}),")
    delta = f", delta={_plain(problem.delta)}" if problem.delta else ""
    reached = f", max_affected={problem.max_affected}" if problem.max_affected != _most(problem) else ""
    lines += ["]", f"problem = darrm.DecisionProblem(groups, epsilon={_plain(problem.epsilon)}{delta}{reached})"]
    lines += ["accuracy = [", *(f"    {python}," for python in choice.accuracies_python), "]"]
    arguments = ["accuracy"]
    if isinstance(objective, objectives.OfVoters) and objective.prior != (0.5, 0.5):
        arguments.append(f"prior={list(objective.prior)!r}")
    if isinstance(objective, objectives.Rule):
        at_least = objective.name == "at least"
        which = f"objectives.at_least({objective.numbers[0]:.0f})" if at_least else repr(objective.name)
        stated = f"objectives.rule({', '.join([which, *arguments])})"
    else:
        if isinstance(objective, objectives.Truth) and objective.cost != ((0.0, 1.0), (1.0, 0.0)):
            rows = (f"[{', '.join(map(_plain, row))}]" for row in objective.cost)
            arguments.append(f"cost=[{', '.join(rows)}]")
        stated = f"objectives.truth({', '.join(arguments)})"
    ordered = ", ordered=True" if choice.ordered else ""
    return "\n".join([*lines, f"design = darrm.solve(problem, objective={stated}{ordered})"])
