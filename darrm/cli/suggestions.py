"""Commands that a command suggests next: each stands on a line of its own and runs as it stands, but for a DELTA."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from darrm.cli.endings import current
from darrm.numerics.printed import counted

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import Noisy

_QUERIES = (100, 10, 1)


def suggest(what: str, *command: object) -> None:
    """Say on standard error what a command is good for, and the command below it."""
    current().say(f"{what}:\n  {darrm_line(*command)}", "suggestion")


def line(*words: object) -> str:
    """A command as a shell takes it."""
    return shlex.join(map(str, words))


def darrm_line(*words: object) -> str:
    """A command of darrm, called as the running one was: ``darrm`` or ``python -m darrm``."""
    context = click.get_current_context(silent=True)
    called = context.find_root().info_name if context else None
    return line(*(called or "darrm").split(), *words)


def options_given(names: Collection[str] | None = None) -> list[str]:
    """The options of the running command as they were given, those with these names in Python alone."""
    context = click.get_current_context()
    words: list[str] = []
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if not given or option.name == "out" or (names is not None and option.name not in names):
            continue
        flag = option.opts[0]
        if isinstance(option, click.Option) and option.is_flag:
            words.append(flag)
            continue
        value = context.params[option.name or ""]
        for one in value if getattr(option, "multiple", False) else [value]:
            words += [flag, ",".join(map(str, one)) if isinstance(one, list) else str(one)]
    return words


def suggest_release(file: Path | None, design: Design | Noisy, ledger: Path | None = None) -> None:
    """Suggest `darrm release` for the user's votes."""
    problem: Any = design.problem
    last = getattr(problem, "n_classes", 2) - 1
    votes = "0 and 1" if last == 1 else f"0 to {last}"
    names = getattr(problem, "names", ())
    if any(name != str(number) for number, name in enumerate(names)):
        from darrm.show.wording import listed

        votes = f"{listed(names)}, or {votes},"
    if len(names) > 255:  # more than a file of columns holds
        suggest(
            "To release labels for votes (a header id,voter,vote, then one row a vote)",
            *("release", file, "--votes", "votes.csv", "--layout", "rows", "--out", "labels.csv"),
            *(("--ledger", ledger) if ledger else ()),
        )
        return
    absent = "; -1 or nothing where a voter is absent" if getattr(design, "absent", False) else ""
    named = " by its name" if getattr(problem, "voters", None) else ""
    suggest(
        f"To release labels for votes (a header, then a column of {votes} for each of {problem.K} "
        f"voters{named}{absent})",
        *("release", file, "--votes", "votes.csv", "--out", "labels.csv", *(("--ledger", ledger) if ledger else ())),
    )


def suggest_budget(file: Path, problem: Any, queries: Sequence[int] = _QUERIES, *, planned: str | None = "") -> None:
    """Suggest `darrm budget` for the first of these numbers of labels that a delta of 0.001 is enough for.

    ``planned``: the voters that a plan made the file for; None if it may be of a plan and does not say. A plan had a
    delta that the file does not hold, so the command has DELTA in its place: another delta has another total.
    """
    from darrm.problem.groups import without_privacy
    from darrm.show.markup import shown

    kind, which = ["--voters", "fresh"], ", if voters are fresh (for voters trained with DP once pass fixed)"
    if problem.known:
        which = ""
    if planned:
        kind, which = ["--voters", planned], "; pass the delta of the plan"
    if without_privacy(problem.groups):
        kind, which = [], ""
    which += "; pass the delta of the plan, if the file is of one" * (planned is None)
    for number in queries:
        most = max(getattr(kind, "delta", 0.0) for kind in problem.kinds.values())
        of_fresh = 0.0 if planned == "fixed" else float(shown(2 * number * most, 1, up=True))
        delta = max(1e-5, of_fresh)
        if delta <= 1e-3:
            suggest(
                f"To compute the total epsilon of {counted(number, 'label')}{which}",
                *("budget", file, "--queries", number),
                *("--total-delta", f"{delta:g}" if planned == "" else "DELTA", *kind),
            )
            return
