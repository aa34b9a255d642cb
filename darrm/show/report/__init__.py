"""One design as one page of HTML that opens offline and prints: for a review, a record, an appendix.

The page holds the guarantee in words, the problem, the noise function or the decision, and its error or cost beside
other mechanisms. Then come the privacy profile, the cumulative privacy loss of many labels, the worst case of the
certificate, and how to verify the design.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from darrm.design.design import Design
from darrm.errors import InputError
from darrm.storage.atomic import replacing, resolved

FULL = 101  # K up to which the default is a full report: some ten seconds
FULL_STATES = 50_000  # the same for decisions: multisets of corners
FULL_ENTRIES = 300_000  # the same for more than two answers: probabilities to go through


def html(
    design: Design,
    *,
    file: str | os.PathLike[str] | None = None,
    delta: float | None = None,
    queries: int | None = None,
    full: bool | None = None,
    kind: str = "",
) -> str:
    """A report on ``design``: one self-contained page without scripts, the same text on every run.

    Parameters
    ----------
    design : Design
    file : path, optional
        The design file, whose name, checksum and versions the report then shows. It must hold this design.
    delta : float in [0, 1), optional
        Delta of all labels together, for the total of many labels. If not given, the larger of 1e-5 and ten times the
        delta of one label or of the fixed voters, rounded up to one digit, and at most 1/2.
    queries : int, 1 to 10,000,000, optional
        A number of labels for the table of totals, in addition to 1, 10, 100, 1,000 and 100,000.
    full : bool, optional
        Whether to compute what takes long for many voters: the comparison with baselines, the privacy profile and the
        exact composition. If not given, for K up to 101, or 50,000 multisets of a decision's corners, or 300,000
        probabilities of a decision with more than two answers. A short report bounds the composition by a theorem
        instead, and so does that of a decision for absent voters or with more than two answers.
    kind : str
        For a design with a limit for each group: the kind of change that the report is about, such as "group 1".

    Returns
    -------
    str

    Raises
    ------
    InputError
        If an argument is not what it should be, or the file holds another design.
    MissingExtraError
        If matplotlib is not installed.

    Notes
    -----
    Some seconds at K = 11 and at K = 1001 if short; a full report costs some 200 separations (`darrm.verify`).

    Examples
    --------
    >>> import darrm
    >>> page = darrm.show.report.html(darrm.solve(K=5, m=2, epsilon=0.5), full=False)
    >>> "<script" in page, page.count("<img") + page.count("<svg") > 0
    (False, True)
    """
    from darrm._validation import check_total_delta, not_a_design, whole
    from darrm.show.report.page import render

    if not isinstance(design, Design):
        raise not_a_design("A report is about a Design", design)
    stored = None if file is None else _stored(Path(file), design)
    design = design.of_kind(kind)
    total = default_delta(design) if delta is None else check_total_delta(delta)
    also = None if queries is None else whole("queries", queries)
    name = "gamma.json" if file is None else Path(file).name
    return render(design, name, stored, total, _quick(design) if full is None else full, also)


def write(
    path: str | os.PathLike[str],
    design: Design,
    *,
    file: str | os.PathLike[str] | None = None,
    delta: float | None = None,
    queries: int | None = None,
    full: bool | None = None,
    kind: str = "",
) -> int:
    """Write the page of `html` to ``path``, whole or not at all, and return its size in bytes.

    Raises
    ------
    InputError
        As `html`, and if ``path`` is the design file.
    MissingExtraError, OutputError
        If matplotlib is missing or the path cannot be written.

    Examples
    --------
    >>> import darrm
    >>> size = darrm.show.report.write("report.html", darrm.solve(K=5, m=2, epsilon=0.5), full=False)
    >>> 10_000 < size < 1_000_000
    True
    """
    if file is not None and _same(Path(path), Path(file)):
        raise InputError(f"The report would replace the design file {file}. Pass another path, such as one in .html.")
    content = html(design, file=file, delta=delta, queries=queries, full=full, kind=kind).encode()
    with replacing(path) as out:
        out.write(content)
    return len(content)


def _quick(design: Design) -> bool:
    """Whether a full report takes some ten seconds at most."""
    from darrm.problem import class_corners, group_corners
    from darrm.problem.class_tables import is_symmetric

    problem = design.problem
    if design.encoding.name == "gamma":
        return bool(problem.K <= FULL)
    if problem.binary:
        return group_corners.entries(problem) <= FULL_STATES
    return class_corners.entries(problem, alike=is_symmetric(design.table, problem)) <= FULL_ENTRIES


def default_delta(design: Design) -> float:
    """The total delta of a report if none is given."""
    from darrm.show.markup import shown
    from darrm.show.report.sections import fails

    problem = design.problem
    spent = 10 * max(problem.delta, fails(problem))
    return min(0.5, max(1e-5, float(shown(spent, 1, up=True))))


def _stored(file: Path, design: Design) -> dict[str, Any]:
    """Checksum and versions in a design file that holds ``design``."""
    from darrm.design.content import AGAIN, FORMAT, VERSION
    from darrm.storage.sealed_json import read

    content = read(file, FORMAT, VERSION, "design", AGAIN)
    if not _holds(content, design):
        raise InputError(f"{file} holds another design than the one to report on. Pass darrm.load of that file.")
    made = content.get("made_with")
    versions = {str(key): str(value) for key, value in made.items()} if isinstance(made, dict) else {}
    return {"sha256": content["sha256"], "made_with": versions}


def _holds(content: dict[str, Any], design: Design) -> bool:
    from darrm.design.design import as_dict

    now = as_dict(design)
    names = [name for name in ("problem", "objective", "ordered", "shape", "profile") if name in now]
    exact = f"{design.encoding.key}_hex"
    return (
        [content.get(name) for name in names] == json.loads(json.dumps([now[name] for name in names]))
        and content.get(exact) == _hex(design)
        and [part.get(exact) for part in content.get("fewer", [])] == [*map(_hex, design.fewer.values())]
    )


def _hex(design: Any) -> list[str]:
    return [value.hex() for value in design.table.ravel().tolist()]


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return resolved(path) == resolved(other)
