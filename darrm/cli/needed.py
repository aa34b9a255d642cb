"""What a command needs and was not given: all of it, so that nobody runs a command once for each option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import click
from click.core import ParameterSource

from darrm.errors import DarrmError

Given = Mapping[str, Any]  # what was typed, by the names of parameters


class Command(click.Command):
    """A command that needs more than the options that it always requires: ``also`` tells what of that is missing."""

    def __init__(self, *arguments: Any, also: Callable[[Given], list[str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.also = also

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        rest = super().parse_args(context, arguments)
        several = [] if context.resilient_parsing else missing(context)
        if len(several) > 1:  # what is missing alone has an error of its own, which says more
            raise click.UsageError(said(several), context)
        return rest


def missing(context: click.Context) -> list[str]:
    """What a command needs and was not given; click has read all that was given before it misses something."""
    typed = {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    command = context.command
    always = [one.get_error_hint(context) for one in command.params if one.required and one.name not in typed]
    if isinstance(command, Command):
        with suppress(DarrmError):  # of a value that is wrong: it has its own error, when nothing is missing
            return [*always, *command.also(typed)]
    return always


def said(several: list[str]) -> str:
    """The error for several that are missing."""
    return f"Missing {', '.join(several[:-1])} and {several[-1]}."
