"""Good files, to be spoiled: made once by darrm itself."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import darrm
from darrm.tables import files, grid
from darrm.tables.journal import journal_of, line_of, made_with

PROBLEMS: dict[str, dict[str, Any]] = {
    "gamma.json": {"K": 3, "m": 2, "epsilon": 0.5},
    "failing.json": {"K": 5, "m": 2.5, "epsilon": 1.0, "Delta": 0.01, "max_affected": 3, "shape": "monotone"},
    "even.json": {"K": 4, "m": 1, "epsilon": 2.0, "delta": 0.1, "adjacency": "add-remove"},
    "one.json": {"K": 1, "m": 1, "epsilon": 0.1},
}
GROUPS: dict[str, dict[str, Any]] = {
    "groups.json": {"groups": [(2, 1.0), (2, 0.3, 1e-3, 1)], "epsilon": 1.2, "delta": 0.01, "max_affected": 2},
    "absent.json": {"groups": [(2, 1.0), (1, math.inf)], "epsilon": 1.5, "absent": True},
    "none.json": {"groups": [(3, 0.7)], "epsilon": 1.0, "none": 0.3, "ordered": True},
    "classes.json": {"groups": [(3, 1.0)], "epsilon": 1.5, "classes": 3, "profile": [(0.5, 0.2), (math.inf, 0.0)]},
    "named.json": {"groups": [(1, 1.0), (1, 0.5, 1e-3)], "epsilon": 1.0, "delta": 0.01, "classes": ["no", "yes", "?"]},
}
VOTES = {
    3: b"id,a,b,c,label\nx,1,0,1,1\ny,0,0,0,0\nz,1,1,1,0\n",
    4: b"a,b,c,d\n1,0,1,1\n0,0,1,1\n",
    5: b"a,b,c,d,e\n1,0,1,1,0\n",
}
LEDGERS = ("fresh.json", "fixed.json", "basic.json", "mixed.json", "both.json", "whole.json")
JOURNAL = "table.jsonl"


@contextlib.contextmanager
def inside(folder: str | Path) -> Iterator[None]:
    """A block with ``folder`` as the working folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def small_grid() -> Any:
    """The grid of the tables and of the journal."""
    return grid(K=[1, 3, 4], m=[1, 2], epsilon=0.5, Delta=[0.0, 0.01], max_affected=[None, 1])


def decided(**given: Any) -> darrm.Design:
    """The decision of voters that are right seven times in ten, or a little less in each further group."""
    options = {name: given.pop(name) for name in ("ordered", "absent", "profile") if name in given}
    none, groups = given.pop("none", None), [darrm.VoterGroup(*group) for group in given.pop("groups")]
    problem = darrm.DecisionProblem(groups, none=none is not None, **given)
    accuracy = [0.7 - 0.05 * g for g in range(len(groups))]
    return darrm.solve(problem, objective=darrm.objectives.truth(accuracy, none=none), **options)


@cache
def good() -> dict[str, bytes]:
    """All files by name."""
    from dp_accounting import GaussianDpEvent

    from darrm.accounting import Ledger
    from darrm.cli import main
    from darrm.tables import solve_grid

    with tempfile.TemporaryDirectory() as name, inside(name):
        folder = Path(name)
        for file, problem in PROBLEMS.items():
            darrm.solve(**problem).save(file)
        for file, problem in GROUPS.items():
            decided(**problem).save(file)
        for K, content in VOTES.items():
            Path(f"votes{K}.csv").write_bytes(content)
        _parquet(folder / "votes3.parquet")
        design, failing = darrm.load("gamma.json"), darrm.load("failing.json")
        exact = Ledger.create("fresh.json", design, total_epsilon=9.0, total_delta=1e-6, voters="fresh")
        exact.charge(design, 2)
        Ledger.create("fixed.json", design, total_epsilon=9.0, total_delta=1e-6, voters="fixed").charge(design, 2)
        basic = Ledger.create(
            "basic.json", design, total_epsilon=20.0, total_delta=0.5, voters="fresh", rule="basic-filter"
        )
        basic.charge(design, 2)
        basic.charge(failing, 1)
        mixed = Ledger.create("mixed.json", total_epsilon=20.0, total_delta=1e-6, voters="fresh", rule="in-advance")
        mixed.charge(design, 2)
        mixed.charge((0.5, 1e-9), 3, adjacency="replace-one", note="a count")
        both = Ledger.create("both.json", total_epsilon=20.0, total_delta=0.05, voters="fresh", rule="renyi-filter")
        whole = Ledger.create("whole.json", total_epsilon=20.0, total_delta=0.05, voters="fresh", rule="in-advance")
        for book, other in ((both, "groups.json"), (whole, "classes.json")):
            book.charge(darrm.load(other), 2, note="labels")
            book.charge(GaussianDpEvent(3.0), 2)
        whole.charge(darrm.load("absent.json"))
        rows = solve_grid(small_grid(), out=JOURNAL).rows
        for other in ("table.csv", "table.parquet"):
            files.write(other, rows)
        header = {"format": "darrm-journal", "version": 2, "grid": small_grid().digest, "made_with": made_with()}
        lines = [line_of({i: row for i, row in enumerate(rows) if i % 3 == part}) for part in range(2)]
        journal_of(Path("journal.jsonl")).write_bytes(json.dumps(header).encode() + b"\n" + b"".join(lines))
        Path("eta.csv").write_text("p\n0.1\n0.5\n0.9\n1\n0\n", encoding="utf-8")
        Path("problems.csv").write_text("K,m,epsilon,Delta,shape\n3,1,0.5,,\n4,2,1,0.01,monotone\n", encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if main(["verify", JOURNAL]) != 0:
                raise AssertionError("the good files are not good")
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix != ".lock"}


def _parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {"id": ["x", "y"], "a": [1, 0], "b": pa.array([True, False]), "c": pa.array([1.0, 0.0]), "label": [0, 1]}
    )
    pq.write_table(table, path)
