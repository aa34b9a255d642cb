"""darrm export"""

from __future__ import annotations

from pathlib import Path

import click

from darrm.cli import common, outputs
from darrm.cli.needed import Command
from darrm.errors import InputError


@click.command("export", cls=Command, short_help="Write a design, or a table of them, for analysis.")
@common.file_argument
@click.option(
    "--out", type=outputs.TABLE, required=True, help="The table: .csv, .json, .tex or .parquet (needs pyarrow)."
)
@common.json_option
def command(file: Path, out: Path, as_json: bool) -> None:
    """Write the design in FILE as a table for analysis: a row for each vector of counts, with all digits.

    The columns are the counts of votes for 1, or for each of several classes, gamma of a majority, and the probability
    of each answer. Labels cannot be released from a table: keep the design file.

    FILE may also be a table of darrm table. Then there is a row for each problem, with columns gamma_0 to gamma_K of
    the largest K, empty where K is smaller. darrm verify verifies such a table; export does not.
    """
    from darrm.design.loading import load
    from darrm.storage.atomic import resolved
    from darrm.storage.frames import write
    from darrm.storage.kinds import kind_of
    from darrm.tables import Table, read

    if resolved(out) == resolved(file):
        raise InputError(f"The table would replace the design file {file}. Pass another --out.")
    of_designs = file.suffix.lower() == ".jsonl" or kind_of(file) == "table"
    found = read(file) if of_designs else load(file)
    columns = found.columns()
    write(out, columns, "" if isinstance(found, Table) else found.about)
    if as_json:
        rows = len(next(iter(columns.values())))
        common.print_json({"out": str(out), "rows": rows, "columns": list(columns)})
    common.note(f"Wrote {out}, {outputs.FOR_ANALYSIS}")
