"""darrm solve"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common, outputs
from darrm.cli.decision import check_form, decision_options, show_worst_case, take_decision
from darrm.cli.decision import show as show_decision
from darrm.cli.long_run import beside, ending_at_once, progress
from darrm.cli.suggestions import options_given, suggest, suggest_budget, suggest_release
from darrm.errors import InputError
from darrm.problem.majority import MajorityProblem
from darrm.show import wording

if TYPE_CHECKING:
    from darrm.design.design import AnyDesign, Design
    from darrm_solvers import Progress


_ROWS = 30  # of the chart, at most
_OUT = outputs.Out("", "json", "csv", "parquet")
_LIMITS = ("time_limit", "on_time_limit")
_OF_PRIORS = ("prior", "objective", "randomized_response")
_OF_COMPARE = ("K", "m", "total_epsilon", "epsilon", "Delta", "delta", "max_affected", "adjacency")


@click.command("solve", short_help="Find the best noise function, certified.")
@common.majority_options(
    required=False, total_epsilon="In place of --m, or with --group: the epsilon of one label, in nats."
)
@decision_options
@click.option(
    "--prior", help=f"{common.PRIORS[:-1]} [uniform]. With --group: P0,P1,..., the chances of each truth [even]."
)
@common.randomized_option
@click.option(
    "--objective",
    shell_complete=common.known("tv", "disagreement", "truth", "plurality", "majority"),
    help="What to minimise: tv or disagreement [by the prior]. With --group: truth, plurality, at-least:K or "
    "weights:W1,W2,... [truth].",
)
@common.choice("--shape", "free: least error. monotone: never less noise for a closer vote.", "free", "monotone")
@click.option("--both-shapes", is_flag=True, help="Say the error of the other shape too.")
@common.choice(
    "--engine",
    "full-list and full-list-cvxpy list every constraint: slow, for comparison.",
    *("cutting-planes", "full-list", "full-list-cvxpy"),
)
@common.profile_option
@common.number("--time-limit", "Seconds for the search [none].", default=float("inf"))
@common.choice(
    "--on-time-limit",
    "At the time limit, or if the solver gives up: fail, or certify the best so far.",
    "error",
    "best",
)
@click.option(
    "--out",
    type=_OUT,
    help="Write the design file (JSON) here; ending in .csv or .parquet, a table for analysis.",
)
@common.plot_option("gamma, or the chances of a decision by one to three groups,")
@common.json_option
def command(prior: str | None, out: Path | None, plot: Path | None, as_json: bool, **values: Any) -> None:
    """Find the noise of least error that satisfies the guarantee, and certify it.

    For the majority of --K voters that are all alike, or for a decision by groups of voters (--group).
    """
    solved = _decision if check_form(click.get_current_context()) else _majority
    solved(prior, out, plot, as_json, **values)


def _majority(prior: str | None, out: Path | None, plot: Path | None, as_json: bool, **values: Any) -> None:
    from darrm.design.design import as_dict
    from darrm.design.solve import solve
    from darrm.show.plots import plot_gamma

    problem = common.take_problem(values)
    taken = common.take_prior("uniform" if prior is None else prior)
    both_shapes, points = values.pop("both_shapes"), _profile(values)
    values = {name: values[name] for name in ("shape", "objective", "engine", *_LIMITS)} | {"profile": points}
    start = time.perf_counter()
    with progress(_searching) as report, ending_at_once("Nothing was written."):
        design = beside(lambda: solve(problem, prior=taken, report=report, **values))
        seconds = time.perf_counter() - start
        designs = [design]
        if both_shapes:
            values["shape"] = "monotone" if design.shape == "free" else "free"
            designs.append(beside(lambda: solve(problem, prior=taken, report=report, **values)))
    outputs.keep(out, design)
    common.draw(plot, lambda: plot_gamma(problem, {"gamma_opt": design.gamma}))
    if as_json:
        shapes = {d.shape: {"error": d.error, "disagreement": d.disagreement, "gap": d.gap} for d in designs}
        common.print_json({**as_dict(design), "seconds": seconds, **({"shapes": shapes} if both_shapes else {})})
    else:
        show(design)
        for other in designs[1:]:
            errors = f"error {other.error:.8g} (tv), disagreement {other.disagreement:.8g}"
            common.console().print(f"shape {other.shape}: {errors}")
        common.note(f"Solved and verified in {seconds:.3g} s.")
    outputs.kept(out)
    common.wrote(plot)
    if not as_json:
        _suggest(design, out)


def _decision(prior: str | None, out: Path | None, plot: Path | None, as_json: bool, **values: Any) -> None:
    from darrm.design.decision import as_dict
    from darrm.design.solve import solve
    from darrm.show.plots_decision import not_drawn, plot_decision

    problem, objective = take_decision(values, prior)
    if plot is not None and not_drawn(problem):
        raise InputError(f"--plot: {not_drawn(problem)} Leave it out.")
    settings = {name: values[name] for name in ("ordered", "absent", *_LIMITS)} | {"profile": _profile(values)}
    say = _Attendances(math.prod(problem.shape) - 1) if values["absent"] else _searching
    start = time.perf_counter()
    with progress(say) as report, ending_at_once("Nothing was written."):
        design = beside(lambda: solve(problem, objective=objective, report=report, **settings))
    seconds = time.perf_counter() - start
    outputs.keep(out, design)
    common.draw(plot, lambda: plot_decision(design))
    if as_json:
        common.print_json({**as_dict(design), "seconds": seconds})
    else:
        show_decision(design)
        show_worst_case(design)
        common.note(f"Solved and verified in {seconds:.3g} s.")
    outputs.kept(out)
    common.wrote(plot)
    if not as_json:
        _suggest(design, out)


def _profile(values: dict[str, Any]) -> list[tuple[float, float]] | None:
    text = values.pop("profile_text")
    return None if text is None else common.profile(text)


class _Attendances:
    """For `progress`: which table is searched for, of one for each attendance; a first round begins another."""

    def __init__(self, every: int) -> None:
        self._begun, self._round, self._every = 0, 0, every

    def __call__(self, now: Progress) -> tuple[int, int, str]:
        self._begun += self._begun == 0 or now.rounds <= self._round
        self._round = now.rounds
        return self._begun - 1, self._every, f"table {self._begun} of {self._every}: {now.rows} constraints"


def _searching(now: Progress) -> tuple[int, None, str]:
    return 0, None, f"searching: {now.rows} constraints, round {now.rounds}"


def _rows(design: Design) -> list[tuple[str, float]]:
    """Votes and gamma from the closest vote to the unanimous one; of many, runs of equal values, then a selection."""
    K = design.problem.K
    runs: list[list[int]] = []
    for l in range(K // 2 + 1, K + 1):
        if runs and K // 2 > _ROWS and f"{design.gamma[l]:.6f}" == f"{design.gamma[runs[-1][0]]:.6f}":
            runs[-1].append(l)
        else:
            runs.append([l])
    if len(runs) > _ROWS:
        runs = [runs[round(i * (len(runs) - 1) / (_ROWS - 1))] for i in range(_ROWS)]
    names = [f"{K - run[0]}:{run[0]}" + f" to {K - run[-1]}:{run[-1]}" * (len(run) > 1) for run in runs]
    return [(name, float(design.gamma[run[0]])) for name, run in zip(names, runs, strict=True)]


def _suggest(design: AnyDesign, out: Path | None) -> None:
    """What one does with a design."""
    if out is None or not outputs.is_design_file(out):
        name = "gamma.json" if isinstance(design.problem, MajorityProblem) else "decision.json"
        suggest("Next, to keep the design", "solve", *options_given(), "--out", name)
        if isinstance(design.problem, MajorityProblem):
            suggest("To see it beside others", "compare", *options_given((*_OF_COMPARE, *_OF_PRIORS)))
        return
    suggest("Next, to explain it on a page", "report", out)
    suggest_release(out, design)
    suggest_budget(out, design)


def show(design: Design, *, from_file: bool = False) -> None:
    """Gamma as a small chart, the guarantee in a sentence, and the figures."""
    from rich.table import Table

    problem = design.problem
    console = common.console()
    rows = _rows(design)
    left = max(len("votes"), *(len(votes) for votes, _ in rows))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("votes", justify="right", no_wrap=True, min_width=left)
    table.add_column("gamma", justify="right", no_wrap=True, min_width=8)
    table.add_column("chance of the true majority, else a fair coin", no_wrap=True, overflow="crop")
    width = max(4, min(32, console.width - left - 15))
    for votes, value in rows:
        table.add_row(votes, f"{value:.6f}", common.bar(value, width, console.options.ascii_only))
    console.print(table)
    every = len(design.gamma) - problem.K // 2 - 1
    if every > _ROWS:
        console.print(f"({len(rows)} lines for {every} values; --out or --json has all of them)")
    console.print(
        f"Verified: one release of the majority of K = {problem.K} votes is {wording.guarantee(problem)}, "
        f"{wording.condition(problem)}"
    )
    console.print(common.tightness(design))
    gap = f"at most {design.gap:.1e} above the least possible {design.objective} for shape {design.shape}"
    gap += " with its profile" * bool(design.profile)
    if math.isinf(design.gap):
        gap = "not known to be the least possible"
    elif from_file:
        gap += ", as the file says"
    console.print(f"error {design.error:.8g} (tv), disagreement {design.disagreement:.8g}, under {design.prior}; {gap}")
    if design.profile:
        console.print(f"and one release keeps {len(design.profile)} points of a profile")
