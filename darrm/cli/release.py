"""darrm release"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.cli.ledger import of_other_totals, of_rows
from darrm.cli.outputs import LEDGER
from darrm.cli.suggestions import suggest_budget
from darrm.errors import ExistsError
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import without_privacy
from darrm.problem.majority import MajorityProblem
from darrm.show import typed, wording

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm.mechanisms.noisy_max import GaussianNoisyMax

_MOST_QUERIES = 10_000  # of which the cost is found in seconds


@click.command("release", short_help="Release private labels for votes.")
@common.file_argument
@click.option(
    "--votes",
    "votes_path",
    type=common.PATH,
    required=True,
    help="CSV with a header and one column for each voter, or such columns as .parquet. If the design names its "
    "voters, columns are matched by name, in any order, and other columns are ignored; otherwise all columns are used, "
    "in the order of its groups. Votes are 0 and 1, or class numbers from 0 on, or class names. An absent voter has -1 "
    "or an empty cell, if the design allows absent voters. Columns id and label may be present. Ids and voters must be "
    "unique (docs/howto/streams.md, What a votes file may look like).",
)
@click.option(
    "--out",
    type=common.PATH,
    required=True,
    help="Write the labels here, as CSV (or .parquet, .json) with id and label.",
)
@click.option(
    "--columns",
    metavar="NAME,...",
    help="For a design that does not name its voters: names of the vote columns, in the order of its groups [all].",
)
@click.option(
    "--votes-are-public",
    is_flag=True,
    help="The votes from which the design's prior was read are public, so --votes may contain them.",
)
@click.option("--overwrite", is_flag=True, help="Replace the labels of an earlier release in --out.")
@click.option(
    "--ledger",
    "ledger_path",
    type=LEDGER,
    help="Charge this ledger (darrm ledger create) before the release. The ledger remembers the values of the column "
    "id and refuses an id that it charged before.",
)
@click.option(
    "--again",
    is_flag=True,
    help="With --ledger: rows may have been released before. Each row is charged as one more label. For fixed voters "
    "the charge covers it. For fresh voters only a total that covers the votes themselves covers it; if the total does "
    "not, nothing is released.",
)
@common.json_option
def command(
    file: Path,
    votes_path: Path,
    out: Path,
    columns: str | None,
    votes_are_public: bool,
    overwrite: bool,
    ledger_path: Path | str | None,
    again: bool,
    as_json: bool,
) -> None:
    """Release one private label for each row of a votes file, with the noise of the design or mechanism in FILE."""
    import numpy as np

    from darrm import votes
    from darrm.cli.outputs import refuse_ledger
    from darrm.design.design import Design
    from darrm.mechanisms.own_votes import OwnVotes
    from darrm.storage.atomic import check_place, is_device, resolved
    from darrm.votes.header import voters_of

    if resolved(out) in [resolved(path) for path in (votes_path, file, ledger_path) if isinstance(path, Path)]:
        raise click.UsageError(f"--out {out} is one of the input files.")
    if again and ledger_path is None:
        raise click.UsageError("--again goes with --ledger: without one nothing is charged.")
    refuse_ledger(out)
    check_place(out)
    made: Any = common.load_release(file)
    problem = made.problem
    known = out.exists()
    if ledger_path is not None:
        from darrm.accounting.ledger import Ledger

        ledger = Ledger(ledger_path)  # which gives labels of an interrupted release their name, perhaps this one
        overwrite = overwrite and known == out.exists()
    if not overwrite and not is_device(out) and out.exists():  # labels that were paid for must not be lost
        rule = "do not release votes of fresh voters again, and votes of fixed voters only with a ledger"
        if without_privacy(problem.groups):
            rule = "release them again only with a ledger, which charges them again"
        raise ExistsError(
            f"{out} exists already. Pass another --out, or --overwrite to replace it. If it holds labels of these "
            f"votes, {rule}."
        )
    names, answers, absent = problem.names, problem.answers, isinstance(made, Design) and made.absent
    taken = voters_of(problem, None if columns is None else typed.names("--columns", columns), "--columns")
    K, by_name = (taken, None) if isinstance(taken, int) else (None, taken)
    voters: tuple[str, ...] = ()
    draw, charged_file, kept = _draws(made), None, ExitStack()
    seen: Any = OwnVotes(made, votes_are_public) if isinstance(made, Design) else ()
    if ledger_path is not None:
        from darrm.accounting.ledger_ids import Batch

        ids = kept.enter_context(closing(Batch()))
        charged_file = ledger.releasing(made, lambda: labels.n, out, ids=lambda: ids if len(ids) else None, again=again)
    with kept, votes.writing_labels(out, charged_file, names=answers) as labels:
        for block in votes.blocks(votes_path, K=K, names=names, absent=absent, voters=by_name):
            if (
                seen is not None and seen
            ):  # of the whole file, which one block need not be; a refusal leaves no label and no charge
                seen.add(np.count_nonzero(block.votes == 1, axis=1))
            labels.write(block.ids, draw(block.votes))
            if ledger_path is not None and block.has_ids:
                ids.add(block.ids)
            voters = block.voters
    n = labels.n
    status = None if ledger_path is None else ledger.status()
    guarantee, how, reversed_ = _of_one_label(made)
    if as_json:
        common.print_json(
            {
                "labels": n,
                "out": str(out),
                **guarantee,
                "columns": {f"group {g}": list(own) for g, own in enumerate(_of_groups(problem, voters), 1)},
                **({} if status is None else {"ledger": status}),
            }
        )
    order = _order(problem, voters, named=by_name is not None)
    common.note(f"Wrote {n} label{'s' * (n > 1)} to {out}. {how}{order}")
    if reversed_:
        common.note(reversed_)
    if status is not None:
        remaining = ledger.remaining(made)
        left = "" if remaining is None else f", {remaining} left"
        place = ledger_path if isinstance(ledger.path, Path) else ledger.path  # without a password
        settled = f", if {status['condition']}" if status["rule"] == "composed" else ""
        rests_on = ledger.rests_on()
        budget = wording.budgets(status, [problem for problem, _ in rests_on])
        rests = " and ".join(
            wording.condition(problem, status["voters"], absent=absent, once=not status["again"])
            for problem, absent in rests_on
        )
        rests = rests or wording.of_noisy_max(None).removeprefix("This holds for any numbers of teachers and classes, ")
        common.note(
            f"Charged to {place}: {status['released']} labels of {status['voters']} voters so far{left}; "
            f"all labels that it allows are {budget} together, rule {status['rule']}{settled}, {rests}"
            + "".join(f" {said}" for said in (of_rows(status, rests_on), of_other_totals(status, rests_on)) if said)
        )
    else:
        common.note(f"{_several(problem)} Without --ledger, nothing notices that a row comes again.")
        if n > 1 and not as_json:
            suggest_budget(file, problem, (min(n, _MOST_QUERIES), 10, 1))


def _draws(made: Design | GaussianNoisyMax) -> Callable[[Any], Any]:
    """The labels of a block of votes."""
    from darrm import votes
    from darrm.design.design import Design
    from darrm.mechanisms.decision import PrivateDecision

    if isinstance(made, Design):
        mechanism = PrivateDecision(made)
        return lambda rows: mechanism.release(rows, public=True)
    classes = made.classes or 0
    return lambda rows: made.release(votes.counts(rows, classes))


def _of_one_label(made: Design | GaussianNoisyMax) -> tuple[dict[str, Any], str, str]:
    """The guarantee of one label, as values and in words, and a warning of answers in reversed order."""
    from darrm.design.design import Design

    if not isinstance(made, Design):
        nothing = {"epsilon_of_one_label": None, "delta_of_one_label": None}
        noise = f"Noise of each count: Gaussian, sigma {made.sigma:.6g}."
        return {**nothing, "mechanism": made.as_dict()}, f"{noise} {wording.of_noisy_max(made.problem, 'A total')}", ""
    guarantee = {
        "epsilon_of_one_label": _of_kinds(made.problem, lambda kind: kind.release_epsilon),
        "delta_of_one_label": _of_kinds(made.problem, lambda kind: kind.delta),
    }
    condition = wording.condition(made.problem, absent=made.absent)
    how = f"Single-label guarantee: {wording.guarantee(made.problem)}, {condition}"
    if not made.reversals:
        return guarantee, how, ""
    from darrm.show import classes

    return guarantee, how, f"{classes.warning(made)} darrm solve --ordered forbids it."


def _of_kinds(problem: Any, number: Callable[[Any], float]) -> float | dict[str, float]:
    """A number of the problem, or that of each kind of change."""
    each = {name: number(kind) for name, kind in problem.kinds.items()}
    return each if len(each) > 1 else each[""]


def _of_groups(problem: MajorityProblem | DecisionProblem, voters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The names of columns, group after group."""
    sizes = [group.count for group in problem.groups]
    return [voters[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def _order(problem: MajorityProblem | DecisionProblem, voters: tuple[str, ...], *, named: bool) -> str:
    """Which columns were taken for which group; nothing if all columns were taken for one."""
    groups = _of_groups(problem, tuple(map(common.in_one_line, voters)))  # names that a file holds
    each = "; ".join(f"{wording.some(own)} as group {g}" for g, own in enumerate(groups, start=1))
    if named:
        return f" Vote columns were matched by name: {each if len(groups) > 1 else wording.some(groups[0])}."
    if len(groups) == 1:
        return ""
    ends = list(accumulate(map(len, groups)))
    parts = [
        f"{end - len(own) + 1} to {end} as group {g}" for g, (own, end) in enumerate(zip(groups, ends, strict=True), 1)
    ]
    return f" Vote columns were used in order: {wording.listed(parts)}, that is {each}."


def _several(problem: MajorityProblem | DecisionProblem) -> str:
    """The cumulative privacy loss of several labels, without figures."""
    if without_privacy(problem.groups):
        return (
            "Only the output noise protects, because the voters are non-private: releases compose, those of the same "
            "votes too."
        )
    of_fixed = "they cost together at most what the affected voters cost"
    if any(math.isinf(kind.epsilon) for kind in problem.affected):
        of_fixed = "an affected voter may be non-private, and then the output noise alone hides its votes"
    return (
        "Several labels of fresh voters compose, if each row of votes is released once. Those of fixed voters do not: "
        f"{of_fixed}."
    )
