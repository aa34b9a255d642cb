"""Fork a worker at each line of standard input; it charges a ledger with labels, guarantees and curves.

    mixed_charges.py LEDGER SEED

The design is in design.json beside the ledger. Lines: "ready" when all is imported, the number of each worker, how many
of something once they are charged, "refused" when the budget ends, and "ended" after the worker.
"""

import os
import random
import sys
from pathlib import Path

from dp_accounting import GaussianDpEvent

import darrm
from darrm.accounting import Ledger


def say(word: object) -> None:
    os.write(1, f"{word}\n".encode())


def work(ledger: Ledger, rng: random.Random) -> None:
    guarantee = {"adjacency": "replace-one"}
    while True:
        n = rng.randint(1, 3)
        what, more = rng.choice([(DESIGN, {}), ((0.05, 1e-8), guarantee), (GaussianDpEvent(15.0), {})])
        try:
            ledger.charge(what, n, **more, note=rng.choice(["", "again"]))
        except darrm.BudgetError:
            say("refused")
            break
        say(n)


DESIGN, EVENT = darrm.load(Path(sys.argv[1]).with_name("design.json")), GaussianDpEvent(15.0)
LEDGER, RNG = Ledger(sys.argv[1]), random.Random(int(sys.argv[2]))
LEDGER.remaining(DESIGN)
darrm.interop.PLDAccountant().compose(EVENT)  # all is imported
say("ready")
for _ in sys.stdin:
    seed = RNG.random()
    child = os.fork()
    if child == 0:
        try:
            say(f"worker {os.getpid()}")
            work(LEDGER, random.Random(seed))
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    say(f"ended {code}")
