"""How a command ends: an exit status and a code for each way, in one table, and what --json prints then."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click

from darrm.cli import needed
from darrm.errors import (
    BudgetError,
    CertificateError,
    DarrmError,
    ExistsError,
    MissingExtraError,
    OutputError,
    PartyError,
    RepeatedIdError,
    SolverError,
)

TRACEBACK = "DARRM_TRACEBACK"  # the environment variable that lets a defect print its traceback


class Ending(NamedTuple):
    """A way to end, of which several may share a status."""

    status: int
    code: str
    meaning: str


DONE = Ending(0, "done", "Done. All verified claims hold.")
NOT_HELD = Ending(1, "not-held", "A guarantee does not hold, or cannot be certified.")
BAD_INPUT = Ending(2, "bad-input", "An option, a value or a file is unusable as given. The same command fails again.")
NO_FILE = Ending(2, "no-file", "A file is not there: votes that have not arrived yet, or a lost ledger or design.")
EXISTS = Ending(2, "exists", "Labels or a ledger exist already at that path. Nothing was changed.")
BUDGET_SPENT = Ending(3, "budget-spent", "The remaining budget does not cover it. Nothing was released or charged.")
NO_DESIGN = Ending(
    4, "no-design", "The solver or a time limit ended the search without a design, or a row of a table has no design."
)
NOT_WRITTEN = Ending(5, "not-written", "An output could not be written, such as on a full disk.")
NO_MEMORY = Ending(5, "no-memory", "The memory of this machine does not suffice.")
NO_LIBRARY = Ending(5, "no-library", "An optional library is not installed. The message says how to install it.")
SYSTEM = Ending(5, "system", "The operating system refused something else, such as one more open file.")
REPEATED = Ending(
    6, "charged-before", "An id was charged before, so its row has a label. Nothing was released or charged."
)
PARTY = Ending(
    7,
    "party-stopped",
    "Another party of a release over shares stopped or has something else. The message says whether labels of its "
    "block may be open.",
)
DEFECT = Ending(70, "defect", "darrm itself failed. Please report it.")
INTERRUPTED = Ending(130, "interrupted", "Interrupted, such as by Ctrl-C.")
ENDINGS = (
    *(DONE, NOT_HELD, BAD_INPUT, NO_FILE, EXISTS, BUDGET_SPENT, NO_DESIGN),
    *(NOT_WRITTEN, NO_MEMORY, NO_LIBRARY, SYSTEM, REPEATED, PARTY, DEFECT, INTERRUPTED),
)
_OPTIONS = {"sigma": "noisy_max"}  # arguments whose option has another name
_MOST_MEANT = 3  # options that an unknown one can stand for
# The first that fits counts.
_OF_ERRORS: Sequence[tuple[type[BaseException], Ending]] = (
    (click.Abort, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (click.ClickException, BAD_INPUT),
    (RepeatedIdError, REPEATED),
    (ExistsError, EXISTS),
    (CertificateError, NOT_HELD),
    (BudgetError, BUDGET_SPENT),
    (PartyError, PARTY),
    (SolverError, NO_DESIGN),
    (OutputError, NOT_WRITTEN),
    (MissingExtraError, NO_LIBRARY),
    (DarrmError, BAD_INPUT),
    (MemoryError, NO_MEMORY),
    (OSError, SYSTEM),
)


class Run:
    """One run of the command line: whether --json asks for one object on standard output, and whether it is there."""

    def __init__(self, arguments: Sequence[str]) -> None:
        # As long as no command has read its options, and if it cannot, the word alone counts.
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        self.as_json, self.log_json = "--json" in options, "--log-json" in options
        self.printed = False

    def check(self, arguments: Sequence[str]) -> None:
        """Refuse to mix another output with the one object."""
        for word in arguments if self.as_json else ():
            if _is_standard_output(word.rpartition("=")[2]):
                raise click.UsageError(f"--json prints on standard output, and that is {word}. Pass another path.")

    def say(self, message: str, event: str = "note", **values: object) -> None:
        """A line on standard error; with --log-json an object with the time, the event and further values."""
        if not self.log_json:
            click.echo(message, err=True)
        elif message:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            plain = message.rstrip("\n").removeprefix("darrm: ")  # as in what --json prints
            click.echo(json.dumps({"time": now, "event": event, **values, "message": plain}), err=True)

    def print(self, values: Mapping[str, object]) -> None:
        """Print the one object; infinities are null."""
        from darrm.storage.sealed_json import finite

        text = json.dumps(finite(dict(values)), allow_nan=False)
        if sys.stdout is None:
            raise OutputError("Standard output is closed, so --json has nowhere to print. Send it to a file or a pipe.")
        self.printed = True
        click.echo(text)


def _is_standard_output(path: str) -> bool:
    """Whether a path means what standard output goes to, unless that is what swallows all, such as /dev/null."""
    with suppress(OSError, ValueError):
        now = os.fstat(1)
        swallows = stat.S_ISCHR(now.st_mode) and not os.isatty(1)
        return os.path.samestat(os.stat(path), now) and not swallows
    return False


def current() -> Run:
    """The run of the command that is at work."""
    context = click.get_current_context(silent=True)
    run = None if context is None else context.obj
    return run if isinstance(run, Run) else Run(())


def answered(values: Mapping[str, object], ending: Ending) -> dict[str, object]:
    """What a command found, with how it ends."""
    return {**values, "status": ending.status, "code": ending.code}


def error_object(ending: Ending, message: str) -> dict[str, object]:
    """What --json prints in place of a result."""
    return {"error": {"code": ending.code, "status": ending.status, "message": message}}


def ended_by(error: BaseException, program: str, command: str) -> tuple[Ending, str]:
    """How an error ends a command, and what is said of it; ``command`` is the program with the words of commands."""
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
        error = error.__cause__  # click takes it for the end of what is typed, and no command asks for that
    ending = next((ending for kind, ending in _OF_ERRORS if isinstance(error, kind)), DEFECT)
    if ending is BAD_INPUT and isinstance(error.__cause__, FileNotFoundError):
        ending = NO_FILE
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        said = error.format_message()
        if isinstance(error, click.NoSuchOption) and context is not None:
            others = meant(error.option_name, context.command)
            of = [] if others else _having(error.option_name, context)
            others = others or list(error.possibilities or ())[:1]
            hint = f" Commands that have it: {', '.join(of)}." if of else f" Did you mean {' or '.join(others)}?"
            said = f"No such option {error.option_name}.{hint}" if of or others else said
        if isinstance(error, click.MissingParameter) and context is not None:
            several = needed.missing(context)
            said = needed.said(several) if len(several) > 1 else said
        stop = "" if said.endswith((".", "?", "?)")) else "."
        return ending, f"{said}{stop} Try '{context.command_path if context else command} --help'."
    # The library does not know how it was called.
    return ending, re.sub(r"(?<=[Rr]un: )darrm(?= )", program, _messages(error).get(ending, str(error)))


def with_option(message: str, command: click.Command, arguments: Sequence[str]) -> str:
    """A message of the library that begins with the name of an argument, with the option in its place that was typed.

    An option can have a shorter or a longer name than the argument: --total-delta of darrm budget is delta. If the
    value is another than what was typed, it came from elsewhere, such as a file.
    """
    name, must, rest = message.partition(" must be ")
    got = re.search(r"Got (.*?)\.(?= |$)", rest)
    if got is None:
        return message
    given = {}
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        given[flag] = value if equals else following
    typed: dict[str, str] = {}
    for option in (one for one in command.params if isinstance(one, click.Option)):
        for flag in option.opts:
            if flag in given and _values(given[flag]) == _values(got[1]):
                typed |= dict.fromkeys({option.name or "", flag.lstrip("-").replace("-", "_")}, flag)
    near = {flag for own, flag in typed.items() if own.endswith(f"_{name}") or name.endswith(f"_{own}")}
    found = typed.get(_OPTIONS.get(name, name)) or (near.pop() if len(near) == 1 else name)
    return f"{found}{must}{rest}"


def _values(text: str) -> list[str]:
    """A value, or several with commas between, whether as typed or as in a message."""
    text = text.removesuffix(" (not a number)").strip("'[]()")
    found = []
    for part in text.split(","):
        try:
            found.append(str(float(part)))
        except ValueError:
            found.append(part.strip(" '"))
    return found


def meant(typed: str, command: click.Command) -> list[str]:
    """The options of a command that an unknown one can stand for, by the first rule that finds one; at most three.

    These are another case or order of words, or _ for -; what was not typed to its end; that behind a further word, and
    more than one; that without a word typed before it.
    """
    options = [option for one in command.params if isinstance(one, click.Option) for option in one.opts]
    word, names = _plain(typed), {option: _plain(option) for option in options}
    for fits in (
        lambda name: sorted(name.split("-")) == sorted(word.split("-")),
        lambda name: name.startswith(word),
        lambda name: f"-{word}" in name,
        lambda name: len(name) > 1 and word.startswith(name),
        lambda name: word.endswith(f"-{name}"),
    ):
        found = [option for option, name in names.items() if fits(name)]
        if found:
            return sorted(found, key=len)[:_MOST_MEANT]
    return []


def _having(typed: str, context: click.Context) -> list[str]:
    """The commands that have an option, which then is not one of this command in another spelling."""
    root = context.find_root().command
    every = root.commands.items() if isinstance(root, click.Group) else ()
    return [name for name, one in every if any(typed in param.opts for param in one.params)]


def _plain(option: str) -> str:
    return option.lstrip("-").lower().replace("_", "-")


def _messages(error: BaseException) -> dict[Ending, str]:
    """What is said where the error itself was not made for readers."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return {
        INTERRUPTED: "Interrupted. What was saved before is whole.",
        NO_MEMORY: "The memory of this machine does not suffice for this. Make it smaller (fewer voters, classes, "
        "labels or rows), or run it where there is more.",
        SYSTEM: f"The operating system refused what darrm needs: {reason}{_file_of(error)}.",
        DEFECT: f"This is a defect of darrm, not of your input: {type(error).__name__}: {error} ({_place(error)}). "
        f"Please report it, with the command and what it prints if {TRACEBACK}=1 is set, but without votes of real "
        "people.",
    }


def _file_of(error: BaseException) -> str:
    name = getattr(error, "filename", None)
    return "" if name is None else f": {name}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "no place known"


def trace(error: BaseException) -> str:
    """The traceback of a defect, if the environment asks for it."""
    return "".join(traceback.format_exception(error)) if os.environ.get(TRACEBACK) not in (None, "", "0") else ""
