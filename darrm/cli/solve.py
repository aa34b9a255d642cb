"""darrm solve"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common, outputs
from darrm.cli.long_run import beside, ending_at_once, progress
from darrm.cli.needed import Command
from darrm.cli.problem import decision_options, goal_option, take_asked
from darrm.cli.shown import show, worst_case
from darrm.cli.suggestions import options_given, suggest, suggest_budget, suggest_release
from darrm.errors import InputError
from darrm.storage.frames import FORMATS

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm_solvers import Progress


_OUT = outputs.Out("", *FORMATS)
_SETTINGS = ("shape", "engine", "absent", "bits", "time_limit", "on_time_limit")
_OF_PRIORS = ("prior", "objective", "randomized_response")
_OF_COMPARE = ("K", "m", "release_epsilon", "epsilon", "Delta", "delta", "max_affected", "adjacency")


@click.command("solve", cls=Command, short_help="Find the optimal noise function and certify it.")
@common.majority_options(
    False, "In place of --m, or with --group: the epsilon of one label, in nats.", "--total-epsilon"
)
@decision_options
@click.option(
    "--prior",
    help=f"Prior of the votes: {common.PRIORS[:-1]} [uniform]. With --group: P0,P1,..., the probabilities of each "
    f"truth [equal], or without --accuracy a prior of votes. {common.NOT_RESTING}",
)
@common.randomized_option
@goal_option
@common.choice(
    "--shape",
    "free: least error. ordered: the answer of least expected cost is never less likely than another. monotone: a "
    "closer vote never has less noise.",
    *("free", "ordered", "monotone"),
)
@click.option("--both-shapes", is_flag=True, help="Print the error of the other shape too.")
@common.choice(
    "--engine",
    "full-list and full-list-cvxpy use the list of all constraints: slow, for comparison.",
    *("cutting-planes", "full-list", "full-list-cvxpy"),
)
@common.profile_option
@common.number("--time-limit", "Stop the search after this many seconds [no limit].", default=float("inf"))
@common.choice(
    "--on-time-limit",
    "At the time limit, or if the solver gives up: fail (error), or certify the best design so far (best).",
    "error",
    "best",
)
@common.number(
    "--bits",
    "Probabilities are multiples of 2^-BITS: the optimum is rounded towards noise, and certified as it is drawn [all "
    "bits of float64].",
)
@click.option(
    "--out",
    type=_OUT,
    help="Write the design file (JSON) here, or with the ending .csv, .parquet or .tex a table for analysis.",
)
@common.plot_option("gamma, or the probabilities of a decision by one to three groups,")
@common.json_option
def command(prior: str | None, out: Path | None, plot: Path | None, as_json: bool, **values: Any) -> None:
    """Find the noise of least error that satisfies the guarantee, and certify it.

    The voters are --K voters that are all alike, whose majority is released, or groups of voters (--group).
    """
    replaced = outputs.replaces(out)
    asked = take_asked(values, prior)  # before libraries load that it does not need
    from darrm.design.absent import n_attendances
    from darrm.design.content import check_writable
    from darrm.design.design import as_dict
    from darrm.design.solve import solve
    from darrm.show.plots import plot as drawn
    from darrm.show.plots_decision import not_drawn

    problem = asked["problem"]
    if out is not None and outputs.is_design_file(out):
        check_writable(problem)
    if plot is not None and not_drawn(problem):
        raise InputError(f"--plot: {not_drawn(problem)} Leave it out.")
    both_shapes, points = values.pop("both_shapes"), _profile(values)
    settings = {name: values[name] for name in _SETTINGS} | {"profile": points}
    if values["ordered"] and settings["shape"] == "monotone":
        raise InputError("--ordered means --shape ordered. Got --shape monotone too. Pass one of the two.")
    if values["ordered"]:
        settings["shape"] = "ordered"
    say = _Attendances(n_attendances(problem) - 1) if settings["absent"] else _searching
    start = time.perf_counter()
    with progress(say) as report, ending_at_once("Nothing was written."):
        design = beside(lambda: solve(**asked, report=report, **settings))
        seconds = time.perf_counter() - start
        designs = [design]
        if both_shapes:
            other = "monotone" if design.encoding.name == "gamma" else "ordered"
            settings["shape"] = other if design.shape == "free" else "free"
            designs.append(beside(lambda: solve(**asked, report=report, **settings)))
    outputs.keep(out, design)
    common.draw(plot, lambda: drawn(design))
    if as_json:
        shapes = {one.shape: _errors(one) for one in designs}
        common.print_json({**as_dict(design), "seconds": seconds, **({"shapes": shapes} if both_shapes else {})})
    else:
        show(design)
        if design.encoding.name != "gamma":
            worst_case(design)
        for one in designs[1:]:
            figures = _errors(one)
            said = (
                f"expected TV error {one.error:.8g}, disagreement rate {one.disagreement:.8g}"
                if "error" in figures
                else ""
            )
            common.console().print(f"shape {one.shape}: {said or f'expected cost {one.expected_cost:.8g}'}")
        common.note(f"Solved and verified in {seconds:.3g} s.")
    outputs.kept(out, design)
    common.wrote(plot)
    if replaced:
        common.note(replaced)
    if not as_json:
        _suggest(design, out)


def _errors(design: Design) -> dict[str, float]:
    """The errors of a design."""
    names = ("error", "disagreement") if design.encoding.name == "gamma" else ("expected_cost",)
    return {name: getattr(design, name) for name in (*names, "gap")}


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


def _suggest(design: Design, out: Path | None) -> None:
    """Suggest the commands that use a design."""
    if out is None or not outputs.is_design_file(out):
        of_gamma = design.encoding.name == "gamma"
        name = "gamma.json" if of_gamma else "decision.json"
        suggest("Next, to save the design", "solve", *options_given(), "--out", name)
        if of_gamma:
            suggest("To compare it with other mechanisms", "compare", *options_given((*_OF_COMPARE, *_OF_PRIORS)))
        return
    kind, *others = design.problem.kinds
    of = ("--kind", kind) if others else ()
    suggest("Next, to write a report on it", "report", out, *of)
    suggest_release(out, design)
    suggest_budget(out, design.problem)
