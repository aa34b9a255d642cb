"""Tables and pictures for the documentation, shared by the scripts beside this file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from darrm.show import figures

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table; floats to four digits."""

    def shown(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --: |" * len(rows[0])]
    lines += ["| " + " | ".join(shown(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


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
