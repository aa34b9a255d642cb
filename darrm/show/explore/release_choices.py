"""What was chosen on the page of one release: the texts of `darrm solve`, read by its reader."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from darrm import objectives, priors
from darrm.errors import InputError
from darrm.objectives import Objective, OfVoters, Rule, Truth
from darrm.priors import Prior
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import VoterGroup
from darrm.problem.majority import MajorityProblem
from darrm.show import typed
from darrm.show.explore import query
from darrm.show.explore.query import RANDOMIZERS, colluders_of, groups_there
from darrm.show.wording import number_of

GROUPS = (1, 2, 3)
OF_GROUP = ("count", "epsilon", "delta", "max_affected", "accuracy")
KNOWN = {"prior": "a prior of votes", "accuracy": "accuracies of voters"}
MINIMISE = {"": "chosen by the prior", "tv": "tv, the paper's error", "disagreement": "disagreement"}
SHAPES = {"free": "free", "ordered": "ordered", "monotone": "monotone"}
# What the form shows at first: the problem of the paper's figures.
FIRST = {
    **{f"{name}{g}": "" for g in GROUPS for name in OF_GROUP},
    **{"count1": "11", "epsilon1": "0.1", "known": "prior"},
    **{"randomizer": "", "colluders": ""},
    **{"m": "3", "release_epsilon": "", "delta": "", "max_affected": ""},
    **{"prior": "uniform", "minimise": ""},
    **{"base": "0.9", "truths": "", "objective": "truth", "cost": "", "classes": "2", "none": ""},
    "shape": "free",
}
# Where an error is said that does not begin with the name of the control.
_SLOTS = {
    "prior": {
        "K": "count1",
        "epsilon": "epsilon1",
        "Delta": "delta1",
        "objective": "minimise",
        "A problem": "m",
        **dict.fromkeys(("A vote", "A prior", "fixed p", "p", "rho"), "prior"),
    },
    "accuracy": {
        "prior": "truths",
        "epsilon": "release_epsilon",
        "accuracy": "accuracy1",
        "An accuracy": "accuracy1",
        **dict.fromkeys(("k", "A rule", "The rule", "weights"), "objective"),
        "A known randomizer": "randomizer",
        **dict.fromkeys(("A class", "No class"), "classes"),
    },
}


_LISTS = {"known": KNOWN, "minimise": MINIMISE, "shape": SHAPES, "randomizer": RANDOMIZERS}


@dataclass(frozen=True)
class Choice:
    """All that determines a design; a key of a cache.

    Attributes
    ----------
    problem : MajorityProblem or DecisionProblem
    prior : Prior or None
        Where votes come from, of the paper's majority.
    objective : Objective or str or None
        As `darrm.solve` takes it.
    shape : str
    options : tuple of (str, str)
        Those of ``darrm solve`` that say the same. They are of the key: what compares as equal may print otherwise.
    """

    problem: AnyProblem
    prior: Prior | None
    objective: Objective | str | None
    shape: str
    options: tuple[tuple[str, str], ...]


Choices: TypeAlias = query.Choices[Choice]


def read(pairs: Iterable[tuple[str, str]]) -> Choices:
    """Read a query string, given as pairs; what is wrong is in ``errors``, and nothing is raised."""
    return query.read(pairs, FIRST, _choice)


def _choice(texts: Mapping[str, str], errors: dict[str, str]) -> Choice | None:
    there = groups_there(texts, GROUPS, errors)
    for name, known in _LISTS.items():
        if texts[name] not in known:
            errors[name] = f"{name} must be one of {', '.join(filter(None, known))}. Got {texts[name]!r}."
    for name in (f"{name}{g}" for g in GROUPS for name in OF_GROUP[:4]):
        if ":" in texts[name]:
            errors[name] = f"{name} must be one number. Got {texts[name]!r}."
    if texts["known"] == "prior" and texts["max_affected"] and texts["max_affected1"]:
        errors["max_affected"] = "max_affected stands twice, over all and of the group. Leave one of them blank."
    if errors:
        return None
    try:
        return (_under_prior if texts["known"] == "prior" else _of_accuracies)(texts, there)
    except InputError as error:
        note(texts, errors, error)
        return None


def note(texts: Mapping[str, str], errors: dict[str, str], error: InputError) -> None:
    """Put an error beside the control that its first word names, or the one for a group of voters."""
    said, group = str(error), ""
    for g in GROUPS:
        if said.startswith(before := f"--group {_group(texts, g)}: "):
            said, group = said.removeprefix(before), str(g)
            break
    begun = said.removeprefix("--")
    others = _SLOTS.get(texts["known"], {}).items()
    word = begun.split(" ", 1)[0].replace("-", "_")
    slot = word + group if group else next((slot for name, slot in others if begun.startswith(f"{name} ")), word)
    errors[slot if slot in FIRST else "solve"] = query.shortened(said)


def _under_prior(texts: Mapping[str, str], there: Sequence[int]) -> Choice:
    """The paper's problem: gamma for one group, under a prior of votes."""
    if len(there) > 1:
        raise InputError(
            "known must be accuracies of voters where there are several groups. Choose that, or leave the voters of "
            "the other groups blank."
        )
    if texts["randomizer"]:
        raise InputError(
            "known must be accuracies of voters where the randomizer is stated: a prior of votes makes a design for "
            "any voters. Choose that, or any mechanism."
        )
    values = {
        "K": texts["count1"],
        "m": texts["m"],
        "release_epsilon": texts["release_epsilon"],
        "epsilon": texts["epsilon1"],
        "Delta": texts["delta1"],
        "delta": texts["delta"],
        "max_affected": texts["max_affected"] or texts["max_affected1"],
    }
    problem = MajorityProblem(
        **{name: number_of(text) for name, text in values.items() if text or name in ("K", "epsilon")}
    )
    prior, objective = priors.parse(texts["prior"]), texts["minimise"] or None
    options = {name.replace("_", "-"): text for name, text in values.items()}
    options["voter-delta"] = options.pop("Delta")
    if prior != priors.independent():
        options["prior"] = texts["prior"]
    return Choice(problem, prior, objective, texts["shape"], _given(texts, options | {"objective": objective or ""}))


