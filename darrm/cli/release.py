"""darrm release"""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from itertools import accumulate
from pathlib import Path

import click

from darrm.cli import common
from darrm.cli.ledger import of_other_totals, of_rows
from darrm.cli.suggestions import suggest_budget
from darrm.errors import InputError
from darrm.problem.decision import DecisionProblem
from darrm.problem.majority import MajorityProblem
from darrm.show import typed, wording

_MOST_QUERIES = 10_000  # of which the cost is found in seconds


@click.command("release", short_help="Release private labels for votes.")
@common.file_argument
@click.option(
    "--votes",
    "votes_path",
    type=common.PATH,
    required=True,
    help="CSV with a header and one column for each voter, or such columns as .parquet. If the design's voters have "
    "names, their columns are taken by name, in any order and among others; else all columns in the order of its "
    "groups. Votes are 0 and 1, or the numbers of the design's classes from 0 on, or the names of these. An absent "
    "voter has -1 or nothing, if the design allows absent voters. Columns id and label may be there. No id and no "
    "voter may come twice (docs/howto/streams.md, What a votes file may look like).",
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
    help="For a design without names of voters: the columns of votes, by name, in the order of its groups [all].",
)
@click.option(
    "--votes-are-public",
    is_flag=True,
    help="The votes that the design's prior was read from are public, so --votes may hold the very same.",
)
@click.option("--overwrite", is_flag=True, help="Replace the labels of an earlier release that --out holds.")
@click.option(
    "--ledger",
    "ledger_path",
    type=common.PATH,
    help="Charge this ledger (darrm ledger create) first. It remembers the ids of the column id, and refuses an "
    "id that it charged before.",
)
@click.option(
    "--again",
    is_flag=True,
    help="With --ledger: rows may have a label already. Each is charged as one label more, which covers it for fixed "
    "voters. For fresh voters only a total that pays for the votes themselves covers it; if the total does not, "
    "nothing is released.",
)
@common.json_option
def command(
    file: Path,
    votes_path: Path,
    out: Path,
    columns: str | None,
    votes_are_public: bool,
    overwrite: bool,
    ledger_path: Path | None,
    again: bool,
    as_json: bool,
) -> None:
    """Release one private label for each row of a votes file, with the noise of a design file."""
    import numpy as np

    from darrm import votes
    from darrm.cli.outputs import refuse_ledger
    from darrm.design.design import load
    from darrm.mechanisms.decision import PrivateDecision
    from darrm.mechanisms.own_votes import OwnVotes
    from darrm.storage.atomic import check_place, is_device, resolved
    from darrm.votes.header import voters_of

    if resolved(out) in [resolved(path) for path in (votes_path, file, ledger_path) if path is not None]:
        raise click.UsageError(f"--out {out} is one of the input files.")
    if again and ledger_path is None:
        raise click.UsageError("--again goes with --ledger: without one nothing is charged.")
    refuse_ledger(out)
    check_place(out)
    if not overwrite and not is_device(out) and out.exists():  # labels that were paid for must not be lost
        raise InputError(
            f"{out} exists already. Pass another --out, or --overwrite to lose what it holds. If it holds labels of "
            "these votes, release none again of fresh voters, and of fixed ones only with a ledger."
        )
    design = load(file)
    mechanism = PrivateDecision(design)
    names, answers, absent = design.problem.names, design.problem.answers, design.absent
    taken = voters_of(design.problem, None if columns is None else typed.names("--columns", columns), "--columns")
    K, by_name = (taken, None) if isinstance(taken, int) else (None, taken)
    voters: tuple[str, ...] = ()
    seen, charged_file, kept = OwnVotes(design, votes_are_public), None, ExitStack()
    if ledger_path is not None:
        from darrm.accounting.ledger import Ledger
        from darrm.accounting.ledger_ids import Batch

        ledger, ids = Ledger(ledger_path), kept.enter_context(closing(Batch()))
        charged_file = ledger.releasing(
            design, lambda: labels.n, out, ids=lambda: ids if len(ids) else None, again=again
        )
    with kept, votes.writing_labels(out, charged_file, names=answers) as labels:
        for block in votes.blocks(votes_path, K=K, names=names, absent=absent, voters=by_name):
            if seen:  # of the whole file, which one block need not be; a refusal leaves no label and no charge
                seen.add(np.count_nonzero(block.votes == 1, axis=1))
            labels.write(block.ids, mechanism.release(block.votes, public=True))
            if ledger_path is not None and block.has_ids:
                ids.add(block.ids)
            voters = block.voters
    n = labels.n
    status = None if ledger_path is None else ledger.status()
    if as_json:
        common.print_json(
            {
                "labels": n,
                "out": str(out),
                "epsilon_of_one_label": design.problem.release_epsilon,
                "delta_of_one_label": design.problem.delta,
                "columns": {f"group {g}": list(own) for g, own in enumerate(_of_groups(design.problem, voters), 1)},
                **({} if status is None else {"ledger": status}),
            }
        )
    common.note(
        f"Wrote {n} label{'s' * (n > 1)} to {out}. Each is {wording.guarantee(design.problem)} on its own, "
        f"{wording.condition(design.problem, absent=absent)}{_order(design.problem, voters, named=by_name is not None)}"
    )
    if design.reversals:
        from darrm.show import classes

        common.note(f"{classes.warning(design)} darrm solve --ordered forbids it.")
    if status is not None:
        remaining = ledger.remaining(design)
        left = "" if remaining is None else f", {remaining} left"
        settled = f", if {status['condition']}" if status["rule"] == "composed" else ""
        budget = wording.pair(status["total_epsilon"], status["total_delta"])
        rests_on = ledger.rests_on()
        rests = " and ".join(
            wording.condition(problem, status["voters"], absent=absent, once=not status["again"])
            for problem, absent in rests_on
        )
        common.note(
            f"Charged to {ledger_path}: {status['released']} labels of {status['voters']} voters in all{left}; "
            f"together within {budget}, rule {status['rule']}{settled}, {rests}"
            + "".join(f" {said}" for said in (of_rows(status, rests_on), of_other_totals(status, rests_on)) if said)
        )
    else:
        common.note(_several(design.problem))
        if n > 1 and not as_json:
            suggest_budget(file, design, (min(n, _MOST_QUERIES), 10, 1))


