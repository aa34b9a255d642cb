"""Store what today's darrm writes: design files, ledgers and pickles that later ones must read. What is there stays.

    python tests/programs/stored.py

Adds to tests/golden/stored.zip the designs below that it lacks, with their pickles, and to tests/golden/stored.json the
names that ledgers give them. Ledgers, and what they say, are made once: those of format 4 (``ledgers``, JSON) with the
archive, those of format 5 (``databases``, SQLite) with the same charges when they are not there.
"""

from __future__ import annotations

import json
import math
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import darrm
from darrm.accounting import Ledger
from darrm.accounting.accounts import Labels
from darrm.cli import main

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
STORED, NUMBERS = GOLDEN / "stored.zip", GOLDEN / "stored.json"
Voters, Problem, truth, rule = darrm.VoterGroup, darrm.DecisionProblem, darrm.objectives.truth, darrm.objectives.rule
INFINITE = [(0.3, 0.1), (math.inf, 0.05)]


def own() -> Any:
    """A noise function that nobody solved for."""
    problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.5)
    return darrm.Design(problem, [1.0, 0.5, 0.2, 0.2, 0.5, 1.0], darrm.priors.common(2.0, 3.0), gap=math.inf)


def decided(groups: list[Any], objective: Any, epsilon: float = 1.0, **more: Any) -> Any:
    """A decision by groups; what is not for the problem is for `solve`."""
    asked = {name: more.pop(name) for name in ("ordered", "absent", "profile") if name in more}
    return darrm.solve(Problem([Voters(**group) for group in groups], epsilon, **more), objective=objective, **asked)


def voters(count: int, epsilon: float = 1.0, delta: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"count": count, "epsilon": epsilon, "delta": delta, **more}


