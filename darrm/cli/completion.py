"""darrm completion"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from darrm.cli.needed import Command

VARIABLE = "_DARRM_COMPLETE"  # the scripts set it, and the command line then answers with words
_SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion", cls=Command, short_help="Let the Tab key complete commands, options and files.")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
def command(shell: str) -> None:
    """Print the script that lets a shell complete darrm with the Tab key.

    \b
    bash   add to ~/.bashrc:   eval "$(darrm completion bash)"
    zsh    add to ~/.zshrc:    eval "$(darrm completion zsh)"
    fish   darrm completion fish > ~/.config/fish/completions/darrm.fish
    """
    app = click.get_current_context().find_root().command
    click.echo(_SHELLS[shell](app, {}, "darrm", VARIABLE).source())
