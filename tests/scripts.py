"""Scripts of benchmarks/ and tools of tests/tools as modules, for their tests, and programs that tests start."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
TOOLS = Path(__file__).resolve().parent / "tools"
PROGRAMS = Path(__file__).resolve().parent / "programs"
COMMAND = str(PROGRAMS / "command.py")  # darrm, in a process of its own
FOLDERS = [*(str(BENCHMARKS / folder) for folder in ("paper", "studies", "speed")), str(TOOLS)]


def load(name: str) -> ModuleType:
    """Import a script; its folders are on the path of Python only meanwhile."""
    sys.path[:0] = FOLDERS
    try:
        return importlib.import_module(name)
    finally:
        for folder in FOLDERS:
            sys.path.remove(folder)
