"""The file of a ledger: what stands in it, its lock, and the labels that are charged for and wait for their name."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from darrm._validation import check_total_delta, check_total_epsilon, check_voters
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.releases import AnyProblem, OneLabel, one_label
from darrm.certificate.engines import engine
from darrm.design.absent import attendances
from darrm.design.content import in_form, problem_of
from darrm.design.design import AnyDesign
from darrm.errors import InputError, OutputError
from darrm.numerics.arrays import Array
from darrm.problem.decision import DecisionProblem
from darrm.storage import sealed_json
from darrm.storage.atomic import Part, keep_names, move, resolved
from darrm.storage.locks import locked
from darrm.storage.sealed_json import finite

FORMAT, VERSION = "darrm-ledger", 3
RULES = ("exact", "basic")
MOST_COUNTED = 2**64  # labels in all, where the budget has no end
_AGAIN = (
    "Restore it from a copy that is not older. If there is none, its budget counts as spent: no new ledger may have it "
    "for the same voters."
)


@dataclass
class Fewer:
    """The table for some present voters, of a decision whose voters may be absent."""

    present: list[int]
    table_hex: list[str]


@dataclass
class Account:
    """What was released by one design."""

    problem: AnyProblem
    table_hex: list[str]  # its noise function, or probabilities of answer 1 in C order, to the last bit
    fewer: list[Fewer]
    released: int

    @classmethod
    def of(cls, design: AnyDesign) -> Account:
        """The account of a design before its first label."""
        label = one_label(design)
        fewer = [Fewer(list(present), _hex(table)) for present, table in sorted(label.fewer.items())]
        return cls(label.problem, _hex(label.table), fewer, 0)

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Account:
        """The account in the content of a file; an error if it is none."""
        given = dict(content)
        problem, fewer = problem_of(given.pop("problem")), [Fewer(**part) for part in given.pop("fewer")]
        account = cls(problem=problem, fewer=fewer, **given)
        account.label()
        return account

    def label(self) -> OneLabel:
        """What one label of the design comes from."""
        whole = OneLabel(self.problem, _table(self.table_hex, self.problem), {})
        if not isinstance(self.problem, DecisionProblem) or not self.fewer:
            return whole
        parts = {tuple(part.present): part.table_hex for part in self.fewer}
        if len(parts) < len(self.fewer) or parts.keys() != set(attendances(self.problem)):
            raise InputError("fewer must have a table for every vector of present voters but all and none")
        tables = {present: _table(part, self.problem.with_present(present)) for present, part in parts.items()}
        return replace(whole, fewer=tables)

    @property
    def name(self) -> str:
        """The name by which a ledger knows the design."""
        tables = [[float.fromhex(value).hex() for value in part] for part in (self.table_hex, *self._more)]
        text = json.dumps(finite([asdict(self.problem), tables]), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def _more(self) -> list[list[str]]:
        return [part.table_hex for part in sorted(self.fewer, key=lambda part: part.present)]


def _hex(table: Array) -> list[str]:
    return [value.hex() for value in table.ravel().tolist()]


def _table(content: list[str], problem: AnyProblem) -> Array:
    """The table of a release, as a design of this problem would hold it."""
    table = np.array([float.fromhex(value) for value in content])
    shaped = in_form(table, problem) if isinstance(problem, DecisionProblem) else table
    return engine(problem).table(shaped, problem)


@dataclass
class Waiting:
    """A file ``part`` of labels that are charged for, and the path ``out`` that it is to be moved to."""

    part: str
    out: str


@dataclass
class State:
    """All that a ledger says."""

    total_epsilon: float
    total_delta: float
    voters: str
    rule: str
    allowed: int | None
    designs: dict[str, Account]
    leaving: list[Waiting]

    @property
    def released(self) -> int:
        """Labels of all designs."""
        return sum(account.released for account in self.designs.values())

    @property
    def endless(self) -> bool:
        """Whether the budget pays for the fixed voters themselves, and so for any number of labels."""
        if self.voters != "fixed":
            return False
        (account,) = self.designs.values()
        return fixed_voters(account.problem, self.total_delta) <= float(self.total_epsilon)

    @property
    def limit(self) -> int:
        """How many labels of one design there can be in all, whatever the sums of rule "basic" say."""
        return MOST_COUNTED if self.allowed is None or self.endless else self.allowed


@contextmanager
def held(path: Path) -> Iterator[State]:
    """What the ledger says, for one process at a time; moves that were interrupted are finished first.

    Raises
    ------
    InputError
        If the file is missing, foreign, truncated or edited, or has a second name.
    """
    with locked(path):
        if path.exists() and path.stat().st_nlink > 1:
            raise InputError(f"{path} has a second name (a hard link), so it cannot be replaced. Remove that.")
        state = _read(path)
        still_waiting = [waiting for waiting in state.leaving if not _finished(waiting)]
        if still_waiting != state.leaving:
            state.leaving = still_waiting
            write(path, state)
        yield state


def write(path: Path, state: State) -> None:
    """Replace the ledger by one that says ``state``; on disk when this returns. Call it with the lock held."""
    sealed_json.write(path, {"format": FORMAT, "version": VERSION, **finite(asdict(state))})


def charge_waiting(path: Path, state: State, part: Part, out: Path) -> Waiting:
    """Let finished labels wait for their name ``out``, and write that with the charge in ``state``.

    If the charge does not reach the disk, the labels are deleted.
    """
    place = part.path.with_suffix(".waiting")
    waiting = Waiting(os.path.abspath(place), os.path.abspath(out))
    os.rename(part.path, place)
    try:
        keep_names(place.parent)  # the charge must not outlive the labels
        state.leaving.append(waiting)
        write(path, state)
    except BaseException:
        if not _is_charged(path, waiting):
            os.unlink(place)
        raise
    return waiting


def give_name(path: Path, state: State, waiting: Waiting) -> None:
    """Move labels that are charged for to their name, whatever stands there, and write that they wait no more."""
    try:
        move(Path(waiting.part), Path(waiting.out))
        state.leaving.remove(waiting)
        write(path, state)
    except OSError as error:
        raise OutputError(
            f"Labels are charged for and wait in {waiting.part} ({error.strerror or error}). Do not release them "
            "again: mend that, and the next use of the ledger gives them their name."
        ) from error


def ledger_path(path: str | os.PathLike[str]) -> Path:
    """One path for one file, whatever links lead to it: its lock must be the same for all."""
    try:
        target = resolved(path)
    except (TypeError, ValueError, OSError) as error:
        raise InputError(f"{path!r} cannot be the path of a ledger ({error}).") from None
    if not target.name or not os.fspath(path) or target.is_dir():
        raise InputError(f"{os.fspath(path)!r} cannot be the path of a ledger: it is a folder or no name.")
    return target


def _read(path: Path) -> State:
    """What the file says."""
    content = sealed_json.read(path, FORMAT, VERSION, "ledger", _AGAIN)
    for name in ("format", "version", "sha256"):
        del content[name]
    unknown = sorted(content.keys() - {field.name for field in fields(State)})
    if unknown:  # it may stand for something that is spent
        raise InputError(f"{path} has an entry {unknown[0]!r} that this darrm does not know. Use a newer one.")
    try:
        designs = {name: Account.from_content(account) for name, account in content["designs"].items()}
        leaving = [Waiting(**waiting) for waiting in content["leaving"]]
        state = State(**{**content, "designs": designs, "leaving": leaving})
        _check(state)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, InputError) else repr(error)
        raise InputError(f"{path} is not a complete ledger ({reason}). {_AGAIN}") from error
    return state


def _check(state: State) -> None:
    """Refuse what no ledger writes, before any of it is used: a file may come from elsewhere."""
    check_total_epsilon(state.total_epsilon)
    check_total_delta(state.total_delta, "total_delta")
    check_voters(state.voters)
    if state.rule not in RULES or (state.voters, state.rule) == ("fixed", "basic"):
        raise InputError(f"rule {state.rule!r} for {state.voters} voters")
    exact = type(state.allowed) is int and state.allowed >= 1 and len(state.designs) == 1
    if not (exact if state.rule == "exact" else state.allowed is None):
        raise InputError(f"allowed must go with the rule and the designs, got {state.allowed!r}")
    for name, account in state.designs.items():
        if name != account.name:
            raise InputError("a design is not the one that its name stands for")
        if type(account.released) is not int or not 0 <= account.released <= state.limit:
            raise InputError(f"released must be a whole number within what is allowed, got {account.released!r}")
    for waiting in state.leaving:
        part, out = Path(waiting.part), Path(waiting.out)
        # A file that is moved must be one that a ledger made, whoever wrote this one.
        made = part.parent == out.parent and part.name.startswith(f".{out.name[:40]}.") and part.suffix == ".waiting"
        if not (made and out.is_absolute() and out.name and "\0" not in waiting.part + waiting.out):
            raise InputError(f"{waiting.part!r} is no file of labels that waits for the name {waiting.out!r}")


def _is_charged(path: Path, waiting: Waiting) -> bool:
    """Whether the file on disk has the charge for these labels: a write can fail after it took effect."""
    try:
        return waiting in _read(path).leaving
    except InputError:
        return True


def _finished(waiting: Waiting) -> bool:
    """Give labels that are charged for their name, or another if it is taken; whether nothing is left to do."""
    part, out = Path(waiting.part), Path(waiting.out)
    try:
        if not part.exists():
            return part.parent.is_dir()  # a folder that is gone may come back with the labels
        if out.exists() or out.is_symlink():
            out = out.with_name(f"{out.name}.{part.stem.rpartition('.')[2]}")
        move(part, out)
    except OSError:
        return False
    return True
