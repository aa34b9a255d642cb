"""``darrm --help``, and after it the seconds of the processor that all of this took."""

import time

from darrm.cli import main

main(["--help"])
print(time.process_time())
