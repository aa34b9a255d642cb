"""List the scripts of benchmarks and the tools of tests/tools: what each does, how long it takes, which page it writes.

    python -m benchmarks

Everything is read from the docstrings. A script has a line in its docstring that begins with "Takes:".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parent / "tests" / "tools"
TAKES = re.compile(r"^Takes: (?P<time>.+?)\.(?: --docs writes (?P<page>[\w/]+\.md)\.)?$", re.MULTILINE)


class Script(NamedTuple):
    """A script, by its path in the repository, and what its docstring says; ``page`` is None if it writes none."""

    path: str
    measures: str
    time: str
    page: str | None


def scripts() -> Iterator[Script]:
    """All scripts in the order of their paths."""
    for path in sorted([*HERE.rglob("*.py"), *TOOLS.rglob("*.py")]):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if takes := TAKES.search(docstring):
            name = path.relative_to(HERE.parent).as_posix()
            yield Script(name, docstring.splitlines()[0], takes["time"], takes["page"])


def main() -> None:
    for script in scripts():
        page = f" --docs writes {script.page}." if script.page else ""
        print(f"{script.path}\n    {script.measures}\n    Takes {script.time}.{page}")


if __name__ == "__main__":
    main()
