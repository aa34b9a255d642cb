"""darrm table"""

from __future__ import annotations

import time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from darrm.cli import common
from darrm.cli.endings import DONE, NO_DESIGN, answered
from darrm.cli.long_run import counted, ending_at_once, progress
from darrm.cli.needed import Command, Given
from darrm.cli.verify import rests
from darrm.errors import InputError, in_one_line
from darrm.numerics import printed

_MOST = 1_000_000  # as in a grid
_KEPT = "Finished rows are saved: run the same command again to continue."


def _missing(given: Given) -> list[str]:
    return [f"'--{name}'" for name in ("K", "m", "epsilon") if not {name, "problems"} & given.keys()]


@click.command("table", cls=Command, also=_missing, short_help="Solve a grid of problems and write a table.")
@click.option("--K", "K", help="Numbers of voters: 11, 5,7,9 or a range 11:101:2, end included.")
@click.option("--m", help="Privacy allowances, in the same forms; values above K are skipped.")
@click.option("--epsilon", help="Epsilons of one voter, in nats, in the same forms.")
@click.option(
    "--voter-delta", "--Delta", "Delta", default="0", show_default=True, help="Deltas of one voter, in the same forms."
)
@click.option("--delta", help="Deltas of one label, in the same forms [1 - (1 - Delta)^max(m, 1)].")
@click.option("--max-affected", help="Largest numbers of affected voters, in the same forms [K].")
@click.option(
    "--problems",
    type=common.PATH,
    help="A CSV file of problems, in place of these options: a header with K, m, epsilon, ... or groups, "
    "total_epsilon, ...",
)
@click.option(
    "--prior",
    "priors",
    multiple=True,
    default=["uniform"],
    show_default=True,
    help=f"Prior of the votes; may be repeated. {common.NOT_RESTING}",
)
@click.option("--shape", type=click.Choice(["free", "monotone", "both"]), default="free", show_default=True)
@common.objective_option
@click.option("--out", type=common.PATH, required=True, help="The table: .parquet, .csv or .jsonl.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Number of processes; -1 for all cores.")
@click.option("--backend", type=click.Choice(["loky", "dask"]), default="loky", show_default=True)
@click.option("--scheduler", help="Scheduler of a Dask cluster, tcp://host:port.")
@common.plot_option("the table")
@common.json_option
def command(
    problems: Path | None,
    priors: tuple[str, ...],
    shape: str,
    objective: str | None,
    out: Path,
    plot: Path | None,
    as_json: bool,
    jobs: int,
    backend: str,
    scheduler: str | None,
    **texts: str | None,
) -> int:
    """Solve and certify all combinations of the values; the exit status is 4 if some could not be solved.

    After an interruption run the same command again: it continues where it stopped. A complete table is read only.
    """
    from darrm.show.plots_table import plot_table
    from darrm.tables import from_csv, grid, solve_grid

    if problems is not None:
        context = click.get_current_context()
        for name in (*texts, "priors", "shape", "objective"):
            if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise InputError(
                    f"--problems states whole problems, so --{name.removesuffix('s')} would be ignored. Leave it out."
                )
        todo = from_csv(problems)
    else:
        missing = [name for name in ("K", "m", "epsilon") if texts[name] is None]
        if missing:
            raise InputError(f"--{missing[0]} is missing. Pass values of K, m and epsilon, or --problems FILE.csv.")
        numbers: dict[str, Any] = {name: values(name, text) for name, text in texts.items()}
        todo = grid(
            **numbers,
            prior=priors,
            shape=("free", "monotone") if shape == "both" else shape,
            objective=objective,
        )
    start = time.perf_counter()
    with progress(counted("failed")) as report, ending_at_once(_KEPT):
        table = solve_grid(todo, out=out, jobs=jobs, backend=backend, scheduler=scheduler, progress=report)
    seconds = time.perf_counter() - start
    common.draw(plot, lambda: plot_table(table))
    failures = len(table.failures)
    ending = NO_DESIGN if failures else DONE
    if as_json:
        common.print_json(
            answered(
                {
                    "designs": len(table),
                    "found": table.found,
                    "left_out": table.left_out,
                    "failures": failures,
                    "seconds": seconds,
                    "out": str(out),
                },
                ending,
            )
        )
    else:
        earlier = "all" if table.found == len(table) else f"{table.found} of {printed.counted(len(table), 'row')}"
        there = f"; {earlier} came from an earlier run" if table.found else ""
        holes = f" {table.left_out} combinations with m or max_affected above K were skipped." if table.left_out else ""
        designs = printed.counted(len(table) - failures, "design")
        click.echo(in_one_line(f"{designs} in {out}, each verified{there}; {seconds:.3g} s.{holes}"))
        if table.known:
            click.echo(rests(table.known))
        if failures:
            click.echo(f"{failures} failed; the first: {in_one_line(str(table.failures[0]['failure']))}")
    common.wrote(out, plot)
    return ending.status


def values(name: str, text: str | None) -> list[Any] | None:
    """Numbers of a list or of ranges start:stop[:step], end included; whole ones as such."""
    if text is None:
        return None
    listed: list[Decimal] = []
    try:
        for part in text.split(","):
            numbers = [Decimal(piece.strip()) for piece in part.split(":")]
            if not all(number.is_finite() and (not number or -350 < number.adjusted() < 16) for number in numbers):
                raise InvalidOperation
            if len(numbers) == 1:
                listed.append(numbers[0])
                continue
            start, stop, step = numbers if len(numbers) == 3 else (*numbers, Decimal(1))
            if not step > 0 or not 0 <= (stop - start) / step <= _MOST - len(listed):
                raise InvalidOperation
            listed += [start + i * step for i in range(int((stop - start) / step) + 1)]
    except (InvalidOperation, ValueError):
        raise InputError(
            f"--{name.replace('_', '-')} must be numbers with commas between, or ranges start:stop:step that rise, "
            f"{_MOST:,} values at most. Got {text!r}."
        ) from None
    return [int(x) if x == x.to_integral_value() else float(x) for x in listed]
