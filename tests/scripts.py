"""Scripts of benchmarks/ as modules, for the tests of what they compute."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FOLDERS = [str(BENCHMARKS / "paper"), str(BENCHMARKS)]


def load(name: str) -> ModuleType:
    """Import a script; its folders are on the path of Python only meanwhile."""
    sys.path[:0] = FOLDERS
    try:
        return importlib.import_module(name)
    finally:
        for folder in FOLDERS:
            sys.path.remove(folder)
