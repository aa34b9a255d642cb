"""Lease labels, take two and print them, and end or be killed; 4 if the budget does not cover them.

leasing.py DESIGN LEDGER N ended|killed
"""

import os
import signal
import sys

import darrm
from darrm.accounting import Ledger

design, ledger = darrm.load(sys.argv[1]), Ledger(sys.argv[2])
try:
    leased = ledger.lease(design, int(sys.argv[3]))
except darrm.BudgetError:
    sys.exit(4)
with leased as lease:
    for label in range(2):
        lease.take()
        print(label, flush=True)
    if sys.argv[4] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
