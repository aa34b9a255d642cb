"""The commands ``darrm`` of the lines on the standard input, one after the other, each of which must succeed."""

import shlex
import sys

from darrm.cli import main

if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        if status := main(shlex.split(line)):
            sys.exit(f"{line}: status {status}")
