"""Decisions by groups of voters on the command line: their options, and how they are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from darrm.cli import common
from darrm.errors import InputError
from darrm.show import wording

if TYPE_CHECKING:
    from rich.console import Console

    from darrm.design.decision import DecisionDesign
    from darrm.objectives import Objective
    from darrm.problem.decision import DecisionProblem

_MOST = 30  # lines of a table
_CELL = 7  # characters

decision_options = common.options(
    click.option(
        "--group",
        multiple=True,
        metavar="COUNT:EPSILON[:DELTA[:MAX_AFFECTED]]",
        help="Voters that are equally private, in place of --K, --m and --epsilon. COUNT: how many. EPSILON: the "
        "privacy of each voter in nats (inf: not private). DELTA: its failure probability. MAX_AFFECTED: how many one "
        "record can reach. Once for each group; --max-affected is then over all groups [as many as they allow].",
    ),
    click.option(
        "--accuracy",
        help="With --group: A1,A2,..., how often a vote of each group is the truth, such as .7,.6; one number is for "
        "all groups. Or for a group a table P00:P01/P10:P11, such as .9:.1/.2:.8,.6: Pyv is how often its vote is v if "
        "the truth is y. More classes need a row and a column for each.",
    ),
    click.option(
        "--cost",
        help="With --group: C00,C01,C10,C11, where Cry is what answer r costs if y is true [0 if r is y, else 1]; row "
        "by row for more classes. A further row is for the answer none.",
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
# By their names in Python; the other options go with both.
_OF_MAJORITIES = ("K", "m", "epsilon", "Delta", "shape", "both_shapes", "engine", "randomized_response")
_OF_DECISIONS = ("group", "accuracy", "cost", "classes", "none", "ordered", "absent")


def check_form(context: click.Context) -> bool:
    """Whether the options are those of a decision; a click.UsageError if they are of both kinds, or too few."""
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}

    def given(names: tuple[str, ...]) -> list[str]:
        source = context.get_parameter_source
        return [flags[name] for name in names if source(name) is ParameterSource.COMMANDLINE]

    majority, decision = given(_OF_MAJORITIES), given(_OF_DECISIONS)
    if majority and decision:
        raise click.UsageError(
            f"{decision[0]} is for groups of voters, {majority[0]} for voters that are all alike. Pass --group, "
            "--total-epsilon and --accuracy, or --K, --m and --epsilon."
        )
    needed = ("group", "total_epsilon", "accuracy") if decision else ("K", "epsilon")
    missing = [flags[name] for name in needed if not given((name,))]
    if missing:
        other = "" if decision or majority else " (or --group, --total-epsilon and --accuracy)"
        raise click.UsageError(f"Missing option '{missing[0]}'{other}.")
    return bool(decision)


def take_decision(values: dict[str, Any], prior: str | None) -> tuple[DecisionProblem, Objective]:
    """The problem and its objective from the options, which are taken out of ``values``."""
    from darrm import objectives
    from darrm.problem.decision import DecisionProblem, VoterGroup

    groups = []
    for text in values.pop("group"):
        parts = [wording.number_of(part) for part in text.split(":")]
        if not 2 <= len(parts) <= 4:
            raise InputError(f"--group must be COUNT:EPSILON[:DELTA[:MAX_AFFECTED]]. Got {text!r}. Pass e.g. 4:1.0.")
        try:
            groups.append(VoterGroup(*parts))
        except InputError as error:
            raise InputError(f"--group {text}: {error}") from None
    which, cost, none = values.pop("objective") or "truth", values.pop("cost"), values.pop("none")
    if cost is not None and which != "truth":
        raise InputError(f"--cost goes with --objective truth. Got --objective {which}. Leave it out.")
    costs = None if cost is None else common.numbers("--cost", cost)
    classes = classes_of(values.pop("classes"))
    problem = DecisionProblem(
        groups,
        values.pop("total_epsilon"),
        values.pop("delta"),
        classes,
        values.pop("max_affected"),
        values.pop("adjacency"),
        none=none is not None or (costs is not None and _further_row(costs, classes)),
    )
    voters = (
        common.accuracies(values.pop("accuracy"), len(groups)),
        None if prior is None else common.numbers("--prior", prior),
    )
    if which == "truth":
        return problem, objectives.truth(*voters, None if costs is None else cost_rows(costs, problem.n_classes), none)
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
    return problem, objectives.rule(rule, *voters, none=none)


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


def show(design: DecisionDesign, *, from_file: bool = False) -> None:
    """The table of one or two groups or of several answers, the guarantee in a sentence, and the figures."""
    from darrm.show import classes

    problem, console = design.problem, common.console()
    of_groups = {1: _bars, 2: _grid}.get(len(problem.groups), _no_table)
    (of_groups if problem.binary else _answers)(design, console)
    console.print(
        f"Verified: one decision from the votes of K = {problem.K} voters is {wording.guarantee(problem)}, "
        f"{wording.condition(problem, absent=design.absent)}"
    )
    console.print(common.tightness(design))
    gap = f"at most {design.gap:.1e} above the least possible" + " for an ordered table" * design.ordered
    gap += " with its profile" * bool(design.profile)
    if math.isinf(design.gap):
        gap = "not known to be the least possible"
    elif from_file:
        gap += ", as the file says"
    console.print(f"expected cost {design.expected_cost:.8g} ({wording.counted(design.objective)}), {gap}")
    bare = sum(kind.voters for kind in problem.affected if math.isinf(kind.epsilon))
    if bare > 1:
        console.print(
            f"One change of the data is taken to reach {bare} voters that are not private: little of their votes is "
            "left. Pass --max-affected 1 if one change of the data reaches one voter at most."
        )
    if design.reversals:
        console.print(f"{classes.reversals(design)}; --ordered forbids that.")
    if design.profile:
        console.print(f"and one decision keeps {len(design.profile)} points of a profile")
    if design.absent:
        console.print(
            f"Voters may be absent: {len(design.fewer)} further tables, each certified for the voters present. "
            f"If no voter is present, {problem.names[1]} has probability {design.without_votes:g}."
        )


def show_worst_case(design: DecisionDesign) -> None:
    """Where the certificate's worst case is."""
    from darrm.show import classes

    worst = max((design, *design.fewer.values()), key=lambda part: part.certificate.needed_delta)
    problem, case = worst.problem, dict(worst.certificate.worst_case)
    if problem.binary:
        answer = problem.names[case.pop("answer", 1)]
        voters = [f"{count} of {corner}" for corner, count in case.items()]
    else:
        answers, places = classes.worst_places(case)
        answer = classes.answers_of(problem.answers, answers)
        voters = [f"{place.voters} of group {place.group} {classes.said(place, problem)}" for place in places]
    x, y = worst.certificate.probabilities
    of = f"worst case{f', {problem.K} of {design.problem.K} voters present' * (worst is not design)}"
    common.console().print(
        f"{of}: {', '.join(voters) or 'nowhere'}; answers {answer} with probability {x:.12g} against {y:.12g}"
    )


