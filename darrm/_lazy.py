"""Names that load when they are first used, so that ``import darrm`` stays light and reaches every module."""

from collections.abc import Callable, Mapping
from importlib import import_module


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


def face(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        For each module the names that come from it, with spaces between them. The names of ``package`` itself are its
        modules.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    module_of = modules(package)

    def getattr_(name: str) -> object:
        if home.get(name, package) == package:
            return module_of(name)
        return getattr(import_module(home[name]), name)

    def dir_() -> list[str]:
        return sorted(home)

    return getattr_, dir_, sorted(home)


# How a design or a plan shows itself in a notebook; the engine does not know pictures.
VIEW = "darrm.show.inline:notebook_html"


def view(value: object) -> object:
    """``value`` as the HTML that notebooks show."""
    module, _, name = VIEW.partition(":")
    return getattr(import_module(module), name)(value)
