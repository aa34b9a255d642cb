"""Scripts of benchmarks/ as modules, for the tests of what they compute, and programs that tests start."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
PROGRAMS = Path(__file__).resolve().parent / "programs"
COMMAND = str(PROGRAMS / "command.py")  # darrm, in a process of its own
FOLDERS = [str(BENCHMARKS / "paper"), str(BENCHMARKS)]


def load(name: str) -> ModuleType:
    """Import a script; its folders are on the path of Python only meanwhile."""
    sys.path[:0] = FOLDERS
    try:
        return importlib.import_module(name)
    finally:
        for folder in FOLDERS:
            sys.path.remove(folder)
