"""The command ``darrm``, with the arguments of this program."""

import sys

from darrm.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
