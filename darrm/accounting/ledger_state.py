"""The state of a ledger: its budget, its accounts, and what is known of the rows of votes."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from darrm._validation import check_total_delta, check_total_epsilon, check_voters, real
from darrm.accounting.accounts import DIRECTED, Account, Labels, NoisyLabels, Other, checked_note
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.releases import for_each_kind
from darrm.design.content import problem_in_file
from darrm.errors import InputError
from darrm.problem.groups import OF_ANY_OTHERS, plain_values
from darrm.problem.limits import adjacency_text
from darrm.storage.sealed_json import checked_form, finite

FORMAT, VERSION = "darrm-ledger", 5
RULES = ("exact", "in-advance", "renyi-filter", "basic-filter")
# The names before, which files keep and calls may use.
OLD_RULES = {"composed": "in-advance", "renyi": "renyi-filter", "basic": "basic-filter"}
FOR_FIXED = ("exact", "in-advance")  # the others add up single labels
NOTHING_CHARGED = "Nothing was released or charged."
MOST_COUNTED = 2**64  # labels in all, where the budget allows any number
_KINDS: dict[str, Any] = {"designs": Labels, "others": Other, "noisy": NoisyLabels}  # of accounts
# Of the content, where there are none.
_LEFT_OUT = ("ids", "by_key", "rows", "streams", "again", "fallback_epsilon", "noisy")
AGAIN = (
    "Restore it from a copy that is not older. If there is none, its budget counts as spent: no new ledger may have it "
    "for the same voters."
)

NO_SECOND = "Fix that, or ask whoever can write there. A second ledger for the same voters would be no guarantee."


@dataclass
class Waiting:
    """A file ``part`` of labels that are charged for, and the path ``out`` that it is to be moved to on ``host``."""

    part: str
    out: str
    host: str = ""


@dataclass
class State:
    """The content of a ledger."""

    total_epsilon: float  # where the design has several limits, also a list of one for each kind of change; as delta
    total_delta: float
    voters: str
    rule: str
    adjacency: str
    order: float | None  # order of the Renyi divergences that rule "renyi-filter" adds up,
    failure: float | None  # and its share of the total delta for mechanisms that can fail
    designs: dict[str, Labels]
    others: dict[str, Other]
    leaving: list[Waiting]
    charges: int = 0  # number of the last charge,
    chain: str = ""  # and its seal, which covers all charges before it
    ids: int = 0  # labels charged with ids,
    by_key: int = 0  # and those of them that were drawn by key
    rows: int = 0  # digests of ids, tags and kept labels; 0 also where an earlier darrm did not count them
    streams: dict[str, int] = field(default_factory=dict)  # rows without ids that were charged, by the stream's name
    again: int = 0  # labels of fresh voters whose rows had a label before: the budget must cover the votes themselves
    fallback_epsilon: Any = None  # with known randomizers: a second budget, if `OF_ANY_OTHERS`
    noisy: dict[str, NoisyLabels] = field(default_factory=dict)

    @property
    def accounts(self) -> dict[str, Account]:
        """All accounts, by name."""
        return {**self.of_labels, **self.others}

    @property
    def of_labels(self) -> dict[str, Labels | NoisyLabels]:
        """The accounts of designs and of noisy max, by name."""
        return {**self.designs, **self.noisy}

    def like(self, account: Account) -> dict[str, Any]:
        """The accounts of the same kind as this one, by name."""
        found: dict[str, Any] = getattr(self, _kind(account))
        return found

    def with_account(self, account: Account) -> State:
        """The state with this account, in place of the one of its name."""
        changed: dict[str, Any] = {_kind(account): {**self.like(account), account.name: account}}
        return replace(self, **changed)

    @property
    def released(self) -> int:
        """The number of labels of all designs and of noisy max."""
        return sum(account.charged for account in self.of_labels.values())

    @property
    def affected_votes(self) -> int:
        """The number of votes of one label of noisy max that one record can change; that of all that were charged."""
        charged = [account.max_affected for account in self.noisy.values() if account.charged]
        return max(charged or [account.max_affected for account in self.noisy.values()], default=1)

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
    def computational(self) -> bool:
        """Whether the total rests on a secret key: labels by key, of which it does not cover the voters themselves."""
        noisy = any(account.charged for account in self.noisy.values())
        return self.by_key > 0 and (noisy or not (self.endless or (self.voters, self.rule) == ("fixed", "in-advance")))

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


def _kind(account: Account) -> str:
    return next(name for name, kind in _KINDS.items() if isinstance(account, kind))


def content_of(state: State) -> dict[str, Any]:
    """The content of a ledger as plain values, without infinities; what is absent is left out."""
    said = {name: value for name, value in plain_values(state).items() if value or name not in _LEFT_OUT}
    for name, account in state.designs.items() if state.voters == "fixed" else ():
        said["designs"][name]["problem"] = problem_in_file(account.problem)  # the voters that are charged, once
    old = {name: before for before, name in OLD_RULES.items()}
    return {"format": FORMAT, "version": VERSION, **finite(said), "rule": old.get(state.rule, state.rule)}


def state_of(content: Any, where: object) -> State:
    """The state with this content, which comes from ``where``.

    Raises
    ------
    InputError
        If no ledger has such content.
    """
    said = checked_form(content, FORMAT, VERSION, where, "a ledger", AGAIN)
    content = {name: value for name, value in said.items() if name not in ("format", "version")}
    unknown = sorted(content.keys() - {entry.name for entry in fields(State)})
    if unknown:  # it may record a charge
        raise InputError(
            f"{where} has an entry {unknown[0]!r} that this version of darrm does not know. Use a newer version."
        )
    try:
        made = {kind: _accounts(kind, found) for kind, found in ({"noisy": {}} | content).items() if kind in _KINDS}
        leaving = [Waiting(**waiting) for waiting in content["leaving"]]
        rule = OLD_RULES.get(content["rule"], content["rule"])
        state = State(**{**content, **made, "leaving": leaving, "rule": rule})
        _check(state)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, InputError) else "an entry is missing or has another type"
        raise InputError(f"{where} is not a complete ledger ({reason}). {AGAIN}") from error
    return state


def _accounts(kind: str, contents: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The accounts of a kind, by name."""
    found = {}
    for name, content in contents.items():
        counted = {key: value for key, value in content.items() if key != "charged"}
        account = _account(kind, json.dumps(counted, sort_keys=True))
        if name != account.name:
            raise InputError("an account does not match its name")
        found[name] = replace(account, charged=content["charged"])
    return found


