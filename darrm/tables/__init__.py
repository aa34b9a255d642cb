"""Tables of many designs: solve a grid of problems, keep it in a file, look designs up, verify somebody else's."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from darrm.tables.problems import Grid, from_csv, grid
    from darrm.tables.solving import solve_grid
    from darrm.tables.table import Check, Table, lookup, read, verify_table

_HOME = {
    "Check": "table",
    "Grid": "problems",
    "Table": "table",
    "from_csv": "problems",
    "grid": "problems",
    "lookup": "table",
    "read": "table",
    "solve_grid": "solving",
    "verify_table": "table",
}
__all__ = ["Check", "Grid", "Table", "from_csv", "grid", "lookup", "read", "solve_grid", "verify_table"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"darrm.tables.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
