"""The kind of a file by its first lines, for errors that name the kind and the command that reads it."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

from darrm.errors import InputError

_HEAD = 1 << 16
_KINDS = {  # what it is, and what to do with it; {file} stands for its name in a command
    "design": ("a design file", "Run: darrm verify {file}"),
    "ledger": ("a ledger", "Run: darrm ledger show {file}"),
    "old ledger": ("a ledger of an earlier darrm, in JSON", "Run: darrm ledger import {file} ledger.db"),
    "mechanism": (
        "a file of noisy max",
        "It has no table of probabilities. In Python read it by darrm.mechanisms.{mechanism}.load. For what its labels "
        "cost, run: darrm budget {file} --queries N --total-delta D",
    ),
    "journal": ("the journal of a table", "Run the darrm table that it is of again, which goes on from it."),
    "table": ("a table of designs", "Run: darrm verify {file}"),
    "foreign": (
        "a file of numbers that darrm did not write",
        "Pass the numbers of each table to darrm.verify in Python.",
    ),
    "problems": ("a file of problems", "Run: darrm table --problems {file} --out table.csv"),
    "export": ("a table for analysis", "Nothing can be released from it."),
    "votes": ("a file of votes", "Pass it as --votes: darrm release gamma.json --votes {file} --out labels.csv"),
    "labels": ("a file of released labels", "No command reads one."),
    "audit": ("a table of an audit", "No command reads one."),
    "latex": ("a table in LaTeX", "No command reads one."),
    "page": ("a page of HTML", "Open it in a browser."),
    "picture": ("a picture", ""),
}
RELEASES = {kind: _KINDS[kind][0] for kind in ("design", "mechanism")}  # what releases labels
_NUMBER = re.compile(r"[\d.]+(e-?\d+)?")
_VOTES = {"0", "1", "-1", ""}


def check_kind(path: Path, expected: str) -> None:
    """`InputError` if the file is clearly of another kind than ``expected``, one of "design", "ledger", "table", ...

    For use where a file could not be read. It says nothing of a file that is missing, or of no kind of darrm's.
    """
    kind = kind_of(path)
    if kind is None or kind == expected or (kind, expected) == ("foreign", "votes"):  # numbers without a header
        return
    (what, hint), (wanted, _) = _KINDS[kind], _KINDS[expected]
    if kind == "design" and path.suffix.lower() != ".json":
        hint = "Rename it: design files end in .json."
    elif kind == "table" and path.suffix.lower() not in (".csv", ".jsonl", ".parquet"):
        hint = "Rename it: tables end in .csv, .jsonl or .parquet."
    elif "darrm" not in hint:  # no command that reads it
        hint = f"{hint} Pass {wanted}.".lstrip()
    elif expected in ("votes", "ledger") and kind != "old ledger" and hint.startswith("Run: "):
        # Given beside a design, so another file was meant, rather than another command.
        hint = f"Pass {wanted}. To look at this file, run: {hint[5:]}"
    hint = hint.format(file=shlex.quote(str(path)), mechanism=_mechanism(path) if kind == "mechanism" else "")
    raise InputError(f"{path} is {what}, not {wanted}. {hint}") from None


def _mechanism(path: Path) -> str:
    """The class that a file of noisy max names."""
    checked = re.search(rb'"mechanism":\s*"ConfidentNoisyMax"', _head(path) or b"")
    return "ConfidentNoisyMax" if checked else "GaussianNoisyMax"


def _head(path: Path) -> bytes | None:
    try:
        if not path.is_file():  # a pipe has no beginning to look at again
            return None
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return None


def kind_of(path: Path) -> str | None:
    """The kind of a file, None if it is missing or of no kind that darrm writes or reads."""
    head = _head(path)
    if head is None:
        return None
    if head.startswith(b"PAR1"):
        return _of_parquet(path)
    if head.startswith(b"SQLite format 3\0"):
        return "ledger" if head[68:72] == b"dARM" else None
    if head.startswith((b"\x89PNG", b"%PDF")):
        return "picture"
    return _of_text(head.decode("utf-8-sig", "replace").lstrip())


def _of_text(head: str) -> str | None:
    start = head[:400].lower()
    if re.match(r"(%[^\n]*\n)*\\begin\{tabular\}", head):
        return "latex"
    if start.startswith("<"):
        return "picture" if "<svg" in start else "page" if "<html" in start else None
    if head.startswith("{"):
        formats = re.match(r'\{\s*"format":\s*"darrm-(design|ledger|journal|mechanism)"', head)
        if formats:
            return "old ledger" if formats[1] == "ledger" else formats[1]
        names = {*re.findall(r'"(\w+)":', head)}
        return "table" if {"needed_delta", "failure"} <= names else "foreign" if "gamma" in names else None
    if re.match(r"\[[\s\[]*[\d.]", head):
        return "foreign"
    if head.startswith("["):
        keys = re.findall(r'"((?:[^"\\]|\\.)*)": ', head[: head.find("}")])
        return _of_columns(keys, None)
    lines = csv.reader(head.splitlines()[:2])
    try:
        header, cells = next(lines, []), next(lines, None)
    except csv.Error:
        return None
    return _of_columns([name.strip() for name in header], cells)


def _of_columns(names: list[str], cells: list[str] | None) -> str | None:
    """The kind of a table by the names of its columns, and perhaps its first row."""
    found = set(names)
    if {"needed_delta", "failure"} <= found:
        return "table"
    if {"K", "gamma"} <= found:
        return "foreign"
    if {"K", "m", "epsilon"} <= found or {"groups", "total_epsilon", "accuracy"} <= found:
        return "problems"
    if sum(name.startswith("probability_") for name in names) > 1 and names[0].startswith(
        ("ones", "present", "votes_")
    ):
        return "export"
    if names == ["id", "label"]:
        return "labels"
    if {"mechanism", "additive_advantage"} <= found:
        return "audit"
    if cells is not None and len(cells) == len(names):
        votes = cells[names[0] == "id" : len(cells) - (names[-1] == "label")]
        if votes and {cell.strip() for cell in votes} <= _VOTES:
            return "votes"
    return "foreign" if names and all(_NUMBER.fullmatch(name) for name in names) else None


def _of_parquet(path: Path) -> str | None:
    try:
        import pyarrow
        import pyarrow.parquet

        names = pyarrow.parquet.read_schema(path).names
    except ImportError:
        return None
    except (OSError, ValueError, pyarrow.ArrowException):  # a name in it may be no UTF-8
        return None
    return _of_columns(list(names), None) or ("votes" if names else None)