def _answers(design: DecisionDesign, console: Console) -> None:
    """Several answers: a line for each of the votes that come up most often, a column for each answer."""
    from rich.table import Table

    from darrm.show import classes

    problem, shown, heads = design.problem, classes.telling(design, _MOST), classes.answer_heads(design)
    votes = [classes.votes_text(line) for line in shown.votes.tolist()]
    often = [] if shown.often is None else [f"{chance:.4f}" for chance in shown.often]
    room = console.width - max(map(len, ("votes", *votes))) - 2 - len("come up") * bool(often)
    digits = next((d for d in (6, 3) if (d + 4) * len(heads) <= room), 3)
    columns = [*range(len(heads))]
    if len(heads) > max(2, room // (digits + 4)):  # the first ones, and none
        columns = columns[: max(2, room // (digits + 4)) - problem.none] + columns[len(heads) - problem.none :]
    console.print(classes.meaning(design))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("votes", justify="right", overflow="fold")
    for column in columns:
        table.add_column(heads[column], justify="right", overflow="fold", min_width=digits + 2, max_width=digits + 2)
    if often:
        table.add_column("come up", justify="right", no_wrap=True)
    for at, text in enumerate(votes):
        chances = (f"{shown.chances[at, column]:.{digits}f}" for column in columns)
        table.add_row(text, *chances, *often[at : at + 1])
    console.print(table)
    some = classes.selected(shown)
    if len(columns) < len(heads):
        some = f"{some} {len(columns)} of {len(heads)} answers.".strip()
    if some:
        console.print(f"({some} --out or --json has all.)")


def _bars(design: DecisionDesign, console: Console) -> None:
    from rich.table import Table

    K, yes = design.problem.K, design.problem.names[1]
    counts = selection(K + 1, _MOST)
    left = max(len(f"{K}:0"), len("votes"))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("votes", justify="right", no_wrap=True, min_width=left)
    table.add_column("chance", justify="right", no_wrap=True, min_width=8)
    table.add_column(f"of the answer {yes}, by votes against and for it", no_wrap=True, overflow="crop")
    width = max(4, min(32, console.width - left - 15))
    for n in counts:
        value = float(design.table[n])
        table.add_row(f"{K - n}:{n}", f"{value:.6f}", common.bar(value, width, console.options.ascii_only))
    console.print(table)
    _say_selection(len(counts), K + 1, console)


def _grid(design: DecisionDesign, console: Console) -> None:
    """Two groups: the larger one in the lines."""
    from rich.table import Table

    problem = design.problem
    down, across = (0, 1) if problem.groups[0].count >= problem.groups[1].count else (1, 0)
    X = design.table if down == 0 else design.table.T
    lines, columns = selection(X.shape[0], _MOST), selection(X.shape[1], max(2, (console.width - 5) // _CELL))
    console.print(
        f"Chance of the answer {problem.names[1]}: a line for each number of votes for it in group {down + 1}, a "
        f"column for each in group {across + 1}"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", *map(str, columns)):
        table.add_column(name, justify="right", no_wrap=True)
    for i in lines:
        table.add_row(str(i), *(f"{X[i, j]:.3f}" for j in columns))
    console.print(table)
    _say_selection(len(lines) * len(columns), X.size, console)


def _no_table(design: DecisionDesign, console: Console) -> None:
    shape = " x ".join(map(str, design.table.shape))
    console.print(f"A table of {shape} chances of the answer {design.problem.names[1]}; --json prints it.")


def _say_selection(shown: int, every: int, console: Console) -> None:
    if shown < every:
        console.print(f"({shown} of {every} values; --out or --json has all of them)")


def selection(n: int, most: int) -> list[int]:
    """0, ..., n - 1, or as many of them as may be shown, evenly spread."""
    shown = min(n, most)
    return [round(i * (n - 1) / max(shown - 1, 1)) for i in range(shown)]
