"""darrm demo"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from darrm.cli import common
from darrm.cli.suggestions import suggest
from darrm.show import wording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from darrm.design.design import Design
    from darrm.votes.rows import Votes


M = 3
_TOTAL_DELTA = 1e-5
_QUERIES, _BUDGET = 10, 10.0


@click.command("demo", short_help="The whole job on votes that we ship.")
@click.option("--out", type=common.PATH, help="Keep gamma.json and labels.csv in this folder.")
def command(out: Path | None) -> None:
    """Solve, verify and release on real votes that come with darrm, beside every other mechanism."""
    from darrm import votes
    from darrm.errors import OutputError
    from darrm.measures.comparison import compare
    from darrm.mechanisms.majority import DaRRM
    from darrm.problem.majority import MajorityProblem

    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{out} could not be made: {error.strerror}. Choose another folder.") from error
    about, table = votes.examples()["fresh_t11"], votes.example("fresh_t11")
    labels = table.labels
    if labels is None:
        raise click.ClickException("The votes fresh_t11 come without labels.")
    n, K = table.votes.shape
    problem = MajorityProblem(
        K=K,
        m=M,
        epsilon=float(str(about["epsilon"])),
        Delta=float(str(about["Delta"])),
        max_affected=int(str(about["max_affected"])),
        adjacency=str(about["adjacency"]),
    )
    console = common.console()
    console.print(
        f"Votes: {n} held-out images of handwritten digits, odd (1) or even (0). {K} voters each see some of the "
        f"pixels and answer every query anew by randomized response with epsilon = {problem.epsilon:g} (fresh voters). "
        f"One vote is right {100 * _accuracy(table.votes, labels[:, None]):.1f} % of the time."
    )
    console.print(
        f"Guarantee: each released label is {wording.guarantee(problem)}, m = {M}, where one person "
        f"({problem.adjacency}) affects {problem.max_affected} of the {K} votes.\n"
    )
    entries = compare(problem, prior="common")
    rows = common.table()
    rows.add_column("mechanism", no_wrap=True)
    for name in ("labels right", "error", "tight epsilon", "guarantee"):
        rows.add_column(name, justify="right")
    for entry in entries:
        holds = entry.certificate.holds
        rows.add_row(
            entry.name,
            f"{100 * _expected_accuracy(entry.gamma, table.votes, labels):.2f} %",
            f"{entry.error:.5f}",
            wording.at_least(entry.certificate.tight_epsilon),
            "verified" if holds else "no",
            style=None if holds else "dim",
        )
    console.print(rows)
    console.print(
        "labels right: expected over the coins, on these votes. error: total variation, prior common p uniform on "
        "[1/2, 1].\n"
    )

    design = entries[0].design
    if design is None:
        raise click.ClickException("The comparison holds no design.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if out is None else out
        design.save(folder / "gamma.json")
        released = DaRRM(common.load_majority(folder / "gamma.json", "The demo")).release(table.votes)
        votes.write_labels(folder / "labels.csv", table.ids, released)
        where = "" if out is None else f", kept in {folder}/gamma.json and {folder}/labels.csv"
        console.print(
            f"Released {n} labels with gamma_opt, read back from its file and verified again{where}: "
            f"{100 * _accuracy(released, labels):.1f} % are right this time."
        )
    fixed = votes.examples()["fixed_t1"]
    console.print(
        "\nThese voters are fresh: what many labels cost is the composition of what each costs, here "
        f"{_together(design, n)} for all {n}, far too much to protect anybody. "
        "For fixed voters, "
        f"such as the {fixed['K']} trained teachers of fixed_t1, each ({fixed['epsilon']}, {fixed['Delta']})-DP, "
        "the costs of single labels must not be composed: any number of labels costs at most the t-fold composition of "
        "(epsilon, Delta), t = teachers that one record reaches. There t = "
        f"{fixed['max_affected']}, so the plain majority, without noise, is ({fixed['epsilon']}, {fixed['Delta']})-DP "
        f"in total. It is right {100 * float(str(fixed['majority_accuracy'])):.1f} % of the time."
    )
    right = f"{_accuracy(table.votes, labels[:, None]):.2f}"
    voters = ("--K", K, "--epsilon", problem.epsilon, "--accuracy", right, "--max-affected", problem.max_affected)
    budget = ("--total-epsilon", _BUDGET, "--total-delta", _TOTAL_DELTA, "--voters", "fresh")
    suggest(f"To see what a budget buys for {_QUERIES} labels", "plan", *voters, "--queries", _QUERIES, *budget)


def _together(design: Design, queries: int) -> str:
    from darrm.accounting.composition import compose

    total = compose(design, queries, delta=_TOTAL_DELTA, voters="fresh", tolerance=1e-2)
    return f"({wording.at_least(total.upper)}, {_TOTAL_DELTA:g})-DP"


def _accuracy(answers: Votes, labels: NDArray[np.uint8]) -> float:
    return float((answers == labels).mean())


def _expected_accuracy(gamma: NDArray[np.float64], votes: Votes, labels: NDArray[np.uint8]) -> float:
    """Mean of Pr[released label = true label], exact."""
    from darrm.problem.noise_function import acceptance

    releases_one = acceptance(gamma)[votes.sum(axis=1)]
    return float(abs(1 - labels - releases_one).mean())
