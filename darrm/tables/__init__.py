"""Tables of many designs: solve a grid of problems, keep it in a file, look designs up, verify somebody else's."""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.tables.problems import Grid as Grid
    from darrm.tables.problems import from_csv as from_csv
    from darrm.tables.problems import grid as grid
    from darrm.tables.solving import solve_grid as solve_grid
    from darrm.tables.table import Check as Check
    from darrm.tables.table import Table as Table
    from darrm.tables.table import lookup as lookup
    from darrm.tables.table import read as read
    from darrm.tables.table import verify_table as verify_table

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.tables.problems": "Grid from_csv grid",
        "darrm.tables.solving": "solve_grid",
        "darrm.tables.table": "Check Table lookup read verify_table",
    },
)
