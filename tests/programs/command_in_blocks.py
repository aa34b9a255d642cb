"""``darrm`` that reads votes a thousand rows at a time; after ``--kill`` it kills itself in the second block."""

import os
import signal
import sys

from darrm.cli import main
from darrm.votes import csv, labels

csv._BLOCK = 1000
arguments = sys.argv[1:]
if arguments[0] == "--kill":
    del arguments[0]
    write = labels.LabelsFile.write

    def write_and_die(self, ids, labels):  # type: ignore[no-untyped-def]
        write(self, ids, labels)
        if self.n > 1000:
            os.kill(os.getpid(), signal.SIGKILL)

    labels.LabelsFile.write = write_and_die  # type: ignore[method-assign]
sys.exit(main(arguments))
