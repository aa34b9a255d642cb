"""darrm report"""

from __future__ import annotations

from pathlib import Path

import click

from darrm.cli import common, outputs
from darrm.cli.needed import Command
from darrm.storage.atomic import check_place

_OUT = outputs.Out("A report is HTML: name it .html.")


@click.command("report", cls=Command, short_help="Write a design as one page of HTML.")
@common.file_argument
@click.option("--out", type=_OUT, help="Path of the page [that of the design, with the ending .html].")
@common.number(
    "--total-delta", "Delta of many labels together [1e-5, or more if the deltas of labels or voters require it]."
)
@common.number("--queries", "A further number of labels for the table of cumulative privacy loss.")
@click.option(
    "--full/--short",
    default=None,
    help="With or without baselines, profile and exact composition [full if that takes at most about ten seconds].",
)
@common.kind_option
@common.json_option
def command(
    file: Path,
    out: Path | None,
    total_delta: float | None,
    queries: int | None,
    full: bool | None,
    kind: str,
    as_json: bool,
) -> None:
    """Write a design file as one page of HTML that opens offline and prints (needs matplotlib).

    The page shows the guarantee in words, the noise function or the decision, and its error or cost beside other
    mechanisms. It also shows the privacy profile, the cumulative privacy loss of many labels with fresh and with fixed
    voters, the worst case, and how to verify the design.
    """
    from darrm.design.loading import load
    from darrm.show.report import write

    if out is None:
        out = file.with_suffix(".html")
        check_place(out)
    size = write(out, load(file), file=file, delta=total_delta, queries=queries, full=full, kind=kind)
    if as_json:
        common.print_json({"out": str(out), "bytes": size})
    else:
        common.note(f"Wrote {out} ({size:,} bytes).")