TWO = [voters(3), voters(2, 0.4)]
majority = partial(partial, darrm.solve)
of = partial(partial, decided)
DESIGNS: dict[str, Callable[[], Any]] = {
    "gamma odd": majority(K=7, m=2, epsilon=0.3),
    "gamma even": majority(K=6, m=1.5, epsilon=0.5),
    "gamma one voter": majority(K=1, m=1, epsilon=0.5),
    "gamma monotone": majority(K=9, m=3, epsilon=0.1, shape="monotone"),
    "gamma Delta": majority(K=7, m=2, epsilon=0.3, Delta=1e-4),
    "gamma delta, few reached": majority(K=5, m=1, epsilon=0.5, Delta=1e-3, delta=0.01, max_affected=2),
    "gamma disagreement": majority(K=7, m=2, epsilon=0.3, objective="disagreement"),
    "gamma profile": majority(K=5, m=2, epsilon=0.5, Delta=1e-3, profile=INFINITE),
    "gamma other neighbours": majority(K=5, m=2, epsilon=0.5, adjacency="add-remove", prior="fixed:.5,.6,.7,.8,.9"),
    "gamma votes": majority(K=4, m=2, epsilon=0.5, prior="votes:1,4,3,5,6"),
    "gamma confusion": majority(K=5, m=2, epsilon=0.5, prior="confusion:.3,.7:.8,.2,.3,.7"),
    "gamma randomized response": majority(K=5, m=2, epsilon=0.5, prior="randomized-response:.5:.9"),
    "gamma far beyond float64": majority(K=3, m=3, epsilon=800.0),
    "gamma own": own,
    "binary one group": of([voters(6)], truth([0.7]), 0.7),
    "binary two groups": of(TWO, truth([0.7, 0.6], prior=[0.4, 0.6], cost=[[0, 2], [1, 0]])),
    "binary ordered": of(TWO, truth([0.7, 0.6]), ordered=True),
    "binary none reached twice": of([voters(4, max_affected=1), voters(3, 0.2)], truth([0.7, 0.55]), max_affected=2),
    "binary without privacy": of([voters(5, math.inf)], truth([0.8]), max_affected=1),
    "binary mixed": of([voters(2, math.inf, max_affected=1), voters(3, 0.5)], truth([0.8, 0.6]), delta=1e-3),
    "binary delta": of([voters(2, 1.0, 1e-4), voters(2, 0.2, 1e-6, max_affected=1)], truth([0.7, 0.55]), delta=1e-3),
    "binary many with delta": of([voters(9, 0.5, 1e-6), voters(8, 0.2, 1e-6)], truth([0.7, 0.6]), delta=1e-4),
    "binary profile": of(TWO, truth([0.7, 0.6]), profile=INFINITE),
    "binary absent": of([voters(2), voters(1, 0.5)], truth([0.7, 0.6]), absent=True),
    "binary absent, ordered": of([voters(3, 0.8, max_affected=2)], truth([0.7]), absent=True, ordered=True),
    "binary named voters": of(
        [voters(2, names=["Ann", "Bob"]), voters(1, 0.5, names=["C. D."])], truth([0.7, 0.6]), classes=["no", "yes"]
    ),
    "binary at least": of([voters(5, 0.5)], rule(darrm.objectives.at_least(3), [0.6])),
    "binary weights": of(TWO, rule([2.0, 1.0], [0.7, 0.6])),
    "binary other neighbours": of(TWO, rule("majority", [0.7, 0.6]), adjacency="add-remove"),
    "binary costs": of([voters(1, 2.0)], darrm.objectives.costs([[0.0, 0.7], [0.3, 0.0]])),
    "symmetric": of([voters(4)], truth([0.6]), classes=3),
    "symmetric ordered": of([voters(4)], rule("plurality", [0.6]), classes=3, ordered=True),
    "symmetric or none": of([voters(3)], truth([0.6], none=0.3), classes=3, none=True),
    "symmetric two classes or none": of([voters(3)], truth([0.7], none=0.2), none=True),
    "symmetric without privacy": of([voters(4, math.inf)], truth([0.6]), classes=4, max_affected=1),
    "symmetric delta, profile": of([voters(2, 0.5, 1e-4)], truth([0.6]), classes=3, delta=1e-3, profile=INFINITE),
    "symmetric absent": of([voters(3, 1.0)], truth([0.6]), classes=3, absent=True),
    "full two groups": of([voters(2), voters(2, 0.4)], truth([0.6, 0.5]), classes=["a", "b", "c"]),
    "full not alike": of([voters(3, 0.7)], truth([0.6], prior=[0.5, 0.3, 0.2]), classes=3),
    "full ordered": of([voters(2), voters(1, 0.4)], truth([0.6, 0.5]), classes=3, ordered=True),
    "full or none": of([voters(2), voters(1, math.inf)], truth([0.7, 0.6], none=0.2), none=True, max_affected=1),
    "full absent": of([voters(2), voters(1, 0.4)], truth([0.6, 0.5]), classes=3, absent=True),
    "full named voters": of([voters(3, names=["x", "y", "z"])], truth([0.6], prior=[0.5, 0.3, 0.2]), classes=3),
}
PICKLED = ("gamma delta, few reached", "binary absent", "binary named voters", "symmetric or none", "full ordered")


def ledgers(folder: Path, designs: Path) -> None:
    """A ledger of each rule, and what they can be charged."""

    def ledger(name: str, design: str | None, total: float, delta: float, **more: Any) -> Ledger:
        given = None if design is None else darrm.load(designs / f"{design}.json")
        return Ledger.create(folder / name, given, total_epsilon=total, total_delta=delta, **more)

    names = ("gamma odd", "binary absent", "symmetric", "binary named voters", "binary without privacy")
    gamma, binary, classes, named, bare = (darrm.load(designs / f"{name}.json") for name in names)
    ledger("exact", "gamma odd", 4.0, 1e-5, voters="fresh", rule="exact").charge(gamma, 3, note="Monday")
    ledger("exact ids", "binary absent", 9.0, 1e-5, voters="fresh").charge(binary, 2, ids=["a", "b"])
    ledger("exact again", "gamma odd", 40.0, 1e-5, voters="fresh").charge(gamma, 2, ids=["a", "b"])
    Ledger(folder / "exact again").charge(gamma, 2, ids=["b", "c"], again=True)
    ledger("exact fixed", "gamma odd", 4.0, 1e-5, voters="fixed").charge(gamma, 50)
    ledger("exact fixed by coins", "binary without privacy", 5.0, 1e-2, voters="fixed").charge(bare)
    ledger("exact classes", "symmetric", 8.0, 1e-5, voters="fresh").charge(classes, 2)
    composed = ledger("composed", None, 9.0, 1e-5, voters="fresh", rule="composed")
    composed.charge(gamma, 2)
    composed.charge(classes, 1, note="classes")
    composed.charge((0.25, 1e-9), 2, adjacency="replace-one", note="a count")
    ledger("composed fixed", None, 9.0, 1e-5, voters="fixed", rule="composed").charge(named, 5)
    renyi = ledger("renyi", None, 9.0, 1e-5, voters="fresh", rule="renyi")
    renyi.charge(gamma, 2)
    renyi.charge((0.25, 0.0), adjacency="replace-one")
    basic = ledger("basic", None, 9.0, 1e-3, voters="fresh", rule="basic")
    basic.charge(binary)
    basic.charge((0.25, 1e-9), 2, adjacency="replace-one")
    gaussian = ledger("gaussian", None, 9.0, 1e-5, voters="fresh", rule="composed", adjacency="add-remove")
    noise = ["--noise-multiplier", "2", "--sampling-rate", ".1", "--steps", "20"]
    assert main(["ledger", "charge", str(gaussian.path), *noise]) == 0
    streamed = ledger("stream", "gamma odd", 9.0, 1e-5, voters="fresh")
    votes = [[1, 0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 0, 1, 1]]
    assert sum(map(len, darrm.mechanisms.DaRRM(gamma).release_blocks([votes], ledger=streamed, stream="Monday"))) == 2


