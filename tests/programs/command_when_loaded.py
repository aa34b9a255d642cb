"""``darrm`` after all its imports, in which an interrupt is Python's own to answer. Prints "ready" before."""

import sys

import click
import highspy

from darrm.cli import main

if __name__ == "__main__":
    assert all((click, highspy))
    print("ready", flush=True)
    sys.exit(main(sys.argv[1:]))
