"""What a command needs and was not given, all of it, so that nobody runs it once for each option; what came twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import click
from click.core import ParameterSource

from darrm.errors import DarrmError

Given = Mapping[str, Any]  # what was typed, by the names of parameters


class Command(click.Command):
    """A command of darrm, which takes an option once, or any number of times.

    It may need more than the options that it always requires: ``also`` tells what of that is missing.
    """

    def __init__(self, *arguments: Any, also: Callable[[Given], list[str]] = lambda given: [], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.also = also

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        typed = list(arguments)  # click takes its words away
        rest = super().parse_args(context, arguments)
        if not context.resilient_parsing:
            self._refuse_twice(context, typed)
        several = [] if context.resilient_parsing else missing(context)
        if len(several) > 1:  # what is missing alone has an error of its own, which says more
            raise click.UsageError(said(several), context)
        return rest

    def _refuse_twice(self, context: click.Context, typed: list[str]) -> None:
        """`UsageError` if an option comes twice that takes one value, of which click would keep the last alone."""
        once = [one for one in self.params if isinstance(one, click.Option) and not (one.multiple or one.is_flag)]
        parser = self.make_parser(context)
        for option in once:
            parser.add_option(option, option.opts, option.name, action="append", nargs=option.nargs)
        given, _, _ = parser.parse_args(typed)
        for option in once:
            *others, last = [str(value) for value in given.get(option.name or "", [])] or [""]
            if others:
                times = "twice" if len(others) == 1 else f"{len(others) + 1} times"
                raise click.UsageError(
                    f"{' or '.join(option.opts)} is given {times}: {', '.join(others)} and {last}. Give it once.",
                    context,
                )


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
