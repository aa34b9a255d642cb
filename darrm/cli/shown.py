"""A design in the terminal: its table, the guarantee in a sentence, and the figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from darrm.cli import common
from darrm.problem.limits import rests_not_on
from darrm.show import wording

if TYPE_CHECKING:
    from rich.console import Console

    from darrm.design.design import Design

_MOST = 30  # lines of a table
_CELL = 7  # characters


def show(design: Design, *, from_file: bool = False) -> None:
    """The table as far as there is room, the guarantee in a sentence, and the figures."""
    problem, console = design.problem, common.console()
    if design.reversals:  # first: below a table of thirty lines nobody sees that 98 against 3 may lose
        from darrm.show import classes

        console.print(classes.warning(design))
    of_gamma = design.encoding.name == "gamma"
    of_groups = {1: _bars, 2: _grid}.get(len(problem.groups), _no_table)
    (_chart if of_gamma else of_groups if problem.binary else _answers)(design, console)
    what = "release of the majority of" if of_gamma else "decision from the votes of"
    console.print(
        f"Verified: one {what} K = {problem.K} {'votes' if of_gamma else 'voters'} is {wording.guarantee(problem)}, "
        f"{wording.condition(problem, absent=design.absent)}"
    )
    console.print(common.tightness(design))
    least = (
        f" for objective {design.objective} and shape {design.shape}"
        if of_gamma
        else " of ordered tables" * design.ordered
    )
    gap = f"at most {design.gap:.1e} above the optimum{least}" + " with this profile" * bool(design.profile)
    if math.isinf(design.gap):
        gap = "distance to the optimum unknown"
    elif from_file:
        gap += ", according to the file"
    figures = f"expected cost {design.expected_cost:.8g} ({design.objective.cost_in_words}), "
    if of_gamma:
        figures = (
            f"expected TV error {design.error:.8g}, disagreement rate {design.disagreement:.8g}, under {design.prior}; "
        )
    console.print(figures + gap)
    if few := wording.of_bits(design):
        console.print(few.strip())
    console.print(rests_not_on(design.objective.assumed))
    bare = sum(kind.voters for kind in problem.affected if math.isinf(kind.epsilon))
    if bare > 1:
        console.print(
            f"The design assumes that a change to a neighbouring data set affects up to {bare} non-private voters, so "
            "their votes have little influence on the label. Pass --max-affected 1 if at most one voter is affected."
        )
    if problem.voters is not None:
        console.print(f"Vote columns are matched by the names of the voters: {wording.named_groups(problem)}.")
    if design.profile:
        console.print(f"One {what.split()[0]} also satisfies the {len(design.profile)} points of its profile.")
    if design.absent:
        console.print(
            f"Voters may be absent: {len(design.fewer)} further tables, each certified for the voters present. "
            f"If no voter is present, {_without_votes(design)}."
        )


def _chart(design: Design, console: Console) -> None:
    """Gamma as a small chart."""
    from rich.table import Table

    rows, half = _runs(design), design.problem.K // 2
    left = max(len("votes"), *(len(votes) for votes, _ in rows))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("votes", justify="right", no_wrap=True, min_width=left)
    table.add_column("gamma", justify="right", no_wrap=True, min_width=8)
    table.add_column("probability of no noise; otherwise a fair coin", no_wrap=True, overflow="crop")
    width = max(4, min(32, console.width - left - 15))
    if design.problem.K % 2 == 0:  # whatever gamma is there
        table.add_row(f"{half}:{half}", f"{0:.6f}", "a tie releases a fair coin")
    for votes, value in rows:
        table.add_row(votes, f"{value:.6f}", common.bar(value, width, console.options.ascii_only))
    console.print(table)
    every = len(design.gamma) - half - 1
    if every > _MOST:
        console.print(f"({len(rows)} lines for {every} values; --out or --json has all of them)")


def _runs(design: Design) -> list[tuple[str, float]]:
    """Votes and gamma from the closest vote to the unanimous one; of many, runs of equal values, then a selection."""
    K = design.problem.K
    runs: list[list[int]] = []
    for l in range(K // 2 + 1, K + 1):
        if runs and K // 2 > _MOST and f"{design.gamma[l]:.6f}" == f"{design.gamma[runs[-1][0]]:.6f}":
            runs[-1].append(l)
        else:
            runs.append([l])
    if len(runs) > _MOST:
        runs = [runs[round(i * (len(runs) - 1) / (_MOST - 1))] for i in range(_MOST)]
    names = [f"{K - run[0]}:{run[0]}" + f" to {K - run[-1]}:{run[-1]}" * (len(run) > 1) for run in runs]
    return [(name, float(design.gamma[run[0]])) for name, run in zip(names, runs, strict=True)]


def _without_votes(design: Design) -> str:
    problem, chances = design.problem, design.answers_without_votes
    if problem.binary:
        return f"{problem.names[1]} has probability {chances[1]:g}"
    likely = [name for name, chance in zip(problem.answers, chances, strict=True) if chance]
    return f"{wording.some(likely)} {'are equally likely' if len(likely) > 1 else 'is the answer'}"


def worst_case(design: Design) -> None:
    """Where the certificate's worst case is."""
    for name in design.problem.kinds:
        _worst_case(design.of_kind(name), name)


