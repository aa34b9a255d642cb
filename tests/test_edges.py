"""Numerics at the edges: what is solved there is certified and judged anew by definition; the rest is refused."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough

import darrm
from darrm._validation import real
from darrm.design.design import in_file
from darrm.independent import Findings, check

ALMOST = 1 - 2**-53
TINY = 5e-324


def judged(design: darrm.Design) -> Findings:
    """What the independent check finds wrong with a design file."""
    return check(json.loads(json.dumps(in_file(design), allow_nan=False)))


def certified(parameters: dict[str, Any]) -> darrm.Design:
    """The design, whose guarantee was proved with another arithmetic too where the voters are few."""
    design = darrm.solve(**parameters)
    problem, certificate = design.problem, design.certificate
    assert certificate.holds
    assert certificate.needed_delta <= problem.delta
    assert certificate.tight_epsilon <= problem.release_epsilon * (1 + 1e-15)
    assert 0 <= design.gap <= 1e-9
    assert np.all((design.gamma >= 0) & (design.gamma <= 1))
    return design


# Ranges of one number, for few voters: all is solved, certified, and as tight as it says.

SIZES = (1, 2, 5, 6)
M_EPSILON = [
    {"K": K, "m": m, "epsilon": total / m, "Delta": Delta}
    for K, total, Delta in itertools.product(SIZES, (50.0, 700.0, 709.5, 711.0), (0.0, 1e-5, 0.3))
    for m in sorted({1, K})
]
SMALL_EPSILON = [
    {"K": K, "m": m, "epsilon": epsilon, "Delta": Delta}
    for K, epsilon, Delta in itertools.product(SIZES, (1e-3, 1e-8, 1e-12, 1e-15, 1e-16, 1e-300), (0.0, 1e-8))
    for m in sorted({1, K / 2 if K > 2 else 1, K})
]
DELTAS = [
    {"K": K, "m": m, "epsilon": 0.5, "Delta": Delta, "delta": delta}
    for K, Delta in itertools.product((1, 5, 6), (TINY, 1e-300, 1e-20, 1e-9, 1e-3, 0.5, 0.999))
    for delta in (None, Delta, math.nextafter(Delta, 1))
    for m in sorted({1, K})
    if not (Delta == 0.999 and m == 6 and delta is None)
]
LEAST_DELTA = [
    {"K": K, "m": 1, "epsilon": epsilon, "delta": delta, "max_affected": max_affected}
    for K, epsilon, delta in itertools.product(SIZES, (1e-12, 0.1, 50.0), (0.0, TINY, 1e-300, 1e-20, 1e-12))
    for max_affected in sorted({1, K})
]
# Beyond float64: e^(m epsilon) is not listed by the independent check either, which would take a million bits.
HUGE = [{"K": K, "m": K, "epsilon": e, "Delta": D} for K in SIZES for e in (5e3, 1e6) for D in (0.0, 1e-5, 0.3)]
# The released label tells nothing at delta, or rounding is all that it tells: epsilon is proved, but not the least.
LOOSE = [
    {"K": 5, "m": 3, "epsilon": 1e-8, "Delta": 1e-8},
    *({"K": 2, "m": 2, "epsilon": 0.5, "Delta": D, "delta": D} for D in (0.1, 0.5, 0.999)),
    *({"K": 5, "m": 5, "epsilon": 0.5, "Delta": D, "delta": 0.9995} for D in (TINY, 1e-300, 1e-20)),
    *({"K": K, "m": K, "epsilon": 0.5, "Delta": ALMOST, "delta": ALMOST} for K in (5, 6)),
    *(
        {"K": K, "m": 1, "epsilon": 700.0 / K, "delta": delta, "max_affected": 1}
        for K in (1, 2, 6)
        for delta in (0.5, ALMOST)
    ),
]
ZEROS = [
    *(f"fixed:{','.join(str(v) for v in p)}" for p in ([1] * 5, [0] * 5, [0, 1, 0, 1, 1], [1, 1, 1, 0, TINY])),
    *(f"votes:{','.join(str(n) for n in h)}" for h in ([0, 0, 0, 0, 0, 1], [7, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0])),
    *("votes:5e-324,0,0,0,0,0", "votes:1e308,1e308,1e308,0,0,0", "independent:1,1", "independent:0.5,0.5000000001"),
    *("common:1e-300,1e-300", "common:1e-9,5", "common:1e5,1e-5"),
]
PRIORS = [{"K": 5, "m": m, "epsilon": 0.3, "Delta": D, "prior": p} for p in ZEROS for m in (1, 5) for D in (0.0, 1e-5)]
ALL_TIGHT = [*M_EPSILON, *SMALL_EPSILON, *DELTAS, *LEAST_DELTA, *PRIORS]
FEW = [case for case in ALL_TIGHT if case["K"] <= 2 or ("prior" in case and case["m"] == 5)]
LEFT = [case for case in ALL_TIGHT if case not in FEW]
HALF = [case for i, case in enumerate(FEW) if i % 4 in (0, 3)]  # of every other value the first, else the second
TIGHT = [*HALF, *thorough(*LEFT[::18]), *slow(*(case for case in ALL_TIGHT if case not in [*HALF, *LEFT[::18]]))]


@pytest.mark.parametrize("parameters", TIGHT, ids=str)
def test_at_the_edge_all_is_certified_and_the_independent_check_agrees(parameters: dict[str, Any]) -> None:
    found = judged(certified(parameters))
    assert (found.wrong, found.loose) == ((), ())


@pytest.mark.parametrize("parameters", LOOSE, ids=str)
def test_where_delta_is_met_by_rounding_alone_bounds_are_true_but_loose(parameters: dict[str, Any]) -> None:
    assert judged(certified(parameters)).wrong == ()


@pytest.mark.first(8)
@pytest.mark.parametrize("parameters", HUGE, ids=str)
def test_a_guarantee_beyond_float64_needs_no_noise(parameters: dict[str, Any]) -> None:
    design = certified(parameters)
    assert design.gamma[0] >= 1 - 1e-14


def test_the_independent_check_tells_such_small_numbers_apart() -> None:
    """A table that breaks its guarantee by a part in a billion is found, however small epsilon is."""
    design = darrm.solve(K=5, m=1, epsilon=1e-300)

    def content(gamma: np.ndarray) -> dict[str, Any]:
        values = gamma.tolist()
        return {**in_file(design), "gamma": values, "gamma_hex": [value.hex() for value in values]}

    assert check(content(design.gamma * (1 - 1e-9))).wrong == ()
    above = np.minimum(1, design.gamma * (1 + 1e-9))
    assert not np.array_equal(above, design.gamma)
    assert any("the table is not (" in found for found in check(content(above)).wrong)


# More voters: certified, without an independent check.

LARGER = [
    {"K": 101, "m": 101, "epsilon": 7.0},
    {"K": 31, "m": 1, "epsilon": 1e-12},
    {"K": 100, "m": 1, "epsilon": 0.1, "max_affected": 1},
    {"K": 101, "m": 2.5, "epsilon": 280.0, "Delta": 1e-12},
    {"K": 101, "m": 3, "epsilon": 0.1, "Delta": 1e-300},
    {"K": 41, "m": 41, "epsilon": 0.1, "Delta": 1e-12},
    {"K": 301, "m": 30, "epsilon": 0.5, "Delta": 0.5},
    {"K": 1001, "m": 10, "epsilon": 0.1, "max_affected": 1},
    {"K": 2001, "m": 1, "epsilon": 0.1, "max_affected": 1},
    {"K": 2000, "m": 1, "epsilon": 700.0, "max_affected": 1},
]


@pytest.mark.first(3)
@pytest.mark.parametrize("parameters", LARGER, ids=str)
def test_many_voters_at_the_edge(parameters: dict[str, Any]) -> None:
    certified(parameters)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"K": 101, "m": 1, "epsilon": 1e-12},
        {"K": 501, "m": 501, "epsilon": 0.1},
        {"K": 1001, "m": 1001, "epsilon": 0.7, "Delta": 1e-9},
    ],
    ids=str,
)
def test_thousands_of_voters_at_the_edge(parameters: dict[str, Any]) -> None:
    certified(parameters)


# What is refused says why, in one line.

REFUSED = [
    ({"K": 5, "m": 1, "epsilon": TINY}, darrm.CertificateError, "float64 cannot distinguish it from no privacy"),
    ({"K": 5, "m": 5, "epsilon": TINY}, darrm.CertificateError, "Raise the guaranteed epsilon or delta"),
    ({"K": 5, "m": 1, "epsilon": 0.0}, darrm.InputError, "epsilon must be in (0, 1e+06]"),
    ({"K": 5, "m": 1, "epsilon": 1e-324}, darrm.InputError, "epsilon must be in (0, 1e+06]"),
    ({"K": 5, "m": 5, "epsilon": math.nextafter(1e6, 2e6)}, darrm.InputError, "in (0, 1e+06]"),
    ({"K": 5, "m": 0.0, "epsilon": 0.1}, darrm.InputError, "m must be in"),
    ({"K": 5, "m": math.nextafter(5, 6), "epsilon": 0.1}, darrm.InputError, "m must be in"),
    ({"K": 5, "m": 5, "epsilon": 0.5, "Delta": ALMOST}, darrm.InputError, "guarantees nothing"),
    ({"K": 5, "m": 1, "epsilon": 0.5, "Delta": 0.3, "delta": -5e-324}, darrm.InputError, "delta must"),
    ({"K": 5, "m": 1, "epsilon": 0.5, "delta": 1.0}, darrm.InputError, "delta must be in"),
    ({"K": 5, "m": 1, "epsilon": 0.5, "max_affected": 0}, darrm.InputError, "max_affected must be an integer in"),
    ({"K": 5, "m": 1, "epsilon": 0.5, "max_affected": 6}, darrm.InputError, "max_affected must be an integer in"),
    ({"K": 3002, "m": 1, "epsilon": 0.5}, darrm.InputError, "K must be at most 3001"),
    ({"K": 6, "m": 1, "epsilon": 0.3, "prior": "votes:0,0,0,1,0,0,0"}, darrm.InputError, "every gamma is optimal"),
    ({"K": 6, "m": 1, "epsilon": 0.3, "prior": "fixed:0,1,0,1,0,1"}, darrm.InputError, "every gamma is optimal"),
    ({"K": 5, "m": 1, "epsilon": 0.3, "prior": "common:1e300,1e300"}, darrm.InputError, "every gamma is optimal"),
    ({"K": 5, "m": 1, "epsilon": 0.3, "prior": "votes:0,0,0,0,0,0"}, darrm.InputError, "histogram"),
]


@pytest.mark.parametrize(("parameters", "kind", "reason"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_cannot_be_is_refused_with_its_reason(
    parameters: dict[str, Any], kind: type[darrm.DarrmError], reason: str
) -> None:
    with pytest.raises(kind) as refusal:
        darrm.solve(**parameters)
    assert reason in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


# Noise functions of numbers that hardly are.


@pytest.mark.parametrize("Delta", [0.0, 1e-300, 1e-5])
@pytest.mark.parametrize("value", [TINY, 2.0**-1023, 2.0**-1022, 1e-300])
@pytest.mark.parametrize("K", [5, 6])
def test_a_subnormal_gamma_is_verified(K: int, value: float, Delta: float) -> None:
    problem = darrm.MajorityProblem(K=K, m=1, epsilon=1e-6, Delta=Delta)
    design = darrm.Design(problem, np.full(K + 1, value), darrm.priors.independent())
    assert judged(design).wrong == ()


@pytest.mark.parametrize("max_affected", [2, 5])
def test_one_subnormal_entry_between_ones_does_not_hide_a_broken_guarantee(max_affected: int) -> None:
    gamma = np.array([1, 1, TINY, TINY, 1, 1])
    problem = darrm.MajorityProblem(K=5, m=1, epsilon=0.1, max_affected=max_affected)
    certificate = darrm.verify(gamma, problem)
    assert not certificate.holds
    assert certificate.needed_delta > 1e-3


def test_numbers_and_names_at_their_ends() -> None:
    for low, high in ((1.0, 1.0), (1.0, 0.0)):
        with pytest.raises(darrm.InputError):
            real("x", 1.0, low, high, "[)")
    assert real("x", 1.0, 1.0, 2.0, "[)") == 1.0
    with pytest.raises(darrm.InputError, match="adjacency must be a text"):
        darrm.MajorityProblem(3, 1, 1.0, adjacency=np.array(["replace-one"]))  # type: ignore[arg-type]
