"""Names that load when they are first used, so that ``import darrm`` stays light and reaches every module."""

import sys
from collections.abc import Callable
from importlib import import_module
from os.path import dirname, join
from types import FunctionType
from typing import Any


def modules(package: str) -> Callable[[str], object]:
    """``__getattr__`` of a package: a module of it loads when it is first named, as in ``darrm.numerics.exact``."""

    def getattr_(name: str) -> object:
        module = f"{package}.{name}"
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return getattr_


def face(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that lists its public names in ``__init__.pyi``.

    A call of a public function or class that leaves out arguments, or gives others than it takes, is an
    `darrm.errors.InputError`, which names them.

    Type checkers read that file by themselves. Here it is read when a name, or ``__all__``, is first asked for.

    Parameters
    ----------
    package, file : str
        Its ``__name__`` and ``__file__``. The names that the stub imports from ``package`` itself are its modules.
    """
    homes: dict[str, str] = {}
    module_of = modules(package)

    def home() -> dict[str, str]:
        if not homes:
            homes.update(_listed(file))
        return homes

    def getattr_(name: str) -> object:
        if name == "__all__":
            return sorted(home())
        if home().get(name, package) == package:
            return module_of(name)
        return _that_names_missing(getattr(import_module(homes[name]), name))

    return getattr_, lambda: sorted(home())


def _that_names_missing(value: object) -> object:
    """A public function or class, which from now on says which arguments of a call are missing, or which it takes."""
    from darrm._validation import names_missing

    if isinstance(value, type):
        init = vars(value).get("__init__")
        if isinstance(init, FunctionType) and not issubclass(value, BaseException):
            kind: Any = value
            kind.__init__ = names_missing(init)
    elif isinstance(value, FunctionType):
        home, name, checked = sys.modules[value.__module__], value.__qualname__, names_missing(value)
        if getattr(home, name, None) is value:  # pickles find it by this name
            setattr(home, name, checked)
        return checked
    return value


def _listed(file: str) -> dict[str, str]:
    """The names that the stub beside a package's ``file`` imports, each with the module that it comes from."""
    import ast  # only here: `darrm --help` asks for no name

    with open(join(dirname(file), "__init__.pyi"), encoding="utf-8") as stub:
        tree = ast.parse(stub.read())
    lines = (line for line in tree.body if isinstance(line, ast.ImportFrom))
    return {name.name: line.module or "" for line in lines for name in line.names}


# Notebooks call this to display a design or a plan; the engine itself imports no plotting.
VIEW = "darrm.show.inline:notebook_html"


def view(value: object) -> object:
    """``value`` as the HTML that notebooks show."""
    module, _, name = VIEW.partition(":")
    return getattr(import_module(module), name)(value)
