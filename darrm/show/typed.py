"""Voters and objectives as people type them, on the command line and in the explorer's boxes: their only reader."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from darrm._validation import real
from darrm.errors import InputError
from darrm.show.wording import number_of

if TYPE_CHECKING:
    from darrm.objectives import Objective
    from darrm.priors import Prior
    from darrm.problem.groups import VoterGroup

_NAMES = 4  # place of the names in what `take_groups` returns
GROUP = "COUNT:EPSILON[:DELTA[:MAX_AFFECTED]][:NAME,...]"


def numbers(option: str, text: str, kind: Callable[[str], Any] = float) -> list[Any]:
    """Numbers with commas between."""
    try:
        return [kind(item) for item in text.split(",")]
    except ValueError:
        what = "integers" if kind is int else "numbers"
        raise InputError(f"{option} must be {what} with commas between. Got {text!r}.") from None


def truths(text: str, classes: object) -> list[float]:
    """The prior of the truth, which stands beside an accuracy: a probability of each class."""
    number = len(classes) if isinstance(classes, list) else classes
    number = number if isinstance(number, int) else 2
    try:
        chances = [float(item) for item in text.split(",")]
    except ValueError:
        chances = []
    if len(chances) == number:
        return chances
    example = ",".join(["0.5,0.5"] if number == 2 else ["0.5", *[f"{0.5 / (number - 1):.12g}"] * (number - 1)])
    example = f"e.g. {example}" if number in (2, 3, 5, 6) else "probabilities of sum 1"
    raise InputError(
        f"--prior must be {number} probabilities with commas between, one for each truth, beside --accuracy or "
        f"--base-accuracy. Got {text!r}. Pass {example}, or leave the accuracy out for a prior of the votes."
    )


def names(option: str, text: str) -> list[str]:
    """Names with commas between, as a line of CSV has them."""
    try:
        (each,) = csv.reader([text], skipinitialspace=True, strict=True)
        return each
    except (ValueError, csv.Error):
        raise InputError(f"{option} must be names with commas between. Got {text!r}. Pass e.g. bank0,bank1.") from None


def accuracies(text: str, groups: int) -> list[Any]:
    """Of each group a number, or a table: / between the rows of all truths, : between all votes. One is for all."""
    try:
        each = [_table_of(entry) if "/" in entry or ":" in entry else float(entry) for entry in text.split(",")]
        return each * groups if len(each) == 1 else each
    except ValueError:
        raise InputError(
            "--accuracy must be numbers with commas between, or for a group a table P00:P01/P10:P11 with as many rows "
            "as columns. Pyv is the probability of vote v if the truth is y. Got "
            f"{text!r}. Pass e.g. .7, or .9:.1/.2:.8 for two classes."
        ) from None


def _table_of(entry: str, *, square: bool = True) -> list[list[float]]:
    table = [[float(chance) for chance in row.split(":")] for row in entry.split("/")]
    if len(table) < 2 or any(len(row) != len(table if square else table[0]) for row in table):
        raise ValueError("not a table")
    return table


class Goal(NamedTuple):
    """An objective that may be named for groups of voters."""

    form: str  # as a text has it
    made: Callable[..., Objective]  # of what follows the colon, accuracies and prior, and what the answer none costs


def _truth(rest: str, voters: tuple[Any, Any], none: Any, cost: Any = None) -> Objective:
    from darrm.objectives import truth

    return truth(*voters, cost, none)


def _rule(which: Callable[[str], Any]) -> Callable[..., Objective]:
    def made(rest: str, voters: tuple[Any, Any], none: Any) -> Objective:
        from darrm.objectives import rule

        return rule(which(rest), *voters, none=none)

    return made


def _dissent(rest: str, voters: tuple[Any, Any], none: Any) -> Objective:
    from darrm.objectives import dissent

    return dissent(*voters, none=none)


def _at_least(rest: str) -> Any:
    from darrm.objectives import at_least

    return at_least(number_of(rest))


GOALS = {
    "truth": Goal("truth", _truth),
    "plurality": Goal("plurality", _rule(lambda rest: "plurality")),
    "majority": Goal("majority", _rule(lambda rest: "majority")),
    "dissent": Goal("dissent", _dissent),
    "at-least": Goal("at-least:K", _rule(_at_least)),
    "weights": Goal("weights:W1,W2,...", _rule(lambda rest: numbers("--objective weights", rest))),
}


def goals() -> str:
    """How each goal is typed."""
    *forms, last = (goal.form for goal in GOALS.values())
    return f"{', '.join(forms)} or {last}"


def take_decision(values: Mapping[str, Any], prior: str | None, read_prior: Callable[[str], Prior]) -> dict[str, Any]:
    """The problem of groups, and its objective or where votes come from, as `darrm.solve` takes them.

    ``values`` are numbers or texts by the names of the options; ``read_prior`` reads where votes come from.
    """
    from darrm.problem.decision import DecisionProblem

    known = values.get("randomizer"), values.get("colluders")
    groups = named(randomized(take_groups(values["group"], "4:1.0"), *known), values["columns"])
    which, cost, none, accuracy = values["objective"], values["cost"], values["none"], values["accuracy"]
    costs = None if cost is None else numbers("--cost", cost)
    classes = classes_of(values["classes"])
    problem = DecisionProblem(
        groups,
        _epsilon(values, groups),
        values["delta"],
        classes,
        values["max_affected"],
        values["adjacency"],
        none=none is not None or (costs is not None and _further_row(costs, classes)),
    )
    if accuracy is None:
        for name, value in (("--cost", cost), ("--none", none)):
            if value is not None:
                raise InputError(f"{name} goes with --accuracy. Got a --prior of votes alone. Leave it out.")
        return {"problem": problem, "prior": read_prior(str(prior)), "objective": which}
    which = which or "truth"
    if cost is not None and which != "truth":
        raise InputError(f"--cost goes with --objective truth. Got --objective {which}. Leave it out.")
    voters = (
        accuracies(accuracy, len(groups)),
        None if prior is None else truths(prior, classes),
    )
    kind, colon, rest = which.partition(":")
    goal = GOALS.get(kind)
    if goal is None or (":" in goal.form) != bool(colon):
        raise InputError(f"--objective must be {goals()} for groups of voters. Got {which!r}.")
    rows = {} if costs is None else {"cost": cost_rows(costs, problem.n_classes)}
    return {"problem": problem, "objective": goal.made(rest, voters, none, **rows)}


def _epsilon(values: Mapping[str, Any], groups: Sequence[VoterGroup]) -> Any:
    """The epsilon of a release of groups: --release-epsilon, or at most --m times the epsilon of every vote."""
    m, epsilon = values["m"], values["release_epsilon"]
    if m is None:
        return epsilon
    if epsilon is not None:
        raise InputError(f"--m takes the place of --release-epsilon. Got {m} and {epsilon}. Pass one of the two.")
    votes = {group.epsilon for group in groups}
    if len(votes) > 1 or math.inf in votes:
        raise InputError(
            f"--m needs votes of one epsilon. Got {', '.join(f'{one:g}' for one in sorted(votes))}. Pass "
            "--release-epsilon."
        )
    m = real(
        "--m",
        m,
        0,
        sum(group.count for group in groups),
        "(]",
        hint="Pass the allowance in multiples of epsilon, e.g. 1.",
    )
    exact = Fraction(m) * Fraction(votes.pop())
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def take_groups(texts: Sequence[str], example: str, *, auto: bool = False) -> list[list[Any]]:
    """What a `VoterGroup` takes, for each --group; with ``auto`` an epsilon may be that word."""
    from darrm.problem.groups import VoterGroup
    from darrm.problem.voter_names import voter_names

    groups = []
    for text in texts:
        parts = [number_of(part) for part in text.split(":")]
        own = names("--group", parts.pop()) if len(parts) > 2 and isinstance(parts[-1], str) else None
        if not 2 <= len(parts) <= 4:
            raise InputError(f"--group must be {GROUP}. Got {text!r}. Pass e.g. {example}.")
        parts += [*[0.0, None][len(parts) - 2 :], own]
        try:
            count = VoterGroup(parts[0], 1.0 if auto and parts[1] == "auto" else parts[1], *parts[2:_NAMES]).count
        except InputError as error:
            raise InputError(f"--group {text}: {error}") from None
        if own is not None:
            voter_names(own, count, f"names of --group {text}")
        groups.append([count, *parts[1:]])
    return groups


def randomized(groups: list[list[Any]], randomizer: str | None, colluders: str | None) -> list[list[Any]]:
    """Voters as in `take_groups`, with the known randomizer of all private groups, and the colluders of each."""
    if randomizer is None:
        if colluders is not None:
            raise InputError("--colluders goes with --randomizer. Got no randomizer. Pass e.g. --randomizer response.")
        return groups
    from darrm.problem.randomizers import RESPONSE

    try:
        named = randomizer in ("response", RESPONSE)  # the second as in Python
        own = RESPONSE if named else _table_of(randomizer, square=False)
    except ValueError:
        raise InputError(
            "--randomizer must be response, or a table P00:P01/P10:P11 with a row for each true answer, where Pyv is "
            f"the probability of vote v if the true answer is y. Got {randomizer!r}. Pass response, or the table of "
            "your randomizer."
        ) from None
    if all(isinstance(group[1], float) and math.isinf(group[1]) for group in groups):
        raise InputError("--randomizer is for private voters. Got epsilon inf for all of them. Leave it out.")
    each = [None] if colluders is None else numbers("--colluders", colluders, int)
    if len(each) not in (1, len(groups)):
        raise InputError(f"--colluders must be one number, or one for each group. Got {colluders!r}.")
    each *= len(groups) if len(each) == 1 else 1
    for group, own_colluders in zip(groups, each, strict=True):
        if not (isinstance(group[1], float) and math.isinf(group[1])):
            group += [own, own_colluders]
    return groups


def named(groups: list[list[Any]], columns: str | None) -> list[Any]:
    """Voters as in `take_groups`, with the names of --columns; what has the epsilon "auto" stays as it is."""
    from darrm.problem.groups import VoterGroup
    from darrm.problem.voter_names import voter_names

    if columns is not None:
        if any(group[_NAMES] is not None for group in groups):
            raise InputError("--columns takes the place of names in --group. Pass one or the other.")
        each = voter_names(names("--columns", columns), sum(count for count, *_ in groups), "--columns")
        left = iter(each)
        for group in groups:
            group[_NAMES] = tuple(islice(left, group[0]))
    return [parts if parts[1] == "auto" else VoterGroup(*parts) for parts in groups]


def classes_of(text: str | None) -> Any:
    """How many classes, or their names: what the problem checks."""
    names = [name.strip() for name in ("2" if text is None else text).split(",")]
    return number_of(names[0]) if len(names) == 1 else names


def _further_row(costs: list[float], classes: object) -> bool:
    count = len(classes) if isinstance(classes, list) else classes
    return isinstance(count, int) and len(costs) == count * (count + 1)


def cost_rows(costs: list[float], classes: int) -> list[list[float]]:
    """The costs of each answer, of which there are as many as classes, or one more."""
    if len(costs) not in (classes * classes, classes * (classes + 1)):
        if classes == 2:
            raise InputError(
                f"--cost must be four numbers, C00,C01,C10,C11, or six with the answer none. Got {len(costs)}. Pass "
                "e.g. 0,5,1,0."
            )
        raise InputError(
            f"--cost must be {classes * classes} numbers, or {classes * (classes + 1)} with the answer none: for each "
            f"answer its cost if each of the {classes} classes is the truth. Got {len(costs)}."
        )
    return [costs[start : start + classes] for start in range(0, len(costs), classes)]
