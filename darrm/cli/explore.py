"""darrm explore"""

from __future__ import annotations

import os
from typing import Any

import click

from darrm.cli import common


@click.command("explore", short_help="Local web pages to plan labels and choose noise by looking.")
@common.number("--port", "0 takes any that is free.", default=8000, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--allow-remote", is_flag=True, help="Let other machines in, if --host does. There is no password.")
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def command(port: Any, host: str, allow_remote: bool, no_browser: bool) -> None:
    """Serve web pages on this machine that plan many labels within one total budget, as you choose.

    Another page shows what darrm solve finds for one label: gamma, or a decision by groups of voters.

    Needs flask, waitress and matplotlib. Nothing is loaded from elsewhere. Ctrl-C ends it.
    """
    import logging

    from darrm.show.explore.server import Server

    logging.getLogger("waitress").setLevel(logging.ERROR)  # that requests wait for a moment is no news
    server = Server(host, port, allow_remote=allow_remote)

    def ready(url: str) -> None:
        click.echo(f"darrm explore is at {url} (Ctrl-C ends it)")
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
