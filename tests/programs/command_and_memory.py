"""``darrm``, which must end well, and then the largest memory of this process as /proc says it."""

import sys
from pathlib import Path

from darrm.cli import main

assert main(sys.argv[1:]) == 0
print(*[line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")])
