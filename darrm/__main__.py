"""``python -m darrm`` is ``darrm``."""

import sys

from darrm.cli import main

if __name__ == "__main__":
    sys.exit(main(program="python -m darrm"))
