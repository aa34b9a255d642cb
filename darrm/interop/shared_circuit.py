"""One label over secret shares: the exact table of a design as polynomials over a prime field, and what draws from it.

Case.  The numbers of votes in each group are one integer x, a sum over the votes. Answer o is released if exactly o of
the sums c_j of the first answers' probabilities at x are at most U, uniform on [0, 1): `darrm.randomness.choices`.
Table.  Digit i of c_j is a polynomial in x over GF(p) through all cases: K - 1 products for the powers of x, and all
digits of all sums are then linear in them. So no one sees x, and the digits are those of the table, to the last bit.
Coin.  Digit i of U is the exclusive or of bits that t + 1 parties draw, so no t of them know it. With d_i = 1 where the
digits of U and c differ,

    f_i = (1 - d_i) + (1 - c_i) + d_1 + ... + d_(i-1)     is 0 only at the first difference, and there only if U < c.

f_i < p, so the product of all f_i and of t + 1 secret numbers from 1, ..., p - 1 is 0 in GF(p) if U < c, and uniform on
1, ..., p - 1 if not: opened, it is the answer to U < c and nothing else. For several answers these are opened for all
sums; as c_1 <= c_2 <= ..., they are the answer and nothing else too.

Absent voters.  Who is absent is public. Rows with the same numbers of present voters are computed together, by the
table of that attendance; the votes of absent voters are multiplied by 0, whatever was brought for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.design.design import Design
from darrm.errors import InputError
from darrm.problem import encodings
from darrm.problem.class_votes import all_votes
from darrm.problem.groups import ByGroups
from darrm.randomness.choices import uniform

Numbers = NDArray[np.int64]
MAX_CASES = 2000  # vectors of counts: as many products for each label
_SUMS = 1 << 61  # that fit in int64, with a prime up to twice as large as the numbers that it must hold


class Circuit:
    """The public part of the computation: field, polynomials, and what each vote adds to the case.

    Parameters
    ----------
    design : Design
    parties : int
    voters : sequence of int, optional
        Which voter of the design each column is of; by default the first, the second, ...
    present : tuple of int, optional
        For absent voters: the numbers of present voters of each group, at least one in all. By default all.
    prime : int, optional
        As that of the circuit for all voters, which suffices for every attendance.

    Attributes
    ----------
    prime : int
        The order p of the field.
    inputs : int
        Bits that each voter brings: its vote for each class but the first.
    sums : int
        Sums c_j that are compared with U, one less than answers.
    digits : int
        Digits of each; one more than ``bits`` if a sum is 1, which U is always below.
    """

    def __init__(
        self,
        design: Design,
        parties: int,
        voters: Sequence[int] | None = None,
        present: tuple[int, ...] | None = None,
        prime: int = 0,
    ) -> None:
        sizes = [group.count for group in design.problem.groups]
        present = tuple(sizes) if present is None else present
        of_voters = np.repeat(np.arange(len(sizes)), sizes)
        self._design, self._parties, self._voters, self._at = design, parties, voters, {present: self}
        self._groups = of_voters if voters is None else of_voters[list(voters)]  # of each column
        design = design.with_present(present)
        problem = design.problem
        if any(each.encoding is encodings.SYMMETRIC for each in (design, *design.fewer.values())):
            raise InputError(
                "Labels over shares need a table of every vector of votes, whose probabilities are multiples of some "
                "2^-bits. Got a symmetric table, which treats classes alike. Pass design.rounded(16)."
            )
        size = int(np.prod(problem.table_shape))
        if size > MAX_CASES:
            raise InputError(
                f"Labels over shares can be drawn for at most {MAX_CASES:,} vectors of votes. Got {size:,}. Take fewer "
                "voters, groups or classes."
            )
        self.inputs = problem.n_classes - 1
        radices = np.repeat([group.count + 1 for group in problem.groups], self.inputs)
        if size * prod(radices.tolist()) ** 2 >= _SUMS:
            raise InputError(
                f"Labels over shares cannot be drawn for {problem.n_classes} classes and groups of "
                f"{[group.count for group in problem.groups]} voters, whose counts take a field too large for numbers "
                "of 64 bits. Take fewer classes or voters."
            )
        votes = _votes(problem)
        strides = np.append(np.cumprod(radices[:0:-1])[::-1], 1)
        cases = votes.reshape(size, -1) @ strides
        per_group = np.zeros((len(sizes), self.inputs), dtype=np.int64)
        per_group[np.flatnonzero(present)] = strides.reshape(-1, self.inputs)
        self.steps = per_group[self._groups].ravel()
        sums = [_sums(row) for row in design.encoding.exact(design.table, problem)]
        self.sums, self.bits = len(sums[0]), max(_bits(c) for row in sums for c in row)
        certain = any(c == 1 for row in sums for c in row)
        places = [1 << i for i in range(self.bits if certain else self.bits - 1, -1, -1)]
        whole = [[int(c * (1 << self.bits)) for c in row] for row in sums]
        digits = [[value // place % 2 for value in row for place in places] for row in whole]
        self.digits, self.certain = len(places), certain
        most = max(self.digits + 1, design.bits + 2 if design.absent else 0)  # of all attendances
        self.prime = prime or _prime_from(max(int(np.sum(radices - 1)), int(cases.max()), most, parties) + 1)
        self.coefficients = np.array(digits, dtype=np.int64).T @ _lagrange(cases, self.prime) % self.prime

    def attendances(self, present: Numbers) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
        """Each vector of present voters, with the rows that have it; ``present`` is 0 or 1, shape (K, n)."""
        counts = [present[self._groups == g].sum(axis=0) for g in range(len(self._design.problem.groups))]
        each, which = np.unique(np.stack(counts, axis=1), axis=0, return_inverse=True)
        for at, numbers in enumerate(each.tolist()):
            yield tuple(numbers), np.flatnonzero(which.ravel() == at)

    def with_present(self, present: tuple[int, ...]) -> Circuit:
        """The circuit for so many present voters of each group, at least one in all, made at its first use."""
        if present not in self._at:
            self._at[present] = Circuit(self._design, self._parties, self._voters, present, self.prime)
        return self._at[present]

    def without_votes(self, n: int) -> Numbers:
        """What `Shared.labels` is of for n rows without votes, shape (sums, n): all answers of least cost are alike."""
        best = np.flatnonzero(self._design.answers_without_votes)
        labels = best[uniform(np.full(n, len(best)))]
        return np.asarray(np.arange(self.sums)[:, np.newaxis] < labels, dtype=np.int64)

    @property
    def work(self) -> int:
        """Products of each label, about: what its time is in proportion to."""
        voters = len(self.steps)
        return voters + int(self.coefficients.shape[1]) + 3 * self.sums * self.digits

    def rounds(self, threshold: int) -> int:
        """Messages of a block that wait for one another, from the comparison of its rows to its labels."""
        doubled = [(n - 1).bit_length() for n in (self.coefficients.shape[1] - 1, threshold + 1)]
        return 9 + max(doubled[0], 1 + doubled[1]) + (self.digits + threshold).bit_length()


def _votes(problem: ByGroups) -> Numbers:
    """Every vector of votes for each class but the first, in the order of the table: (cases, groups, C - 1)."""
    if problem.binary:
        return np.indices(problem.table_shape).reshape(len(problem.groups), -1).T[:, :, np.newaxis]
    return all_votes(problem)[:, :, 1:]


def _sums(row: list[Fraction]) -> list[Fraction]:
    return [sum(row[: j + 1], Fraction(0)) for j in range(len(row) - 1)]


def _bits(c: Fraction) -> int:
    return max(1, c.denominator.bit_length() - 1)


def _prime_from(n: int) -> int:
    n |= 1
    while n < 3 or any(n % d == 0 for d in range(3, int(n**0.5) + 1, 2)):
        n += 2
    return n


def _lagrange(points: Numbers, p: int) -> Numbers:
    """Row i: coefficients, lowest first, of the polynomial over GF(p) that is 1 at points[i] and 0 at the others."""
    n = len(points)
    whole = np.zeros(n + 1, dtype=np.int64)  # the product of all X - x_i
    whole[0] = 1
    for i, x in enumerate(points.tolist()):
        whole[1 : i + 2] = (whole[: i + 1] - x * whole[1 : i + 2]) % p
        whole[0] = -x * whole[0] % p
    made = np.zeros((n, n), dtype=np.int64)  # divided by X - x_i
    made[:, n - 1] = 1
    for k in range(n - 1, 0, -1):
        made[:, k - 1] = (whole[k] + points * made[:, k]) % p
    at = np.zeros(n, dtype=np.int64)
    for k in range(n - 1, -1, -1):
        at = (at * points + made[:, k]) % p
    return np.asarray(made * np.array([[pow(value, -1, p)] for value in at.tolist()]) % p)


class Shared:
    """Computation over shares of one block of rows, by the operations of MPyC.

    Parameters
    ----------
    mpc : mpyc.runtime.Runtime
    circuit : Circuit
    """

    def __init__(self, mpc: Any, circuit: Circuit) -> None:
        self._mpc, self._of = mpc, circuit
        self._type = mpc.SecFld(circuit.prime).array

    def secret(self, values: NDArray[Any], sender: int) -> Any:
        """Shares of an array that ``sender`` brings; the others pass one of the same shape."""
        return self._mpc.input(self._type(values.astype(object)), senders=sender)

    async def again(self, shares: Numbers) -> Any:
        """Shares of what this party's and others' are of, shared anew.

        Those of a dishonest voter may lie on no polynomial, and the numbers that are computed from them have no law.
        So ``threshold`` + 1 parties each share a part of the value that theirs say, whatever it is.
        """
        p, points = self._of.prime, [i + 1 for i in self._contributors]
        made = []
        for i, x in enumerate(points):
            others = [z for z in points if z != x]
            weight = prod(others) * pow(prod(z - x for z in others), -1, p) % p  # of the value at 0
            made.append(self.secret(shares % p * weight % p, i))
        return self._made(np.sum([await self._values(each) for each in made], axis=0))

    def held(self, shares: Numbers) -> Any:
        """An array of which every party holds its shares already."""
        return self._type(self._type.sectype.field.array(shares.astype(object)))

    def joined(self, parts: list[Any]) -> Any:
        """Arrays of shares, one below the other."""
        return self._mpc.np_concatenate(parts)

    async def of_inputs(self, bits: Any) -> Any:
        """What is opened to see that inputs are votes: b (1 - b) of each, and of the sum of each voter's; 0 if so."""
        values = await self._values(bits)
        per_voter = values.reshape(-1, self._of.inputs, values.shape[1])
        if self._of.inputs > 1:
            values = np.concatenate([values, per_voter.sum(axis=1)])
        b = self._made(values)
        return await self.opened(b * (1 - b))

    async def labels(self, bits: Any, present: Numbers | None = None, drawer: int = 0) -> Any:
        """Shares of what `answers` takes when it is opened, shape (sums * n,); complete when this returns.

        ``present``, 0 or 1 for each voter and row, says who is present: the same at all parties. ``drawer`` draws the
        labels of rows without votes, and so knows them.
        """
        values = await self._values(bits)
        if present is None:
            return await self._labels(self._of, values)
        made = np.zeros((self._of.sums, values.shape[1]), dtype=np.int64)
        for numbers, rows in self._of.attendances(present):
            if any(numbers):
                seen = np.repeat(present[:, rows], self._of.inputs, axis=0)
                part = await self._labels(self._of.with_present(numbers), values[:, rows] * seen)
            else:
                part = self.secret(self._of.without_votes(len(rows)), drawer)
            made[:, rows] = (await self._values(part)).reshape(len(made), len(rows))
        return self._made(made.ravel())

    async def _labels(self, of: Circuit, values: Numbers) -> Any:
        """`labels` of rows of one attendance, from this party's shares of the bits."""
        mpc, p, n = self._mpc, of.prime, values.shape[1]
        coins = self._signs(of.bits, n)
        powers = x = self._made(of.steps[np.newaxis] @ values)
        while powers.shape[0] < of.coefficients.shape[1] - 1:
            more = of.coefficients.shape[1] - 1 - powers.shape[0]
            powers = mpc.np_concatenate((powers, powers[:more] * powers[-1:]))
        del x
        # Digits of the sums: affine in the powers.
        c = (of.coefficients[:, 1:] @ await self._values(powers) + of.coefficients[:, :1]) % p
        c = c.reshape(of.sums, of.digits, n)
        compared = c[:, int(of.certain) :]
        same = await self._values(coins * self._made(1 - 2 * compared))  # 1 where the digits are equal, else -1
        d = (1 - same) * ((p + 1) // 2) % p
        if of.certain:  # the digit of U before the point is 0
            d = np.concatenate([c[:, :1], d], axis=1)
        before = np.cumsum(d, axis=1) - d
        f = np.moveaxis(2 - d - c + before, 1, 0).reshape(of.digits, of.sums * n)
        product = mpc.np_prod(mpc.np_concatenate((self._made(f), self._masks(of.sums * n))), axis=0)
        await self._values(product)
        return product

    async def opened(self, shares: Any, receivers: Sequence[int] | None = None) -> Numbers | None:
        """The values behind shares, for all parties or for ``receivers`` alone; None at another."""
        values = await self._mpc.output(shares, receivers if receivers is None else list(receivers))
        return None if values is None else np.asarray(values.value, dtype=np.int64)

    def answers(self, opened: Numbers) -> NDArray[np.uint8]:
        """The labels: how many of the sums are at most U."""
        return np.asarray(np.count_nonzero(opened.reshape(self._of.sums, -1), axis=0), dtype=np.uint8)

    @property
    def _contributors(self) -> range:
        return range(self._mpc.threshold + 1)

    def _signs(self, digits: int, n: int) -> Any:
        """Shares of signs that no ``threshold`` parties know, 1 for a digit 0: products of each party's own."""
        own = np.frombuffer(os.urandom(digits * n), dtype=np.uint8).astype(np.int64) % 2
        each = [self.secret((1 - 2 * own).reshape(1, digits, n), i) for i in self._contributors]
        return self._mpc.np_prod(self._mpc.np_concatenate(each), axis=0)

    def _masks(self, n: int) -> Any:
        """Shares of numbers from 1, ..., p - 1, a row of each contributor's."""
        own = 1 + uniform(np.full(n, self._of.prime - 1))
        return self._mpc.np_concatenate([self.secret(own.reshape(1, n), i) for i in self._contributors])

    async def _values(self, array: Any) -> Numbers:
        """This party's shares, as numbers: what is affine in them is affine in what they are shares of."""
        shares = await self._mpc.gather(array)
        return np.asarray(shares.value, dtype=np.int64)

    def _made(self, shares: Numbers) -> Any:
        return self.held(shares % self._of.prime)
