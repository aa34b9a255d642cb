"""Names above columns that are refused: votes for a header, a voter that is there twice, one row a vote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase

from darrm.errors import InputError
from darrm.problem.voter_names import compared
from darrm.votes.answers import Answers, is_nothing

_MOST_SHOWN = 12
_SURE = 3  # from so many columns on, 0, 1, 2, ... are the numbers that pandas gives columns, and no first row of votes
# What programs add to the first and the second of two columns of one name: readers of pandas and R, of polars; joins of
# polars, pandas, R.
_AGAIN = (("", ".1"), ("", "_duplicated_0"), ("", "_right"), ("_x", "_y"), (".x", ".y"))
_NUMBER = re.compile("[0-9]+([.]0*)?")
_ADDED = re.compile(r"(\.[0-9]+|_duplicated_[0-9]+)$")
# A table with one row a vote has a column of each of these kinds, and few others.
_MOST_OF_ONE_VOTE = 5
_VOTERS = {"voter", "worker", "annotator", "rater", "teacher", "judge", "labeler", "labeller"}
_VOTES = {"vote", "label", "answer", "response", "annotation", "rating", "prediction", "class"}
_QUERIES = {"id", "query", "item", "task", "question", "example", "sample", "row", "instance", "object"}


def check_frame(votes: object) -> None:
    """`InputError` if a data frame that is taken for an array has a voter twice, or a column that holds no votes."""
    columns = getattr(votes, "column_names", None) or getattr(votes, "columns", None)
    if columns is None or callable(columns):
        return
    names = [compared(str(name)) for name in columns]
    check_once(names, "The frame")
    others = [name for name in names if name.casefold() in ("id", "label")]
    if others:
        raise InputError(
            f"votes must be columns of votes alone. Got a data frame with a column {others[0]}: pass it to "
            "darrm.columns.release, which leaves out id and label, or leave that column out."
        )


def check_header(votes: Sequence[str], source: object, answers: Answers, *, first_line: bool, blank: bool) -> None:
    """`InputError` if the names above votes may be votes themselves: a row would be lost."""
    if list(votes) == [str(i) for i in range(len(votes))] and (len(votes) >= _SURE or not first_line):
        return
    if blank and not answers.absent:  # a name that is missing, where no vote can be
        return
    alike = [
        is_nothing(name) or answers.votes.means(name) or answers.votes.means(_ADDED.sub("", name)) for name in votes
    ]
    few = 2 * sum(alike) < len(alike)  # a row of votes with a fault holds votes for the most part
    if votes and (few or (ascend(votes) and not all(alike))):
        return
    line = ", ".join(votes[:_MOST_SHOWN]) + ", ..." * (len(votes) > _MOST_SHOWN)
    other = "Name the voters by other words than answers."
    if votes and not first_line:
        raise InputError(
            f"{source} has columns called {line}: these may be voters, or a first row of votes that was taken for a "
            f"header when the table was read. {other}"
        )
    meant = f" Its first line, {line}, may be a row of votes, or names of voters. {other}" if votes else ""
    raise InputError(
        f"{source} has no header. Its first line must name the columns: id, one for each voter, label.{meant}"
    )


def ascend(names: Sequence[str]) -> bool:
    """Whether names are ascending numbers: of columns, of which some are left."""
    numbers = [int(name) for name in names if re.fullmatch("[0-9]{1,9}", name)]
    return len(numbers) == len(names) and numbers == sorted(set(numbers))


def of_numbers(names: Sequence[str]) -> str:
    """What to do if all names but one are numbers and none is id, as of a row that is no header; else nothing."""
    found = sum(_NUMBER.fullmatch(name) is not None for name in names)
    named = any(name.casefold() in ("id", "label") for name in names)
    if named or found < max(1, len(names) - 1) or list(names) == [str(i) for i in range(len(names))]:
        return ""
    return (
        ". The names are numbers, so the first line may be no header: it must name the columns, as id, one for each "
        "voter, label. If a row holds the number of votes for each class, name these columns by the classes and pass "
        "--layout counts, for noisy max (in Python darrm.votes.read_counts)."
    )


def check_once(names: Sequence[str], source: object) -> None:
    """`InputError` if a voter is there twice: a change of its data would reach two votes."""
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        if name and first.setdefault(name, at) != at:
            raise InputError(
                f"{source} has the column {name} twice, in places {first[name] + 1} and {at + 1}"
                + (
                    of_numbers(names)
                    or ": a change of that voter's data would then affect two votes. Delete one, or name it after a "
                    "voter of its own."
                )
            )
    for name in names:
        for one, other in _AGAIN:
            own = name.removesuffix(one)
            if not own or not name.endswith(one) or own + other not in first:
                continue
            if one[1:] == "x" and sum(own + one[0] + letter in first for letter in ascii_lowercase) > 2:
                continue  # of a, b, ..., x, y: three of a kind come from no join
            raise InputError(
                f"{source} has columns {name} and {own}{other}: either {own} stood there twice in tables that were "
                f"read or joined before, or these are two voters. Delete one, or call {own}{other} otherwise. To keep "
                "the names of two voters, name the columns of all (darrm release --columns, in Python voters=), or "
                "take a design that names its voters."
            )


def check_wide(names: Sequence[str], n_votes: int, K: int | None, source: object) -> None:
    """`InputError` for a table with one row a vote, if its names say so."""
    words = {re.sub(r"[ _.-]?(id|name)$", "", name.casefold()) or "id": name for name in names}
    found = [next((words[word] for word in words if word in kind), None) for kind in (_QUERIES, _VOTERS, _VOTES)]
    query, voter, vote = found
    if None in found or len(names) > _MOST_OF_ONE_VOTE:
        return
    if str(vote).casefold() == "label" and (n_votes == K if K is not None else len(names) > len(found)):
        return
    raise InputError(
        f"{source} has one row a vote (columns {', '.join(names)}), where a row must hold all votes on one query, with "
        f"one column a voter. In pandas: frame.pivot(index={query!r}, columns={voter!r}, values={vote!r})"
        ".rename_axis('id'). Noisy max takes one row a vote: darrm release --layout rows, darrm.votes.read_counts."
    )
