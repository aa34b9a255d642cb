"""The routes of the page of decisions by groups of voters."""

from __future__ import annotations

import os

from flask import Blueprint, Response, request

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.design.solve import solve
from darrm.errors import DarrmError, InputError, SolverError
from darrm.planning.comparison import beside
from darrm.show.explore import answers, decision_commands, decision_page
from darrm.show.explore import decision_choices as chosen
from darrm.show.explore.cache import Cache
from darrm.show.explore.decision_choices import Choice, Choices
from darrm.show.explore.serving import design_file, design_table, download, gone, part
from darrm.show.figures import data_address
from darrm.show.plots_decision import plot_decision


class _Answers:
    """Caches of designs, of what they are compared with, and of their pictures."""

    def __init__(self) -> None:
        self.designs: Cache[Choice, Design] = Cache(_solved, 64, os.cpu_count() or 1)
        self.others: Cache[Choice, Comparison] = Cache(self._compared, 64, os.cpu_count() or 1)
        self.pictures: Cache[Choice, str] = Cache(self._drawn, 32, 1)

    def _compared(self, choice: Choice) -> Comparison:
        return beside(self.designs.get(choice), time_limit=answers.TIME_LIMIT)

    def _drawn(self, choice: Choice) -> str:
        return data_address(plot_decision(self.designs.get(choice), title=False), fonttype="none")


def _solved(choice: Choice) -> Design:
    return solve(choice.problem, objective=choice.objective, ordered=choice.ordered, time_limit=answers.TIME_LIMIT)


def make() -> Blueprint:
    """The routes below /decisions/, with caches of their own."""
    pages = Blueprint("decisions", __name__, url_prefix="/decisions")
    found = _Answers()

    def design_part(state: Choices) -> str:
        choice = _valid(state)
        design = found.designs.get(choice, gone())
        return decision_page.design(state, choice, design, found.pictures.get(choice, gone()))

    def others_part(state: Choices) -> str:
        choice = _valid(state)
        try:
            return decision_page.others(found.others.get(choice, gone()))
        except InputError as error:
            return decision_page.no_others(error)
        except SolverError:
            return decision_page.no_others(f"They take more than {answers.TIME_LIMIT:g} s each; darrm report has them.")

    def wanted() -> tuple[Design, str]:
        choice = _valid(_read())
        counts = "x".join(str(group.count) for group in choice.problem.groups)
        return found.designs.get(choice, gone()), f"decision_{counts}_epsilon{choice.problem.release_epsilon:g}"

    @pages.get("/", endpoint="page")
    def page() -> tuple[str, int]:
        state = _read()
        design, others = "", ""
        try:
            if not state.errors:
                design = design_part(state)
                if "others" in request.args:
                    others = others_part(state)
        except DarrmError as error:
            _note(state, error)
        return decision_page.explorer(state, design, others), 400 if state.errors else 200

    @pages.get("/design")
    def design() -> tuple[str | Response, int]:
        state = _read()
        return part(design_part, state, state.errors, _note)

    @pages.get("/others")
    def others() -> tuple[str | Response, int]:
        state = _read()
        return part(others_part, state, state.errors, _note)

    @pages.get("/decision.json")
    def design_json() -> Response:
        design, name = wanted()
        return download(design_file(design), f"{name}.json", "application/json")

    @pages.get("/decision.csv")
    def table() -> Response:
        design, name = wanted()
        return download(design_table(design), f"{name}.csv", "text/csv")

    @pages.get("/report.html")
    def report() -> Response:
        from darrm.show.report import html

        design, name = wanted()
        return download(html(design).encode(), f"{name}.html", "text/html")

    return pages


def _read() -> Choices:
    return chosen.read(request.args.items(multi=True))


def _valid(state: Choices) -> Choice:
    if state.choice is None or state.errors:
        raise InputError(" ".join(state.errors.values()))
    return state.choice


def _note(state: Choices, error: DarrmError) -> None:
    """Put an error that came up on the way beside the control it belongs to."""
    if isinstance(error, SolverError):
        command = decision_commands.solve_command(state.choice) if state.choice else "darrm solve"
        state.errors["solve"] = (
            f"No optimum within {answers.TIME_LIMIT:g} s. Take fewer voters, or use the command line, which takes its "
            f"time: {command}"
        )
        return
    word = str(error).split(" ", 1)[0]
    state.errors[word if word in chosen.FIRST else "solve"] = str(error)
