"""Where commands write designs and tables of them: an ending means its format, or is refused before the work."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm._validation import path as check_path
from darrm.errors import DarrmError, ExistsError, InputError, RepeatedIdError, in_one_line
from darrm.storage.atomic import check_place, is_device
from darrm.storage.frames import FORMATS, TABLES, ending_of, pyarrow, table_format
from darrm.storage.kinds import kind_of
from darrm.storage.postgres import is_url

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import Noisy


def refuse_ledger(out: Path) -> None:
    """Refuse to write over a ledger: what was spent would be known nowhere."""
    if kind_of(out) in ("ledger", "old ledger"):
        raise InputError(f"{out} is a ledger, and its charges would be lost. Pass another --out.")


def is_taken(out: Path) -> bool:
    """Whether labels would replace a file."""
    return not is_device(out) and out.exists()


def why_taken(
    out: Path, rule: str, ledger: Ledger | None, made: Design | Noisy, rows: Iterable[tuple[Any, bytes]], *, again: bool
) -> InputError:
    """The refusal of labels where a file stands: that their rows have labels, if the ledger knows their ids.

    A job that runs a second time so learns that it was done. ``rows`` are ids, None if there are none, and tags by key.
    """
    if ledger is not None:
        from darrm.accounting.ledger_ids import Batch

        try:
            with closing(Batch()) as batch:
                for ids, tags in rows:
                    batch.add(() if ids is None else ids, tags)
                if len(batch):
                    ledger.check(made, len(batch), ids=batch, again=again)
        except RepeatedIdError as error:
            return RepeatedIdError(f"{out} exists already. {error}")
        except DarrmError:  # the labels that are there come first
            pass
    return ExistsError(f"{out} exists already. Pass another --out, or --overwrite to replace it.{rule}")


class AnyPath(click.Path):
    """The path of a file. A single minus would be a file of that name, which nobody means."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if value == "-":
            raise InputError("- is not a path here. Pass the path of a file; /dev/stdin and /dev/stdout are paths too.")
        return super().convert(check_path("path", value), param, context)


class Out(AnyPath):
    """Where to write; an ending that stands for a format that is not ``written`` is refused before the work."""

    def __init__(self, what: str, *written: str) -> None:
        super().__init__(path_type=Path, readable=False)
        self.what, self.written = what, written

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if context is not None and context.resilient_parsing:  # a line that is being completed
            return super().convert(value, param, context)
        ending = ending_of(value)
        if ending in FORMATS and ending not in self.written:
            raise InputError(f"{self.what} Got --out {value}.")
        if ending == "parquet":
            pyarrow()
        refuse_ledger(Path(value))
        check_place(value)
        return super().convert(value, param, context)


class LedgerPlace(AnyPath):
    """The path of a ledger, or the URL of a server."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        return value if is_url(str(value)) else super().convert(value, param, context)


class AnyOut(AnyPath):
    """Where to write, whatever its ending."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if context is None or not context.resilient_parsing:
            refuse_ledger(Path(value))
            check_place(value)
        return super().convert(value, param, context)


class AnalysisTable(AnyOut):
    """Where to write a table for analysis."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if context is None or not context.resilient_parsing:
            table_format(value)
        return super().convert(value, param, context)


FOR_ANALYSIS = "a table for analysis. Nothing can be released from it: design files are JSON."
LEDGER = LedgerPlace(path_type=Path, readable=False)
CSV = AnyOut(path_type=Path, readable=False)
TABLE = AnalysisTable(path_type=Path, readable=False)
DESIGN = Out("A design file is JSON: name it .json, then darrm export makes a table of it.", "json")


def replaces(out: Path | None) -> str:
    """What to say after a write, if a file stood there: it may have been the design of released labels."""
    return f"{out} is in the place of an earlier file." if out is not None and out.is_file() else ""


def is_design_file(out: Path) -> bool:
    """Whether a design goes to a file of its own there, and not to a table for analysis."""
    return ending_of(out) not in TABLES


def keep(out: Path | None, design: Design) -> None:
    """Write a design where it is wanted, as its file or as a table for analysis."""
    if out is None:
        return
    if is_design_file(out):
        design.save(out)
    else:
        from darrm.storage.frames import write

        write(out, design.columns(), design.about)


def kept(out: Path | None, design: Design) -> None:
    """Say what `keep` wrote, and what of the user's it holds."""
    if out is not None:
        wrote = f"Wrote {out}." if is_design_file(out) else f"Wrote {out}, {FOR_ANALYSIS}"
        click.echo(in_one_line(wrote), err=True)
        say_held(out, design)


def say_held(out: Path, design: Design) -> None:
    """Say which figures of the user's the file of a design holds, in all digits."""
    held = design.objective.held
    if held:
        said = f"{out} holds {held} exactly. Publish it only if they come from elsewhere than these votes or records."
        click.echo(in_one_line(said), err=True)
