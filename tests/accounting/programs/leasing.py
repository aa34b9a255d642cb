"""Lease labels, take two and print them, and end or be killed: leasing.py DESIGN LEDGER N ended|killed"""

import os
import signal
import sys

import darrm
from darrm.accounting import Ledger

design, ledger = darrm.load(sys.argv[1]), Ledger(sys.argv[2])
with ledger.lease(design, int(sys.argv[3])) as lease:
    for label in range(2):
        lease.take()
        print(label, flush=True)
    if sys.argv[4] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
