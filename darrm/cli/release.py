"""darrm release"""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path

import click

from darrm.cli import common
from darrm.cli.ledger import of_other_totals
from darrm.cli.suggestions import suggest_budget
from darrm.errors import InputError
from darrm.problem.decision import DecisionProblem
from darrm.problem.majority import MajorityProblem
from darrm.show import wording

_MOST_QUERIES = 10_000  # of which the cost is found in seconds


@click.command("release", short_help="Release private labels for votes.")
@common.file_argument
@click.option(
    "--votes",
    "votes_path",
    type=common.PATH,
    required=True,
    help="CSV with a header and one column for each voter, in the order of the design's groups. Votes are 0 and 1, or "
    "the numbers of the design's classes from 0 on, or their names. A first column id and a last column label may be "
    "there. Or such columns as .parquet. A voter that is absent, if voters may be, has -1 or nothing.",
)
@click.option(
    "--out",
    type=common.PATH,
    required=True,
    help="Write the labels here, as CSV (or .parquet, .json) with id and label.",
)
@click.option("--overwrite", is_flag=True, help="Replace the labels of an earlier release that --out holds.")
@click.option("--ledger", "ledger_path", type=common.PATH, help="Charge this ledger (darrm ledger create) first.")
@common.json_option
def command(file: Path, votes_path: Path, out: Path, overwrite: bool, ledger_path: Path | None, as_json: bool) -> None:
    """Release one private label for each row of a votes file, with the noise of a design file."""
    from darrm import votes
    from darrm.cli.outputs import refuse_ledger
    from darrm.design.design import Design, load
    from darrm.mechanisms.decision import PrivateDecision
    from darrm.mechanisms.majority import DaRRM
    from darrm.storage.atomic import is_device, resolved
    from darrm.votes.files import BITS

    if resolved(out) in [resolved(path) for path in (votes_path, file, ledger_path) if path is not None]:
        raise click.UsageError(f"--out {out} is one of the input files.")
    refuse_ledger(out)
    if not overwrite and not is_device(out) and out.exists():  # labels that were paid for must not be lost
        raise InputError(
            f"{out} exists already. Pass another --out, or --overwrite to lose what it holds. If it holds labels of "
            "these votes, release none again of fresh voters, and of fixed ones only with a ledger."
        )
    design = load(file)
    mechanism = DaRRM(design) if isinstance(design, Design) else PrivateDecision(design)
    names, answers = (BITS, BITS) if isinstance(design, Design) else (design.problem.names, design.problem.answers)
    absent = not isinstance(design, Design) and design.absent
    charged_file = None
    if ledger_path is not None:
        from darrm.accounting.ledger import Ledger

        ledger = Ledger(ledger_path)
        charged_file = ledger.releasing(design, lambda: labels.n, out)
    with votes.writing_labels(out, charged_file, names=answers) as labels:
        for block in votes.blocks(votes_path, K=design.problem.K, names=names, absent=absent):
            labels.write(block.ids, mechanism.release(block.votes))
    n = labels.n
    if as_json:
        common.print_json(
            {
                "labels": n,
                "out": str(out),
                "epsilon_of_one_label": design.problem.total_epsilon,
                "delta_of_one_label": design.problem.delta,
            }
        )
    common.note(
        f"Wrote {n} label{'s' * (n > 1)} to {out}. Each is {wording.guarantee(design.problem)} on its own, "
        f"{wording.condition(design.problem, absent=absent)}{_order(design.problem)}"
    )
    if ledger_path is not None:
        status = ledger.status()
        remaining = ledger.remaining(design)
        left = "" if remaining is None else f", {remaining} left"
        settled = f", if {status['condition']}" if status["rule"] == "composed" else ""
        budget = wording.pair(status["total_epsilon"], status["total_delta"])
        rests_on = ledger.rests_on()
        rests = " and ".join(
            wording.condition(problem, status["voters"], absent=absent) for problem, absent in rests_on
        )
        common.note(
            f"Charged to {ledger_path}: {status['released']} labels of {status['voters']} voters in all{left}; "
            f"together within {budget}, rule {status['rule']}{settled}, {rests}"
            + f" {of_other_totals(status, rests_on)}".rstrip()
        )
    else:
        common.note(_several(design.problem))
        if n > 1 and not as_json:
            suggest_budget(file, design, (min(n, _MOST_QUERIES), 10, 1))


def _order(problem: MajorityProblem | DecisionProblem) -> str:
    """Which columns were taken for which group, if there are several."""
    if isinstance(problem, MajorityProblem) or len(problem.groups) == 1:
        return ""
    ends = list(accumulate(group.count for group in problem.groups))
    parts = [
        f"{end - group.count + 1} to {end} as group {g}"
        for g, (group, end) in enumerate(zip(problem.groups, ends, strict=True), start=1)
    ]
    return f" Vote columns were taken in order: {wording.listed(parts)}."


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
