"""Rows that are left out or merged are below those that are kept."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from cases import thorough

from darrm.accounting import OutcomeRows, adaptive
from darrm.accounting import cover as covers
from darrm.accounting.adaptive import Grid
from darrm.accounting.fresh import grid_for
from darrm.accounting.gaussian import gdp_mu
from darrm.accounting.many_answers import of_rows
from darrm.errors import InputError
from darrm.numerics.arrays import Array


def random_rows(n: int, answers: int, spread: float, seed: int, kinds: int = 7, shortest: float = 0.9) -> OutcomeRows:
    """Neighbours at random around some middles, far from each other or near."""
    rng = np.random.default_rng(seed)
    middle = rng.dirichlet(np.ones(answers), size=kinds)[rng.integers(kinds, size=n)]
    tilt = rng.normal(size=(n, answers))
    tilt -= (middle * tilt).sum(axis=1, keepdims=True)
    tilt *= spread * rng.uniform(shortest, 1, size=(n, 1)) / np.sqrt((middle * tilt**2).sum(axis=1, keepdims=True))
    P, Q = middle * np.exp(tilt / 2), middle * np.exp(-tilt / 2)
    return OutcomeRows.of(P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True), 1e-15)


def profile(P: Array, Q: Array, a: Fraction) -> Fraction:
    """Exactly, of the float64s."""
    return sum(
        (max(Fraction(0), Fraction(p) - a * Fraction(q)) for p, q in zip(P.tolist(), Q.tolist(), strict=True)),
        Fraction(0),
    )


def exceeds(row: tuple[Array, Array], wide: tuple[Array, Array], slack: float, lost: float = 0.0) -> bool:
    """Whether the profile of a row is somewhere above that of the widened one, exactly: at the kinks of both."""
    up, down = 1 + Fraction(slack), 1 - Fraction(slack)
    for side in (1, -1):
        (P, Q), (on, off) = row[::side], wide[::side]
        kinks = [Fraction(p) / Fraction(q) for p, q in zip(P.tolist(), Q.tolist(), strict=True) if q]
        kinks += [Fraction(p) * up / (Fraction(q) * down) for p, q in zip(on.tolist(), off.tolist(), strict=True) if q]
        for a in kinks:
            if profile(P, Q, a) > up * profile(on, off, a * down / up) + Fraction(lost):
                return True
    return False


@pytest.mark.thorough
def test_what_is_dominated_is_below() -> None:
    rows = random_rows(400, 3, 0.6, 1, shortest=0.3)
    both = covers._both(rows.P, rows.Q)
    kept, left = covers.undominated(rows)
    assert not left.size
    assert 10 < kept.size < 300
    gone = np.setdiff1d(np.arange(400), kept)
    for r in gone[:40]:
        row = rows.P[r], rows.Q[r]
        one = both.only(np.array([r]))
        below = [
            w for w in kept for some in (one, one.exchanged()) if covers.dominated(both.only(np.array([w])), some)[0]
        ]
        assert below
        w = below[0]
        assert not (exceeds(row, (rows.P[w], rows.Q[w]), 1e-12) and exceeds(row[::-1], (rows.P[w], rows.Q[w]), 1e-12))
    # And what is kept is not dominated by anything else.
    for w in kept[:20]:
        others = np.setdiff1d(kept, [w])
        assert all(exceeds((rows.P[w], rows.Q[w]), (rows.P[o], rows.Q[o]), 1e-9) for o in others[:40])


def test_a_row_a_little_above_is_not_dominated() -> None:
    P, Q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.4, 0.3, 0.3]])
    w = covers._both(P, Q)
    assert covers.dominated(w, w)[0]
    for by in (1e-9, 1e-11):
        more = covers._both(P + np.array([by, -by, 0.0]), Q)
        assert not covers.dominated(w, more)[0]
        assert covers.dominated(more, w)[0]
        assert covers.dominated(w, more, lost=2 * by)[0]
    assert not covers.dominated(w, w.exchanged())[0]
    # Equal in one orientation is not enough: an answer that only D' has.
    short = covers._both(np.array([[1.0, 0.0]]), np.array([[0.9, 0.1]]))
    lacking = covers._both(np.array([[1.0, 0.0]]), np.array([[0.9, 0.0]]))
    assert not covers.dominated(lacking, short)[0]


@pytest.mark.first(1)
@pytest.mark.parametrize("answers", [2, 3, 10])
@pytest.mark.parametrize("spread", [0.05, 1.0, 12.0])
def test_a_merged_row_is_above_all(answers: int, spread: float) -> None:
    rows = random_rows(30, answers, spread, answers, kinds=2)
    P, Q = rows.P.copy(), rows.Q.copy()
    P[0, 0], Q[1, -1] = 0.0, 0.0
    P, Q = P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True)
    made = covers.merged(P, Q)
    assert made is not None
    on, off, slack = made
    assert slack <= 1e-9
    for row in zip(P, Q, strict=True):
        assert not exceeds(row, (on, off), slack)
    # Between kinks it is above by a little only: at the kinks it is the largest of theirs.
    both = covers._both(P, Q)
    top = float(both.forward.t.max())
    heights = both.forward.profile(np.array([0.0, top]))
    assert covers._both(on[None], off[None]).forward.profile(np.array([0.0, top]))[0] == pytest.approx(
        heights.max(axis=0), abs=1e-9
    )


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("seed", [1, *thorough(2, 3)])
@pytest.mark.parametrize("direct", [True, False])
def test_the_excess_with_a_cover_is_above_and_close(seed: int, direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covers, "_DIRECT", 10**9 if direct else 0)
    rows = random_rows(500, 4, 0.3, seed)
    queries, delta = 40, 1e-4
    grid = grid_for(rows, queries, delta, 12)
    found = covers.cover(rows, queries, delta, grid)
    assert (found.merged > 50) == (not direct)
    whole, less = (next(islice(adaptive.upper_bounds(one, grid), queries - 1, None)) for one in (rows, found.rows))
    assert np.all(less >= whole * (1 - 1e-9))
    here, there = (adaptive.least_epsilon(V, grid, delta) for V in (whole, less))
    assert here <= there <= here * 1.003


@pytest.mark.slow
def test_twenty_thousand_rows() -> None:
    """Votes of any middle, and one that goes from an answer to another."""
    rng = np.random.default_rng(5)
    middle = rng.dirichlet(np.full(10, 3.0), size=20_000)
    tilt = np.zeros(middle.shape)
    for r, (c, d) in enumerate(rng.permuted(np.tile(np.arange(10), (20_000, 1)), axis=1)[:, :2]):
        tilt[r, c], tilt[r, d] = 0.08, -0.08
    P, Q = (middle * np.exp(sign * tilt) for sign in (1, -1))
    rows = OutcomeRows.of(P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True), 1e-15)
    total = of_rows(rows, 1000, 1e-6, tolerance=0.02)
    assert 0.98 * total.upper < total.lower <= total.upper
    # The row of the largest chi-squared distance, as Gaussian DP.
    chi = math.sqrt(1000 * float(((P - Q) ** 2 / P).sum(axis=1).max()))
    assert gdp_mu(total.upper, 1e-6) == pytest.approx(chi, rel=0.03)


def test_a_coarse_grid_finds_what_is_worst() -> None:
    rows = random_rows(60, 3, 0.4, 9)
    grid = Grid(0.05, 200)
    won = covers._winners(rows, 20, 1e-6, grid)
    best = np.argmax(((rows.P - rows.Q) ** 2 / rows.P).sum(axis=1))
    assert won.sum() > 0
    assert won[best] > 0
    assert np.count_nonzero(won) < 30


def lattice(h: float, step: float) -> OutcomeRows:
    """Rows of three answers at a lattice of two numbers, as those of Lemma 1 of docs/composition.md, and some mass."""
    at = np.arange(-2.5, 2.5, step)
    u, v = (part.ravel() for part in np.meshgrid(at, at))
    weights = [np.stack([np.exp(u + s), np.exp(v - s), np.ones(u.size)], axis=1) for s in (0.0, h)]
    P, Q = (side / side.sum(axis=1, keepdims=True) * (1 - 1e-11) for side in weights)
    lost, nothing = np.full((len(P), 1), 1e-11), np.zeros((len(P), 1))
    return OutcomeRows.of(np.hstack([P, lost, nothing]), np.hstack([Q, nothing, lost]))


@pytest.mark.slow
def test_width_is_stated_as_an_error_and_no_infinite_loss() -> None:
    """Rows of a lattice that are widened themselves lack probability, which counts as an infinite loss if merged."""
    rows, width = lattice(0.14, 0.1), 1e-3
    few = Grid(0.02, 400)
    stated = covers.cover(OutcomeRows(rows.P, rows.Q, width), 100, 1e-5, few)
    assert stated.merged > 1000
    assert stated.rows.delta_infinity < 1e-10
    widened = rows.P * (1 + width), rows.Q * (1 - width)
    with pytest.raises(InputError, match="Every row of P must sum to 1"):
        OutcomeRows.of(*widened)
    assert covers.cover(OutcomeRows(*widened), 100, 1e-5, few).rows.delta_infinity > width
