"""Charge a ledger with labels, guarantees and curves until it refuses; print how many of each once they are charged.

    mixed_charges.py LEDGER SEED

The design is in design.json beside the ledger. It says "ready" when all is imported, and starts at the next line.
"""

import random
import sys
from pathlib import Path

from dp_accounting import GaussianDpEvent

import darrm
from darrm.accounting import Ledger

ledger, rng = Ledger(sys.argv[1]), random.Random(int(sys.argv[2]))
design = darrm.load(Path(sys.argv[1]).with_name("design.json"))
guarantee = {"adjacency": "replace-one"}
print("ready", flush=True)
sys.stdin.readline()
while True:
    n = rng.randint(1, 3)
    what, more = rng.choice([(design, {}), ((0.05, 1e-8), guarantee), (GaussianDpEvent(15.0), {})])
    try:
        ledger.charge(what, n, **more, note=rng.choice(["", "again"]))
    except darrm.BudgetError:
        print("refused", flush=True)
        break
    print(n, flush=True)
