"""The routes of the explorer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from darrm.errors import DarrmError, InputError, SolverError
from darrm.show.explore import choices as chosen
from darrm.show.explore import controls, decision_app, page
from darrm.show.explore.answers import TIME_LIMIT, Answer, Answers, named
from darrm.show.explore.choices import Choices
from darrm.show.explore.serving import design_file, download, gone, part

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\\]+)(:\d+)?")


def make(hosts: Sequence[str] | None) -> Flask:
    """See `darrm.show.explore.create_app`."""
    app = Flask("darrm.show.explore")
    app.register_blueprint(decision_app.make())
    answers = Answers()

    @app.before_request
    def refuse_others() -> Response | None:
        name = _HOST.fullmatch(request.headers.get("Host", ""))
        if hosts is not None and (name is None or name.group(1).lower() not in hosts):
            return Response(
                "This page answers only at the address that darrm explore printed.\n", 400, mimetype="text/plain"
            )
        # Browsers say where a request comes from; a page elsewhere has no business with this one but to link to it.
        cross = request.headers.get("Sec-Fetch-Site") == "cross-site"
        if cross and request.headers.get("Sec-Fetch-Mode") != "navigate":
            return Response("This page answers to itself only.\n", 403, mimetype="text/plain")
        return None

    @app.after_request
    def guard(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.get("/", endpoint="page")
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

    @app.get("/design")
    def design() -> tuple[str | Response, int]:
        state = _read()
        return part(partial(_design, answers), state, state.wrong, _note)

    @app.get("/budget")
    def budget() -> tuple[str | Response, int]:
        state = _read()
        return part(partial(_budget, answers), state, state.errors, _note)

    @app.get("/voters")
    def voters() -> str:
        return page.voters()

    @app.get("/gamma.json")
    def design_json() -> Response:
        answer, name = _wanted(answers)
        return download(design_file(answer.design), f"{name}.json", "application/json")

    @app.get("/gamma.csv")
    def table() -> Response:
        answer, name = _wanted(answers)
        lines = ["l,gamma", *(f"{l},{value!r}" for l, value in enumerate(answer.design.gamma.tolist()))]
        return download("\n".join([*lines, ""]).encode(), f"{name}.csv", "text/csv")

    @app.get("/report.html")
    def report() -> Response:
        from darrm.show.report import html

        answer, name = _wanted(answers)
        return download(html(answer.design).encode(), f"{name}.html", "text/html")

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> tuple[str, int]:
        return controls.refused(error.name, error.description), error.code or 500

    @app.errorhandler(DarrmError)
    def failed(error: DarrmError) -> tuple[str, int]:
        return controls.refused("No design", error), 400

    return app


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
        name: answers.budgets.get((choice, many), gone()) for name, choice in choices.items() if choice is not None
    }
    return page.budget(many, totals)


def _wanted(answers: Answers) -> tuple[Answer, str]:
    """The design that a download asks for, and a name for it."""
    state = _read()
    wrong = {name: message for name, message in state.errors.items() if name in chosen.DESIGN}
    if state.choice is None or wrong:
        raise InputError(" ".join(wrong.values()))
    problem = state.choice.problem
    name = f"gamma_K{problem.K}_m{problem.m:g}_epsilon{problem.epsilon:g}"
    return answers.designs.get(state.choice, gone()), re.sub(r"[^\w.+-]", "_", name)
