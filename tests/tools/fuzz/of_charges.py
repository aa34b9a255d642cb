"""Ledgers that are charged with labels, guarantees and Gaussian answers in turn, beside what that certainly costs."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from judging import Case, Finding, one_line
from judging_decisions import truth_of
from material import GROUPS, PROBLEMS, good
from mutate import Draw

import darrm
from darrm.errors import BudgetError, DarrmError

Losses: TypeAlias = list[tuple[float, float]]  # (probability on D, on D') of each outcome
MOST_OUTCOMES = 50_000
SAME = 1e-9  # relative: what float64 may be off here

EPSILONS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1.0, 5.0, 1e-9, 700.0]), st.floats(0, 3))
DELTAS = st.sampled_from([0.0, 0.0, 1e-9, 1e-5, 1e-3, 0.1, 1e-300, 5e-324])
TIMES = st.sampled_from([1, 1, 1, 2, 3, 5, 10, 100, 10**4, 2**53, 0, -1, 2**53 + 1])
NOTES = st.sampled_from(["", "", "a count", "\u00e9", "two\nlines", "x" * 300, "x" * 301, "[bold]", "\ud800"])


@st.composite
def charges(draw: Draw) -> Case:
    usual = draw(st.integers(0, 4))
    budget = {
        "total_epsilon": draw(
            st.sampled_from([9.0, 20.0, 50.0] if usual else [1e-9, 0.1, 600.0, 700.0, 1e6, 5e-324, 1e308])
        ),
        "total_delta": draw(st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.1] if usual else [5e-324, 1e-300, 0.999, 0.5])),
        "voters": draw(st.sampled_from(["fresh", "fresh", "fixed"])),
        "rule": draw(st.sampled_from(["in-advance", "in-advance", "renyi-filter", "basic-filter", "exact"])),
        "adjacency": draw(st.sampled_from([*[None] * 6, "replace-one", "add-remove", "replace-special"])),
    }
    steps = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(
            st.sampled_from(["design", "design", "pair", "gaussian", "sgd", "distribution", "broken", "labels"])
        )
        what: Any = {
            "design": draw(st.sampled_from([*PROBLEMS, *GROUPS])),
            "labels": draw(st.sampled_from([*PROBLEMS, *GROUPS])),
            "pair": [draw(EPSILONS), draw(DELTAS)],
            "gaussian": draw(st.sampled_from([0.3, 1.0, 3.0, 30.0, 1e6, 1e-3, 0.0, -1.0, math.inf])),
            "sgd": [
                draw(st.sampled_from([0.5, 1.0, 3.0])),
                draw(st.sampled_from([0.01, 1.0])),
                draw(st.integers(1, 9)),
            ],
            "distribution": [draw(st.sampled_from([0.5, 1.0, 3.0])), draw(st.booleans())],
            "broken": b"",
        }[kind]
        if kind == "broken":
            what = [draw(st.integers(0, 10**6)), draw(st.binary(min_size=1, max_size=3))]
        steps.append([kind, what, draw(TIMES), draw(NOTES)])
    first = draw(st.sampled_from([None, None, *PROBLEMS, *GROUPS]))
    if (first is None and budget["rule"] == "exact") or (budget["voters"] == "fixed" and draw(st.integers(0, 9))):
        budget["rule"] = "in-advance"
    return {"budget": budget, "first": first, "steps": steps}


def run_charges(case: Case) -> str:
    from darrm.accounting import Ledger

    budget = case["budget"]
    first = None if case["first"] is None else designs()[case["first"]]
    try:
        ledger = Ledger.create("ledger.json", first, **budget)
    except DarrmError as error:
        one_line(error)
        return "no ledger"
    replacing = ledger.status()["adjacency"] == "replace-one"
    cost, count, released = Cost(budget["voters"], replacing=replacing), 0, 0
    for kind, what, n, note in case["steps"]:
        before = Path("ledger.json").read_bytes()
        if kind == "broken":
            _spoil(ledger, before, *what)
            continue
        try:
            thing = made(kind, what)
            said = None if kind in ("design", "labels", "gaussian", "sgd") else ledger.status()["adjacency"]
            if kind == "labels":
                with ledger.releasing(thing, n, "labels.csv", note=note) as file:
                    file.write(b"id,label\n")
            else:
                ledger.charge(thing, n, adjacency=said, note=note)
        except DarrmError as error:
            one_line(error)
            if Path("ledger.json").read_bytes() != before:
                raise Finding(f"a refusal changed the ledger: {error}") from None
            if Path("labels.csv").exists():
                raise Finding(f"a refusal left labels: {error}") from None
            if isinstance(error, BudgetError) and n == 1 and kind == "pair" and what == [0.0, 0.0]:
                raise Finding(f"what costs nothing does not fit: {error}") from None
            continue
        Path("labels.csv").unlink(missing_ok=True)
        count += 1
        released += n if kind in ("design", "labels") else 0
        cost.add(kind, what, n)
        status, spent = Ledger("ledger.json").status(), ledger.spent()
        if status["released"] != released:
            raise Finding(f"{released} labels were charged: {status}")
        if sum(charge["n"] for charge in status["charges"]) < n:
            raise Finding(f"{n} of {kind} were charged: {status}")
        _judge(cost, spent, budget)
    return f"{min(count, 2)}{' or more' * (count > 1)} charged by {budget['rule']}"


def _judge(cost: Cost, spent: tuple[float, float], budget: dict[str, Any]) -> None:
    if not (spent[0] <= budget["total_epsilon"] and spent[1] <= budget["total_delta"]):
        raise Finding(f"spent {spent} of {budget}")
    least = cost.delta(spent[0])
    if least > spent[1] * (1 + SAME) + 1e-12:
        raise Finding(f"spent {spent}, which certainly needs delta {least}: {cost}")
    if spent[1] == 0 and cost.largest_loss() > spent[0] * (1 + SAME) + 1e-15:
        raise Finding(f"spent {spent}, with losses up to {cost.largest_loss()}: {cost}")


def _spoil(ledger: Any, content: bytes, at: int, by: bytes) -> None:
    """Another byte in the ledger: refused, or it says the same."""
    told = ledger.status()
    at %= len(content)
    Path("ledger.json").write_bytes(content[:at] + by + content[at + len(by) :])
    try:
        now = ledger.status()
    except DarrmError as error:
        one_line(error)
    else:
        if now != told:
            raise Finding(f"a spoiled ledger says {now}, and said {told}")
    Path("ledger.json").write_bytes(content)


def made(kind: str, what: Any) -> Any:
    """What is charged."""
    import dp_accounting as dp
    from dp_accounting.pld import privacy_loss_distribution as pld

    if kind in ("design", "labels"):
        return designs()[what]
    if kind == "pair":
        return tuple(what)
    if kind == "gaussian":
        return dp.GaussianDpEvent(what)
    if kind == "sgd":
        noise, rate, steps = what
        return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)), steps)
    noise, pessimistic = what
    return pld.from_gaussian_mechanism(noise, pessimistic_estimate=pessimistic, value_discretization_interval=1e-2)


@cache
def designs() -> dict[str, Any]:
    """The designs of the good files."""
    found = {}
    for name in (*PROBLEMS, *GROUPS):
        Path("kept.json").write_bytes(good()[name])
        found[name] = darrm.load("kept.json")
    Path("kept.json").unlink()
    return found


class Cost:
    """A lower bound on what was charged: of labels the worst pair alone, as often as they were released."""

    def __init__(self, voters: str, *, replacing: bool = False) -> None:
        self.replacing = replacing
        self.voters, self.pairs, self.mu2, self.answered = voters, list[tuple[Losses, int]](), 0.0, False
        self.what: list[Any] = []

    def __str__(self) -> str:
        return str(self.what)

    def add(self, kind: str, what: Any, n: int) -> None:
        self.what.append((kind, what, n))
        if kind in ("design", "labels"):
            self.add_labels(worst_pair(what), n)
        elif kind == "pair":
            self.pairs.append((response(*what), n))
        elif kind == "gaussian":
            self.mu2 += n * (2 if self.replacing else 1) ** 2 / what**2

    def add_labels(self, pair: Losses, n: int) -> None:
        if self.voters == "fresh":
            self.pairs.append((pair, n))
        elif not self.answered:  # fixed voters answer once for sure
            self.pairs.append((pair, 1))
        self.answered = True

    def largest_loss(self) -> float:
        """Of all together, infinite if there is none."""
        if self.mu2:
            return math.inf
        return sum(
            n * max((math.log(p / q) if q else math.inf for p, q in pair if p), default=0.0) for pair, n in self.pairs
        )

    def delta(self, epsilon: float) -> float:
        """At least so much delta is needed."""
        P, losses = np.ones(1), np.zeros(1)
        for pair, n in self.pairs:
            own, own_losses = together(pair, min(n, max(1, MOST_OUTCOMES // len(P) - 1)))
            P, losses = np.multiply.outer(P, own).ravel(), np.add.outer(losses, own_losses).ravel()
        return float(np.sum(P * _above(epsilon - losses, math.sqrt(self.mu2))))


def _above(epsilon: Any, mu: float) -> Any:
    """Of a Gaussian answer: the least delta at each epsilon, of any sign; of nothing if mu is 0."""
    from scipy.special import log_ndtr, ndtr

    if mu == 0:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    found = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return np.where(np.isneginf(epsilon), 1.0, found)


def together(pair: Losses, n: int) -> tuple[Any, Any]:
    """Probabilities and losses of n times a pair of two outcomes that can be on both sides, and others."""
    from scipy.stats import binom

    both = [(p, q) for p, q in pair if p and q]
    never = sum(p for p, q in pair if not q)
    stay = sum(p for p, _ in both)
    P, losses = [0.0], [0.0]
    if len(both) == 2:
        (p, q), (x, y) = both
        k = np.arange(n + 1)
        P = binom.pmf(k, n, p / stay) * stay**n
        losses = k * math.log(p / q) + (n - k) * math.log(x / y)
    elif both:
        ((p, q),) = both
        P, losses = [p**n], [n * math.log(p / q)]
    lost = -math.expm1(n * math.log1p(-never)) if never < 1 else 1.0
    return np.append(P, lost), np.append(losses, math.inf)


def response(epsilon: float, delta: float) -> Losses:
    """The worst (epsilon, delta)-DP answer."""
    high, low = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    return [(delta, 0.0), (high, low), (low, high)]


@cache
def worst_pair(name: str) -> Losses:
    found = worst_pair_of(json.loads(good()[name]))
    if found is None:
        raise ValueError(f"{name} is too large")
    return found


def worst_pair_of(content: dict[str, Any]) -> Losses | None:
    """One case of voters, by the oracles of the tests, in which a label tells most; None if there are too many."""
    import decisions

    problem = content["problem"]
    if "groups" in problem:
        truth = truth_of(problem, [group["count"] for group in problem["groups"]], content["table_hex"])
        total = problem["epsilon"]
    else:
        K, total = problem["K"], problem["m"] * problem["epsilon"]
        gamma = [float.fromhex(value) for value in content["gamma_hex"]]
        table = np.array([(1 + ((2 * l > K) - (2 * l < K)) * gamma[l]) / 2 for l in range(K + 1)])
        group = decisions.Group(K, problem["epsilon"], problem["Delta"], problem["max_affected"])
        truth = decisions.truth(table, [group], problem["max_affected"]) if K < 6 else None
    if truth is None:
        return None
    grow = math.exp(min(700.0, 0.7 * total))
    sides = (np.asarray(side).ravel() for side in (truth.p_side, truth.q_side))
    found = [(max(0.0, float(p)), max(0.0, float(q))) for p, q in zip(*sides, strict=True)]
    p, q = max(found, key=lambda pair: pair[0] - grow * pair[1])
    return [(p, q), (1 - p, 1 - q)]
