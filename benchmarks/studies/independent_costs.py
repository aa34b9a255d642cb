"""What `darrm verify --independent` takes, by the kind and size of the design.

    python benchmarks/studies/independent_costs.py [--docs]

Takes: a minute. --docs writes docs/howto/verify.md.

Each design is solved, and verified as the content of its file; seconds are of the processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put, table

import darrm
from darrm.design.design import Design, in_file
from darrm.objectives import rule, truth

Voters = darrm.VoterGroup


def groups(*voters: darrm.VoterGroup, epsilon: float, most: int | None = None) -> Design:
    problem = darrm.DecisionProblem(voters, epsilon, max_affected=most)
    return darrm.solve(problem, objective=truth([0.7, 0.6]))


def classes(K: int, n: int) -> Design:
    problem = darrm.DecisionProblem([Voters(K, 0.5)], 1.0, classes=n)
    return darrm.solve(problem, objective=rule("plurality", accuracy=[0.5]))


DESIGNS: dict[str, Callable[[], Design]] = {
    "11 voters": lambda: darrm.solve(K=11, m=3, epsilon=0.1),
    "11 voters, Delta = 1e-5": lambda: darrm.solve(K=11, m=3, epsilon=0.1, Delta=1e-5),
    "101 voters": lambda: darrm.solve(K=101, m=10, epsilon=0.1),
    "25 voters, Delta = 1e-5": lambda: darrm.solve(K=25, m=4, epsilon=0.1, Delta=1e-5),
    "groups of 5 and 10 voters": lambda: groups(Voters(5, 0.5), Voters(10, 0.2), epsilon=1.0),
    "groups of 12 and 13, two affected": lambda: groups(Voters(12, 0.5), Voters(13, 0.2), epsilon=1.0, most=2),
    "11 voters, three classes": lambda: classes(11, 3),
    "9 voters, four classes": lambda: classes(9, 4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put the table into docs/")
    options = parser.parse_args()
    rows = []
    for name, solve in DESIGNS.items():
        content = json.loads(json.dumps(in_file(solve())))
        start = time.process_time()
        found = darrm.independent.check(content)
        seconds = time.process_time() - start
        if found.wrong:
            raise SystemExit(f"{name}: {found.wrong}")
        rows.append({"design": name, "cases": f"{found.cases:,}", "bits": found.bits, "seconds": f"{seconds:.2g}"})
    text = table(rows)
    print(text)
    if options.docs:
        put("costs", text, DOCS / "howto" / "verify.md")


if __name__ == "__main__":
    main()
