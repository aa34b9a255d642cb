"""The options that say who votes, for what, and what is promised: the only reader of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from darrm._validation import real
from darrm.cli import common
from darrm.errors import InputError
from darrm.show import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from darrm.problem.groups import VoterGroup

GROUP = "COUNT:EPSILON[:DELTA[:MAX_AFFECTED]][:NAME,...]"
columns_option = click.option(
    "--columns",
    metavar="NAME,...",
    help="With --group: what the voters are called in votes files, group after group, in place of names in each "
    "--group. Then darrm release takes their columns by name, in any order.",
)
decision_options = common.options(
    click.option(
        "--group",
        multiple=True,
        metavar=GROUP,
        help="Voters that are equally private, in place of --K, --m and --epsilon. COUNT: how many. EPSILON: the "
        "privacy of each voter in nats (inf: not private). DELTA: its delta [0]. MAX_AFFECTED: how many one record can "
        "reach. NAME: what each is called in votes files. Once for each group; --max-affected is then over all groups "
        "[as many as they allow].",
    ),
    columns_option,
    click.option(
        "--accuracy",
        help="With --group: A1,A2,..., how often a vote of each group is the truth, such as .7,.6; one number is for "
        "all groups. Or for a group a table P00:P01/P10:P11, such as .9:.1/.2:.8,.6: Pyv is how often its vote is v if "
        f"the truth is y. More classes need a row and a column for each. {common.NOT_RESTING}",
    ),
    click.option(
        "--cost",
        help="With --group: C00,C01,C10,C11, where Cry is what answer r costs if y is true [0 if r is y, else 1]; row "
        f"by row for more classes. A further row is for the answer none. {common.NOT_RESTING}",
    ),
    click.option(
        "--classes", help="With --group: how many classes voters choose from, e.g. 3, or their names, e.g. no,yes [2]."
    ),
    common.number("--none", "With --group: a further answer, none of the classes, and what it costs, e.g. .3."),
    click.option("--ordered", is_flag=True, help="With --group: the answer that costs less is never the less likely."),
    click.option(
        "--absent",
        is_flag=True,
        help="With --group: voters may be absent, if that depends neither on the data nor on votes or their noise.",
    ),
)
# By their names in Python: what says something of one kind of voters alone. All else is for `darrm.solve` to refuse.
_OF_EQUALS = ("K", "epsilon", "Delta", "randomized_response")
_OF_GROUPS = ("group", "accuracy", "cost", "classes", "none", "columns")


def _flags() -> dict[str | None, str]:
    """What the options of this command are called, by their names in Python."""
    return {parameter.name: parameter.opts[0] for parameter in click.get_current_context().command.params}


def _given(*names: str) -> list[str]:
    """Those of the options ``names`` that were typed, as they are typed."""
    flags, source = _flags(), click.get_current_context().get_parameter_source
    return [flags[name] for name in names if name in flags and source(name) is ParameterSource.COMMANDLINE]


def of_one_kind() -> tuple[list[str], list[str]]:
    """What was typed of voters that are all alike, and of groups; `click.UsageError` if it is both.

    An option that is left aside would say something of the voters on which the guarantee does not rest.
    """
    equals, groups = _given(*_OF_EQUALS), _given(*_OF_GROUPS)
    if equals and groups:
        raise click.UsageError(
            f"{groups[0]} is for groups of voters, {equals[0]} for voters that are all alike. Pass --group, "
            "--release-epsilon and --accuracy, or --K, --m and --epsilon."
        )
    return equals, groups


def take_asked(values: dict[str, Any], prior: str | None) -> dict[str, Any]:
    """What `darrm.solve` takes of who votes, and of what should be small, out of ``values``.

    Raises
    ------
    click.UsageError
        If options say something of voters that are all alike and something of groups, or too little.
    """
    equals, groups = of_one_kind()
    flags = _flags()
    needed = [("group",), ("total_epsilon", "m"), ("accuracy", "prior")] if groups else [("K",), ("epsilon",)]
    for names in needed:
        if not _given(*names):
            other = "" if groups or equals else " (or --group, --release-epsilon and --accuracy)"
            raise click.UsageError(f"Missing option '{flags[names[0]]}'{other}.")
    of_groups = {name: values.pop(name) for name in _OF_GROUPS}
    of_equals = {name: values.pop(name) for name in ("K", "m", "total_epsilon", "epsilon", "Delta")}
    promised = {name: values.pop(name) for name in ("delta", "max_affected", "adjacency")}
    if groups:
        return take_decision({**of_groups, **of_equals, **promised, "objective": values.pop("objective")}, prior)
    problem = common.take_problem({**of_equals, **promised})
    under = common.take_prior("uniform" if prior is None else prior)
    return {"problem": problem, "prior": under, "objective": values.pop("objective")}


def take_decision(values: dict[str, Any], prior: str | None) -> dict[str, Any]:
    """The problem of groups, and its objective or where votes come from, as `darrm.solve` takes them."""
    from darrm import objectives
    from darrm.problem.decision import DecisionProblem

    groups = named(take_groups(values["group"], "4:1.0"), values["columns"])
    which, cost, none, accuracy = values["objective"], values["cost"], values["none"], values["accuracy"]
    costs = None if cost is None else common.numbers("--cost", cost)
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
        return {"problem": problem, "prior": common.take_prior(str(prior)), "objective": which}
    which = which or "truth"
    if cost is not None and which != "truth":
        raise InputError(f"--cost goes with --objective truth. Got --objective {which}. Leave it out.")
    voters = (
        common.accuracies(accuracy, len(groups)),
        None if prior is None else common.numbers("--prior", prior),
    )
    if which == "truth":
        rows = None if costs is None else cost_rows(costs, problem.n_classes)
        return {"problem": problem, "objective": objectives.truth(*voters, rows, none)}
    kind, _, rest = which.partition(":")
    rule: Any = which
    if kind == "at-least":
        rule = objectives.at_least(wording.number_of(rest))
    elif kind == "weights":
        rule = common.numbers("--objective weights", rest)
    elif which not in ("majority", "plurality"):
        raise InputError(
            "--objective must be truth, plurality, majority, at-least:K or weights:W1,W2,... for groups of voters. Got "
            f"{which!r}."
        )
    return {"problem": problem, "objective": objectives.rule(rule, *voters, none=none)}


def _epsilon(values: dict[str, Any], groups: Sequence[VoterGroup]) -> Any:
    """The epsilon of a release of groups: --release-epsilon, or at most --m times the epsilon of every vote."""
    m, epsilon = values["m"], values["total_epsilon"]
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

    groups = []
    for text in texts:
        parts = [wording.number_of(part) for part in text.split(":")]
        own = common.names("--group", parts.pop()) if len(parts) > 2 and isinstance(parts[-1], str) else None
        if not 2 <= len(parts) <= 4:
            raise InputError(f"--group must be {GROUP}. Got {text!r}. Pass e.g. {example}.")
        parts += [*[0.0, None][len(parts) - 2 :], own]
        try:
            count = VoterGroup(parts[0], 1.0 if auto and parts[1] == "auto" else parts[1], *parts[2:]).count
        except InputError as error:
            raise InputError(f"--group {text}: {error}") from None
        groups.append([count, *parts[1:]])
    return groups


def named(groups: list[list[Any]], columns: str | None) -> list[Any]:
    """Voters as in `take_groups`, with the names of --columns; what has the epsilon "auto" stays as it is."""
    from darrm.problem.groups import VoterGroup
    from darrm.problem.voter_names import voter_names

    if columns is not None:
        if any(own is not None for *_, own in groups):
            raise InputError("--columns takes the place of names in --group. Pass one or the other.")
        names = voter_names(common.names("--columns", columns), sum(count for count, *_ in groups), "--columns")
        left = iter(names)
        groups = [[count, *others, tuple(islice(left, count))] for count, *others, _ in groups]
    return [parts if parts[1] == "auto" else VoterGroup(*parts) for parts in groups]


def classes_of(text: str | None) -> Any:
    """How many classes, or their names: what the problem checks."""
    names = [name.strip() for name in ("2" if text is None else text).split(",")]
    return wording.number_of(names[0]) if len(names) == 1 else names


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
            f"answer what it costs if each of the {classes} classes is true. Got {len(costs)}."
        )
    return [costs[start : start + classes] for start in range(0, len(costs), classes)]
