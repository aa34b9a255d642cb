"""Decisions by groups of voters as rows of a table."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

import numpy as np

from darrm import objectives
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.objectives import Objective
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup
from darrm.problem.randomizers import RESPONSE

DECISION_KEY = (
    "groups",
    "total_epsilon",
    "delta",
    "max_affected",
    "adjacency",
    "objective",
    "accuracy",
    "prior",
    "cost",
    "ordered",
)
NEEDED = ("groups", "total_epsilon", "accuracy")
_RANDOMIZER = "response"  # as --randomizer has it
_FORM = f"COUNT:EPSILON[:DELTA[:MAX_AFFECTED]][:{_RANDOMIZER}:COLLUDERS]"
_KNOWN = f"4:1.0:{_RANDOMIZER}:1"


class DecisionTask(NamedTuple):
    """One decision to solve, with the texts of ``objective``, ``accuracy``, ``prior`` and ``cost``."""

    problem: DecisionProblem
    objective: str
    accuracy: str
    prior: str
    cost: str
    ordered: str

    @property
    def key(self) -> tuple[Any, ...]:
        """The values that identify the task, in the order of `DECISION_KEY`."""
        p = self.problem
        return (
            json.dumps([_group_text(group) for group in p.groups]),
            p.release_epsilon,
            p.delta,
            p.max_affected,
            p.adjacency,
            *self[1:],
        )

    @property
    def helped(self) -> tuple[Any, ...]:
        """An empty key: decisions do not help each other."""
        return ()

    def solve(self, binding: object) -> Design:
        """The design."""
        from darrm.design.solve import solve

        return solve(self.problem, objective=self.goal, ordered=self.ordered == "yes")

    @property
    def goal(self) -> Objective:
        """The objective of the decision."""
        accuracy, prior = _numbers("accuracy", self.accuracy), _numbers("prior", self.prior)
        kind, _, rest = self.objective.partition(":")
        if kind == "truth":
            cost = _numbers("cost", self.cost)
            if len(cost) != 4:
                raise InputError(
                    f"cost must be four numbers, [C00, C01, C10, C11]. Got {self.cost!r}. Pass e.g. [0, 5, 1, 0]."
                )
            return objectives.truth(accuracy, prior, [cost[:2], cost[2:]])
        if self.cost != "none":
            raise InputError(f"cost goes with the objective truth. Got {self.cost!r} with {self.objective}.")
        if kind == "at-least":
            return objectives.rule(objectives.at_least(_whole("at-least", rest)), accuracy, prior)
        if kind == "weights":
            return objectives.rule(_numbers("weights", rest), accuracy, prior)
        if self.objective != "majority":
            raise InputError(
                f"objective must be truth, majority, at-least:K or weights:[W1, W2, ...]. Got {self.objective!r}."
            )
        return objectives.rule("majority", accuracy, prior)


def decision_task(values: dict[str, str]) -> DecisionTask:
    """The task of a row's texts by column; those that are missing have their defaults."""
    for name in NEEDED:
        if name not in values:
            raise InputError(f"{name} is missing.")
    groups = [_group(text) for text in _parts(values["groups"])]
    problem = DecisionProblem(
        groups,
        _limit("total_epsilon", values["total_epsilon"]),
        _limit("delta", values["delta"]) if "delta" in values else None,
        max_affected=_whole("max_affected", values["max_affected"]) if "max_affected" in values else None,
        adjacency=values.get("adjacency", "replace-one"),
    )
    ordered = values.get("ordered", "no")
    if ordered not in ("yes", "no"):
        raise InputError(f"ordered must be yes or no. Got {ordered!r}.")
    which = " ".join(values.get("objective", "truth").split())
    kind, colon, rest = which.partition(":")
    objective = f"weights:{_text('weights', rest)}" if kind == "weights" and colon else which
    cost = values.get("cost", "[0.0, 1.0, 1.0, 0.0]" if which == "truth" else "none")
    task = DecisionTask(
        problem,
        objective,
        _text("accuracy", values["accuracy"]),
        _text("prior", values.get("prior", "[0.5, 0.5]")),
        cost if cost == "none" else _text("cost", cost),
        ordered,
    )
    task.goal.costs(problem)  # refused here, not after hours
    return task


def decision_of(row: dict[str, Any]) -> Design:
    """The design of a row; it verifies itself."""
    texts = {name: str(row[name]) for name in DECISION_KEY}
    task = decision_task(texts)
    if task.key != tuple(row[name] for name in DECISION_KEY):
        raise InputError("the problem is not in the form of this version of darrm; make the table again")
    size = math.prod(task.problem.table_shape)
    if len(row["table"]) != size:
        raise InputError(f"the table must have {size} numbers. Got {len(row['table'])}.")
    table = np.array(row["table"]).reshape(task.problem.table_shape)
    return Design(task.problem, table, task.goal, gap=row["gap"], ordered=task.ordered == "yes")


def rests_on_randomizer(groups: str) -> bool:
    """Whether the groups of a row, as it keeps them, have a known randomizer."""
    return f":{_RANDOMIZER}:" in groups


def _group_text(group: VoterGroup) -> str:
    text = f"{group.count}:{group.epsilon!r}:{group.delta!r}:{group.max_affected}"
    return text if group.randomizer is None else f"{text}:{_RANDOMIZER}:{group.colluders}"


def _group(text: str) -> VoterGroup:
    parts = text.split(":")
    known: dict[str, Any] = {}
    if _RANDOMIZER in parts:
        where = parts.index(_RANDOMIZER)
        parts, colluders = parts[:where], parts[where + 1 :]
        if len(colluders) != 1:
            raise InputError(f"A known randomizer must be response:COLLUDERS, once. Got {text!r}. Pass e.g. {_KNOWN}.")
        known = {"randomizer": RESPONSE, "colluders": _whole("colluders of groups", colluders[0])}
    elif "/" in text or len(parts) > 4:
        raise InputError(
            f"A group must be {_FORM}. Got {text!r}. A table takes no other randomizer, such as a table of "
            f"probabilities: solve those one by one, with darrm solve. Pass e.g. {_KNOWN}."
        )
    if not 2 <= len(parts) <= 4:
        raise InputError(f"A group must be {_FORM}. Got {text!r}. Pass e.g. 4:1.0.")
    count, epsilon = _whole("A count of groups", parts[0]), _number("An epsilon of groups", parts[1])
    delta = _number("A delta of groups", parts[2]) if len(parts) > 2 else 0.0
    affected = _whole("max_affected of groups", parts[3]) if len(parts) > 3 else None
    return VoterGroup(count, epsilon, delta, affected, **known)


def _parts(text: str) -> list[str]:
    """The parts of a list: as in JSON, or with commas or spaces between."""
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    return [part[1:-1] if part[:1] == part[-1:] == '"' else part for part in re.split(r"[ ,]+", inner)]


def _numbers(name: str, text: str) -> list[float]:
    return [_number(name, part) for part in _parts(text)]


def _text(name: str, text: str) -> str:
    return f"[{', '.join(map(repr, _numbers(name, text)))}]"


def _limit(name: str, text: str) -> float:
    if len(_parts(text)) > 1:
        raise InputError(
            f"{name} must be one number in a table. Got {text!r}. Solve decisions with a limit for each group one by "
            "one, with darrm solve."
        )
    return _number(name, text)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number. Got {text!r}.") from None


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{name} must be an integer. Got {text!r}.") from None
