"""darrm verify"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from darrm.cli import common


@click.command("verify", short_help="Verify a design file anew.")
@click.argument("file", type=common.PATH)
@common.json_option
def command(file: Path, as_json: bool) -> None:
    """Verify a design file anew: exit status 0 if it holds, 1 if not, 2 if the file is unusable."""
    from darrm.cli.solve import show
    from darrm.design.files import load

    design = load(file)
    if as_json:
        common.print_json({"problem": asdict(design.problem), "certificate": asdict(design.certificate)})
    else:
        show(design)
        worst = ", ".join(f"{count} at {corner}" for corner, count in design.certificate.worst_case.items())
        first, second = design.certificate.probabilities
        common.console().print(f"worst case: {worst}; releases 1 with probability {first:.12g} against {second:.12g}")
