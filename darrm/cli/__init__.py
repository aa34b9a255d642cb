"""The command line: ``darrm solve``, ``verify``, ``release``, ``compare``, ``profile``, ``budget``, ``plan`` ....

Exit status 0: done, or the table holds; 1: the answer is no (it does not hold, no design was found, the budget is
spent); 2: unusable input or output; 130: interrupted. Anything wrong is one line on standard error.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import click

from darrm import __version__
from darrm.cli.completion import VARIABLE
from darrm.errors import BudgetError, CertificateError, DarrmError, ImpossiblePriorWarning, SolverError

_NAMES = (
    *("solve", "verify", "release", "compare", "table", "profile", "budget", "plan", "ledger", "report", "explore"),
    *("export", "audit", "demo", "completion"),
)


class _Commands(Mapping[str, click.Command]):
    """The commands by name; each loads when it is looked up, so that none waits for the others."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in _NAMES:
            raise KeyError(name)
        command: click.Command = import_module(f"darrm.cli.{name}").command
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@click.group(
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="darrm")
def app() -> None:
    """Design the noise of private votes: optimal, certified noise functions for private majority voting."""


def main(arguments: Sequence[str] | None = None, program: str = "darrm") -> int:
    """Run the command line and return its exit status; ``program`` is what the user called."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a narrow encoding must not end in an error
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where its cache is, if there is no home, is no news
    with warnings.catch_warnings():
        warnings.simplefilter("always", ImpossiblePriorWarning)
        warnings.showwarning = partial(_show_warning, warnings.showwarning, set())
        return _run(arguments, program)


def _run(arguments: Sequence[str] | None, program: str) -> int:
    try:
        status = app.main(arguments, program, complete_var=VARIABLE, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _say("Interrupted. What was saved before is whole.", 130)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        return _say(f"{error.format_message()} Try '{context.command_path if context else program} --help'.", 2)
    except (SolverError, CertificateError, BudgetError) as error:
        return _say(str(error), 1)
    except DarrmError as error:
        return _say(str(error), 2)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python must not try to flush to it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _say(f"The output could not be written: {error.strerror or error}.", 2)
    except MemoryError:
        return _say("Not enough memory for this problem. Lower K or max_affected.", 2)


def _show_warning(
    otherwise: Callable[..., None], said: set[str], message: Warning | str, category: type[Warning], *where: Any
) -> None:
    """A warning of ours as a line, once; others as Python shows them."""
    if not issubclass(category, ImpossiblePriorWarning):
        otherwise(message, category, *where)
    elif str(message) not in said:
        said.add(str(message))
        _say(str(message), 0)


def _say(message: str, status: int) -> int:
    from darrm.cli.common import in_one_line

    click.echo(f"darrm: {in_one_line(message)}", err=True)
    return status
