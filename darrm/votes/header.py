"""The columns of votes in a table, by its header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from darrm._validation import several_classes, shown
from darrm.errors import InputError
from darrm.problem.groups import ByGroups
from darrm.problem.voter_names import compared, voter_names
from darrm.votes.answers import Answers, in_words, is_nothing, meant, numbered
from darrm.votes.by_name import places
from darrm.votes.names_above import ascend, check_header, check_once, check_wide, of_numbers

Voters = int | tuple[str, ...] | None  # how many columns of votes there must be, or whose; None: one or more

_MOST_SHOWN = 12


def voters_of(problem: ByGroups, voters: Sequence[str] | None, called: str = "voters") -> int | tuple[str, ...]:
    """The voters of a design: by its own names, else by ``voters``, else K columns in order."""
    if voters is None:
        return problem.voters or problem.K
    if problem.voters is not None:
        raise InputError(
            f"The voters of the design have names, which select their columns. Got other names. Leave {called} out."
        )
    return voter_names(voters, problem.K, called)


@dataclass(frozen=True)
class Columns:
    """Which columns are votes, and which the id and the label of a row, if there are any.

    Attributes
    ----------
    names : tuple of str
        Of all columns of the table.
    votes : tuple of int
        Where the votes of the voters 0, 1, ... stand in a row.
    id, label : int or None
        Where these stand.
    answers : Answers
    index : bool
        Whether the id is an index that nobody called id. Integers in it are then the numbers of rows, and no ids.
    blank : tuple of int
        Columns without a name behind all others, in which nothing may stand.
    counted : range or None
        The ids, if they are integers in order that a frame counts without a column.
    """

    names: tuple[str, ...]
    votes: tuple[int, ...]
    id: int | None
    label: int | None
    answers: Answers
    index: bool = False
    blank: tuple[int, ...] = ()
    counted: range | None = None

    @classmethod
    def of(
        cls,
        source: object,
        names: Sequence[str],
        voters: Voters,
        answers: Answers,
        *,
        first_line: bool | None = False,
        index: int | None = None,
        passed: Sequence[int] = (),
    ) -> Columns:
        """The columns of those names.

        Parameters
        ----------
        source : object
            What errors call the table.
        names : sequence of str
        voters : int, tuple of str or None
            How many votes a row has, or whose, by the names of their columns; None for any number from one on.
        answers : Answers
        first_line : bool or None
            Whether the names are the first line of a text, which may be votes if there is no header. If not, a program
            may have taken that line for one before; None if it has not.
        index : int, optional
            Where names of rows stand that are the ids if no column is called id: the index of a frame.
        passed : sequence of int
            Further columns of no voter.

        Raises
        ------
        InputError
            If they are no header, or name a voter twice, or are not those of so many votes or of these voters.
        """
        names = tuple(map(compared, names))
        by_name = isinstance(voters, tuple)
        end = len(names)
        while end > 1 and _unnamed(names[end - 1], end - 1):
            end -= 1
        if index is None and names and names[0] in ("", "Unnamed: 0") and end > 1:
            index = 0
        identifier, label = (_called(what, source, names, by_name=by_name) for what in ("id", "label"))
        others = {identifier, label, index, *passed, *range(end, len(names))}
        votes = tuple(at for at in range(len(names)) if at not in others)
        if isinstance(voters, tuple):
            if not set(voters) <= set(names):
                check_wide(names, len(votes), None, source)
            votes = places(source, names, voters)
        else:
            if identifier is None and label is None and first_line is not None:
                own = [names[at] for at in votes]
                check_header(own, source, answers, first_line=first_line, blank=names[:1] == ("",))
            check_once(names, source)
            check_wide(names, len(votes), voters, source)
            for at in votes:
                if _unnamed(names[at], at):
                    raise InputError(f"{source}, column {at + 1} has no name. Name its voter, or delete it.")
        columns = cls(
            names,
            votes,
            index if identifier is None else identifier,
            label,
            answers,
            index=identifier is None and index is not None,
            blank=() if by_name else tuple(range(end, len(names))),
        )
        if not votes or (isinstance(voters, int) and len(votes) != voters):
            columns._refuse(source, voters)
        return columns

    @property
    def read(self) -> tuple[int, ...]:
        """Where the votes and then the label, if there is one, stand in a row."""
        return self.votes if self.label is None else (*self.votes, self.label)

    @property
    def usual(self) -> bool:
        """Whether a row is an id, if there is one, and then votes and a label in any order, without other columns."""
        first = () if self.id is None else (self.id,)
        return (*first, *sorted(self.read)) == tuple(range(len(self.names)))

    @property
    def voters(self) -> tuple[str, ...]:
        """The names of the columns of votes, in the order of the votes."""
        return tuple(self.names[at] for at in self.votes)

    def _refuse(self, source: object, K: Voters) -> NoReturn:
        """The error for another number of vote columns than K, with what may be wrong."""
        votes, n = [self.names[at] for at in self.votes], len(self.votes)
        hint = ""
        taken = [
            f"{self.names[at] or 'the first'} is taken for the {what}"
            for at, what in ((self.id, "index" if self.index else "id"), (self.label, "label"))
            if at is not None
        ]
        if len(self.names) == 1 and re.search(r"[ |:]", self.names[0]):
            hint = " Separate columns by commas, semicolons or tabs."
        elif isinstance(K, int) and K < n <= 2 * K:  # with more it is rather the votes of others
            ways = [f"call {votes[0]} id if it holds ids"] * (n == K + 1 and (self.id is None or self.index))
            ways += [f"call {votes[-1]} label if it holds true answers"] * (n == K + 1 and self.label is None)
            ways += ["delete what holds no votes", "name those of votes (darrm release --columns)"]
            many = "One is" if n == K + 1 else f"{n - K} are"
            hint = f" {many} too many: {', '.join(ways[:-1])}, or {ways[-1]}."
        elif taken and not (isinstance(K, int) and n > K):
            hint = f" Column {' and column '.join(taken)}."
        elif isinstance(K, int) and 0 < n < K:
            some = "One voter has no column" if n == K - 1 else f"{K - n} voters have no column"
            hint = f" {some}: add it, or use a design for {n} voters."
        if self.answers.of_noisy_max and set(votes) == set(self.answers.names):
            hint = " These are the classes: if a row holds the number of votes for each class, pass --layout counts "
            hint += "(in Python darrm.votes.read_counts)."
        elif n > 1 and not (isinstance(K, int) and n == K + 1):
            hint = of_numbers(self.names)[1:] or hint
        wanted = "at least 1" if K is None else f"K = {K}"
        raise InputError(
            f"{source} must have {wanted} vote columns, beside an optional id and an optional label. "
            f"Got {n}{': ' * bool(votes)}{', '.join(votes[:_MOST_SHOWN])}{', ...' * (n > _MOST_SHOWN)}.{hint}"
        )

    def fault(self, column: int, got: object) -> str:
        """What is wrong with a value that is none of the answers."""
        is_label = column == self.label
        what = "A label" if is_label else "A vote"
        absent = ", or -1 or nothing for an absent voter" if self.answers.absent and not is_label else ""
        allowed = in_words(self.answers.names) + absent
        return f"column {self.names[column]}: {what} must be {allowed}. Got {shown(got)}.{self._hint(got, is_label)}"

    def other_type(self, column: int, where: str, got: str) -> InputError:
        """The error for a column of a type that no votes have."""
        allowed = f"{self.answers.kind}, truth values or texts"
        return InputError(f"{where}, column {self.names[column]} must hold {allowed}. Got {got}.")

    def check_blank(self, column: int, value: object, where: str) -> None:
        """`InputError` if something stands in a column without a name."""
        if not (is_nothing(value) and value != -1):
            raise InputError(
                f"{where}, column {column + 1} has no name and holds {shown(value)}. Name its voter, or delete it."
            )

    def _hint(self, got: object, is_label: bool) -> str:
        """What to do about a value that is none of the answers."""
        if not is_nothing(got):
            if len(self.answers.names) > 2 and numbered(self.answers.names) and str(got)[:1].isalpha():
                return (
                    " Name the classes where the design is planned or solved, as in --classes a,b,c, or in Python "
                    'where votes are read, as in classes=["a", "b", "c"].'
                )
            unnamed = "" if ascend(self.voters) or not re.fullmatch("[0-9]+", str(got)) else of_numbers(self.names)[1:]
            return unnamed or meant(got, self.answers.names) or several_classes(got, len(self.answers.names))
        if is_label:
            return " Fill it in, or leave the column label out."
        if self.answers.absent:
            return ""
        if self.answers.of_noisy_max:
            return (
                " Noisy max takes a vote of every voter. Of one whose absence does not depend on its data, write an "
                "answer in that cell that is drawn uniformly."
            )
        return (
            " Voters may be absent if the design was solved with --absent; in Python read with absent=True. Otherwise, "
            "of a voter whose absence depends neither on its data nor on votes, write an answer in that cell that is "
            "drawn anew for each row: uniformly, or, if the design states a table as the randomizer, by that table "
            "from a random true answer."
        )


def _unnamed(name: str, at: int) -> bool:
    """Whether a column has no name, or the one that pandas gives such a column."""
    return name in ("", f"Unnamed: {at}")


def _called(what: str, source: object, names: Sequence[str], *, by_name: bool) -> int | None:
    """Where the column of that name stands, in letters of any size; of several the one in small letters ``by_name``."""
    found = [at for at, name in enumerate(names) if name.casefold() == what]
    if by_name and len(found) > 1:
        found = [at for at in found if names[at] == what] or found
    if len(found) > 1:
        raise InputError(
            f"{source} has several columns for the {what}: {', '.join(names[at] for at in found)}. Keep one, and call "
            "the others otherwise."
        )
    return found[0] if found else None