def _of_groups(problem: MajorityProblem | DecisionProblem, voters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The names of columns, group after group."""
    sizes = [group.count for group in problem.groups]
    return [voters[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def _order(problem: MajorityProblem | DecisionProblem, voters: tuple[str, ...], *, named: bool) -> str:
    """Which columns were taken for which group; nothing if all columns were taken for one."""
    groups = _of_groups(problem, tuple(map(common.in_one_line, voters)))  # names that a file holds
    each = "; ".join(f"{wording.some(own)} as group {g}" for g, own in enumerate(groups, start=1))
    if named:
        return f" Vote columns were taken by name: {each if len(groups) > 1 else wording.some(groups[0])}."
    if len(groups) == 1:
        return ""
    ends = list(accumulate(map(len, groups)))
    parts = [
        f"{end - len(own) + 1} to {end} as group {g}" for g, (own, end) in enumerate(zip(groups, ends, strict=True), 1)
    ]
    return f" Vote columns were taken in order: {wording.listed(parts)}. That is {each}."


def _several(problem: MajorityProblem | DecisionProblem) -> str:
    """What several labels cost together, without figures."""
    if wording.without_privacy(problem):
        return (
            "Only the noise of the labels protects, because the voters are not private: the releases compose. These "
            "votes must not be released again without counting that release too."
        )
    of_fixed = "all labels together cost at most the composition of the voters that one record reaches."
    if any(math.isinf(kind.epsilon) for kind in problem.affected):
        of_fixed = (
            "one record can reach voters that are not private, so the noise of the labels must hide what their votes "
            "change (darrm budget --voters fixed)."
        )
    return (
        "What several labels cost together, now or later, depends on the voters. Fresh voters (new coins make every "
        "answer private by themselves): the releases compose, of each row of votes once. Fixed voters (models trained "
        f"with differential privacy): do not add up these guarantees; {of_fixed}"
    )
