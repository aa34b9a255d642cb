"""Do two commits design the same, to the last bit? Tables, gaps, costs, certificates and totals, in hexadecimal.

    git switch --detach BEFORE && python tests/tools/golden.py --write /tmp/golden.json
    git switch - && python tests/tools/golden.py --check /tmp/golden.json

Takes: half a minute for each.

Both on one machine: other libraries or processors give other last digits. --check prints what differs, with the largest
difference of its numbers, and ends with status 1. --designs writes a part in decimal, for every machine:
tests/golden/designs.json, which `make test` holds to 1e-9. Noisy max is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import darrm

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
DESIGNS = GOLDEN / "designs.json"
VOTERS = {".1": (0.1, 0.0), "1": (1.0, 0.0), ".3,1e-5": (0.3, 1e-5), ".5,1e-3,2 reached": (0.5, 1e-3, None, 2)}
GROUPS = {
    "4 and 7": ([(4, 1.0), (7, 0.2)], {}),
    "3, 2 and 2, 3 reached": ([(3, 1.0), (2, 0.5), (2, 0.1)], {"max_affected": 3}),
    "9 without privacy, 1 reached": ([(9, math.inf)], {"max_affected": 1}),
    "4 and 5 that fail": ([(4, 0.8, 1e-4, 1), (5, 0.3, 1e-5)], {"delta": 1e-3}),
}
CLASSES = {
    "5 alike": ([(5, 1.0)], {"classes": 3}, {}),
    "4 alike or none": ([(4, 1.0)], {"classes": 3, "none": True}, {"none": 0.3}),
    "4 without privacy": ([(4, math.inf)], {"classes": 4, "max_affected": 1}, {}),
    "3 of two answers or none": ([(3, 1.0)], {"none": True}, {"none": 0.2}),
    "2 and 2": ([(2, 1.0), (2, 0.4)], {"classes": 3}, {}),
    "4 not alike": ([(4, 0.7, 1e-4)], {"classes": 3, "delta": 1e-3}, {"prior": [0.5, 0.3, 0.2]}),
}
PROFILE = [(0.2, 0.1), (math.inf, 0.05)]


def decision(groups: Any, problem: Any, epsilon: float, objective: str, asked: Any, **more: Any) -> Any:
    """A decision by groups whose accuracies rise with their epsilon."""
    accuracy = [0.55 + 0.15 * (1 if group[1] > 1 else group[1]) for group in groups]
    best = (
        darrm.objectives.truth(accuracy, **asked)
        if objective == "truth"
        else darrm.objectives.rule("plurality", accuracy, **asked)
    )
    found = darrm.DecisionProblem([darrm.VoterGroup(*group) for group in groups], epsilon, **problem)
    return darrm.solve(found, objective=best, **more)


def designs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is designed, by name."""
    for K, m, voters, shape in product((3, 4, 7, 10, 11, 16, 51, 100), (1, 1.5, 2, 3), VOTERS, ("free", "monotone")):
        values = VOTERS[voters]
        problem = dict(zip(("epsilon", "Delta", "delta", "max_affected"), values, strict=False))
        yield (
            f"majority K={K} m={m} voters {voters} {shape}",
            partial(darrm.solve, K=K, m=m, shape=shape, **problem),
        )
    for name, epsilon, ordered, objective in product(GROUPS, (0.3, 1.0), (False, True), ("truth", "rule")):
        groups, more = GROUPS[name]
        order = "ordered" if ordered else "free"
        yield (
            f"groups {name} epsilon={epsilon} {order} {objective}",
            partial(decision, groups, more, epsilon, objective, {}, ordered=ordered),
        )
    for name, ordered in product(CLASSES, (False, True)):
        groups, more, asked = CLASSES[name]
        order = "ordered" if ordered else "free"
        yield f"classes {name} {order}", partial(decision, groups, more, 1.0, "truth", asked, ordered=ordered)
    yield "majority disagreement", partial(darrm.solve, K=9, m=2, epsilon=0.4, objective="disagreement")
    yield "majority profile", partial(darrm.solve, K=9, m=2, epsilon=0.2, Delta=1e-3, profile=PROFILE)
    yield "majority prior", partial(darrm.solve, K=12, m=2, epsilon=0.2, prior="independent:0.6,0.9")
    yield "majority full list", partial(darrm.solve, K=6, m=2, epsilon=0.4, Delta=1e-4, engine="full-list")
    yield "groups profile", partial(decision, [(3, 1.0), (2, 0.5)], {}, 1.0, "truth", {}, profile=PROFILE)
    yield "groups absent", partial(decision, [(3, 1.0), (2, 0.5)], {}, 1.0, "truth", {}, absent=True)
    yield "classes absent", partial(decision, [(3, 1.0)], {"classes": 3}, 1.0, "truth", {}, absent=True)


