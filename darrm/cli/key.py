"""darrm key"""

from __future__ import annotations

from pathlib import Path

import click

from darrm.cli import common
from darrm.cli.needed import Command


@click.command("key", cls=Command, short_help="Make a key for randomness by key.")
@click.argument("file", type=common.PATH)
@common.json_option
def command(file: Path, as_json: bool) -> None:
    """Write a new random key to FILE, which only its owner can read, for darrm release --key.

    The key is never printed, and a file that exists is never replaced.
    """
    from darrm.mechanisms.label_key import LabelKey

    LabelKey.create(file)
    if as_json:
        common.print_json({"out": str(file)})
    common.note(
        f"Wrote a new key to {file}. Keep it as secret as the votes: with it anyone can test which votes a label "
        "agrees with. Use it for one ledger, and delete it when no release will be repeated."
    )
