"""What darrm, dp-accounting and OpenDP prove of the same charges, at one delta and for replace-one neighbours."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution as plds
from dp_accounting.rdp import RdpAccountant

import darrm
from darrm import interop
from darrm.accounting import filters
from darrm.accounting.charges import account_of
from darrm.accounting.curves import Curve
from darrm.accounting.releases import one_label

DELTA = 1e-5
NEIGHBOURS = "replace-one"
RELATION = dp_accounting.NeighboringRelation.REPLACE_ONE
INTERVAL = 1e-4
SIGMA = 4.0
TRAINING = dp_accounting.SelfComposedDpEvent(
    dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 1000
)


class Pair(NamedTuple):
    """A mechanism of which an (epsilon, delta) is all that is known."""

    epsilon: float
    delta: float


Charge = tuple[Any, int]  # a design, an event or a Pair, and how often


@cache
def design(K: int, m: float) -> Any:
    """A or B."""
    return darrm.solve(K=K, m=m, epsilon=0.1)


def each(one: Any) -> float:
    """What one label costs to whoever knows nothing else of it; nats, at delta 0."""
    return float(math.nextafter(float(one.problem.exact_epsilon), math.inf))


def labels(one: Any, n: int, delta: float = DELTA) -> float:
    """n labels of fresh voters, exactly composed."""
    return float(darrm.accounting.compose(one, n, delta=delta, voters="fresh").upper)


def is_design(what: Any) -> bool:
    return isinstance(what, darrm.Design | darrm.DecisionDesign)


# darrm ----------------------------------------------------------------------------------------------------------------


def kept(rule: str, charges: Sequence[Charge], budget: float) -> float:
    """The epsilon that a ledger of this rule and budget proves of the charges."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = darrm.accounting.Ledger.create(
            Path(folder) / "ledger.db", total_epsilon=budget, total_delta=DELTA, voters="fresh", rule=rule
        )
        for what, n in charges:
            said = NEIGHBOURS if isinstance(what, Pair) else None
            ledger.charge(tuple(what) if isinstance(what, Pair) else what, n, adjacency=said)
        return float(ledger.spent()[0])


def composed(charges: Sequence[Charge], about: float) -> float:
    """Rule "in-advance"; ``about`` is near what it costs."""
    return kept("in-advance", charges, 1.05 * about)


def basic(charges: Sequence[Charge]) -> float:
    """Rule "basic-filter"."""
    return kept("basic-filter", charges, 1e3)


def spent_by(one: Any, order: float) -> filters.Spent:
    """The divergence of one use, from its curve or its rows."""
    return filters.of_curve(one, order) if isinstance(one, Curve) else filters.of_release(one, order)


def renyi(charges: Sequence[Charge]) -> float:
    """Rule "renyi-filter": the least budget that pays, for its order depends on the budget. A ledger must agree."""
    parts: list[tuple[Any, int]] = []
    for what, n in charges:
        if is_design(what):
            parts.append((one_label(what).gives(), n))
        elif isinstance(what, Pair):
            parts.append((Curve.of_guarantee(*what), n))
        else:
            account: Any = account_of(what, None, NEIGHBOURS, "fresh")
            parts.append((account.curve, n))

    def pays(budget: float) -> bool:
        allowed = filters.filter_at(filters.best_order(budget, DELTA), filters.FAILURES * DELTA, budget, DELTA)
        spent = [(n, spent_by(one, allowed.order)) for one, n in parts]
        divergence = sum(n * one.divergence for n, one in spent)
        failure = sum(n * one.failure for n, one in spent)
        return divergence <= allowed.divergence * (1 - 1e-9) and failure <= allowed.failure * (1 - 1e-9)

    low, high = 0.1, 1e3
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    kept("renyi-filter", charges, high)
    try:
        kept("renyi-filter", charges, low * (1 - 1e-5))
    except darrm.BudgetError:
        return high
    raise SystemExit(f'Rule "renyi-filter" pays with less than {high}.')


# dp-accounting --------------------------------------------------------------------------------------------------------


def guarantee(epsilon: float, delta: float) -> Any:
    """The distribution of a mechanism of which (epsilon, delta) is known."""
    known = dp_accounting.pld.common.DifferentialPrivacyParameters(epsilon, delta)
    return plds.from_privacy_parameters(known, value_discretization_interval=INTERVAL)


def gaussian(neighbours: Any = RELATION) -> Any:
    """The distribution of one Gaussian of sensitivity 1 for a record that is added, 2 for one that is replaced."""
    return plds.from_gaussian_mechanism(SIGMA, neighboring_relation=neighbours, value_discretization_interval=INTERVAL)


