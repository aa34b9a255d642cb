"""darrm verify"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from darrm.cli import common
from darrm.cli.long_run import counted, ending_at_once, progress

_TABLES = (".parquet", ".csv", ".jsonl")


@click.command("verify", short_help="Verify a design file or a table anew.")
@common.file_argument
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes, for a table; -1 for all cores.")
@common.json_option
def command(file: Path, jobs: int, as_json: bool) -> int:
    """Verify a design file, or a table (.parquet, .csv, .jsonl), anew.

    Exit status 0 if all holds, 1 if not, 2 if the file is unusable.
    """
    if file.suffix.lower() in _TABLES:
        return _table(file, jobs, as_json)
    from darrm.cli import decision
    from darrm.cli.solve import show
    from darrm.design.design import Design, load

    design = load(file)
    if as_json:
        common.print_json({"problem": asdict(design.problem), "certificate": asdict(design.certificate)})
    elif not isinstance(design, Design):
        decision.show(design)
        decision.show_worst_case(design)
    else:
        show(design)
        worst = ", ".join(f"{count} at {corner}" for corner, count in design.certificate.worst_case.items())
        x, y = design.certificate.probabilities
        common.console().print(f"worst case: {worst}; releases 1 with probability {x:.12g} against {y:.12g}")
    return 0


def _table(file: Path, jobs: int, as_json: bool) -> int:
    from darrm.tables import verify_table

    with progress(counted("wrong")) as report, ending_at_once("Nothing was changed."):
        check = verify_table(file, jobs=jobs, progress=report)
    if as_json:
        common.print_json({"rows": check.rows, "failures": check.failures, "wrong": list(check.wrong)})
    else:
        failed = f" {check.failures} rows hold no design." if check.failures else ""
        click.echo(f"{check.rows - check.failures - len(check.wrong)} of {check.rows} rows verified.{failed}")
        for line in check.wrong[:20]:
            click.echo(f"wrong: {line}")
        if len(check.wrong) > 20:
            click.echo(f"and {len(check.wrong) - 20} more")
    return 0 if check.holds else 1
