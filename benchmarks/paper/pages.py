"""Tables and pictures for the documentation, shared by the scripts beside this file."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from darrm.numerics.printed import at_least, at_most
from darrm.show import figures

DOCS = Path(__file__).resolve().parents[2] / "docs"


def shown(value: Any) -> str:
    """A cell as text; floats to four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def above(value: float, places: int = 3) -> str:
    """An upper bound, or the noise that is needed, rounded up."""
    value = max(value, 10.0**-places) if value else value
    return f"{float(at_least(value, _digits(value, places))):.{places}f}"


def below(value: float, places: int = 3) -> str:
    """A lower bound, rounded down."""
    value = value if value >= 10.0**-places else 0.0
    return f"{float(at_most(value, _digits(value, places))):.{places}f}"


def bounds(
    rows: Sequence[Mapping[str, Any]], upper: Collection[str], lower: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Rows whose upper bounds are rounded up and lower bounds down, to four digits as `shown` has other floats."""
    towards = dict.fromkeys(upper, at_least) | dict.fromkeys(lower, at_most)
    return [{name: towards[name](one, 4) if name in towards else one for name, one in row.items()} for row in rows]


def _digits(value: float, places: int) -> int:
    return places + 1 + math.floor(math.log10(value)) if value else 1


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --: |" * len(rows[0])]
    lines += ["| " + " | ".join(shown(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def choose(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = (), **values: Sequence[Any]
) -> list[dict[str, Any]]:
    """Some columns (all that are not kept for a reading if none are named) of the rows that have one of the values."""
    columns = columns or [name for name in rows[0] if not name.startswith("_")]
    wanted = {name.replace("_", " "): {shown(one) for one in some} for name, some in values.items()}
    kept = [row for row in rows if all(shown(row[name]) in some for name, some in wanted.items())]
    return [{name: row[name] for name in columns} for row in kept]


def whole(name: str, rows: Sequence[Mapping[str, Any]], folder: Path = DOCS / "papers") -> str:
    """Write all rows and columns to NAME.csv, for download; returns the link to it."""
    rows = choose(rows)
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([shown(value) for value in row.values()] for row in rows)
    return f"[The whole table as CSV: {len(rows)} rows, {len(rows[0])} columns]({folder.name}/{name}.csv)"


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)


def put(name: str, content: str, page: Path = DOCS / "papers.md") -> None:
    """Replace what is between the markers of that name; they must be there."""
    text = page.read_text(encoding="utf-8")
    parts = re.split(rf"(<!-- /?{name} -->)", text)
    if len(parts) != 5:
        raise SystemExit(f"{page} must have one <!-- {name} --> and one <!-- /{name} -->.")
    page.write_text("".join([*parts[:2], f"\n\n{content}\n\n", *parts[3:]]), encoding="utf-8")


def save(figure: Any, path: Path) -> None:
    """Write a picture with text as text."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.fonttype": "none"}):
        figures.save(path, figure, dpi=150)
    if path.suffix == ".svg":  # a hundredth of a point is enough for every line
        text = path.read_text(encoding="utf-8")
        short = re.sub(r' d="[^"]*"', lambda line: re.sub(r"(\.\d\d)\d+", r"\1", line[0]), text)
        path.write_text(re.sub(r" *\n *", "\n", short), encoding="utf-8")
