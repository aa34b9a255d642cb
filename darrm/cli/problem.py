"""The options for voters, objective and guarantee; their texts are read in `darrm.show.typed`."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from darrm.cli import common
from darrm.problem.groups import OF_ANY_OTHERS
from darrm.show import wording
from darrm.show.typed import GOALS, GROUP, goals, take_decision

columns_option = click.option(
    "--columns",
    metavar="NAME,...",
    help="With --group: the voters' column names in votes files, group after group, in place of names in each "
    "--group. darrm release then matches columns by name, in any order.",
)
cost_option = click.option(
    "--cost",
    help="With --group: C00,C01,C10,C11, where Cry is the cost of answer r if the truth is y [0 if r is y, else 1]; "
    f"row by row for more classes. A further row is the cost of the answer none. {common.NOT_RESTING}",
)
randomizer_options = common.options(
    click.option(
        "--randomizer",
        shell_complete=common.known("response"),
        help="Fresh voters that draw every vote from their true answer by a known randomizer, with new, secret "
        "randomness: response (randomized response of EPSILON), or a table P00:P01/P10:P11, where Pyv is the "
        "probability of vote v if the true answer is y. The guarantee then rests on it [any mechanism].",
    ),
    click.option(
        "--colluders",
        metavar="C[,...]",
        help="With --randomizer, required: largest number of voters of each group whose votes an observer of the "
        "labels knows (at least 1 if voters see the labels), or that learn from their votes, repeat them or forget to "
        "randomize. Records at these voters have no guarantee.",
    ),
)
fallback_option = common.number(
    "--fallback-epsilon",
    f"With --randomizer: total epsilon of all labels, in nats, if {OF_ANY_OTHERS}; inf for none [twice "
    "--total-epsilon].",
)
none_option = common.number(
    "--none",
    'With --group: allow a further answer, "none" of the classes, that costs this, where an error costs 1, e.g. .3.',
)
goal_option = click.option(
    "--objective",
    shell_complete=common.known("tv", "disagreement", *GOALS),
    help=f"Error to minimise: tv or disagreement [chosen by the prior]. With --group and --accuracy: "
    f"{goals()} [truth].",
)
decision_options = common.options(
    click.option(
        "--group",
        multiple=True,
        metavar=GROUP,
        help="A group of equally private voters, in place of --K, --m and --epsilon; repeat it for each group. COUNT: "
        "number of voters. EPSILON: epsilon of each voter in nats (inf: non-private). DELTA: delta of each voter [0]. "
        "MAX_AFFECTED: largest number of affected voters of the group [all]. NAME: column name of each voter in votes "
        "files. --max-affected is then over all groups [as many as they allow].",
    ),
    columns_option,
    randomizer_options,
    click.option(
        "--accuracy",
        help="With --group: A1,A2,..., the accuracy of a vote of each group, such as .7,.6; one number is for all "
        "groups. Or for a group a table P00:P01/P10:P11, such as .9:.1/.2:.8,.6: Pyv is the probability of vote v if "
        f"the truth is y. More classes need a row and a column for each. {common.NOT_RESTING}",
    ),
    cost_option,
    click.option(
        "--classes",
        help="With --group: number of classes of votes and labels, e.g. 3, or their names, e.g. no,yes [2].",
    ),
    none_option,
    click.option(
        "--ordered",
        is_flag=True,
        help="With --group: require that the answer of least expected cost is never less likely than another.",
    ),
    click.option(
        "--absent",
        is_flag=True,
        help="With --group: voters may be absent. Who is absent must depend neither on the data nor on votes or "
        "their noise.",
    ),
)
# By their names in Python: what says something of one kind of voters alone. All else is for `darrm.solve` to refuse.
_OF_EQUALS = ("K", "epsilon", "Delta", "randomized_response")
_OF_GROUPS = ("group", "accuracy", "cost", "classes", "none", "columns", "randomizer", "colluders")
_OF_GROUPS_TOO = ("absent",)  # which `darrm.solve` takes itself


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
    equals, groups = _given(*_OF_EQUALS), _given(*_OF_GROUPS, *_OF_GROUPS_TOO)
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
    needed = [("group",), ("release_epsilon", "m"), ("accuracy", "prior")] if groups else [("K",), ("epsilon",)]
    lacking = [f"'{flags[names[0]]}'" for names in needed if not _given(*names)]
    if lacking and not groups and not _given("m", "release_epsilon", "total_epsilon"):
        lacking.append("'--m'")  # missing alone it has an error of its own
    if lacking:
        other = "" if groups or equals else " (or --group, --release-epsilon and --accuracy)"
        raise click.UsageError(f"Missing {'option ' * (len(lacking) == 1)}{wording.listed(lacking)}{other}.")
    of_groups = {name: values.pop(name) for name in _OF_GROUPS}
    of_equals = {name: values.pop(name) for name in ("K", "m", "release_epsilon", "epsilon", "Delta")}
    promised = {name: values.pop(name) for name in ("delta", "max_affected", "adjacency")}
    if groups:
        asked = {**of_groups, **of_equals, **promised, "objective": values.pop("objective")}
        return take_decision(asked, prior, common.take_prior)
    problem = common.take_problem({**of_equals, **promised})
    under = common.take_prior("uniform" if prior is None else prior)
    return {"problem": problem, "prior": under, "objective": values.pop("objective")}