def _of_accuracies(texts: Mapping[str, str], there: Sequence[int]) -> Choice:
    """Any decision, of which is known how often voters are right."""
    groups = [_group(texts, g) for g in there]
    classes = typed.classes_of(texts["classes"])
    n_classes = len(classes) if isinstance(classes, list) else classes
    accuracy = ",".join(
        texts[f"accuracy{g}"] or _accuracy(texts, g, epsilon, n_classes)
        for g, (_, epsilon, *_) in zip(there, typed.take_groups(groups, "4:1.0"), strict=True)
    )
    numbers = {name: number_of(texts[name]) if texts[name] else None for name in _NUMBERS}
    values = {"group": groups, "columns": None, "accuracy": accuracy, "classes": texts["classes"], **numbers}
    values |= {"randomizer": texts["randomizer"] or None, "colluders": colluders_of(texts)}
    values |= {"cost": texts["cost"] or None, "objective": texts["objective"], "adjacency": "replace-one"}
    asked = typed.take_decision(values, texts["truths"] or None, priors.parse)
    options = {f"group {g}": text for g, text in enumerate(groups)}
    options |= {name.replace("_", "-"): texts[name] for name in _NUMBERS} | {"accuracy": accuracy}
    options |= {"randomizer": texts["randomizer"], "colluders": colluders_of(texts) or ""}
    options |= {"prior": texts["truths"], "cost": texts["cost"]}
    options |= {name: texts[name] * (texts[name] != FIRST[name]) for name in ("objective", "classes")}
    return Choice(asked["problem"], None, asked["objective"], texts["shape"], _given(texts, options))


_NUMBERS = ("m", "release_epsilon", "delta", "max_affected", "none")


def _group(texts: Mapping[str, str], g: int) -> str:
    """The group as --group takes it."""
    parts = [texts[f"{name}{g}"] for name in OF_GROUP[:4]]
    while not parts[-1] and len(parts) > 2:
        parts.pop()
    return ":".join(part or "0" * (at == 2) for at, part in enumerate(parts))


def _accuracy(texts: Mapping[str, str], g: int, epsilon: float, classes: int) -> str:
    """How often a vote of a group is right whose voters randomize what is right as often as ``base`` says."""
    return repr(objectives.randomized_response_accuracy(number_of(texts["base"]), epsilon, classes))


def _given(texts: Mapping[str, str], options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    shape = {} if texts["shape"] == FIRST["shape"] else {"shape": texts["shape"]}
    return tuple((name.split()[0], text) for name, text in {**options, **shape}.items() if text)


def solve_command(choice: Choice) -> str:
    """The command that makes the same design."""
    return " ".join(["darrm solve", *(f"--{name} {shlex.quote(text)}" for name, text in choice.options)])


def solve_python(choice: Choice) -> str:
    """The Python that makes the same design."""
    arguments = ["problem"]
    if choice.prior is not None:
        arguments.append(f"prior={choice.prior.text()!r}")
    if isinstance(choice.objective, OfVoters):
        arguments.append(f"objective={_objective(choice.objective)}")
    elif choice.objective is not None:
        arguments.append(f"objective={choice.objective!r}")
    if choice.shape != FIRST["shape"]:
        arguments.append(f"shape={choice.shape!r}")
    return f"import darrm\n\nproblem = {_problem(choice.problem)}\ndesign = darrm.solve({', '.join(arguments)})"


def _problem(problem: AnyProblem) -> str:
    if isinstance(problem, MajorityProblem):
        return f"darrm.{problem!r}"
    groups = (
        f"darrm.VoterGroup({group.count}, epsilon={_number(group.epsilon)}, delta={group.delta!r}, "
        f"max_affected={group.max_affected}{_known(group)})"
        for group in problem.groups
    )
    return (
        f"darrm.DecisionProblem([{', '.join(groups)}], epsilon={problem.release_epsilon!r}, delta={problem.delta!r}, "
        f"classes={problem.classes!r}, max_affected={problem.max_affected}, none={problem.none})"
    )


def _known(group: VoterGroup) -> str:
    return "" if group.randomizer is None else f", randomizer={group.randomizer!r}, colluders={group.colluders}"


def _number(value: float) -> str:
    return 'float("inf")' if math.isinf(value) else repr(value)


def _objective(objective: OfVoters) -> str:
    given: dict[str, object] = {"prior": objective.prior, "none": objective.none}
    name, arguments = objective.kind, [repr(list(objective.confusion))]  # a function of that name makes it
    if isinstance(objective, Truth):
        given["cost"] = objective.cost
    elif isinstance(objective, Rule):
        numbers = objective.numbers
        rules = {"at least": f"darrm.objectives.at_least({math.prod(numbers):g})", "weights": repr(list(numbers))}
        arguments = [rules.get(objective.name, repr(objective.name)), *arguments]
    arguments += [f"{name}={value!r}" for name, value in given.items() if value is not None]
    return f"darrm.objectives.{name}({', '.join(arguments)})"
