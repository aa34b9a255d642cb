"""``darrm`` that hears interrupts even if a shell told it to ignore them, as it does in the background."""

import signal
import sys

from darrm.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