# What each ledger is charged once more.
FURTHER: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("gamma odd", {}),
    "exact ids": ("binary absent", {"ids": ["c"]}),
    "exact again": ("gamma odd", {"ids": ["a"], "again": True}),
    "exact fixed": ("gamma odd", {}),
    "exact fixed by coins": ("binary without privacy", {}),
    "exact classes": ("symmetric", {}),
    "composed": ("gamma odd", {}),
    "composed fixed": ("binary named voters", {}),
    "renyi": ("gamma odd", {}),
    "basic": ("binary absent", {}),
    "gaussian": ("binary other neighbours", {}),
    "stream": ("gamma odd", {}),
}

COMPUTED = ("gaussian",)  # charges whose curve is computed when they are made, so other days give other digits


def said(ledger: Ledger, design: Any) -> dict[str, Any]:
    """What a ledger says, without its sentences."""
    status = ledger.status()
    charges = [[charge["n"], charge["note"]] for charge in status.pop("charges")]
    status.pop("condition")
    status.pop("designs", None)  # which older versions do not name
    return {**status, "charges": charges, "counts": list(ledger.counts(design)), "spent": list(ledger.spent())}


def further(path: Path, name: str, design: Any) -> list[dict[str, Any]]:
    """What a ledger says before and after one more charge."""
    book = Ledger(path)
    before = said(book, design)
    book.charge(design, **FURTHER[name][1])
    return [before, said(book, design)]


def store() -> None:
    old = zipfile.ZipFile(STORED).namelist() if STORED.exists() else []
    known = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"names": {}, "ledgers": {}}
    with zipfile.ZipFile(STORED, "a") as stored, tempfile.TemporaryDirectory() as made_in:
        folder = Path(made_in)

        def add(name: str, data: bytes) -> None:
            stored.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)

        for name, made in DESIGNS.items():
            path = folder / f"{name}.json"
            if f"designs/{path.name}" in old:
                path.write_bytes(stored.read(f"designs/{path.name}"))
                continue
            design = made()
            design.save(path)
            known["names"][name] = Labels.of(design).name
            add(f"designs/{path.name}", path.read_bytes())
            for protocol in range(2, 6) if name in PICKLED else ():
                add(f"pickles/{name}/design {protocol}", pickle.dumps(design, protocol))
                add(f"pickles/{name}/problem {protocol}", pickle.dumps(design.problem, protocol))
        if not any(name.startswith("databases/") for name in old):
            books = folder / "databases"
            books.mkdir()
            ledgers(books, folder)
            for name, (charged, _) in FURTHER.items():
                add(f"databases/{name}", (books / name).read_bytes())
                if name in COMPUTED:
                    design = darrm.load(folder / f"{charged}.json")
                    known.setdefault("databases", {})[name] = further(books / name, name, design)
    NUMBERS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store()
