"""Which module reads votes from files of a format, and writes labels to them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from darrm.errors import InputError
from darrm.votes import csv, json, parquet


def format_of(path: Path) -> ModuleType:
    """That for the ending of the name; CSV for all that are not known, but LaTeX is refused."""
    if path.suffix.lower() == ".tex":
        raise InputError(f"Votes and labels are CSV, Parquet or JSON, not LaTeX. Got {path}. Pass one of these.")
    return {".parquet": parquet, ".json": json}.get(path.suffix.lower(), csv)
