"""Which module reads votes from files of a format, and writes labels to them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from darrm.votes import csv, json, parquet


def format_of(path: Path) -> ModuleType:
    """That for the ending of the name; CSV for all that are not known."""
    return {".parquet": parquet, ".json": json}.get(path.suffix.lower(), csv)
