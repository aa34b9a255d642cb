"""The routes of the page of noise functions: the majority of equal voters, one release."""

from __future__ import annotations

import re
from functools import partial

from flask import Blueprint, Response, request

from darrm.errors import DarrmError, InputError, SolverError
from darrm.problem.decision import allowance
from darrm.show.explore import choices as chosen
from darrm.show.explore import page
from darrm.show.explore.answers import TIME_LIMIT, Answer, Answers, named
from darrm.show.explore.choices import Choices
from darrm.show.explore.serving import design_file, design_table, download, gone, part


def make() -> Blueprint:
    """The routes below /noise/, with caches of their own."""
    pages = Blueprint("noise", __name__, url_prefix="/noise")
    answers = Answers()

    @pages.get("/", endpoint="page")
    def whole() -> tuple[str, int]:
        state = _read()
        design, budget = "", ""
        try:
            if not state.wrong:
                design = _design(answers, state)
                if "budget" in request.args and not state.errors:
                    budget = _budget(answers, state)
        except DarrmError as error:
            _note(state, error)
        return page.explorer(state, design, budget), 400 if state.errors else 200

    @pages.get("/design")
    def design() -> tuple[str | Response, int]:
        state = _read()
        return part(partial(_design, answers), state, state.wrong, _note)

    @pages.get("/budget")
    def budget() -> tuple[str | Response, int]:
        state = _read()
        return part(partial(_budget, answers), state, state.errors, _note)

    @pages.get("/gamma.json")
    def design_json() -> Response:
        answer, name = _wanted(answers)
        return download(design_file(answer.design), f"{name}.json", "application/json")

    @pages.get("/gamma.csv")
    def table() -> Response:
        answer, name = _wanted(answers)
        return download(design_table(answer.design), f"{name}.csv", "text/csv")

    @pages.get("/report.html")
    def report() -> Response:
        from darrm.show.report import html

        answer, name = _wanted(answers)
        return download(html(answer.design).encode(), f"{name}.html", "text/html")

    return pages


def _read() -> Choices:
    return chosen.read(request.args.items(multi=True))


def _note(state: Choices, error: DarrmError) -> None:
    """Put an error that came up on the way beside the control it belongs to."""
    if isinstance(error, SolverError):
        state.errors["solve"] = (
            f"No optimum within {TIME_LIMIT:g} s. Lower K, or use the command line, which takes its time: "
            f"{chosen.solve_command(state.choice) if state.choice else 'darrm solve'}"
        )
        return
    word = str(error).split(" ", 1)[0]
    known = isinstance(error, InputError) and word in chosen.FIRST
    # All that composition refuses once the problem stands is a total delta that is too small.
    slot = {"delta": "total_delta", "No": "total_delta"}.get(word, word if known else "solve")
    state.errors[slot] = str(error)


def _design(answers: Answers, state: Choices) -> str:
    choices = tuple(choice for choice in (state.choice, state.kept) if choice is not None)
    solved = [answers.designs.get(choice, gone()) for choice in choices]
    designs = named([answer.design for answer in solved])
    picture = answers.pictures.get(choices, gone())
    return page.design(state, choices[0], designs, solved[0].entries, picture)


def _budget(answers: Answers, state: Choices) -> str:
    many, choices = state.many, {"present": state.choice, "kept": state.kept}
    if many is None:
        return page.budget(None, {})
    totals = {
        name: (answers.budgets.get((choice, many), gone()), answers.designs.get(choice, gone()).design.problem)
        for name, choice in choices.items()
        if choice is not None
    }
    return page.budget(many, totals)


def _wanted(answers: Answers) -> tuple[Answer, str]:
    """The design that a download asks for, and a name for it."""
    state = _read()
    wrong = {name: message for name, message in state.errors.items() if name in chosen.DESIGN}
    if state.choice is None or wrong:
        raise InputError(" ".join(wrong.values()))
    problem = state.choice.problem
    name = f"gamma_K{problem.K}_m{allowance(problem):g}_epsilon{problem.groups[0].epsilon:g}"
    return answers.designs.get(state.choice, gone()), re.sub(r"[^\w.+-]", "_", name)
