"""darrm release"""

from __future__ import annotations

from pathlib import Path

import click

from darrm.cli import common
from darrm.show import wording


@click.command("release", short_help="Release private labels for votes.")
@common.file_argument
@click.option(
    "--votes",
    "votes_path",
    type=common.PATH,
    required=True,
    help="CSV with a header: one 0/1 column a voter; a first column id and a last column label may be there. "
    "Or such columns as .parquet.",
)
@click.option(
    "--out", type=common.PATH, required=True, help="Write the labels here, as CSV (or .parquet) with id and label."
)
@click.option("--ledger", "ledger_path", type=common.PATH, help="Charge this ledger (darrm ledger create) first.")
@common.json_option
def command(file: Path, votes_path: Path, out: Path, ledger_path: Path | None, as_json: bool) -> None:
    """Release one private label for each row of a votes file, with the noise of a design file."""
    from darrm import votes
    from darrm.design.design import load
    from darrm.mechanisms.majority import DaRRM
    from darrm.storage.atomic import resolved

    if resolved(out) in [resolved(path) for path in (votes_path, file, ledger_path) if path is not None]:
        raise click.UsageError(f"--out {out} is one of the input files.")
    design = load(file)
    mechanism = DaRRM(design)
    charged_file = None
    if ledger_path is not None:
        from darrm.accounting.ledger import Ledger

        ledger = Ledger(ledger_path)
        charged_file = ledger.releasing(design, lambda: labels.n, out)
    with votes.writing_labels(out, charged_file) as labels:
        for block in votes.blocks(votes_path, K=design.problem.K):
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
        f"{wording.condition(design.problem)}"
    )
    if ledger_path is not None:
        status = ledger.status()
        left = "" if status["left"] is None else f", {status['left']} left"
        budget = wording.pair(status["total_epsilon"], status["total_delta"])
        rests = " and ".join(wording.condition(problem, status["voters"]) for problem in ledger.problems())
        common.note(
            f"Charged to {ledger_path}: {status['released']} labels of {status['voters']} voters in all{left}; "
            f"together within {budget}, rule {status['rule']}, {rests}"
            + (" These votes must not be released again." if status["voters"] == "fresh" else "")
        )
    elif n > 1:
        common.note(TOTAL)


TOTAL = (
    "What all of them cost together depends on the voters. Fresh voters (new coins make every answer private by "
    "themselves): the releases compose. Fixed voters (models trained with differential privacy): do not add up these "
    "guarantees; all labels together cost at most the composition of the voters that one record reaches. See darrm "
    "budget."
)
