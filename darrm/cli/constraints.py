"""darrm constraints"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import click

from darrm.cli import common
from darrm.cli.needed import Command
from darrm.cli.outputs import AnyOut
from darrm.errors import InputError

_MOST = 10_000_000  # lines
_MOST_K = 3001
_MOST_NUMBERS = 5_000_000  # in one JSON object
_CSV, _PROGRAM = ".csv", (".mps", ".lp", ".npz")


@click.command("constraints", cls=Command, short_help="List, count or write the constraints of the linear program.")
@common.K_option
@common.number(
    "--voter-delta", "Delta of one voter [0]: above 0 there are 8 corner points, else 4.", "--Delta", default=0.0
)
@common.max_affected_option
@common.number("--m", "With --epsilon: list the coefficients of gamma too, for an allowance of m epsilon.")
@common.number("--epsilon", "With --m: epsilon of one voter, in nats.")
@common.number("--delta", "With --m: delta of one label [1 - (1 - Delta)^max(m, 1)].")
@click.option("--count", is_flag=True, help="Print the number of constraints only.")
@click.option("--prior", help=f"For a whole program: {common.PRIORS[:-1]} [uniform]. {common.NOT_RESTING}")
@click.option(
    "--out",
    type=AnyOut(path_type=Path, readable=False),
    help="Write the list here (.csv). Or, with --m and --epsilon, the whole linear program, for any solver (.mps or "
    ".lp) or as arrays of numpy with the names of columns (.npz). Set small_matrix_value of HiGHS to 1e-12, or it "
    "drops coefficients below 1e-9.",
)
@common.json_option
def command(
    m: Any, epsilon: Any, count: bool, prior: str | None, out: Path | None, as_json: bool, **values: Any
) -> None:
    """List the privacy constraints on gamma, one line of CSV for each multiset of K corner points (p, p').

    There are O(K^7) constraints, or O(K^3) if Delta = 0. In the names of corner points hi = (e^epsilon + Delta) /
    (e^epsilon + 1), lo = 1 - hi and D = Delta. A line has the number of voters at each corner point; with --m
    and --epsilon it also has the coefficients of gamma(l), l > K/2: the sum of coefficients times gamma is at most 1.
    """
    import numpy as np

    from darrm.constraints.multisets import corner_points, multisets
    from darrm.constraints.rows import Block, blocks, n_constraints
    from darrm.problem.majority import MajorityProblem

    if (m is None) != (epsilon is None):
        raise InputError("--m and --epsilon go together. Pass both for coefficients, or none for multisets alone.")
    if m is None and values["delta"] is not None:
        raise InputError("--delta is for coefficients. Pass --m and --epsilon too, or leave it out.")
    if out is not None and (count or as_json):
        raise InputError("--out writes the list or the program. Leave --count and --json out.")
    if out is not None and out.suffix.lower() not in (_CSV, *_PROGRAM):
        raise InputError(f"--out must end in {_CSV} (the list), or in {', '.join(_PROGRAM)} (the program). Got {out}.")
    whole = out is not None and out.suffix.lower() in _PROGRAM
    if whole and m is None:
        raise InputError(f"A program needs coefficients. Got --out {out}. Pass --m and --epsilon too, or a .csv.")
    if prior is not None and not whole:
        raise InputError("--prior is for a whole program. Pass --out FILE.mps, .lp or .npz too, or leave it out.")
    problem = MajorityProblem(m=1 if m is None else m, epsilon=1.0 if epsilon is None else epsilon, **values)
    if out is not None and whole:
        from darrm.design.listed import linear_program

        program = linear_program(problem, common.take_prior("uniform" if prior is None else prior))
        program.write(out)
        common.note(f"{len(program.b)} constraints on {len(program.c)} values of gamma.")
        common.wrote(out)
        return
    K, every = problem.K, n_constraints(problem)
    [votes] = problem.groups
    corners = corner_points(votes.epsilon, votes.delta).names
    if count:
        if as_json:
            common.print_json({"K": K, "corners": corners, "multisets": every})
        else:
            reached = "" if problem.max_affected == K else f", at most {problem.max_affected} of them affected"
            click.echo(
                f"{every:,} multisets of size {K} from the {len(corners)} corner points {' '.join(corners)}{reached}"
            )
        return
    if K > _MOST_K:
        raise InputError(f"K must be at most {_MOST_K:,} to be listed. Got {K:,}. Pass --count.")
    numbers = every * (len(corners) + (K - K // 2) * (m is not None))
    if as_json and numbers > _MOST_NUMBERS:
        raise InputError(
            f"One JSON object holds at most {_MOST_NUMBERS:,} numbers. Got {numbers:,}. Leave --json out: lines of CSV "
            "are written one after the other."
        )
    if every > _MOST:
        raise InputError(f"There are {every:,} multisets; at most {_MOST:,} are listed. Pass --count, or fewer voters.")
    listed = blocks(problem)
    if m is None:
        every_multiset = multisets(K, len(corners), problem.max_affected)
        listed = (Block(np.empty((len(counts), 0)), counts) for counts in every_multiset)
    lines = (
        [*counts, *row]
        for block in listed
        for counts, row in zip(block.counts.tolist(), block.rows.tolist(), strict=True)
    )
    half = [f"gamma({l})" for l in range(K // 2 + 1, K + 1)] * (m is not None)
    if as_json:
        common.print_json({"K": K, "columns": [*corners, *half], "rows": list(lines)})
        return
    if out is None:
        _write(sys.stdout, [*corners, *half], lines)
        return
    from darrm.storage.atomic import replacing

    with replacing(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        _write(text, [*corners, *half], lines)
        text.detach()  # which flushes, and leaves the file to be closed by its own
    common.wrote(out)


def _write(file: IO[str], head: list[str], lines: Iterable[list[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