@lru_cache(maxsize=64)
def _account(kind: str, content: str) -> Any:
    """An account without charges; each process checks it once."""
    return _KINDS[kind].from_content({**json.loads(content), "charged": 0})


def checked_fallback(epsilon: object, total: float) -> float:
    """The second budget of a ledger, at least the first."""
    hint = f"Pass the total of all charges if {OF_ANY_OTHERS}, e.g. twice total_epsilon."
    return real("fallback_epsilon", epsilon, total, ends="[)", hint=hint)


def _check(state: State) -> None:
    """Refuse content that no ledger writes, before any of it is used, because a file may come from elsewhere."""
    check_voters(state.voters)
    adjacency_text(state.adjacency)
    for name, value, most in (("order", state.order, math.inf), ("failure", state.failure, state.total_delta)):
        if (value is None) == (state.rule == "renyi-filter"):
            raise InputError(f"{name} {value!r} for rule {state.rule!r}")
        if value is not None:
            real(name, value, float(name == "order"), most, "()")
    if state.adjacency not in DIRECTED and any(len(other.deltas_hex) > 1 for other in state.others.values()):
        raise InputError(f"a privacy curve has directions, and {state.adjacency} neighbours have none")
    if state.rule not in RULES or (state.voters == "fixed" and state.rule not in FOR_FIXED):
        raise InputError(f"rule {state.rule!r} for {state.voters} voters")
    if state.rule == "exact" and (state.others or len(state.designs) + (len(state.noisy) > 0) != 1):
        raise InputError("rule 'exact' is for one design, or noisy max")
    if state.rule == "exact" and len({noisy.max_affected for noisy in state.noisy.values()}) > 1:
        raise InputError("rule 'exact' is for one max_affected of noisy max")
    for kind in state.kinds.values():
        check_total_epsilon(kind.total_epsilon)
        check_total_delta(kind.total_delta, "total_delta")
        if kind.fallback_epsilon is not None:
            checked_fallback(kind.fallback_epsilon, kind.total_epsilon)
    for account in state.accounts.values():
        if type(account.charged) is not int or not 0 <= account.charged <= MOST_COUNTED:
            raise InputError(f"charged must be an integer within the budget, got {account.charged!r}")
    for labels in state.of_labels.values():
        _check_labels(state, labels)
    if type(state.charges) is not int or state.charges < 0 or not re.fullmatch(r"[0-9a-f]{64}|", state.chain):
        raise InputError(f"charges must have numbers and seals, got {state.charges!r} and {state.chain!r}")
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
    if type(state.ids) is not int or not 0 <= state.ids <= state.released:
        raise InputError(f"labels with ids must be labels that were charged, got {state.ids!r}")
    if type(state.by_key) is not int or not 0 <= state.by_key <= state.ids:
        raise InputError(f"labels by key must be labels with ids, got {state.by_key!r}")
    if type(state.rows) is not int or state.rows < 0:
        raise InputError(f"digests of ids must be counted, got {state.rows!r}")
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
    if labels.allowed is not None and not (counted and state.rule in ("exact", "in-advance")):
        raise InputError(f"allowed must go with the rule, got {labels.allowed!r}")
    if labels.charged > state.limit(labels):
        raise InputError(f"charged must be within the budget, got {labels.charged!r}")
