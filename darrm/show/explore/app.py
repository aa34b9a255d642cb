"""The routes of the explorer."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from flask import Flask, Request, Response, jsonify, render_template, request
from werkzeug.exceptions import HTTPException

from darrm import __version__
from darrm.errors import DarrmError, InputError, SolverError
from darrm.show import wording
from darrm.show.explore import choices as chosen
from darrm.show.explore.answers import TIME_LIMIT, Answer, Answers, alternative
from darrm.show.explore.cache import Gone
from darrm.show.explore.choices import Choices

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
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(
        at_least=wording.at_least,
        condition=wording.condition,
        first=chosen.FIRST,
        number=wording.number,
        promise=wording.promise,
        rules=wording.RULES,
        said=wording.said,
        chosen=chosen,
        version=__version__,
    )
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

    @app.get("/")
    def page() -> tuple[str, int]:
        found = _read(request)
        result, total = "", ""
        try:
            if not found.wrong:
                result = _design(answers, found)
                if "budget" in request.args and not found.errors:
                    total = _budget(answers, found)
        except DarrmError as error:
            _note(found, error)
        return render_template("page.html", found=found, result=result, total=total), 400 if found.errors else 200

    @app.get("/design")
    def design() -> tuple[str | Response, int]:
        found = _read(request)
        return _part(_design, answers, found, found.wrong)

    @app.get("/budget")
    def budget() -> tuple[str | Response, int]:
        found = _read(request)
        return _part(_budget, answers, found, found.errors)

    @app.get("/voters")
    def voters() -> str:
        return render_template("voters.html")

    @app.get("/gamma.json")
    def design_file() -> Response:
        answer, name = _wanted(answers)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "gamma.json"
            answer.design.save(path)
            return _download(path.read_bytes(), f"{name}.json", "application/json")

    @app.get("/gamma.csv")
    def table() -> Response:
        answer, name = _wanted(answers)
        lines = ["l,gamma", *(f"{l},{value!r}" for l, value in enumerate(answer.design.gamma.tolist()))]
        return _download("\n".join([*lines, ""]).encode(), f"{name}.csv", "text/csv")

    @app.get("/report.html")
    def report() -> Response:
        from darrm.show.report import html

        answer, name = _wanted(answers)
        return _download(html(answer.design).encode(), f"{name}.html", "text/html")

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> tuple[str, int]:
        return render_template("refused.html", name=error.name, why=error.description), error.code or 500

    @app.errorhandler(DarrmError)
    def failed(error: DarrmError) -> tuple[str, int]:
        return render_template("refused.html", name="No design", why=str(error)), 400

    return app


def _read(of: Request) -> Choices:
    return chosen.read(of.args.items(multi=True))


def _gone() -> Callable[[], bool]:
    """Whether the client of this request went away, as far as the server can tell."""
    found: Callable[[], bool] = request.environ.get("waitress.client_disconnected", lambda: False)
    return found


def _part(
    make_part: Callable[[Answers, Choices], str], answers: Answers, found: Choices, wrong: Mapping[str, str]
) -> tuple[str | Response, int]:
    """A part of the page as HTML, or JSON that says what is wrong by the name of the control."""
    try:
        if not wrong:
            return make_part(answers, found), 200
    except DarrmError as error:
        _note(found, error)
    except Gone:
        return "", 499  # nobody reads it
    return jsonify(errors=found.errors), 400


def _note(found: Choices, error: DarrmError) -> None:
    """Put an error that came up on the way beside the control it belongs to."""
    if isinstance(error, SolverError):
        found.errors["solve"] = (
            f"No optimum within {TIME_LIMIT:g} s. Lower K, or use the command line, which takes its time: "
            f"{chosen.solve_command(found.choice) if found.choice else 'darrm solve'}"
        )
        return
    word = str(error).split(" ", 1)[0]
    named = isinstance(error, InputError) and word in chosen.FIRST
    # All that composition refuses once the problem stands is a total delta that is too small.
    slot = {"delta": "total_delta", "No": "total_delta"}.get(word, word if named else "solve")
    found.errors[slot] = str(error)


def _design(answers: Answers, found: Choices) -> str:
    choices = tuple(one for one in (found.choice, found.kept) if one is not None)
    solved = [answers.design(one, _gone()) for one in choices]
    designs = [answer.design for answer in solved]
    return render_template(
        "design.html",
        found=found,
        answer=solved[0],
        kept=solved[1] if len(solved) > 1 else None,
        picture=answers.picture(choices, _gone()),
        alternative=alternative(designs),
    )


def _budget(answers: Answers, found: Choices) -> str:
    totals = []
    if found.many is not None:
        choices = {"present": found.choice, "kept": found.kept}
        totals = [(name, answers.budget(one, found.many, _gone())) for name, one in choices.items() if one is not None]
    return render_template("budget.html", found=found, totals=totals)


def _wanted(answers: Answers) -> tuple[Answer, str]:
    """The design that a download asks for, and a name for it."""
    found = _read(request)
    wrong = {name: text for name, text in found.errors.items() if name in chosen.DESIGN}
    if found.choice is None or wrong:
        raise InputError(" ".join(wrong.values()))
    problem = found.choice.problem
    name = f"gamma_K{problem.K}_m{problem.m:g}_epsilon{problem.epsilon:g}"
    return answers.design(found.choice, _gone()), re.sub(r"[^\w.+-]", "_", name)


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, mimetype=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
