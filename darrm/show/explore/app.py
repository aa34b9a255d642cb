"""The routes of the explorer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from flask import Flask, Response, redirect, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from darrm.errors import DarrmError
from darrm.show.explore import controls, plan_app, release_app

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

_NOW = {"K": "count1", "epsilon": "epsilon1", "Delta": "delta1"}  # what controls of /noise/ are called now
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\\]+)(:\d+)?")


def make(hosts: Sequence[str] | None) -> Flask:
    """See `darrm.show.explore.create_app`."""
    app = Flask("darrm.show.explore")
    for room in (plan_app, release_app):
        app.register_blueprint(room.make())

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

    @app.get("/noise/")
    @app.get("/decisions/")
    def lead_on() -> AnyResponse:
        """Two pages of one release that there were once; of a decision's no control has its old meaning."""
        of_noise = request.path == "/noise/"
        given = {_NOW.get(name, name): text for name, text in request.args.items()} if of_noise else {}
        return redirect(
            f"{url_for('release.page')}?{urlencode({'known': 'prior' if of_noise else 'accuracy'} | given)}"
        )

    @app.after_request
    def guard(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.get("/voters")
    def voters() -> str:
        return controls.frame("Fresh voters, fixed voters", controls.filled("voters"))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> tuple[str, int]:
        return controls.refused(error.name, error.description), error.code or 500

    @app.errorhandler(DarrmError)
    def failed(error: DarrmError) -> tuple[str, int]:
        return controls.refused("No design", error), 400

    return app
