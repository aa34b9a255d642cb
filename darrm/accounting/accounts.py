"""Accounts: the record of each charged mechanism in a ledger, enough to compose it again without the mechanism."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from darrm._validation import MAX_SIZE, real, whole
from darrm.accounting import filters
from darrm.accounting.curves import Curve
from darrm.accounting.fresh import exact_guarantee
from darrm.accounting.mixed import labels_curve, noisy_curve
from darrm.accounting.releases import OneLabel, one_label
from darrm.design.absent import attendances
from darrm.design.content import problem_of
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import at_least, exactly
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import plain_values
from darrm.problem.limits import adjacency_in_print, by_kind, epsilon_in_print
from darrm.storage.sealed_json import finite

# Neighbouring relations where one data set has a record more: the direction is the same in all charges.
DIRECTED = ("add-remove", "replace-special")
_LIBRARIES = 1e-12  # relative; mathematical libraries differ by less
_LONGEST = 300  # largest number of letters of a description or a note


@dataclass
class Fewer:
    """The table for one vector of present voters, of a decision whose voters may be absent."""

    present: list[int]
    table_hex: list[str]


@dataclass
class Labels:
    """The account of the labels released by one design."""

    problem: AnyProblem
    table_hex: list[str]  # its noise function, or probabilities of answer 1 in C order, to the last bit
    fewer: list[Fewer]
    charged: int
    allowed: int | None = None  # by rule exact: the largest number of labels in all; certified again before it is used

    @classmethod
    def of(cls, design: Design) -> Labels:
        """The account of a design before its first label."""
        label = one_label(design)
        fewer = [Fewer(list(present), _hex(table)) for present, table in sorted(label.fewer.items())]
        return cls(label.problem, _hex(label.table), fewer, 0)

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Labels:
        """The account in the content of a file; raises if the content is invalid."""
        given = dict(content)
        problem, fewer = problem_of(given.pop("problem")), [Fewer(**part) for part in given.pop("fewer")]
        account = cls(problem=problem, fewer=fewer, **given)
        account.label()
        return account

    def label(self) -> OneLabel:
        """The release of one label of the design."""
        whole = OneLabel(self.problem, _table(self.table_hex, self.problem), {})
        if not self.fewer:
            return whole
        parts = {tuple(part.present): part.table_hex for part in self.fewer}
        if len(parts) < len(self.fewer) or parts.keys() != set(attendances(self.problem)):
            raise InputError("fewer must have a table for every vector of present voters except all and none")
        tables = {present: _table(part, self.problem.with_present(present)) for present, part in parts.items()}
        return replace(whole, fewer=tables)

    @property
    def guarantee(self) -> tuple[Fraction, Fraction]:
        """(epsilon, delta) of one label, exactly."""
        return exact_guarantee(self.problem)

    @property
    def pure_epsilon(self) -> float:
        """The pure-DP epsilon of one label, rounded up; infinite if there is none."""
        release = self.label().gives()
        return math.inf if release.delta_infinity > 0 else release.largest_loss

    def divergence(self, order: float) -> filters.Spent:
        """What one label spends of a Renyi filter of this order."""
        return filters.of_release(self.label().gives(), order)

    def part(self, delta: float) -> tuple[Curve, int]:
        """The curve of all charged labels of fresh voters, sharp near ``delta``, composed once."""
        return labels_curve(self.label(), self.charged, delta), 1

    @property
    def said(self) -> str:
        """The account in a few words."""
        voters = f"{self.problem.K} voters" if self.problem.K > 1 else "one voter"
        if self.problem.n_classes > 2:
            voters += f" on {self.problem.n_classes} classes"
        each = by_kind(self.problem, lambda kind: f"({at_least(epsilon_in_print(kind))}, {exactly(kind.delta)})-DP")
        return f"labels of {voters}, each label {each} ({self.called})"

    @property
    def called(self) -> str:
        """What it is, in the fewest words."""
        return f"design {self.short_name}"

    @property
    def short_name(self) -> str:
        """The beginning of `name`."""
        return self.name[:8]

    @property
    def name(self) -> str:
        """The name by which a ledger knows the design."""
        return _digest(self.release)

    @property
    def release(self) -> list[Any]:
        """The problem and all tables, as plain values."""
        more = [part.table_hex for part in sorted(self.fewer, key=lambda part: part.present)]
        tables = [[float.fromhex(value).hex() for value in part] for part in (self.table_hex, *more)]
        return [plain_values(self.problem), tables]


@dataclass
class NoisyLabels:
    """The account of the labels of Gaussian noisy max, whose totals are for any number of votes and classes.

    With a check before each label every query is charged as a check and a label, whatever comes of the check.
    """

    sigma_hex: str
    charged: int
    allowed: int | None = None  # as of `Labels`
    max_affected: int = 1  # votes of each label that one record can change
    check_hex: str | None = None  # the sigma of the check, if there is one
    answers: ClassVar[None] = None  # no cap on labels, and any threshold
    threshold: ClassVar[float] = 0.0
    guarantee: ClassVar[None] = None  # the label is known by its divergences and totals,
    pure_epsilon: ClassVar[float] = math.inf  # and has no pure-DP epsilon

    @classmethod
    def of(cls, sigma: float, max_affected: int = 1, sigma_check: float | None = None) -> NoisyLabels:
        """The account of noise of this standard deviation, and of that of a check, before its first label."""
        check = None if sigma_check is None else float(sigma_check).hex()
        return cls(float(sigma).hex(), 0, max_affected=max_affected, check_hex=check)

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> NoisyLabels:
        """The account in the content of a file; raises if the content is invalid."""
        account = cls(**content)
        real("sigma", account.sigma, 0, ends="()")
        if account.sigma_check is not None:
            real("sigma_check", account.sigma_check, 0, ends="()")
        whole("max_affected", account.max_affected, 1, MAX_SIZE)
        return account

    @property
    def sigma(self) -> float:
        return float.fromhex(self.sigma_hex)

    @property
    def sigma_check(self) -> float | None:
        return None if self.check_hex is None else float.fromhex(self.check_hex)

    def covers(self, other: NoisyLabels) -> bool:
        """Whether a label of ``other`` has at least this noise: it costs no more than a label of this account."""
        mine, its = self.sigma_check, other.sigma_check
        checks = mine == its if mine is None or its is None else mine <= its
        return checks and self.max_affected == other.max_affected and self.sigma <= other.sigma

    def divergence(self, order: float) -> filters.Spent:
        """What one label spends of a Renyi filter of this order."""
        return filters.of_noisy_max(self.sigma, order, self.max_affected, self.sigma_check)

    def part(self, delta: float) -> tuple[Curve, int]:
        """The curve of all charged labels, sharp near ``delta``, composed once."""
        return noisy_curve(self.sigma, self.charged, delta, self.max_affected, self.sigma_check), 1

    @property
    def said(self) -> str:
        """The account in a few words."""
        return f"labels of Gaussian {self.called}"

    @property
    def called(self) -> str:
        """What it is, in the fewest words."""
        return f"noisy max, {self.short_name}"

    @property
    def short_name(self) -> str:
        """The noise in print."""
        check = "" if self.sigma_check is None else f", of a check {exactly(self.sigma_check)}"
        return f"sigma {exactly(self.sigma)}{check}" + f", max_affected {self.max_affected}" * (self.max_affected > 1)

    @property
    def name(self) -> str:
        """The name by which a ledger knows the noise."""
        several = [self.max_affected] if self.max_affected > 1 else []
        check = [] if self.sigma_check is None else ["check", self.sigma_check.hex()]
        return _digest(["Gaussian noisy max", self.sigma.hex(), *several, *check])


@dataclass
class Other:
    """The account of any other mechanism: its privacy curve, and its (epsilon, delta) if only that is known."""

    said: str
    epsilons_hex: list[str]
    deltas_hex: list[list[str]]
    guarantee_hex: list[str] | None
    charged: int

    @classmethod
    def of_guarantee(cls, epsilon: float, delta: float) -> Other:
        """The account of a mechanism with a known (epsilon, delta) and no other curve."""
        curve = Curve.of_guarantee(epsilon, delta)
        return replace(
            cls.of_curve(curve, f"({exactly(epsilon)}, {exactly(delta)})-DP"),
            guarantee_hex=[epsilon.hex(), delta.hex()],
        )

    @classmethod
    def of_curve(cls, curve: Curve, said: str) -> Other:
        """The account of a mechanism with this privacy curve, before its first use."""
        deltas = [_hex(row) for row in curve.deltas]
        said = "".join(letter if letter.isprintable() else " " for letter in said)
        return cls(said[:_LONGEST], _hex(curve.epsilons), deltas, None, 0)

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Other:
        """The account in the content of a file; raises if the content is invalid."""
        account = cls(**content)
        if not isinstance(account.said, str) or not account.said.isprintable():
            raise InputError("the guarantee of an account must be a text of one line")
        curve, guarantee = account.curve, account.guarantee
        if guarantee is not None:
            known = Curve.of_guarantee(*map(float, guarantee))
            same = curve.deltas.shape == known.deltas.shape and np.array_equal(curve.epsilons, known.epsilons)
            if not (same and np.allclose(curve.deltas, known.deltas, rtol=_LIBRARIES, atol=0)):
                raise InputError("a guarantee is not that of its privacy curve")
        return account

    @property
    def called(self) -> str:
        """What it is, in the fewest words."""
        return self.said

    @property
    def curve(self) -> Curve:
        epsilons = np.array([float.fromhex(value) for value in self.epsilons_hex])
        return Curve.of(epsilons, np.array([[float.fromhex(value) for value in row] for row in self.deltas_hex]))

    @property
    def pure_epsilon(self) -> float:
        """The pure-DP epsilon of one use, rounded up; infinite if none is known."""
        guarantee = self.guarantee
        return math.inf if guarantee is None or guarantee[1] > 0 else rounded_up(guarantee[0])

    def divergence(self, order: float) -> filters.Spent:
        """What one use spends of a Renyi filter of this order."""
        return filters.of_curve(self.curve, order)

    def part(self, delta: float) -> tuple[Curve, int]:
        """The curve of the mechanism, and the number of times it is composed."""
        if self.guarantee is None:
            return self.curve, self.charged
        epsilon, delta = map(float, self.guarantee)
        return Curve.of_guarantees(epsilon, delta, self.charged), 1

    @property
    def guarantee(self) -> tuple[Fraction, Fraction] | None:
        """(epsilon, delta) of one use, if that is how it was charged."""
        if self.guarantee_hex is None:
            return None
        epsilon, delta = (float.fromhex(value) for value in self.guarantee_hex)
        return Fraction(epsilon), Fraction(delta)

    @property
    def name(self) -> str:
        """The name by which a ledger knows the mechanism."""
        return _digest([self.said, self.epsilons_hex, self.deltas_hex, self.guarantee_hex])


Account: TypeAlias = Labels | NoisyLabels | Other


def stated(said: str | None, ledger_adjacency: str, what: str) -> None:
    """`InputError` unless the caller stated the neighbouring relation of ``what``, and it is the ledger's."""
    if said is None:
        typed = f"adjacency={ledger_adjacency!r} (--adjacency {ledger_adjacency})"
        raise InputError(
            f"{what} has no stated neighbouring relation. Pass {typed} if it holds for that: this ledger counts no "
            "other. A guarantee for adding or removing one record does not hold for replacing one."
        )
    agree(said, ledger_adjacency, "The ledger")


def checked_note(note: object, called: str = "note") -> str:
    """A note of one line."""
    if not isinstance(note, str) or not (note.isprintable() and len(note) <= _LONGEST):
        raise InputError(f"{called} must be a text of one line, of {_LONGEST} letters at most. Got {note!r}.")
    return note


def agree(said: str, known: str, who: str) -> None:
    if said != known:
        raise InputError(
            f"{who} is for {adjacency_in_print(known)} neighbours. Got {adjacency_in_print(said)}: guarantees for "
            f"different neighbours do not add up. Account for it under {adjacency_in_print(known)}, or keep a ledger "
            f"for {adjacency_in_print(said)}."
        )


def _digest(content: object) -> str:
    text = json.dumps(finite(content), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hex(table: Array) -> list[str]:
    return [value.hex() for value in table.ravel().tolist()]


def _table(content: list[str], problem: AnyProblem) -> Array:
    """The table of a release, as a design of this problem would hold it."""
    return encodings.stored(content, problem)
