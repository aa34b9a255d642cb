"""The file of a ledger: its content, its lock, and charged labels that wait for their name."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from darrm._validation import check_total_delta, check_total_epsilon, check_voters, real
from darrm.accounting.accounts import DIRECTED, Account, Labels, NoisyLabels, Other, checked_note
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.releases import for_each_kind
from darrm.design.content import problem_in_file
from darrm.errors import InputError, OutputError, RecoveredLabelsWarning
from darrm.problem.groups import plain_values
from darrm.problem.limits import adjacency_text
from darrm.storage import sealed_json
from darrm.storage.atomic import Part, keep_names, move, resolved
from darrm.storage.locks import lock_of, locked
from darrm.storage.sealed_json import finite

FORMAT, VERSION = "darrm-ledger", 4
RULES = ("exact", "composed", "renyi", "basic")
FOR_FIXED = ("exact", "composed")  # the others add up single labels
NOTHING_CHARGED = "Nothing was released or charged."
MOST_COUNTED = 2**64  # labels in all, where the budget allows any number
_LEFT_OUT = ("ids", "streams", "again", "fallback_epsilon", "noisy")  # of a file, where there are none
_AGAIN = (
    "Restore it from a copy that is not older. If there is none, its budget counts as spent: no new ledger may have it "
    "for the same voters."
)


NO_SECOND = "Fix that, or ask whoever can write there. A second ledger for the same voters would be no guarantee."


@dataclass
class Waiting:
    """A file ``part`` of labels that are charged for, and the path ``out`` that it is to be moved to."""

    part: str
    out: str


@dataclass
class Note:
    """The number of charges of one account, by its name, with one note."""

    name: str
    note: str
    charged: int


@dataclass
class KeptIds:
    """The record in a ledger of its file of ids (`darrm.accounting.ledger_ids`).

    Attributes
    ----------
    token : str
        A random text that is the same in both files.
    batches : int
        The number of charged batches of ids.
    labels : int
        The number of labels charged with ids.
    """

    token: str
    batches: int
    labels: int


@dataclass
class State:
    """The content of a ledger."""

    total_epsilon: float  # where the design has several limits, also a list of one for each kind of change; as delta
    total_delta: float
    voters: str
    rule: str
    adjacency: str
    order: float | None  # order of the Renyi divergences that rule "renyi" adds up,
    failure: float | None  # and its share of the total delta for mechanisms that can fail
    designs: dict[str, Labels]
    others: dict[str, Other]
    notes: list[Note]
    leaving: list[Waiting]
    # Absent entries are not written, so that a ledger without them keeps its content.
    ids: KeptIds | None = None
    streams: dict[str, int] = field(default_factory=dict)  # rows without ids that were charged, by the stream's name
    again: int = 0  # labels of fresh voters whose rows had a label before: the budget must cover the votes themselves
    fallback_epsilon: Any = None  # with known randomizers: a second budget, if others may be any mechanism
    noisy: dict[str, NoisyLabels] = field(default_factory=dict)

    @property
    def accounts(self) -> dict[str, Account]:
        """All accounts, by name."""
        return {**self.of_labels, **self.others}

    @property
    def of_labels(self) -> dict[str, Labels | NoisyLabels]:
        """The accounts of designs and of noisy max, by name."""
        return {**self.designs, **self.noisy}

    @property
    def released(self) -> int:
        """The number of labels of all designs and of noisy max."""
        return sum(account.charged for account in self.of_labels.values())

    @property
    def of_designs(self) -> int:
        """The number of labels of all designs."""
        return sum(account.charged for account in self.designs.values())

    @property
    def endless(self) -> bool:
        """Whether the budget covers the own cost of the fixed voters, and so any number of labels."""
        if self.voters != "fixed" or self.rule != "exact" or self.noisy:
            return False
        kinds = [(kind, account.problem) for kind in self.kinds.values() for account in kind.designs.values()]
        return all(fixed_voters(problem, kind.total_delta) <= float(kind.total_epsilon) for kind, problem in kinds)

    @property
    def kinds(self) -> dict[str, State]:
        """The state of each kind of change that has a limit of its own, by name; itself, "", if all have one.

        The account is then that of the label for this kind, and the budget that of the kind.
        """
        if self.rule != "exact" or self.noisy:
            return {"": self}
        (account,) = self.designs.values()
        kinds = account.problem.kinds
        if len(kinds) == 1 and isinstance(self.total_epsilon, float | int):
            return {"": self}
        epsilons = for_each_kind(account.problem, "total_epsilon", self.total_epsilon)
        deltas = for_each_kind(account.problem, "total_delta", self.total_delta)
        seconds = for_each_kind(account.problem, "fallback_epsilon", self.fallback_epsilon)
        found = {}
        for name, problem in kinds.items():
            own = replace(account, problem=problem)
            kept = replace(self, designs={own.name: own}, fallback_epsilon=seconds[name])
            found[name] = replace(kept, total_epsilon=epsilons[name], total_delta=deltas[name])
        return found

    @property
    def budget(self) -> str:
        """The budget of each kind of change, in print."""
        each = self.kinds.items()
        return ", ".join(
            f"({kind.total_epsilon:g}, {kind.total_delta:g})" + f" for a change in {name}" * bool(name)
            for name, kind in each
        )

    def limit(self, account: Labels | NoisyLabels) -> int:
        """The largest number of labels of one account in all, whatever sums allow."""
        return MOST_COUNTED if account.allowed is None or self.endless else account.allowed


@contextmanager
def held(path: Path) -> Iterator[State]:
    """The content of the ledger under its lock; interrupted moves are finished first.

    Raises
    ------
    InputError
        If the file is missing, foreign, truncated or edited, or has a second name.
    """
    with locked(path, remedy=NO_SECOND):
        if path.exists() and path.stat().st_nlink > 1:
            raise InputError(f"{path} has a second name (a hard link), so it cannot be replaced. Remove that name.")
        state = _read(path)
        if state.ids is not None and not ids_of(path).is_file():
            raise InputError(
                f"{ids_of(path)} is missing, which holds the charged ids of {path}. Restore it. Without it the rows "
                "with a label are not known, so the budget counts as spent."
            )
        ends = [_finished(waiting) for waiting in state.leaving]
        if any(ends):
            state.leaving = [waiting for waiting, end in zip(state.leaving, ends, strict=True) if not end]
            with suppress(OutputError):  # a process that may only read leaves that to the next one that writes
                write(path, state)
        for end in filter(None, ends):
            warnings.warn(end, RecoveredLabelsWarning, stacklevel=2)
        yield state


def write(path: Path, state: State) -> None:
    """Replace the content of the ledger by ``state``; on disk when this returns. Call it with the lock held."""
    said = {name: value for name, value in plain_values(state).items() if value or name not in _LEFT_OUT}
    for name, account in state.designs.items() if state.voters == "fixed" else ():
        said["designs"][name]["problem"] = problem_in_file(account.problem)  # the voters that are charged, once
    sealed_json.write(path, {"format": FORMAT, "version": VERSION, **finite(said)}, NO_SECOND)


def charge_waiting(path: Path, state: State, part: Part, out: Path) -> Waiting:
    """Record finished labels as waiting for their name ``out``, together with the charge in ``state``.

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
    """Move charged labels to their name, replacing any file there, and remove them from the waiting ones."""
    try:
        move(Path(waiting.part), Path(waiting.out))
        state.leaving.remove(waiting)
        write(path, state)
    except OSError as error:
        raise OutputError(
            f"Charged labels wait in {waiting.part} ({error.strerror or error}). Do not release them again. Remove the "
            "cause: the next use of the ledger moves them to their name."
        ) from error


