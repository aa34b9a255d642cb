"""Release batches of random sizes to files until the budget ends, and print the size that was refused.

    until_refused.py FOLDER NAME [URL]

FOLDER holds design.json, ledger.json, unless the ledger is at URL, and out/.
The program says "ready" when all is imported, and starts at the next line.
"""

import random
import sys
from pathlib import Path

import darrm
from darrm.accounting import Ledger

folder, name = Path(sys.argv[1]), sys.argv[2]
design, ledger = darrm.load(folder / "design.json"), Ledger([*sys.argv, str(folder / "ledger.json")][3])
rng = random.Random(name)
print("ready", flush=True)
sys.stdin.readline()
for i in range(10**6):
    n = rng.randint(1, 9)
    try:
        with ledger.releasing(design, n, folder / "out" / f"{name}-{i}.csv") as file:
            file.write("".join(f"{name},{i},{j}\n" for j in range(n)).encode())
    except darrm.BudgetError:
        print(n)
        break
