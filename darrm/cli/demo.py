"""darrm demo"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from darrm.cli import common
from darrm.cli.needed import Command
from darrm.cli.plan import plan_values
from darrm.cli.suggestions import suggest
from darrm.show import plan_words, wording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from darrm.baselines.entries import Comparison
    from darrm.mechanisms.class_labels import Labels
    from darrm.planning.answers import Plan
    from darrm.votes.files import VotesTable
    from darrm.votes.rows import Votes

EXAMPLE = "clinics_t1"
TOTAL_EPSILON, TOTAL_DELTA = 6.0, 1e-6
BASE_ACCURACY = 0.9  # what somebody would guess beforehand; no guarantee rests on it


@click.command("demo", cls=Command, short_help="Run the 25-clinics example: plan, compare, release.")
@click.option("--out", type=common.PATH, help="Save gamma.json and labels.csv in this folder.")
@common.json_option
def command(out: Path | None, as_json: bool) -> None:
    """Run the 25-clinics example: plan for a privacy budget, compare mechanisms, and release 100 labels.

    The votes come with darrm. First it solves one problem of the DaRRM paper for a single label.
    """
    from darrm import votes
    from darrm.errors import OutputError
    from darrm.planning.planner import plan

    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{out} could not be made: {error.strerror}. Choose another folder.") from error
    about, table = votes.examples()[EXAMPLE], votes.example(EXAMPLE)
    truth = table.labels
    if truth is None:
        raise click.ClickException(f"The votes {EXAMPLE} come without labels.")
    queries, K = table.votes.shape
    epsilon, reached = float(str(about["epsilon"])), int(str(about["max_affected"]))
    console = common.console()
    console.quiet = as_json
    say = console.print
    if not as_json:
        _show_one_label(say)
    say(
        f"The question: is this tumour malignant? {K} clinics answer it for {queries} new patients. Each clinic "
        "trained its model on patients of its own. The record of a patient is with at most one clinic, so it affects "
        f"{reached} of the {K} votes. Clinics are fresh voters: each randomizes every answer with fresh randomness and "
        f"epsilon = {epsilon:g}. The error rate of their answers is {_percent(1 - float(str(about['base_accuracy'])))} "
        f"before randomization and {_percent(1 - float(str(about['mean_voter_accuracy'])))} after it."
    )
    say(
        f"The privacy budget: all {queries} labels together must be ({TOTAL_EPSILON:g}, {TOTAL_DELTA:g})-DP. The plan "
        f"assumes that the answer of a clinic is wrong with probability {1 - BASE_ACCURACY:.2g} before randomization.\n"
    )
    answer = plan(
        K=K,
        epsilon=epsilon,
        queries=queries,
        total_epsilon=TOTAL_EPSILON,
        total_delta=TOTAL_DELTA,
        voters="fresh",
        max_affected=reached,
        base_accuracy=BASE_ACCURACY,
        adjacency=str(about["adjacency"]),
    )
    if answer.comparison is None:
        raise click.ClickException("The plan holds no comparison.")
    _show(answer.comparison, table.votes, truth, say)
    released = _release(answer, table, out)
    if as_json:
        made = {"labels": queries, "wrong": int((released != truth).sum()), "plan": plan_values(answer)}
        common.print_json({"out": None if out is None else str(out), **made})
        return
    where = "" if out is None else f", and saved: {out}/gamma.json and {out}/labels.csv"
    say(
        f"Released: {queries} labels, with the planned noise read back from its file and verified again{where}. "
        f"In this run {int((released != truth).sum())} of them are wrong; the number varies with the randomness.\n"
    )
    say(f"{plan_words.together(answer)} {_WHO}\n")
    say(f"{plan_words.aggregator(answer)} {_ASKED}")
    suggest("To plan for your own voters, as in the example of its help", "plan", "--help")


_WHO = (
    "The guarantee is for the record of any one patient in the data of a clinic, against anyone who sees only the "
    "labels. It rests on the noise function, on the independent randomness of each clinic, on clinics that vote "
    "independently given their records, and on one release of each row of votes. It does not rest on the accuracy that "
    "the plan assumes, which was chosen without these votes or records."
)
_ASKED = (
    "The new patients, for whom the labels are released, are not protected: every clinic receives their measurements."
)


def _show_one_label(say: Callable[..., None]) -> None:
    """gamma of the paper's problem beside subsampling and randomized response, with the error of each."""
    from darrm.planning.comparison import compare
    from darrm.problem.majority import MajorityProblem

    problem = MajorityProblem(11, m=3, epsilon=0.1)
    found = compare(problem)
    shown = [found[name] for name in ("gamma_opt", "double subsampling of 5 votes", "randomized response (largest)")]
    K, [votes] = problem.K, problem.groups
    say(
        f"One label first, the problem of the DaRRM paper: {K} votes, each {wording.pair(votes.epsilon, votes.delta)}"
        f"-DP, all of which a record may affect, and one release of their majority, {wording.guarantee(problem)}. "
        "The true majority is released with probability gamma, and a fair coin otherwise.\n"
    )
    rows = common.table(
        *(entry.name for entry in shown), name="votes", title="gamma by votes, minority:majority", title_justify="left"
    )
    for l in range(K // 2 + 1, K + 1):
        rows.add_row(f"{K - l}:{l}", *(f"{entry.gamma[l]:.4f}" for entry in shown))
    rows.add_row("expected TV error", *(f"{entry.error:.4f}" for entry in shown))
    say(rows)
    say("")


def _show(comparison: Comparison, votes: Votes, truth: NDArray[np.uint8], say: Callable[..., None]) -> None:
    """All mechanisms at the budget; the error rate on these votes only where a mechanism uses these votes."""
    rows = common.table(
        *map(common.narrow, ("expected", "on these votes", "epsilon, all labels", "within budget")),
        name="mechanism",
        title=f"Label error rate of {comparison.queries} labels, privacy budget ({TOTAL_EPSILON:g}, {TOTAL_DELTA:g})",
        title_justify="left",
    )
    own = comparison["planned"].aggregator
    for each in comparison:
        here = _percent(_wrong(each.table, votes, truth)) if each.aggregator == own else ""
        cells = (_percent(each.wrong), here, wording.at_least(each.total), "yes" if each.within else "no")
        rows.add_row(each.name, *cells, style=None if each.within else "dim")
    say(rows)
    say(_beside_the_best(comparison))
    say(
        "The column expected is the label error rate if clinics err independently of each other. The column on these "
        "votes is the label error rate for the example's votes, averaged over the output noise; it is empty if a "
        "mechanism needs votes of smaller epsilon. Epsilon, all labels, is certified at delta "
        f"{comparison.total_delta:g}. If your votes are private, keep secret the column on these votes and the error "
        "rates of the answers: they are computed from the votes without noise.\n"
    )


def _beside_the_best(comparison: Comparison) -> str:
    """The plan beside the best of the other mechanisms within the budget: it need not be better than each."""
    planned, *others = [each for each in comparison if each.within]
    best = min(others, key=lambda each: each.wrong)
    rates = f"{planned.wrong:.4f} and {best.wrong:.4f}"
    if f"{planned.wrong:.4f}" == f"{best.wrong:.4f}":
        return (
            f"For these {comparison.queries} labels the plan and {best.name} reach the same label error rate ({rates})."
        )
    return f"The label error rates of the plan and of the best of the others, {best.name}, are {rates}."


def _wrong(table: NDArray[np.float64], votes: Votes, truth: Labels) -> float:
    """Mean of Pr[released label != true label], exact; ``table`` is Pr[label 1] by the number of ones."""
    return float(abs(truth - table[votes.sum(axis=1)]).mean())


def _release(answer: Plan, table: VotesTable, out: Path | None) -> Labels:
    """The labels, made with the design as it is read back from its file and verified again."""
    from darrm import votes
    from darrm.design.loading import load
    from darrm.mechanisms.decision import PrivateDecision

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if out is None else out
        answer.design.save(folder / "gamma.json")
        design = load(folder / "gamma.json")
        released = PrivateDecision(design).release(table.votes)
        votes.write_labels(folder / "labels.csv", table.ids, released)
    return released


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
