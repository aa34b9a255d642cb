"""Print which of the dotted names on the standard input do not follow from a plain ``import darrm``.

Each name is tried after an import of its own: what one name loads does not help the next. Names that stand in a package
of darrm as soon as it is imported, and so load nothing, share one import.
"""

import importlib
import inspect
import sys
from functools import cache


def imported(name: str) -> object:
    """A module by its name, after nothing else of darrm."""
    for module in [module for module in sys.modules if module.partition(".")[0] == "darrm"]:
        del sys.modules[module]
    package, *attributes = name.split(".")
    return reached(importlib.import_module(package), attributes)


package_alone = cache(imported)


def reached(value: object, attributes: list[str]) -> object:
    for attribute in attributes:
        value = getattr(value, attribute)
    return value


def stands(name: str) -> bool:
    """Whether nothing need be loaded for it but what its package loads."""
    parts = name.split(".")
    try:
        value = package_alone(".".join(parts[:2]))
        for attribute in parts[2:]:
            value = inspect.getattr_static(value, attribute)
    except AttributeError:
        return False
    return True


for name in sys.stdin.read().split():
    try:
        if not stands(name):
            imported(name)
    except AttributeError as error:
        print(f"{name}: {error}")
