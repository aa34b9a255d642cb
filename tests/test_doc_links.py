"""Types in docstrings become links, to the reference and to other projects, and no page is fetched for it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from test_supply import left_the_machine, watched

DOCS = Path(__file__).resolve().parents[1] / "docs"

pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def links() -> ModuleType:
    spec = importlib.util.spec_from_file_location("links", DOCS / "links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONFIGURATION = f"""
import sys
from pathlib import Path
sys.path[:0] = [{str(DOCS)!r}, "."]
import links
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.intersphinx", "links"]
autodoc_typehints = "none"
napoleon_use_rtype = False
intersphinx_mapping = links.inventories(Path("inventories").resolve())
nitpicky = True  # a word that is taken for a type and leads nowhere ends the build
"""
MODULE = '''
from decimal import Decimal

class Design:
    """A design."""
    shape = 1
    n = 2

class OfErrors(Exception):
    """An error."""

def function(gamma, rng, X, design, floor):
    """Do it.

    Parameters
    ----------
    gamma : ndarray, shape (n,), float in [0, 1]
        Numbers.
    rng : numpy.random.Generator, optional
    X : array_like or sparse matrix, shape (n, d)
    design : Design or path
    floor : Decimal > 0

    Returns
    -------
    list of Design, shape (n,)
        All.

    Raises
    ------
    OfErrors
        If it cannot.
    csv.Error
        If it will not.
    """

def named():
    """Name it.

    Returns
    -------
    first : ndarray of int
        One.
    second : {"a", "b"}
        Another.
    """
'''
PAGE = """
Page
====
.. autoclass:: typed.Design
   :members:
.. autoexception:: typed.OfErrors
.. autofunction:: typed.function
.. autofunction:: typed.named

:py:class:`expression <cvxpy.expressions.expression.Expression>`
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """A page that Sphinx made of a small module, and what it tried to reach meanwhile."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "typed.py").write_text(MODULE, encoding="utf-8")
    (folder / "index.rst").write_text(PAGE, encoding="utf-8")
    build = "from sphinx.cmd.build import main; raise SystemExit(main('-W -q -b html . out'.split()))"
    lines = watched(folder, "-c", build)
    return (folder / "out" / "index.html").read_text(encoding="utf-8"), lines


@pytest.mark.thorough
def test_nothing_is_fetched(page: tuple[str, list[str]]) -> None:
    assert left_the_machine(page[1]) == []


@pytest.mark.parametrize(
    ("word", "address"),
    [
        ("ndarray", "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html#numpy.ndarray"),
        ("array_like", "https://numpy.org/doc/stable/glossary.html#term-array_like"),
        (
            "numpy.random.Generator",
            "https://numpy.org/doc/stable/reference/random/generator.html#numpy.random.Generator",
        ),
        ("sparse matrix", "https://docs.scipy.org/doc/scipy/reference/sparse.html#module-scipy.sparse"),
        ("float", "https://docs.python.org/3/library/functions.html#float"),
        ("list", "https://docs.python.org/3/library/stdtypes.html#list"),
        ("Decimal", "https://docs.python.org/3/library/decimal.html#decimal.Decimal"),
        ("path", "https://docs.python.org/3/glossary.html#term-path-like-object"),
        ("csv.Error", "https://docs.python.org/3/library/csv.html#csv.Error"),
        (
            "expression",
            "https://www.cvxpy.org/api_reference/cvxpy.expressions.html#cvxpy.expressions.expression.Expression",
        ),
        ("Design", "#typed.Design"),
        ("OfErrors", "#typed.OfErrors"),
    ],
)
@pytest.mark.thorough
def test_a_word_for_a_type_is_a_link(page: tuple[str, list[str]], word: str, address: str) -> None:
    found = re.findall(r'<a class="reference \w+" href="([^"]+)"[^>]*>(?:<[^>]+>)*([^<]+)<', page[0])
    assert {link for link, text in found if text == word} == {address}


@pytest.mark.thorough
def test_what_is_no_type_stays_text(page: tuple[str, list[str]]) -> None:
    """``shape`` and ``n`` are names of attributes too."""
    text = re.sub(r"<[^>]+>", "", page[0])
    assert "gamma (ndarray, shape (n,), float in [0, 1]) \u2013 Numbers." in text
    assert "list of Design, shape (n,) \u2013 All." in text
    assert "first (ndarray of int) \u2013 One." in text
    for word in ("shape", "n"):
        assert not re.search(rf'<a class="reference internal"[^>]*>(?:<[^>]+>)*{word}<', page[0])


def test_every_project_is_mapped_to_a_file_that_is_there(links: ModuleType, tmp_path: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    mapping = links.inventories(tmp_path)
    assert {"python", "numpy", "scipy", "scikit-learn", "cvxpy"} <= mapping.keys()
    for project, (address, path) in mapping.items():
        assert address.startswith("https://")
        assert address.endswith("/")
        with Path(path).open("rb") as file:
            read = InventoryFile.load(file, address, lambda base, rest: base + rest)
        [named] = [name for name in links.PROJECTS if name.lower() == project]
        listed = {(kind, name): address + place for kind, name, place in links.entries(named)}
        assert {(kind, name): item.uri for kind, names in read.items() for name, item in names.items()} == listed


def test_words_lead_to_names_that_are_listed(links: ModuleType) -> None:
    listed = {(kind, name) for project in links.PROJECTS for kind, name, _ in links.entries(project)}
    kinds = {"mod": "py:module", "class": "py:class", "term": "std:term"}
    assert {(kinds[role], target) for _, role, target in links.WORDS.values()} <= listed


@pytest.mark.thorough
def test_listed_names_are_there(links: ModuleType) -> None:
    """A class that was renamed would be a link to nowhere."""
    for project in ("Python", "NumPy", "SciPy", "scikit-learn", "pandas", "PyArrow", "CVXPY"):
        for kind, name, _ in links.entries(project):
            if kind != "std:term":
                module, _, last = name.rpartition(".")
                place = pytest.importorskip(module or "builtins")
                assert hasattr(place, last) or importlib.util.find_spec(name)
