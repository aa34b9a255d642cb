"""The command ``darrm``, whose search interrupts its process and then never ends."""

import os
import signal
import sys
import time

from darrm.cli import main
from darrm.design import solve


def search(*arguments: object, **options: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(300)


solve.solve = search  # type: ignore[assignment]
sys.exit(main(sys.argv[1:]))
