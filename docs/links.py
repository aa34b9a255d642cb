"""Sphinx extension: the types in docstrings as links, to this reference and to that of the libraries.

Docstrings name types in words: "ndarray, shape (n,)", "float in [0, 1]", "array_like or sparse matrix". The word that
names the type becomes the link; the rest stays text. Where links to other projects lead is in the list below, not in
an inventory from the network, so that pages build offline: `inventories` writes the list as files for intersphinx.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

# For names: what they are, where ($ is the name), and they.
PROJECTS = {
    "Python": (
        "https://docs.python.org/3/",
        """
        py:class      library/functions.html#$    bool float int
        py:class      library/stdtypes.html#$     bytes dict list str tuple
        py:class      library/decimal.html#$      decimal.Decimal
        py:class      library/fractions.html#$    fractions.Fraction
        py:class      library/pathlib.html#$      pathlib.Path
        py:exception  library/exceptions.html#$   ImportError UnicodeDecodeError ValueError
        py:exception  library/csv.html#$          csv.Error
        std:term      glossary.html#term-$        callable iterable mapping path-like-object sequence
        """,
    ),
    "NumPy": (
        "https://numpy.org/doc/stable/",
        """
        py:class      reference/generated/$.html#$           numpy.ndarray
        py:class      reference/random/generator.html#$      numpy.random.Generator
        std:term      glossary.html#term-$                   array_like
        """,
    ),
    "SciPy": (
        "https://docs.scipy.org/doc/scipy/",
        """
        py:module     reference/sparse.html#module-$         scipy.sparse
        """,
    ),
    "scikit-learn": (
        "https://scikit-learn.org/stable/",
        """
        py:class      modules/generated/$.html#$
            sklearn.base.BaseEstimator sklearn.base.ClassifierMixin sklearn.base.RegressorMixin
        std:term      glossary.html#term-$                   classifier
        """,
    ),
    "CVXPY": (
        "https://www.cvxpy.org/",
        """
        py:class      api_reference/cvxpy.expressions.html#$  cvxpy.expressions.expression.Expression
        """,
    ),
    "pandas": (
        "https://pandas.pydata.org/docs/",
        """
        py:class      reference/api/$.html#$                 pandas.DataFrame pandas.Series
        """,
    ),
    "PyArrow": (
        "https://arrow.apache.org/docs/",
        """
        py:class      python/generated/$.html#$              pyarrow.Array pyarrow.RecordBatch pyarrow.Table
        """,
    ),
}
# How docstrings call what has another name there, longest first: domain, role, target.
WORDS = {
    "scikit-learn classifier": ("std", "term", "classifier"),
    "sparse matrix": ("py", "mod", "scipy.sparse"),
    "array_like": ("std", "term", "array_like"),
    "callable": ("std", "term", "callable"),
    "iterable": ("std", "term", "iterable"),
    "mapping": ("std", "term", "mapping"),
    "path": ("std", "term", "path-like-object"),
    "sequence": ("std", "term", "sequence"),
    "ndarrays": ("py", "class", "numpy.ndarray"),
    "ndarray": ("py", "class", "numpy.ndarray"),
    "Decimal": ("py", "class", "decimal.Decimal"),
    "Fraction": ("py", "class", "fractions.Fraction"),
    "Path": ("py", "class", "pathlib.Path"),
    "BaseEstimator": ("py", "class", "sklearn.base.BaseEstimator"),
}


def entries(project: str) -> list[tuple[str, str, str]]:
    """Kind, name and address below the project's of each name that is listed."""
    found, kind, place = [], "", ""
    for word in PROJECTS[project][1].split():
        if ":" in word:
            kind = word
        elif ".html" in word:
            place = word
        else:
            found.append((kind, word, place.replace("$", word)))
    return found


LISTED = [name for project in PROJECTS for kind, name, _ in entries(project) if kind != "std:term"]
# Also what is written like a class, such as DecisionProblem: of a word like "shape" Sphinx would find an attribute.
TYPE = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, (*WORDS, *LISTED)))}|[A-Z]\w*[a-z]\w*)(?![\w.])")


def inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project; what ``intersphinx_mapping`` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (address, _) in PROJECTS.items():
        lines = "".join(f"{name} {kind} 1 {place} -\n" for kind, name, place in entries(project))
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n# compressed with zlib.\n"
        path = folder / f"{project.lower()}.inv"
        path.write_bytes(head.encode() + zlib.compress(lines.encode()))
        mapping[project.lower()] = (address, str(path))
    return mapping


def linked(text: str, like: nodes.TextElement, **context: Any) -> list[nodes.Node]:
    """``text``, in nodes ``like`` the given, with each word that may name a type as a reference."""
    found: list[nodes.Node] = []
    end = 0
    for match in TYPE.finditer(text):
        domain, role, target = WORDS.get(match[0], ("py", "class", match[0]))
        reference = addnodes.pending_xref("", like.__class__(match[0], match[0]), **context)
        reference.update_basic_atts({})
        reference.attributes.update(refdomain=domain, reftype=role, reftarget=target, refexplicit=False)
        reference["refspecific"] = domain == "py" and "." not in target
        found += [*plain(text[end : match.start()], like), reference]
        end = match.end()
    return [*found, *plain(text[end:], like)]


def plain(text: str, like: nodes.TextElement) -> list[nodes.Node]:
    return [like.__class__(text, text)] if text else []


def link_types(app: Any, doctree: nodes.document) -> None:
    """Of parameters the words of the type, which Sphinx takes for one name; of returns the type, in italics."""
    for field in doctree.findall(nodes.field):
        for reference in list(field.findall(addnodes.pending_xref)):
            if reference.get("reftype") == "class" and isinstance(reference[0], addnodes.literal_emphasis):
                context = {key: value for key, value in reference.attributes.items() if key.startswith("py:")}
                reference.replace_self(linked(reference.astext(), reference[0], **context))
        if field[0].astext() in ("Returns", "Yields"):
            for written in list(field.findall(nodes.emphasis)):
                before = written.parent[: written.parent.index(written)]
                if not before or (isinstance(before[0], nodes.strong) and before[1:] and before[1].astext() == " ("):
                    written.replace_self(linked(written.astext(), written))


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", link_types)
    return {"parallel_read_safe": True}