def _worst_case(design: Design, kind: str) -> None:
    from darrm.show import classes

    worst = max((design, *design.fewer.values()), key=lambda part: part.certificate.needed_delta)
    problem, certificate = worst.problem, worst.certificate
    case, (x, y) = dict(certificate.worst_case), certificate.probabilities
    if x == y and certificate.tight_epsilon:  # a change that changes nothing: every other needs less delta
        return
    if design.encoding.name == "gamma":
        said, voters = "release of 1", [f"{count} at {corner}" for corner, count in case.items()]
    elif problem.binary:
        said = f"answer {problem.names[case.pop('answer', 1)]}"
        voters = [f"{count} of {corner}" for corner, count in case.items()]
    else:
        answers, places = classes.worst_places(case)
        said = f"answer {classes.answers_of(problem.answers, answers)}"
        voters = [f"{place.voters} of group {place.group} {classes.said(place, problem)}" for place in places]
    of = f"worst case{f' for a change in {kind}' * bool(kind)}"
    of += f", {problem.K} of {design.problem.K} voters present" * (worst is not design)
    common.console().print(
        f"{of}: {', '.join(voters) or 'nowhere'}; {said} has probability {x:.12g} on one data set, {y:.12g} on the "
        "other"
    )


def _answers(design: Design, console: Console) -> None:
    """Several answers: a line for each of the votes that come up most often, a column for each answer."""
    from rich.table import Table

    from darrm.show import classes

    problem, shown, heads = design.problem, classes.telling(design, _MOST), classes.answer_heads(design)
    votes = [classes.votes_text(line) for line in shown.votes.tolist()]
    often = [] if shown.often is None else [f"{chance:.4f}" for chance in shown.often]
    room = console.width - max(map(len, ("votes", *votes))) - 2 - len("Pr[votes]") * bool(often)
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
        table.add_column("Pr[votes]", justify="right", no_wrap=True)
    for at, text in enumerate(votes):
        chances = (f"{shown.chances[at, column]:.{digits}f}" for column in columns)
        table.add_row(text, *chances, *often[at : at + 1])
    console.print(table)
    some = classes.selected(shown)
    if len(columns) < len(heads):
        some = f"{some} {len(columns)} of {len(heads)} answers.".strip()
    if some:
        console.print(f"({some} --out or --json has all.)")


def _bars(design: Design, console: Console) -> None:
    from rich.table import Table

    K, yes = design.problem.K, design.problem.names[1]
    counts = selection(K + 1, _MOST)
    left = max(len(f"{K}:0"), len("votes"))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("votes", justify="right", no_wrap=True, min_width=left)
    table.add_column("Pr", justify="right", no_wrap=True, min_width=8)
    table.add_column(f"probability of the answer {yes}, by votes against:for", no_wrap=True, overflow="crop")
    width = max(4, min(32, console.width - left - 15))
    for n in counts:
        value = float(design.table[n])
        table.add_row(f"{K - n}:{n}", f"{value:.6f}", common.bar(value, width, console.options.ascii_only))
    console.print(table)
    _say_selection(len(counts), K + 1, console)


def _grid(design: Design, console: Console) -> None:
    """Two groups: the larger one in the lines."""
    from rich.table import Table

    problem = design.problem
    down, across = (0, 1) if problem.groups[0].count >= problem.groups[1].count else (1, 0)
    X = design.table if down == 0 else design.table.T
    lines, columns = selection(X.shape[0], _MOST), selection(X.shape[1], max(2, (console.width - 5) // _CELL))
    console.print(
        f"Probability of the answer {problem.names[1]}: rows are the votes for it in group {down + 1}, columns those "
        f"in group {across + 1}"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", *map(str, columns)):
        table.add_column(name, justify="right", no_wrap=True)
    for i in lines:
        table.add_row(str(i), *(f"{X[i, j]:.3f}" for j in columns))
    console.print(table)
    _say_selection(len(lines) * len(columns), X.size, console)


def _no_table(design: Design, console: Console) -> None:
    shape = " x ".join(map(str, design.table.shape))
    console.print(
        f"The table of {shape} probabilities of the answer {design.problem.names[1]} is not shown; --json prints it."
    )


def _say_selection(shown: int, every: int, console: Console) -> None:
    if shown < every:
        console.print(f"({shown} of {every} values; --out or --json has all of them)")


def selection(n: int, most: int) -> list[int]:
    """0, ..., n - 1, or as many of them as may be shown, evenly spread."""
    shown = min(n, most)
    return [round(i * (n - 1) / max(shown - 1, 1)) for i in range(shown)]