def ids_of(path: Path) -> Path:
    """The file of ids beside the ledger at ``path``."""
    return path.with_name(path.name + ".ids")


def files_of(path: Path) -> tuple[Path, ...]:
    """The ledger and the files beside it, which nothing else may replace."""
    ids = ids_of(path)
    return path, lock_of(path), ids, ids.with_name(ids.name + "-journal")


def ledger_path(path: str | os.PathLike[str]) -> Path:
    """The resolved path of a ledger, because all links to a file must share one lock."""
    try:
        target = resolved(path)
    except (TypeError, ValueError, OSError) as error:
        raise InputError(f"{path!r} cannot be the path of a ledger ({error}).") from None
    if not target.name or not os.fspath(path) or target.is_dir():
        raise InputError(f"{os.fspath(path)!r} cannot be the path of a ledger: it is a folder or no name.")
    return target


def _read(path: Path) -> State:
    """The content of the file."""
    content = sealed_json.read(path, FORMAT, VERSION, "ledger", _AGAIN)
    for name in ("format", "version", "sha256"):
        del content[name]
    unknown = sorted(content.keys() - {entry.name for entry in fields(State)})
    if unknown:  # it may record a charge
        raise InputError(
            f"{path} has an entry {unknown[0]!r} that this version of darrm does not know. Use a newer version."
        )
    try:
        designs = {name: Labels.from_content(account) for name, account in content["designs"].items()}
        others = {name: Other.from_content(account) for name, account in content["others"].items()}
        notes = [Note(**note) for note in content["notes"]]
        leaving = [Waiting(**waiting) for waiting in content["leaving"]]
        ids = {"ids": KeptIds(**content["ids"])} if "ids" in content else {}
        noisy = {name: NoisyLabels.from_content(own) for name, own in content.get("noisy", {}).items()}
        made = {"designs": designs, "others": others, "notes": notes, "leaving": leaving, "noisy": noisy, **ids}
        state = State(**{**content, **made})
        _check(state)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, InputError) else "an entry is missing or has another type"
        raise InputError(f"{path} is not a complete ledger ({reason}). {_AGAIN}") from error
    return state


def checked_fallback(epsilon: object, total: float) -> float:
    """The second budget of a ledger, at least the first."""
    hint = "Pass the total of all charges if other voters may be any mechanism, e.g. twice total_epsilon."
    return real("fallback_epsilon", epsilon, total, ends="[)", hint=hint)


