"""What the routes of several pages share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from flask import Blueprint, Response, jsonify, request

from darrm.design.design import Design
from darrm.errors import DarrmError
from darrm.show.explore.cache import Gone

TIME_LIMIT = 20.0  # seconds for the search of each optimum, of each plan and of each comparison


class State(Protocol):
    """A query string, read; what is wrong by the name of the control."""

    errors: dict[str, str]


S = TypeVar("S", bound=State)


def gone() -> Callable[[], bool]:
    """Whether the client of this request went away, as far as the server can tell."""
    disconnected: Callable[[], bool] = request.environ.get("waitress.client_disconnected", lambda: False)
    return disconnected


def part(
    make: Callable[[S], str], state: S, wrong: object, note: Callable[[S, DarrmError], None]
) -> tuple[str | Response, int]:
    """A part of a page as HTML, or JSON that says what is ``wrong`` by the name of the control.

    ``note`` puts an error that comes up on the way beside the control it belongs to.
    """
    try:
        if not wrong:
            return make(state), 200
    except DarrmError as error:
        note(state, error)
    except Gone:
        return "", 499  # nobody reads it
    return jsonify(errors=state.errors), 400


def download(content: bytes, name: str, kind: str) -> Response:
    """A file to keep."""
    return Response(content, mimetype=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def offer(pages: Blueprint, wanted: Callable[[], tuple[Design, str]]) -> None:
    """The files of a page's design: what `save` and `to_csv` of it write, and its report; ``wanted`` names them."""

    @pages.get("/design.json")
    def design_json() -> Response:
        design, name = wanted()
        return download(_written(design.save), f"{name}.json", "application/json")

    @pages.get("/design.csv")
    def table() -> Response:
        design, name = wanted()
        return download(_written(design.to_csv), f"{name}.csv", "text/csv")

    @pages.get("/report.html")
    def report() -> Response:
        from darrm.show.report import html

        design, name = wanted()
        return download(html(design).encode(), f"{name}.html", "text/html")


def _written(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design"
        write(path)
        return path.read_bytes()
