"""What the routes of several pages share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from flask import Response, jsonify, request

from darrm.errors import DarrmError
from darrm.show.explore.cache import Gone


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


def design_file(design: Any) -> bytes:
    """What `save` of a design writes."""
    return _written(design.save)


def design_table(design: Any) -> bytes:
    """What `to_csv` of a design writes."""
    return _written(design.to_csv)


def _written(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design"
        write(path)
        return path.read_bytes()