def _check(state: State) -> None:
    """Refuse content that no ledger writes, before any of it is used, because a file may come from elsewhere."""
    check_voters(state.voters)
    adjacency_text(state.adjacency)
    for name, value, most in (("order", state.order, math.inf), ("failure", state.failure, state.total_delta)):
        if (value is None) == (state.rule == "renyi"):
            raise InputError(f"{name} {value!r} for rule {state.rule!r}")
        if value is not None:
            real(name, value, float(name == "order"), most, "()")
    if state.adjacency not in DIRECTED and any(len(other.deltas_hex) > 1 for other in state.others.values()):
        raise InputError(f"a privacy curve has directions, and {state.adjacency} neighbours have none")
    if state.rule not in RULES or (state.voters == "fixed" and state.rule not in FOR_FIXED):
        raise InputError(f"rule {state.rule!r} for {state.voters} voters")
    if state.rule == "exact" and (len(state.of_labels) != 1 or state.others):
        raise InputError("rule 'exact' is for one design")
    for kind in state.kinds.values():
        check_total_epsilon(kind.total_epsilon)
        check_total_delta(kind.total_delta, "total_delta")
        if kind.fallback_epsilon is not None:
            checked_fallback(kind.fallback_epsilon, kind.total_epsilon)
    for name, account in state.accounts.items():
        if name != account.name:
            raise InputError("an account does not match its name")
        if type(account.charged) is not int or not 0 <= account.charged <= MOST_COUNTED:
            raise InputError(f"charged must be an integer within the budget, got {account.charged!r}")
    for labels in state.of_labels.values():
        _check_labels(state, labels)
    for note in state.notes:
        if note.name not in state.accounts or type(note.charged) is not int or note.charged < 1:
            raise InputError("a note must belong to a charge")
        checked_note(note.note)
    for name, account in state.accounts.items():
        if sum(note.charged for note in state.notes if note.name == name) != account.charged:
            raise InputError("the notes must count all charges")
    _check_rows(state)
    for waiting in state.leaving:
        part, out = Path(waiting.part), Path(waiting.out)
        # A file may be moved only if a ledger made it, whoever wrote this content.
        made = part.parent == out.parent and part.name.startswith(f".{out.name[:40]}.") and part.suffix == ".waiting"
        if not (made and out.is_absolute() and out.name and "\0" not in waiting.part + waiting.out):
            raise InputError(f"{waiting.part!r} is not a file of labels that waits for the name {waiting.out!r}")


def _check_rows(state: State) -> None:
    """Checks of the record of rows of votes with labels."""
    counts = list(state.streams.values())
    if state.ids is not None:
        counts += [state.ids.batches, state.ids.labels]
        if not re.fullmatch(r"[0-9a-f]{32}", state.ids.token):
            raise InputError("the token of ids must be 32 digits")
    for name in state.streams:
        checked_note(name, "a stream")
    if any(type(n) is not int or not 1 <= n <= state.released for n in counts):
        raise InputError(f"rows that were charged must be labels that were charged, got {counts!r}")
    if type(state.again) is not int or not 0 <= state.again <= state.released:
        raise InputError(f"labels charged again must be labels that were charged, got {state.again!r}")
    if state.again and (state.voters, state.rule) != ("fresh", "exact"):
        raise InputError(f"labels of votes released again by rule {state.rule!r} for {state.voters} voters")


def _check_labels(state: State, labels: Labels | NoisyLabels) -> None:
    if isinstance(labels, Labels) and labels.problem.adjacency != state.adjacency:
        raise InputError(f"a design for {labels.problem.adjacency} neighbours")
    counted = type(labels.allowed) is int and labels.allowed >= 1
    if state.rule == "exact" and not counted:
        raise InputError(f"allowed must be a number of labels, got {labels.allowed!r}")
    if labels.allowed is not None and not (counted and state.rule in ("exact", "composed")):
        raise InputError(f"allowed must go with the rule, got {labels.allowed!r}")
    if labels.charged > state.limit(labels):
        raise InputError(f"charged must be within the budget, got {labels.charged!r}")


def _is_charged(path: Path, waiting: Waiting) -> bool:
    """Whether the file on disk has the charge for these labels, because a write can fail after it took effect."""
    try:
        return waiting in _read(path).leaving
    except InputError:
        return True


def _finished(waiting: Waiting) -> str:
    """Move charged labels to their name, or to another if it is taken; returns what became of them, if that is done."""
    part, out = Path(waiting.part), Path(waiting.out)
    try:
        part.lstat()
    except FileNotFoundError:
        if not part.parent.is_dir():  # it may come back with the labels
            return ""
        if out.exists():
            return f"An interrupted release charged its labels: they are in {out}."
        return f"An interrupted release charged labels that are gone: neither {part} nor {out} is there. They count."
    except OSError:  # in a folder that others can read
        return ""
    try:
        if out.exists() or out.is_symlink():
            out = out.with_name(f"{out.name}.{part.stem.rpartition('.')[2]}")
        move(part, out)
    except OSError:
        return ""
    return f"An interrupted release charged its labels: they are in {out} now. Do not release them again."
