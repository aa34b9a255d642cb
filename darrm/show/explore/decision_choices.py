"""What was chosen on the page of decisions: from a query string to a problem and an objective, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from darrm import objectives
from darrm._validation import MAX_COUNT, choice, real
from darrm.errors import InputError
from darrm.objectives import Objective
from darrm.problem import class_corners
from darrm.problem.counts import n_sorted_counts
from darrm.problem.decision import DecisionProblem
from darrm.problem.group_corners import entries
from darrm.problem.groups import VoterGroup
from darrm.problem.model import VoterModel
from darrm.show.explore import query
from darrm.show.explore.options import problem_options
from darrm.show.explore.query import built, checked, groups_there
from darrm.show.wording import number_of

GROUPS = (1, 2, 3)
OF_GROUP = ("count", "epsilon", "max_affected", "accuracy")
OBJECTIVES = {"truth": "the truth", "majority": "the most votes", "at-least": "1 if at least k votes are 1"}
CLASSES = ("2", "3", "4", "5")
# Beyond, an answer takes more than a few seconds: the design, four others and the certificates of all.
MAX_VECTORS = 300
MAX_MULTISETS = 200_000
MAX_OF_CLASSES = 330_000  # the same for more than two answers: probabilities to go through
FIRST = {
    **{f"{name}{g}": "" for g in GROUPS for name in OF_GROUP},
    **{"count1": "4", "epsilon1": "1", "count2": "7", "epsilon2": "0.2"},
    **{"max_affected": "", "base": "0.9", "epsilon": "1.4", "delta": ""},
    **{"classes": "2", "objective": "truth", "k": "", "prior": "0.5", "miss": "1", "false_alarm": "1"},
    **{"none": "", "ordered": ""},
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
    classes = int(checked("classes", errors, lambda: choice("classes", texts["classes"], CLASSES)) or 2)
    none = checked("none", errors, lambda: _none(texts["none"]))
    if len(there) > 1:
        _for_one_group(texts, classes, errors)
    values = {name: number_of(texts[name]) for name in _HARMLESS if texts[name] or name == "epsilon"}
    problem = built(
        lambda **given: DecisionProblem(members, classes=classes, none=bool(none), **given), values, _HARMLESS, errors
    )
    pairs = [_accuracy(texts, g, group, classes, errors) for g, group in zip(there, groups, strict=True)]
    given = [pair for pair in pairs if pair is not None]
    accuracies = tuple(value for value, _ in given)
    objective = _objective(texts, list(accuracies) or [0.5], classes, none[0] if none else None, errors)
    checked("ordered", errors, lambda: choice("ordered", texts["ordered"] or "no", ("yes", "no")))
    if problem is not None and fine:
        checked("groups", errors, lambda: check_page_size(problem))
    if len(errors) > before or problem is None or objective is None:
        return None
    if checked("k", errors, lambda: objective.costs(problem)) is None:
        return None
    python = tuple(python for _, python in given)
    return Choice(problem, objective.of(problem), texts["ordered"] == "yes", accuracies, python)


def _none(text: str) -> tuple[float, ...]:
    """What the further answer costs, or nothing."""
    return (real("none", number_of(text), 0, math.inf, "[)"),) if text else ()


def _for_one_group(texts: Mapping[str, str], classes: int, errors: dict[str, str]) -> None:
    more = "for several groups on this page. Leave the voters of the other groups blank, or use the command line."
    if classes > 2:
        errors.setdefault("classes", f"classes must be 2 {more}")
    if texts["none"]:
        errors.setdefault("none", f"none must be blank {more}")


def _group(texts: Mapping[str, str], g: int, errors: dict[str, str]) -> VoterGroup | None:
    values = {
        name: number_of(texts[f"{name}{g}"])
        for name in ("count", "epsilon", "max_affected")
        if texts[f"{name}{g}"] or name != "max_affected"
    }
    return built(VoterGroup, values, _HARMLESS_GROUP, errors, lambda name: f"{name}{g}")


def _accuracy(
    texts: Mapping[str, str], g: int, group: VoterGroup | None, classes: int, errors: dict[str, str]
) -> tuple[float, str] | None:
    """How often a vote of a group is the truth, and the Python that says so."""
    own = texts[f"accuracy{g}"]
    if own:
        value = checked(f"accuracy{g}", errors, lambda: real("accuracy", number_of(own), 0, 1))
        return None if value is None else (value, repr(value))
    epsilon = 1.0 if group is None else group.epsilon
    base = number_of(texts["base"])
    value = checked("base", errors, lambda: objectives.randomized_response_accuracy(base, epsilon, classes))
    if value is None:
        return None
    if math.isinf(epsilon):
        return value, repr(value)
    of = f", classes={classes}" if classes > 2 else ""
    return value, f"objectives.randomized_response_accuracy({base!r}, {epsilon!r}{of})"


def _objective(
    texts: Mapping[str, str], accuracies: list[float], classes: int, none: float | None, errors: dict[str, str]
) -> Objective | None:
    if classes > 2:
        return _of_classes(texts["objective"], accuracies, none, errors)
    kind = checked("objective", errors, lambda: choice("objective", texts["objective"], tuple(OBJECTIVES)))
    one = checked("prior", errors, lambda: real("prior", number_of(texts["prior"]), 0, 1))
    if kind is None or one is None:
        return None
    prior = [1 - one, one]
    if kind == "majority":
        return objectives.rule("majority", accuracies, prior, none=none)
    if kind == "at-least":
        rule = checked("k", errors, lambda: objectives.at_least(number_of(texts["k"])))
        return None if rule is None else objectives.rule(rule, accuracies, prior, none=none)
    costs = [
        checked(name, errors, lambda name=name: real(name, number_of(texts[name]), 0, math.inf, "[)"))  # type: ignore[misc]
        for name in ("miss", "false_alarm")
    ]
    miss, false_alarm = costs
    if miss is None or false_alarm is None:
        return None
    cost = [[0.0, miss], [false_alarm, 0.0]]
    return checked("miss", errors, lambda: objectives.truth(accuracies, prior, cost, none))


def _of_classes(kind: str, accuracies: list[float], none: float | None, errors: dict[str, str]) -> Objective | None:
    """The objective of more than two classes: all as likely, and wrong classes cost the same."""
    if checked("objective", errors, lambda: choice("objective", kind, tuple(OBJECTIVES))) == "at-least":
        errors.setdefault("objective", "objective at-least is for 2 classes. Take the truth or the most votes.")
    if "objective" in errors:
        return None
    if kind == "majority":
        return objectives.rule("plurality", accuracies, none=none)
    return objectives.truth(accuracies, none=none)


def check_page_size(problem: DecisionProblem) -> bool:
    """Refuse what would take more than some seconds, with what would fit."""
    line = f"For more use the command line: darrm solve {' '.join(problem_options(problem))} ..."
    if not problem.binary:
        return _check_classes(problem, line)
    vectors = math.prod(problem.table_shape)
    many = len(problem.groups)
    if vectors > MAX_VECTORS:
        each = max(n for n in range(1, MAX_VECTORS) if (n + 1) ** many <= MAX_VECTORS)
        raise InputError(
            f"The vectors of counts, each count + 1 multiplied, must be at most {MAX_VECTORS} on this page. Got "
            f"{vectors:,}. {many} group{'s' * (many > 1)} of at most {each} voters would fit. {line}"
        )
    multisets = entries(problem)
    if multisets > MAX_MULTISETS:
        sizes = ((t, entries(replace(problem.model, max_affected=t))) for t in range(problem.max_affected - 1, 0, -1))
        fits = next((t for t, size in sizes if size <= MAX_MULTISETS), 0)
        would = f"max_affected = {fits} would fit" if fits else "Fewer voters would fit"
        raise InputError(
            f"These groups have {multisets:,} multisets of corners, at most {MAX_MULTISETS:,} on this page. {would}, "
            f"if one change of the data reaches no more voters. {line}"
        )
    return True


def _check_classes(problem: DecisionProblem, line: str) -> bool:
    """Of one group and more than two answers."""
    if not _fits(problem, problem.K):
        fits = next(K for K in range(2, MAX_VECTORS + 2) if not _fits(problem, K)) - 1
        answers = f"{problem.n_classes} classes" + " and none" * problem.none
        raise InputError(
            f"One group with {answers} must be of at most {fits} voters on this page, if one change of the data "
            f"reaches {min(fits, problem.max_affected)} of them. Got {problem.K:,}. {line}"
        )
    return True


def _fits(problem: DecisionProblem, K: int) -> bool:
    """Whether so many voters in place of those of a problem are quick enough."""
    C = problem.n_classes
    if K > MAX_VECTORS or (n_sorted_counts(K, C) if C > 2 else K + 1) > MAX_VECTORS:
        return False
    group = VoterGroup(K, 1.0, max_affected=min(K, problem.max_affected))
    other = VoterModel([group], C, none=problem.none)
    return class_corners.entries(other, alike=C > 2) <= MAX_OF_CLASSES
