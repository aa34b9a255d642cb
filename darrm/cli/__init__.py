"""The command line: ``darrm solve``, ``verify``, ``release``, ``compare``, ``profile``, ``budget``, ``plan`` ....

How a command ends is in `darrm.cli.endings`. Anything wrong is one line on standard error, and with --json one object
on standard output too.
"""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, cast

import click

from darrm import __version__
from darrm.cli.completion import VARIABLE
from darrm.cli.endings import BAD_INPUT, DEFECT, DONE, Run, current, ended_by, error_object, trace, with_option
from darrm.cli.long_run import telling
from darrm.cli.streams import kept_streams
from darrm.errors import ImpossiblePriorWarning, OutputError, RecoveredLabelsWarning, in_one_line

_NAMES = (
    *("solve", "verify", "release", "release-shared", "compare", "table", "profile", "budget", "plan", "ledger"),
    *("report", "explore", "key", "constraints", "export", "audit", "demo", "completion"),
)

_OURS = (ImpossiblePriorWarning, RecoveredLabelsWarning)  # printed as lines of their own, always
_UNTIL_INTERRUPTED = ("explore",)  # and never done


class _Commands(Mapping[str, click.Command]):
    """The commands by name; each loads when it is looked up, so that none waits for the others."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in _NAMES:
            raise KeyError(name)
        command: click.Command = import_module(f"darrm.cli.{name.replace('-', '_')}").command
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@click.group(
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 a guarantee does not hold, 2 bad input, 3 the privacy budget is spent, 4 no design "
    "was found, 5 an output cannot be written or memory or a library is missing, 6 an id was charged before, 7 another "
    "party stopped, 70 a defect of darrm, 130 interrupted.",
)
@click.version_option(__version__, prog_name="darrm")
@click.pass_context
def app(context: click.Context) -> None:
    """Design optimal and certified noise for differentially private majority votes."""
    if context.invoked_subcommand not in _UNTIL_INTERRUPTED:
        context.with_resource(telling(str(context.invoked_subcommand)))


def main(arguments: Sequence[str] | None = None, program: str = "darrm") -> int:
    """Run the command line and return its exit status; ``program`` is what the user called."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a narrow encoding must not end in an error
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where its cache is, if there is no home, is no news
    with kept_streams(), warnings.catch_warnings():
        for ours in _OURS:
            warnings.simplefilter("always", ours)
        warnings.showwarning = partial(_show_warning, warnings.showwarning, set())
        return _run(sys.argv[1:] if arguments is None else arguments, program)


def _run(arguments: Sequence[str], program: str) -> int:
    run = Run(arguments)
    try:
        run.check(arguments)
        status = app.main(arguments, program, complete_var=VARIABLE, standalone_mode=False, obj=run)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else DONE.status
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return BAD_INPUT.status
    except (Exception, KeyboardInterrupt) as error:
        called, command = _command_of(arguments, program)
        ending, message = ended_by(error, program, called)
        if ending is BAD_INPUT and not isinstance(error, click.ClickException):
            message = with_option(message, command, arguments)
        if ending is DEFECT and trace(error):
            run.say(trace(error).rstrip("\n"), "traceback")
        _say(run, message, "error", code=ending.code, status=ending.status)
        if run.as_json and not run.printed:
            with suppress(OutputError):  # which is then what was said already
                run.print(error_object(ending, message))
        return ending.status


def _command_of(arguments: Sequence[str], program: str) -> tuple[str, click.Command]:
    """The program with the commands that the first words name, and the last one of them.

    An error in how an option is written does not know it.
    """
    path, command = [program], cast(click.Command, app)
    for word in arguments:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        path, command = [*path, word], command.commands[word]
    return " ".join(path), command


def _show_warning(
    otherwise: Callable[..., None], said: set[str], message: Warning | str, category: type[Warning], *where: Any
) -> None:
    """A warning of ours as a line, once; others as Python shows them."""
    if not issubclass(category, _OURS):
        otherwise(message, category, *where)
    elif str(message) not in said:
        said.add(str(message))
        _say(current(), str(message), "warning")


def _say(run: Run, message: str, event: str, **values: object) -> None:
    run.say(f"darrm: {in_one_line(message)}", event, **values)
