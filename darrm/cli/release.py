"""darrm release"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.cli.ledger import IN_FEASIBLE_TIME, of_other_totals, of_rows, of_second_budget
from darrm.cli.needed import Command
from darrm.cli.outputs import LEDGER
from darrm.cli.suggestions import suggest_budget
from darrm.errors import DarrmError, InputError, in_one_line
from darrm.numerics import printed
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import without_privacy
from darrm.problem.limits import ANY_NUMBER, epsilon_in_print
from darrm.problem.majority import MajorityProblem
from darrm.show import typed, wording

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import Noisy
    from darrm.mechanisms.label_key import LabelKey

_BY_KEY = (
    "All randomness is computed from the key. A guarantee of the labels alone is then computational, and holds if the "
    "key is as secret as the votes and each id stands for one row of votes."
)
_MOST_QUERIES = 10_000  # of which the cost is found in seconds


@click.command("release", cls=Command, short_help="Release private labels for votes.")
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
    help="Write the labels here, as CSV (or .parquet, .json) with id and label. A label that is none of the classes, "
    "where the design or a check before each label allows that, is none.",
)
@click.option(
    "--columns",
    metavar="NAME,...",
    help="For a design that does not name its voters: names of the vote columns, in the order of its groups [all].",
)
@click.option(
    "--layout",
    type=click.Choice(["voters", "counts", "rows"]),
    default="voters",
    show_default=True,
    help="Of --votes: a column for each voter; for noisy max also a column of counts for each class, or one row a "
    "vote, with columns id, vote and, if you have it, voter.",
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
    help="Charge this ledger (path, or postgresql:// URL; darrm ledger create) before the release. The ledger "
    "remembers the values of the column id and refuses an id that it charged before.",
)
@click.option(
    "--again",
    is_flag=True,
    help="With --ledger: rows may have been released before. Each row is charged as one more label. For fixed voters "
    "the charge covers it. For fresh voters only a total that covers the votes themselves covers it; if the total does "
    "not, nothing is released.",
)
@click.option(
    "--key",
    "key_path",
    type=common.PATH,
    help="Compute the randomness of each row from this key (darrm key), its id and its votes: a retry gives the same "
    "labels, and a ledger charges them once. The guarantee is then computational and rests on the key, which must be "
    "as secret as the votes; an id must stand for one row of votes (docs/howto/streams.md, Randomness by key) [the "
    "operating system's randomness].",
)
@click.option("--note", default="", help="With --ledger: one line that describes the charge [none].")
@common.json_option
@common.log_json_option
def command(
    file: Path,
    votes_path: Path,
    out: Path,
    columns: str | None,
    layout: str,
    votes_are_public: bool,
    overwrite: bool,
    ledger_path: Path | str | None,
    again: bool,
    key_path: Path | None,
    note: str,
    as_json: bool,
) -> None:
    """Release one private label for each row of a votes file, with the noise of the design or mechanism in FILE."""
    import numpy as np

    from darrm import votes
    from darrm.cli.long_run import reached
    from darrm.cli.outputs import is_taken, refuse_ledger, why_taken
    from darrm.design.design import Design
    from darrm.mechanisms.label_key import NO_IDS, LabelKey
    from darrm.mechanisms.own_votes import OwnVotes
    from darrm.storage.atomic import check_place, resolved
    from darrm.votes.answers import Answers
    from darrm.votes.files import blocks_of
    from darrm.votes.header import voters_of

    start = time.perf_counter()
    inputs = [path for path in (votes_path, file, ledger_path, key_path) if isinstance(path, Path)]
    if resolved(out) in map(resolved, inputs):
        raise click.UsageError(f"--out {out} is one of the input files.")
    if again and ledger_path is None:
        raise click.UsageError("--again goes with --ledger: without one nothing is charged.")
    if note and ledger_path is None:
        raise click.UsageError("--note goes with --ledger: without one nothing is charged.")
    if again and key_path is not None:
        raise click.UsageError("--again goes without --key: with a key the same votes have the same label again.")
    refuse_ledger(out)
    for option, given in {"--votes": votes_path, "--ledger": ledger_path, "--key": key_path}.items():
        common.refuse_swapped(given, file, option, ["release", given, option, file])
    check_place(out)
    key = None if key_path is None else LabelKey.load(key_path)
    made: Any = common.load_release(file)
    problem = made.problem
    known, ledger = out.exists(), None
    ids: Any = None
    if ledger_path is not None:
        from darrm.accounting.ledger import Ledger

        ledger = Ledger(ledger_path)  # which gives labels of an interrupted release their name, perhaps this one
        # By key this release writes the same labels; else they were paid for, and must not be lost.
        overwrite = overwrite and (known == out.exists() or key is not None)
    answers, absent = problem.answers, isinstance(made, Design) and made.absent
    taken = voters_of(problem, None if columns is None else typed.names("--columns", columns), "--columns")
    K, by_name = (taken, None) if isinstance(taken, int) else (None, taken)
    voters: tuple[str, ...] = ()
    counted = None if layout == "voters" else _counted(made, votes_path, layout, columns, key)
    draw, charged_file, kept = _draws(made, key), None, ExitStack()
    of_noisy_max = not isinstance(made, Design)
    blocks = counted or blocks_of(votes_path, K, Answers(tuple(problem.names), absent, of_noisy_max), by_name)
    if not overwrite and is_taken(out):  # labels that were paid for must not be lost
        rows = ((block.ids if block.has_ids else None, b"" if key is None else draw(block)[1]) for block in blocks)
        raise why_taken(out, _to_replace(problem, key), ledger, made, rows, again=again)
    seen: Any = OwnVotes(made, votes_are_public) if isinstance(made, Design) else ()
    if ledger is not None:
        from darrm.accounting.ledger_ids import Batch

        ids = kept.enter_context(closing(Batch()))
        charged_file = ledger.releasing(
            made, lambda: labels.n, out, note=note, ids=lambda: ids if len(ids) else None, again=again
        )
    with kept, votes.writing_labels(out, charged_file, names=answers) as labels:
        for block in blocks:
            if (
                seen is not None and seen
            ):  # of the whole file, which one block need not be; a refusal leaves no label and no charge
                seen.add(np.count_nonzero(block.votes == 1, axis=1))
            if key is not None and not block.has_ids:
                raise InputError(NO_IDS)
            drawn, tags = draw(block)
            labels.write(block.ids, drawn)
            if ledger is not None and block.has_ids:
                ids.add(block.ids, tags)
            voters = getattr(block, "voters", ())
            reached(labels.n)
    n = labels.n
    charged = n if ledger is None else n - ids.same
    seconds = round(time.perf_counter() - start, 3)
    guarantee, how, reversed_ = _of_one_label(made)
    order = "" if counted else _order(problem, voters, named=by_name is not None)
    # Before the ledger composes what it has spent: who interrupts that must know that the labels are out.
    common.note(f"Wrote {printed.counted(n, 'label')} to {out}. {how}{order}{f' {_BY_KEY}' * (key is not None)}")
    if reversed_:
        common.note(reversed_)
    status = None if ledger is None else ledger.status()
    if as_json:
        common.print_json(
            {
                "labels": n,
                "out": str(out),
                "design": str(file),
                "design_digest": common.account_of(made).name,
                "votes": str(votes_path),
                "by_key": key is not None,
                **guarantee,
                "columns": {f"group {g}": list(own) for g, own in enumerate(_of_groups(problem, voters), 1)},
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": seconds,
                **({} if ledger is None else _of_charge(ledger, made, charged)),
                **({} if status is None else {"ledger": status}),
            }
        )
    if ledger is not None and status is not None:
        remaining = ledger.remaining(made)
        left = "" if remaining is None else f", {remaining} left"
        place = ledger_path if isinstance(ledger.path, Path) else ledger.path  # without a password
        settled = f" It rests on this too: {status['condition']}." if status["rule"] == "in-advance" else ""
        of_key = f", a computational guarantee ({IN_FEASIBLE_TIME})" if status["computational"] else ""
        rests_on = ledger.rests_on()
        problems = [problem for problem, _ in rests_on]
        budget, voters_called = wording.budgets(status, problems), wording.voters_of(status, problems)
        rests = wording.joined(
            wording.condition(problem, status["voters"], absent=absent, once=not status["again"])
            for problem, absent in rests_on
        )
        noisy = wording.of_noisy_max(None, affected=status["affected_votes"])
        rests = rests or noisy.removeprefix(f"This holds for {ANY_NUMBER}, ")
        beside = (
            of_rows(status, rests_on),
            of_other_totals(status, rests_on),
            of_second_budget(status["fallback_epsilon"]),
        )
        before = f"{n - charged} of these labels were charged before, and cost nothing more. " * (charged < n)
        common.note(
            f"{before}Charged to {place}: {printed.counted(status['released'], 'label')} of {voters_called} "
            f"voters so far{left}; "
            f"all labels that it allows are {budget} together, rule {status['rule']}{of_key}, {rests}{settled}"
            + "".join(f" {said}" for said in beside if said)
        )
    else:
        unnoticed = "a row comes again" if key is None else "an id comes again with other votes"
        common.note(f"{_several(problem)} Without --ledger, nothing notices that {unnoticed}.")
        if n > 1 and not as_json:
            planned = made.planned_for if isinstance(made, Design) else None
            suggest_budget(file, problem, (min(n, _MOST_QUERIES), 10, 1), planned=planned)


def _to_replace(problem: Any, key: LabelKey | None) -> str:
    """When labels may be replaced by labels of the same votes."""
    rule = "do not release votes of fresh voters again, and votes of fixed voters only with a ledger"
    if without_privacy(problem.groups):
        rule = "release them again only with a ledger, which charges them again"
    if key is not None:
        rule = "by the same key --overwrite writes the same labels again"
    return f" If it holds labels of these votes, {rule}."


def _of_charge(ledger: Ledger, made: Any, charged: int) -> dict[str, Any]:
    """The charge of a release, and the budget after it; the labels are out, so this does not end the command."""
    spent: tuple[float | None, float | None] = (None, None)
    try:
        spent = ledger.spent()
    except DarrmError as error:
        common.note(f"The spent budget could not be certified: {error}")
    named = dict(zip(("spent_epsilon", "spent_delta"), spent, strict=True))
    return {"ledger_path": str(ledger.path), "charged": charged, "left": ledger.remaining(made), **named}


def _draws(made: Design | Noisy, key: LabelKey | None) -> Callable[[Any], tuple[Any, bytes]]:
    """The labels of a block of votes, and the tags of its rows by a key."""
    from darrm import votes
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import ConfidentNoisyMax
    from darrm.mechanisms.decision import PrivateDecision

    if isinstance(made, Design):
        mechanism = PrivateDecision(made)
        if key is not None:
            return lambda block: mechanism._labels_and_tags(block.votes, block.ids, key)
        return lambda block: (mechanism.release(block.votes, public=True), b"")
    classes, noisy = made.classes or 0, made
    if key is not None:
        if isinstance(noisy, ConfidentNoisyMax):
            raise click.UsageError("--key is not for labels after a check. Leave it out.")
        return lambda block: noisy._labels_and_tags(votes.counts(block.votes, classes), block.ids, key)
    return lambda block: (
        noisy.release(votes.counts(block.votes, classes) if isinstance(block, votes.VotesBlock) else block.counts),
        b"",
    )


def _counted(made: Design | Noisy, path: Path, layout: str, columns: str | None, key: LabelKey | None) -> Iterable[Any]:
    """The counts of a file for noisy max; those of one row a vote all at once."""
    from darrm import votes
    from darrm.design.design import Design

    if isinstance(made, Design) or columns is not None:
        raise click.UsageError(f"--layout {layout} is for noisy max without --columns, which is for --layout voters.")
    if key is not None:
        raise click.UsageError(f"--layout {layout} goes without --key, which is for --layout voters.")
    names = () if made.problem is None else made.problem.names  # a file of noisy max has them
    if layout == "counts":
        from darrm.votes.counted import count_blocks

        return count_blocks(path, names, made.K)
    return [votes.read_counts(path, names, tall=True, K=made.K)]


def _of_one_label(made: Design | Noisy) -> tuple[dict[str, Any], str, str]:
    """The guarantee of one label, as values and in words, and a warning of answers in reversed order."""
    from darrm.design.design import Design

    if not isinstance(made, Design):
        nothing = {"epsilon_of_one_label": None, "delta_of_one_label": None}
        noise = f"Noise of each count: Gaussian, sigma {wording.exactly(made.sigma)}{wording.of_check(made)}."
        holds = wording.of_noisy_max(made.problem, "A total", affected=made.max_affected)
        return {**nothing, "mechanism": made.as_dict()}, f"{noise} {holds}", ""
    guarantee = {
        "epsilon_of_one_label": _of_kinds(made.problem, epsilon_in_print),
        "delta_of_one_label": _of_kinds(made.problem, lambda kind: kind.delta),
    }
    condition = wording.condition(made.problem, absent=made.absent)
    how = f"Single-label guarantee: {wording.guarantee(made.problem)}, {condition}"
    if not made.reversals:
        return guarantee, how, ""
    from darrm.show import classes

    return guarantee, how, classes.warning(made)


def _of_kinds(problem: Any, number: Callable[[Any], float]) -> float | dict[str, float]:
    """A number of the problem, or that of each kind of change."""
    each = {name: number(kind) for name, kind in problem.kinds.items()}
    return each if len(each) > 1 else each[""]


def _of_groups(problem: MajorityProblem | DecisionProblem, voters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The names of columns, group after group."""
    sizes = [group.count for group in problem.groups]
    return [voters[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def _order(problem: MajorityProblem | DecisionProblem, voters: tuple[str, ...], *, named: bool) -> str:
    """Which columns were taken, and for which group if there are several."""
    groups = _of_groups(problem, tuple(map(in_one_line, voters)))  # names that a file holds
    each = "; ".join(f"{wording.some(own)} as group {g}" for g, own in enumerate(groups, start=1))
    if named:
        return f" Vote columns were matched by name: {each if len(groups) > 1 else wording.some(groups[0])}."
    if len(groups) == 1:
        return f" Vote columns were used in order: {wording.some(groups[0])}." * bool(groups[0])
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
