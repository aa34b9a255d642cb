"""darrm explore"""

from __future__ import annotations

import os
from typing import Any

import click

from darrm.cli import common
from darrm.cli.needed import Command


@click.command("explore", cls=Command, short_help="Serve local web pages to plan labels and to choose noise.")
@common.number("--port", "Port; 0 takes a free one.", default=8000, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--allow-remote", is_flag=True, help="Allow a --host that other machines can reach. There is no password."
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def command(port: Any, host: str, allow_remote: bool, no_browser: bool) -> None:
    """Serve web pages on this machine that plan many labels within one privacy budget.

    Another page shows the design that darrm solve finds for one label: gamma, or a decision by groups of voters.

    The pages need flask, waitress and matplotlib, and load nothing from other machines. Ctrl-C stops the server.
    """
    import logging

    from darrm.show.explore.server import Server

    logging.getLogger("waitress").setLevel(logging.ERROR)  # that requests wait for a moment is no news
    server = Server(host, port, allow_remote=allow_remote)

    def ready(url: str) -> None:
        click.echo(f"darrm explore is at {url} (Ctrl-C stops it)")
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    if server.remote:
        common.note(f"Warning: other machines can reach {server.url}, and there is no password.")
    try:
        server.run(ready)
    except KeyboardInterrupt:
        common.note("Stopped.")
        os._exit(0)  # threads at work would trip over an interpreter that is being taken down, and say so
