"""Run a program as if some libraries were not installed: ``without.py NAME,NAME PROGRAM [ARGUMENT ...]``."""

import runpy
import sys

_, names, program, *arguments = sys.argv


class Missing:
    """Finds no module of these libraries."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        library = name.partition(".")[0]
        if library in names.split(","):
            raise ModuleNotFoundError(f"No module named {library!r}", name=library)


sys.meta_path.insert(0, Missing())
sys.argv = [program, *arguments]
runpy.run_path(program, run_name="__main__")