FIXED = ("fresh", "fixed")
TOTALS = [
    *product(("majority K=11 m=3 voters .1 free", "majority K=10 m=2 voters .3,1e-5 monotone"), (1, 7, 100), FIXED),
    *product(("groups 4 and 7 epsilon=1.0 free truth", "groups absent"), (1, 10), FIXED),
    *product(("classes 5 alike free", "classes 4 not alike ordered"), (2,), FIXED),
]


def numbers(design: Any) -> dict[str, Any]:
    """What is held of a design; of absent voters each table."""
    cost = design.error if hasattr(design, "error") else design.expected_cost
    tables = [design.table, *(part.table for _, part in sorted(getattr(design, "fewer", {}).items()))]
    return {
        "table": np.concatenate([table.ravel() for table in tables]).tolist(),
        "gap": design.gap,
        "cost": cost,
        "tight_epsilon": design.certificate.tight_epsilon,
        "needed_delta": design.certificate.needed_delta,
    }


def everything() -> Iterator[tuple[str, dict[str, Any]]]:
    """All designs, totals, and files of designs as they are written again, one by one."""
    needed = {name for name, _, _ in TOTALS}
    kept = {}
    for name, made in designs():
        design = made()
        yield name, numbers(design)
        if name in needed:
            kept[name] = design
    for name, queries, voters in TOTALS:
        total = darrm.accounting.compose(kept[name], queries, delta=0.01, voters=voters)
        yield (
            f"total of {queries} from {name}, {voters}",
            {"lower": total.lower, "upper": total.upper, "unavoidable": total.unavoidable, **total.bounds},
        )
    with zipfile.ZipFile(GOLDEN / "stored.zip") as stored, tempfile.TemporaryDirectory() as folder:
        for name in stored.namelist():
            if name.startswith("designs/"):
                path = Path(stored.extract(name, folder))
                darrm.load(path).save(path)
                yield f"file {name}", {"checksum": zlib.crc32(path.read_bytes().partition(b' "made_with": {')[0])}


def few() -> Iterator[tuple[str, Callable[[], Any]]]:
    """A part that takes seconds."""
    slow, several_optima = "not alike", "alike or none"
    for place, (name, made) in enumerate(designs()):
        small = name.startswith("majority K=") and int(name.split("=")[1].split()[0]) <= 16
        chosen = (small and place % 7 == 0) or (name.startswith("groups") and place % 3 == 0) or place >= 288
        if chosen and slow not in name and several_optima not in name:
            yield name, made


def text(value: Any) -> Any:
    """Numbers in hexadecimal."""
    return [text(each) for each in value] if isinstance(value, list) else float(value).hex()


def apart(one: Any, other: Any) -> str:
    """How far two values of `text` are apart."""
    values = [np.array([float.fromhex(x) for x in (v if isinstance(v, list) else [v])]) for v in (one, other)]
    if values[0].shape != values[1].shape:
        return "another shape"
    with np.errstate(invalid="ignore"):
        return f"by {np.nanmax(np.abs(values[0] - values[1]), initial=0.0):.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--write", type=Path, metavar="FILE", help="write all numbers of this commit")
    which.add_argument("--check", type=Path, metavar="FILE", help="compare with those of another commit")
    which.add_argument("--designs", action="store_true", help=f"write {DESIGNS.name}")
    given = parser.parse_args()
    if given.designs:
        lines = [f"{json.dumps(name)}: {json.dumps(numbers(made()))}" for name, made in few()]
        DESIGNS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return 0
    now = {name: {key: text(value) for key, value in each.items()} for name, each in everything()}
    if given.write:
        given.write.write_text(json.dumps(now, indent=1), encoding="utf-8")
        print(f"{len(now)} things written.")
        return 0
    then = json.loads(given.check.read_text(encoding="utf-8"))
    differ = [f"{name}: only there" for name in then.keys() - now.keys()]
    differ += [f"{name}: only here" for name in now.keys() - then.keys()]
    for name in now.keys() & then.keys():
        old, new = then[name], now[name]
        differ += [f"{name}: {key} only on one side" for key in old.keys() ^ new.keys()]
        differ += [
            f"{name}: {key} {apart(old[key], new[key])}" for key in old.keys() & new.keys() if old[key] != new[key]
        ]
    print(*sorted(differ), f"{len(now)} things, {len(differ)} numbers differ.", sep="\n")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