@cache
def training() -> Any:
    """The distribution of the training; dp-accounting has it for replace-one neighbours."""
    step = plds.from_gaussian_mechanism(
        1.0, sampling_prob=0.01, neighboring_relation=RELATION, value_discretization_interval=INTERVAL
    )
    return interop.NeighboringPLD.of(step.self_compose(1000), RELATION)


def block(one: Any, n: int) -> Any:
    return interop.privacy_loss_distribution(one, voters="fresh", queries=n, interval=INTERVAL)


def singles(one: Any, n: int) -> Any:
    return block(one, 1).self_compose(n)


def known(distribution: Any) -> Any:
    """A distribution of dp-accounting for replace-one neighbours, said so."""
    return interop.NeighboringPLD.of(distribution, RELATION)


def together(*distributions: Any) -> float:
    whole = distributions[0]
    for one in distributions[1:]:
        whole = whole.compose(one)
    return float(whole.get_epsilon_for_delta(DELTA))


def accountant(charges: Sequence[Charge]) -> float:
    """darrm's accountant of dp-accounting events."""
    account = interop.PLDAccountant(RELATION, INTERVAL)
    for what, n in charges:
        account.compose(interop.dp_event(what, voters="fresh", queries=n) if is_design(what) else what)
    return float(account.get_epsilon(DELTA))


def renyi_of_guarantees(charges: Sequence[tuple[float, int]]) -> float:
    """dp-accounting's Renyi accountant, of randomized response, which dominates whatever is (epsilon, 0)-DP."""
    account = RdpAccountant(neighboring_relation=RELATION)
    for epsilon, n in charges:
        response = dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(epsilon)), 2)
        account.compose(dp_accounting.SelfComposedDpEvent(response, n))
    return float(account.get_epsilon(DELTA))


# OpenDP ---------------------------------------------------------------------------------------------------------------


def opendp() -> Any:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    return dp


def told(measure: Any, cost: Any) -> Any:
    """An OpenDP measurement of which only the cost of one change of the data is known."""
    dp = opendp()
    nothing = (0.0, 0.0) if isinstance(cost, tuple) else 0.0
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.change_one_distance()
    return dp.m.make_user_measurement(
        *space, measure, lambda data: 0, lambda changes: cost if changes else nothing, TO="i32"
    )


def opendp_sums(charges: Sequence[tuple[float, int]], pair: Pair | None = None) -> float:
    """Its sums of epsilons; with a pair, of pairs."""
    dp = opendp()
    if pair is None:
        parts = [told(dp.max_divergence(), epsilon) for epsilon, n in charges for _ in range(n)]
        return float(dp.c.make_composition(parts).map(1))
    pairs = [told(dp.fixed_smoothed_max_divergence(), (epsilon, 0.0)) for epsilon, n in charges for _ in range(n)]
    pairs.append(told(dp.fixed_smoothed_max_divergence(), tuple(pair)))
    return _at_delta(dp.c.make_composition(pairs).map(1))


def opendp_concentrated(charges: Sequence[tuple[float, int]], pair: Pair | None = None) -> float:
    """Its zero-concentrated divergence of pure mechanisms, turned into a pair, beside another pair."""
    dp = opendp()
    parts = [dp.c.make_pureDP_to_zCDP(told(dp.max_divergence(), epsilon)) for epsilon, n in charges for _ in range(n)]
    smoothed = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(parts))
    whole = [dp.c.make_fix_delta(smoothed, DELTA - (pair.delta if pair else 0.0))]
    if pair:
        whole.append(told(dp.fixed_smoothed_max_divergence(), tuple(pair)))
    return _at_delta(dp.c.make_composition(whole).map(1))


def opendp_labels(charges: Sequence[Charge], pair: Pair | None = None) -> float:
    """Its sums of darrm's measurements, each a block of labels with an equal part of what is left of delta."""
    dp = opendp()
    left = (DELTA - (pair.delta if pair else 0.0)) * (1 - 1e-12) / len(charges)
    space = {
        "input_domain": dp.vector_domain(dp.atom_domain(T=int)),
        "input_metric": dp.change_one_distance(),
    }
    parts = [
        interop.opendp_measurement(one, n_labels=n, voters="fresh", votes=lambda data: data, delta=left, **space)
        for one, n in charges
    ]
    if pair:
        parts.append(told(dp.fixed_smoothed_max_divergence(), tuple(pair)))
    return _at_delta(dp.c.make_composition(parts).map(1))


def _at_delta(cost: tuple[float, float]) -> float:
    if cost[1] > DELTA * (1 + 1e-9):
        raise SystemExit(f"OpenDP gives a delta of {cost[1]}.")
    return cost[0]
