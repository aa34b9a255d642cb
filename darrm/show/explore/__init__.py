"""Local web pages to plan labels and to choose noise: ``darrm explore``.

The page is made on this machine and needs no other: no request leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from darrm.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask

__all__ = ["create_app"]


def create_app(hosts: Sequence[str] | None = ("localhost", "127.0.0.1", "[::1]")) -> Flask:
    """The explorer as a WSGI application.

    Parameters
    ----------
    hosts : sequence of str, optional
        Names that requests may be addressed to; others get status 400, so that no web page elsewhere can reach the
        explorer under a name of its own (DNS rebinding). None allows all.

    Returns
    -------
    flask.Flask
        Its pictures need matplotlib.

    Raises
    ------
    MissingExtraError
        If flask or matplotlib is not installed.

    Examples
    --------
    The first page, as a browser asks for it:

    >>> import darrm
    >>> app = darrm.show.explore.create_app()
    >>> app.test_client().get("/").status
    '200 OK'
    """
    try:
        import flask  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise missing(error) from None
    from darrm.show.explore.app import make

    return make(hosts)


def missing(error: ImportError) -> MissingExtraError:
    """What to install, for a library that was not found."""
    return MissingExtraError(
        f"darrm explore needs {error.name}. Run: pip install flask waitress matplotlib (the extra darrm[web])."
    )
