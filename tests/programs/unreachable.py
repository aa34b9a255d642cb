"""Print which of the dotted names on the standard input do not follow from a plain ``import darrm``.

Each name is tried after an import of its own: what one name loads does not help the next.
"""

import importlib
import sys

for name in sys.stdin.read().split():
    for module in [module for module in sys.modules if module.partition(".")[0] == "darrm"]:
        del sys.modules[module]
    package, *attributes = name.split(".")
    value = importlib.import_module(package)
    try:
        for attribute in attributes:
            value = getattr(value, attribute)
    except AttributeError as error:
        print(f"{name}: {error}")
