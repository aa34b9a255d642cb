"""Every number that a public function, method or class takes: the same values are refused, and accepted, everywhere.

The functions and their numbers are found by inspection. Only arguments that are valid stand in a table, and a function
or a number that is not in it fails.
"""

import dataclasses
import inspect
import math
import re
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import darrm

BELOW_FLOAT64 = Fraction(1, 3 * 2**70)  # float64 holds no sum of this and a float64


# What is public.


def members(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Public names of a module and what they are: those of its face, or what it defines itself."""
    listed = getattr(module, "__all__", None)
    for name in sorted(vars(module) if listed is None else listed):
        value = getattr(module, name)
        if listed is not None or (getattr(value, "__module__", None) == module.__name__ and name[0] != "_"):
            yield name, value


def is_record(kind: type) -> bool:
    """Whether a class only holds results: its constructor checks nothing, or it is a protocol or an error."""
    generated = dataclasses.is_dataclass(kind) and inspect.unwrap(kind.__init__).__code__.co_filename == "<string>"
    generated = generated and not hasattr(kind, "__post_init__")
    return generated or issubclass(kind, tuple | Exception) or getattr(kind, "_is_protocol", False)


def entry_points() -> dict[str, Callable[..., Any]]:
    """Public functions, constructors and methods, each by the shortest name that reaches it."""
    points: dict[str, Callable[..., Any]] = {}
    modules, reached = [("", darrm)], set()
    while modules:
        prefix, module = modules.pop(0)
        for name, value in members(module):
            if id(value) in reached or (isinstance(value, type) and value.__name__ != name):  # another name of a class
                continue
            if isinstance(value, types.ModuleType):
                modules.append((f"{prefix}{name}.", value))
            elif isinstance(value, type):
                if not is_record(value):
                    points[f"{prefix}{name}"] = value
                points |= {f"{prefix}{name}.{method}": call for method, call in methods(value)}
            elif callable(value):
                points[f"{prefix}{name}"] = value
            else:
                continue
            reached.add(id(value))
    return points


def methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(kind):
        method = getattr(kind, name)
        mine = str(getattr(method, "__module__", "")).startswith("darrm.")
        if mine and not name.startswith("_") and callable(method):  # a cached property has a module from Python 3.13 on
            yield name, method


SCALAR = re.compile(r"\b(int|float)\b")
ARRAY = re.compile(r"\b(ArrayLike|NDArray|Array|Values)\b|\b(tuple|Sequence)\[(int|float)\b|\bIterable\[(float|tuple)")


def numbers(call: Callable[..., Any]) -> dict[str, tuple[str, bool]]:
    """The parameters that are numbers: whether "scalar" or "array", and whether None may come in its place."""
    found = {}
    for name, parameter in inspect.signature(call).parameters.items():
        annotation = str(parameter.annotation)
        if "Callable" in annotation and "int |" not in annotation:
            continue
        outside = annotation
        while "[" in outside:
            outside, before = re.sub(r"\[[^\[\]]*\]", "", outside), outside
            assert outside != before, annotation
        optional = "None" in annotation or annotation == "Values"
        if SCALAR.search(outside):
            found[name] = ("scalar", optional)
        elif ARRAY.search(annotation):
            found[name] = ("array", optional)
    return found


POINTS = entry_points()


# Arguments that are valid.


class Made:
    """An argument that is made anew for each call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


SEEDED = Made(lambda: np.random.default_rng(1))
PROBLEM = darrm.MajorityProblem(K=3, m=1, epsilon=1.0)
DESIGN = darrm.solve(PROBLEM)
UNIFORM = darrm.priors.independent()
RR = darrm.mechanisms.RandomizedResponse(1.0)
LLP = darrm.labels.LabelProportions()
LAPLACE = darrm.labels.LaplaceLabelProportions(1.0)
GEOMETRIC = darrm.labels.GeometricLabelProportions(1.0)
RELEASER = darrm.mechanisms.PrivateDecision(DESIGN)
FLIPS = darrm.mechanisms.PermuteAndFlip(2.0)
GROUPS = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(1, epsilon=2.0)]
DECISIONS = darrm.DecisionProblem(GROUPS, epsilon=1.0)
TRUTH = darrm.objectives.truth([0.75, 0.5])
DECISION = darrm.solve(DECISIONS, objective=TRUTH, absent=True)
DECIDED = darrm.mechanisms.PrivateDecision(DECISION)
GAMMA = [1.0, 0.5, 0.5, 1.0]
ETA = [0.5, 0.25, 0.75]
AGGREGATE = darrm.labels.BagAggregate(np.array([1.0, 2.0]), 0.5)
BAG = {"X": [[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]], "y": [0.0, 1.0, 1.0]}
NOISY = darrm.labels.NoisyWeightedLabelProportions(1.0, 1.0)
NOISY_OUTPUT = darrm.labels.NoisyAggregate(0.5, np.array([True, True, False]), np.array([1.0, 0.5, -1.0]))
X = np.array([[float(i), float(i * i % 7)] for i in range(12)])
Y = np.array([0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1])
VOTERS = {"K": 3, "epsilon": 1.0, "Delta": 0.0, "max_affected": 3}
PROBLEMS = VOTERS | {"m": 1.0, "delta": 0.0}
PLANNED = {"queries": 2, "total_epsilon": 2.0, "total_delta": 0.25, "voters": "fresh"}
CHEAP = {"compare": False}
KNOWN = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0, 0.0, 1, None, "randomized response", 0)], 1.0)

Arguments = Mapping[str, Any]
Use = Callable[..., Any]


def fitted(kind: Callable[..., Any], **more: Any) -> Use:
    """What scikit-learn's estimators do with their parameters: nothing before `fit`."""

    def use(**parameters: Any) -> Any:
        model = kind(**more, **parameters).fit(X, Y)
        return [value for name, value in sorted(vars(model).items()) if name.endswith("_")]

    return use


def of(made: Any, name: str) -> Use:
    return lambda **arguments: getattr(made, name)(**arguments)


def opendp_map(**arguments: Any) -> Any:
    """What a measurement says that one change costs."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = {"input_domain": dp.vector_domain(dp.atom_domain(T=int)), "input_metric": dp.hamming_distance()}
    return darrm.interop.opendp_measurement(DESIGN, votes=list, voters="fresh", **space, **arguments).map(1)


def table() -> dict[str, tuple[Use | None, Sequence[Arguments]]]:
    """For each entry point how it is called, if not by its name, and valid arguments: each number in one of them."""
    m, labels = darrm.mechanisms, darrm.labels
    on_eta = {"mechanism": LLP, "eta": ETA}
    rng = {"rng": SEEDED}
    counted = {"queries": 2, "K": 3, "classes": 3}
    plain: dict[str, Sequence[Arguments]] = {
        "MajorityProblem": [
            PROBLEMS | {"adjacency": "replace-one"},
            {"K": 3, "epsilon": 1.0, "release_epsilon": 0.5},
            {"K": 3, "epsilon": 1.0, "total_epsilon": 0.5},
        ],
        "VoterGroup": [
            {"count": 2, "epsilon": 1.0, "delta": 0.0, "max_affected": 1},
            {"count": 2, "epsilon": 1.0, "randomizer": [[0.75, 0.25], [0.5, 0.5]], "colluders": 1},
        ],
        "DecisionProblem": [{"groups": GROUPS, "epsilon": 1.0, "delta": 0.25, "classes": 2, "max_affected": 1}],
        "compare": [
            {"problem": PROBLEM, "queries": 2, "total_delta": 0.25, "draws": 4, **rng},
            {"problem": PROBLEM, "extra": {"mine": [0.5, 0.25, 0.25, 0.5]}},
            {"problem": DECISIONS, "objective": TRUTH, "time_limit": 64.0},
            {"problem": DECISIONS, "base_accuracy": 0.75, "time_limit": 64.0} | PLANNED,
            {"problem": KNOWN, "base_accuracy": 0.75, "fallback_epsilon": 8.0} | PLANNED,
        ],
        "plan": [
            {"groups": [(2, 1.0), (1, 2.0)], "max_affected": 2, "base_accuracy": 0.75, "time_limit": 64.0}
            | PLANNED
            | CHEAP,
            {"K": 3, "epsilon": 1.0, "Delta": 0.0009765625, "max_affected": 2, "base_accuracy": 0.75} | PLANNED | CHEAP,
            {"groups": [(2, 1.0), (1, 2.0)], "max_affected": 2, "accuracy": 0.75, "prior": [0.5, 0.5], "classes": 2}
            | {"cost": [[0.0, 4.0], [1.0, 0.0]]}
            | PLANNED
            | CHEAP,
            {"groups": [(3, 1.0, 0.0, 1, None, "randomized response", 0)], "max_affected": 1, "base_accuracy": 0.75}
            | {"fallback_epsilon": 8.0}
            | PLANNED
            | CHEAP,
            {"groups": [(2, 1.0), (1, 2.0)], "max_affected": 2, "accuracy": 0.75, "none": 0.25} | PLANNED | CHEAP,
            {"groups": [(3, "auto")], "max_affected": 2, "base_accuracy": 0.75, "at_most": 1.0}
            | {"aggregator_epsilon": 8.0}
            | PLANNED
            | CHEAP,
        ],
        "Design": [
            {"problem": PROBLEM, "table": DESIGN.gamma.tolist(), "prior": UNIFORM, "gap": 0.5, "profile": [(1.0, 0.0)]},
            {"problem": DECISIONS, "table": [[0.5, 0.5]] * 3, "objective": TRUTH, "profile": [(1.0, 0.0)], "gap": 0.5},
        ],
        "expected_error": [{"gamma": GAMMA, "p": [0.5, 0.75, 1.0]}],
        "privacy_profile": [{"gamma": GAMMA, "problem": PROBLEM, "epsilons": [0.0, 1.0]}],
        "repair": [{"release": GAMMA, "problem": PROBLEM}, {"release": [[0.0, 1.0]] * 3, "problem": DECISIONS}],
        "verify": [{"release": GAMMA, "problem": PROBLEM}, {"release": [[0.0, 1.0]] * 3, "problem": DECISIONS}],
        "solve": [{"problem": PROBLEM, "time_limit": 64.0, "profile": [(1.0, 0.0)], "bits": 8}],
        "accounting.compose": [
            {"design": DESIGN, "queries": 2, "delta": 0.5, "voters": "fresh", "tolerance": 0.5},
            counted | {"design": FLIPS, "delta": 0.25, "tolerance": 0.5},
        ],
        "accounting.OutcomeRows.of": [{"P": [[0.5, 0.5]], "Q": [[0.25, 0.75]], "rho": 0.0, "cut": 0.0}],
        "accounting.OutcomeRows.of_points": [{"points": []}],
        "accounting.noisy_max_parameter": [
            counted | {"kind": m.PermuteAndFlip, "total_epsilon": 2.0, "total_delta": 0.25}
        ],
        "accounting.gdp": [{"mu": 1.0, "points": 4}],
        "accounting.general": [{"epsilon": 1.0, "delta": 0.25, "k": 3, "delta_prime": 0.5}],
        "accounting.optimal": [{"epsilon": 1.0, "delta": 0.0, "k": 3, "delta_total": 0.5}],
        "accounting.simple": [{"epsilon": 1.0, "delta": 0.25, "k": 3}],
        "accounting.gnmax_rdp": [{"counts": [8, 1, 0], "sigma": 2.0, "orders": [2.0, 4.0]}],
        "accounting.gnmax_sigma": [{"epsilon": 1.0, "delta": 0.25}],
        "accounting.gnmax_sigma_analytic": [{"epsilon": 1.0, "delta": 0.25}],
        "accounting.rdp_epsilon": [{"orders": [2.0, 4.0], "rdp": [1.0, 2.0], "delta": 0.25}],
        "accounting.max_queries": [{"design": DESIGN, "total_epsilon": 2.0, "total_delta": 0.25, "voters": "fresh"}],
        "accounting.plan": [VOTERS | {"queries": 1, "total_epsilon": 2.0, "total_delta": 0.0, "voters": "fresh"}],
        "accounting.profile_bounds": [{"gamma": GAMMA, "problem": PROBLEM, "epsilons": [0.0, 1.0]}],
        "baselines.subsampling": [{"K": 5, "m": 2}],
        "baselines.double_subsampling": [{"K": 5, "m": 2}],
        "baselines.from_accuracy": [{"pr_correct": [1.0, 0.75, 0.75, 1.0]}],
        "baselines.constant": [{"problem": PROBLEM, "tau": 2.0, "lam": 0.0}, {"problem": PROBLEM, "delta_prime": 0.5}],
        "baselines.plain_majority": [{"K": 4}],
        "ensemble.shards": [{"n": 6, "K": 3, "overlap": 2}],
        "labels.audit": [
            {"mechanisms": {"llp": LLP}, "eta": [0.5, 0.25], "bag_size": 2, "labels": [0, 1], "jobs": 1, **rng},
            {"mechanisms": {"llp": LLP}, "eta": [0.5, 0.25], "bags": [[0, 1]]},
        ],
        "labels.local_delta": [BAG | {"epsilon": 1.0, "record": 1, "change": 1.0}],
        "labels.worst_delta": [
            {
                "epsilon": 1.0,
                "residual_floor": 4.0,
                "label_range": (0.0, 1.0),
                "leverage": 0.5,
                "largest_residual": 1.0,
            },
            {"epsilon": 1.0, "residual_floor": 4.0, "label_range": (0.0, 1.0), "X": BAG["X"]},
        ],
        "labels.bag_floor": [{"k": 2, "failure": 0.5, "X": [[1.0]] * 4, "loss_floor": 0.25, "residual_bound": 0.5}],
        "labels.random_bag_delta": [
            {"epsilon": 1.0, "k": 2, "label_range": (0.0, 1.0), "X": [[1.0]] * 4, "loss_floor": 0.25}
            | {"residual_bound": 0.5}
        ],
        "labels.noisy_delta": [{"epsilon": 1.0, "k": 4, "fraction": 0.5, "sigma": 1.0, "label_range": (0.0, 1.0)}],
        "labels.noisy_local_delta": [
            {"epsilon": 1.0, "y": [0.0, 1.0], "noised": [True, True], "record": 1, "change": 1.0, "sigma": 1.0}
        ],
        "labels.CountKernel": [{"probabilities": [[0.5, 0.5], [0.25, 0.75]]}],
        "labels.CountKernel.from_noise_function": [{"gamma": GAMMA}],
        "labels.at_equal_utility": [
            {
                "mechanisms": {"llp-laplace": (darrm.labels.LaplaceLabelProportions, 0.5, 8.0)},
                "eta": ETA,
                "utility": "accuracy",
                "target": 0.625,
                "p": 0.5,
                "tolerance": 0.0625,
            }
        ],
        "labels.attack_utility": [on_eta],
        "labels.utility_of_attacker": [
            on_eta
            | {"attacker": [[0] * len(ETA)] * (len(ETA) + 1), "draws": 4, "confidence": 0.5, "X": BAG["X"], **rng}
        ],
        "labels.additive_advantage": [on_eta],
        "labels.individual_advantage": [on_eta],
        "labels.label_leakage": [on_eta],
        "labels.multiplicative_advantage": [on_eta],
        "labels.largest_log_odds_change": [on_eta],
        "labels.posterior_change": [on_eta],
        "labels.individual_advantage_over_bags": [
            {"mechanism": LLP, "eta_i": 0.5, "population": ETA, "size": 3, "draws": 4, **rng}
        ],
        "labels.total_variation": [on_eta],
        "labels.attacker_decisions": [on_eta | {"output": 2}],
        "labels.shortcut_decisions": [on_eta | {"output": 2}],
        "labels.joint": [{"mechanisms": [LLP, LLP]}],
        "labels.posterior": [on_eta | {"output": 2, "X": BAG["X"]}],
        "labels.posterior_pairs": [on_eta | {"output": 2}],
        "measures.composed_leakage": [{"leakages": [0.5, 1.0]}],
        "measures.processed_leakage": [{"leakages": [0.5, 1.0]}],
        "measures.empirical_epsilon": [
            {"here": [8, 2], "there": [2, 8], "delta": 0.25, "confidence": 0.5, "event": [True, False], **rng}
        ],
        "measures.empirical_epsilon_of_scores": [
            {"here": [1.0, 2.0, 3.0, 4.0], "there": [0.0, 0.5, 1.0, 2.0], "delta": 0.25, "confidence": 0.5, **rng}
        ],
        "measures.conditional_leakage": [{"channel": [[[0.5, 0.5], [0.25, 0.75]]], "support": [[1.0, 1.0]]}],
        "measures.entrywise_leakage": [{"known_votes": [3, 1, 0], "gamma": 1.0}, {"known_votes": [3, 1], "sigma": 1.0}],
        "measures.laplace_leakage_bound": [{"n_classes": 3, "gamma": 1.0}],
        "measures.laplace_leakage_data_bound": [{"known_votes": [3, 1, 0], "gamma": 1.0}],
        "measures.leakage_bound": [{"n_classes": 3, "gamma": 1.0}, {"n_classes": 3, "sigma": 1.0}],
        "measures.leakage_data_bound": [
            {"known_votes": [3, 1, 0], "gamma": 1.0},
            {"known_votes": [3, 1, 0], "sigma": 1.0},
        ],
        "measures.maximal_leakage": [{"channel": [[0.5, 0.5], [0.25, 0.75]], "support": [1.0, 1.0]}],
        "measures.least_error": [{"problem": PROBLEM, "p": 0.25}],
        "labels.log_odds_change": [{"before": [0.5, 0.5], "after": [0.25, 0.75], "a": 1, "b": 0}],
        "measures.majority_leakage": [{"gamma": GAMMA}],
        "measures.noisy_max_probabilities": [{"counts": [3, 1, 0], "gamma": 1.0}, {"counts": [3, 1], "sigma": 1.0}],
        "measures.sampled_error": [{"gammas": {"a": GAMMA}, "draws": 8, "confidence": 0.5, **rng}],
        "labels.bounds.label_dp": [{"epsilon": 1.0}],
        "labels.bounds.label_dp_individual": [{"epsilon": 1.0, "eta": ETA}],
        "labels.bounds.proportions_iid": [{"p": 0.5, "k": 4}],
        "labels.bounds.proportions": [{"p": 0.5, "spread": 0.25, "k": 4}],
        "labels.bounds.proportions_individual": [{"eta": ETA}],
        "labels.bounds.laplace_proportions": [{"epsilon": 1.0, "spread": 0.25}],
        "labels.bounds.laplace_proportions_individual": [{"epsilon": 1.0, "eta": ETA}],
        "labels.bounds.proportions_mean": [{"eta": ETA}],
        "labels.bounds.moderate_bag_size": [{"p": 0.5, "failure": 0.5, "n": 2}],
        "labels.bounds.moderate_change": [{"p": 0.5, "k": 4096, "failure": 0.5, "n": 2}],
        "labels.bounds_over_bags.proportions_individual": [{"eta_i": 0.5, "spread": 0.25, "k": 4}],
        "labels.bounds_over_bags.proportions_individual_by_mean": [{"eta_i": 0.5, "p": 0.5, "spread": 0.25, "k": 4}],
        "labels.bounds_over_bags.proportions": [{"p": 0.5, "spread": 0.25, "k": 4}],
        "labels.bounds_over_bags.noisy_proportions": [{"epsilon": 1.0, "p": 0.5, "spread": 0.25, "k": 4}],
        "labels.bounds_over_bags.laplace_proportions": [{"epsilon": 1.0, "p": 0.5, "spread": 0.25, "k": 4}],
        "labels.bounds.extreme_bags": [{"p": 0.5, "k": 4, "n": 2, "threshold": 1.0}],
        "mechanisms.ConfidentNoisyMax": [
            {"threshold": 2.0, "sigma_check": 2.0, "sigma": 2.0, "answers": 3, "K": 4, "classes": 2}
            | {"max_affected": 2}
        ],
        "mechanisms.GaussianNoisyMax": [{"sigma": 2.0, "K": 4, "classes": 2, "max_affected": 2}],
        "mechanisms.LaplaceNoisyMax": [{"gamma": 2.0, "K": 4, "classes": 2}],
        "mechanisms.PermuteAndFlip": [{"epsilon": 2.0, "K": 4, "classes": 2}],
        "mechanisms.ExponentialMechanism": [{"epsilon": 2.0, "K": 4, "classes": 2}],
        "labels.GeometricLabelProportions": [{"epsilon": 1.0}],
        "labels.LaplaceLabelProportions": [{"epsilon": 1.0}],
        "mechanisms.RandomizedResponse": [{"epsilon": 1.0, "classes": 3}],
        "labels.NoisyWeightedLabelProportions": [{"fraction": 0.5, "sigma": 1.0}],
        "mechanisms.bags": [{"n": 7, "size": 2, **rng}],
        "objectives.at_least": [{"k": 2}],
        "objectives.costs": [{"table": [[[0.0, 1.0], [1.0, 0.0]]] * 3}],
        "linear_program": [{"problem": darrm.MajorityProblem(3, 1, 0.5), "prior": "uniform", "objective": "tv"}],
        "objectives.dissent": [{"accuracy": [0.75, 0.5], "prior": [0.25, 0.75], "none": 0.5}],
        "objectives.randomized_response_accuracy": [{"base": 0.75, "epsilon": 1.0, "classes": 3}],
        "objectives.rule": [{"which": "majority", "accuracy": [0.75, 0.5], "prior": [0.25, 0.75], "none": 0.5}],
        "objectives.truth": [
            {"accuracy": [0.75, 0.5], "prior": [0.25, 0.75], "cost": [[0.0, 4.0], [1.0, 0.0]], "none": 0.5}
        ],
        "priors.independent": [{"low": 0.5, "high": 1.0}],
        "priors.common": [{"a": 1.0, "b": 2.0}],
        "priors.correlated": [{"p": 0.75, "rho": 0.25}],
        "priors.votes": [{"histogram": [1, 0, 2]}],
        "priors.fixed": [{"p": [0.5, 1.0]}],
        "priors.confusion": [{"matrices": [[0.75, 0.25], [0.5, 0.5]], "truth": [0.25, 0.75]}],
        "priors.randomized_response": [{"base": [0.75, 0.5], "epsilon": 1.0}],
        "priors.check_possible": [{"prior": darrm.priors.votes([1, 2]), "epsilon": 1.0, "Delta": 0.25}],
        "priors.weights": [{"prior": darrm.priors.independent(), "K": 3, "objective": "tv"}],
        "priors.combine": [{"mean": [0.25, 0.25, 0.5], "objective": "disagreement"}],
        "tables.grid": [PROBLEMS],
        "tables.solve_grid": [{"K": 3, "m": 1.0, "epsilon": 1.0, "Delta": 0.0, "jobs": 1}],
        "tables.verify_table": [{"table": darrm.tables.solve_grid(**PROBLEMS), "jobs": 1}],
    }
    made: dict[str, tuple[Use | None, Sequence[Arguments]]] = {name: (None, bases) for name, bases in plain.items()}
    on = {
        "labels.CountKernel": darrm.labels.CountKernel([[0.5, 0.5], [0.25, 0.75]]),
        "Design": DECISION,
        "MajorityProblem": PROBLEM,
        "DecisionProblem": DECISIONS,
        "mechanisms.PrivateDecision": DECIDED,
        "mechanisms.ConfidentNoisyMax": m.ConfidentNoisyMax(2.0, 2.0, 2.0),
        "mechanisms.GaussianNoisyMax": m.GaussianNoisyMax(2.0),
        "mechanisms.LaplaceNoisyMax": m.LaplaceNoisyMax(2.0),
        "mechanisms.PermuteAndFlip": FLIPS,
        "mechanisms.ExponentialMechanism": m.ExponentialMechanism(2.0),
        "labels.GeometricLabelProportions": GEOMETRIC,
        "labels.LabelProportions": LLP,
        "labels.LaplaceLabelProportions": LAPLACE,
        "mechanisms.RandomizedResponse": RR,
        "labels.WeightedBagAggregates": labels.WeightedBagAggregates(),
        "labels.NoisyWeightedLabelProportions": NOISY,
    }
    bag = {"eta": ETA, "output": 2, "X": BAG["X"]}
    for name, arguments in {
        "labels.CountKernel.kernel": {"k": 1},
        "labels.CountKernel.posterior": {"eta": [0.5], "output": 1, "X": BAG["X"]},
        "Design.probabilities": {"counts": [[2, 0], [0, 1]]},
        "Design.rounded": {"bits": 8},
        "Design.with_present": {"present": [1, 1]},
        "MajorityProblem.with_present": {"present": [3]},
        "MajorityProblem.named": {"labels": [[0, 1]]},
        "DecisionProblem.with_present": {"present": [1, 1]},
        "DecisionProblem.named": {"labels": [[0, 1]]},
        "mechanisms.PrivateDecision.release": {"votes": [[1, 0, 1]], **rng},
        "mechanisms.PrivateDecision.release_counts": {"counts": [[2, 0]], **rng},
        "mechanisms.ConfidentNoisyMax.chances": {"counts": [[3, 1]]},
        "mechanisms.ConfidentNoisyMax.kernel": {"k": 3},
        "mechanisms.ConfidentNoisyMax.rdp": {"orders": [2.0, 4.0]},
        "mechanisms.ConfidentNoisyMax.release": {"counts": [[3, 1]], **rng},
        "mechanisms.GaussianNoisyMax.chances": {"counts": [[3, 1]]},
        "mechanisms.GaussianNoisyMax.kernel": {"k": 3},
        "mechanisms.GaussianNoisyMax.rdp": {"orders": [2.0, 4.0]},
        "mechanisms.GaussianNoisyMax.release": {"counts": [[3, 1]], **rng},
        "mechanisms.LaplaceNoisyMax.chances": {"counts": [[3, 1]]},
        "mechanisms.LaplaceNoisyMax.kernel": {"k": 3},
        "mechanisms.LaplaceNoisyMax.release": {"counts": [[3, 1]], **rng},
        "mechanisms.PermuteAndFlip.chances": {"counts": [[3, 1]]},
        "mechanisms.ExponentialMechanism.chances": {"counts": [[3, 1]]},
        "mechanisms.ExponentialMechanism.kernel": {"k": 3},
        "mechanisms.ExponentialMechanism.release": {"counts": [[3, 1]], **rng},
        "mechanisms.PermuteAndFlip.kernel": {"k": 3},
        "mechanisms.PermuteAndFlip.release": {"counts": [[3, 1]], **rng},
        "labels.GeometricLabelProportions.kernel": {"k": 3},
        "labels.GeometricLabelProportions.posterior": bag,
        "labels.GeometricLabelProportions.release": {"labels": [1, 0, 1], **rng},
        "labels.GeometricLabelProportions.unbiased": {"output": [2, 0], "k": 2},
        "labels.LabelProportions.kernel": {"k": 3},
        "labels.LabelProportions.posterior": bag,
        "labels.LabelProportions.release": {"labels": [1, 0, 1], **rng},
        "labels.LaplaceLabelProportions.posterior": bag,
        "labels.LaplaceLabelProportions.release": {"labels": [1, 0, 1], **rng},
        "mechanisms.RandomizedResponse.posterior": {"eta": ETA, "output": [1, 0, 1], "X": BAG["X"]},
        "mechanisms.RandomizedResponse.release": {"labels": [1, 0, 1], **rng},
        "labels.WeightedBagAggregates.posterior": {"eta": ETA, "output": AGGREGATE, "X": BAG["X"]},
        "labels.WeightedBagAggregates.release": BAG | rng,
        "labels.NoisyWeightedLabelProportions.posterior": {"eta": ETA, "output": NOISY_OUTPUT, "X": BAG["X"]},
        "labels.NoisyWeightedLabelProportions.release": {"y": [0.0, 1.0], **rng},
    }.items():
        owner, method = name.rsplit(".", 1)
        made[name] = (of(on[owner], method), [arguments])
    made["mechanisms.PrivateDecision.kernel"] = (RELEASER.kernel, [{"k": 3}])
    moved = darrm.labels.multiplicative_advantage(LLP, ETA)
    made["labels.Distribution.cdf"] = (of(moved, "cdf"), [{"x": 1.0}])
    made["labels.Distribution.quantile"] = (of(moved, "quantile"), [{"q": 0.5}])
    fresh = {"design": DESIGN, "voters": "fresh"}
    made["interop.dp_event"] = (None, [fresh | {"queries": 2}])
    made["interop.PLDAccountant"] = (
        lambda **arguments: darrm.interop.PLDAccountant(**arguments).get_epsilon(0.25),
        [{"value_discretization_interval": 0.25}],
    )
    made["interop.privacy_loss_distribution"] = (
        lambda **arguments: darrm.interop.privacy_loss_distribution(**arguments).get_epsilon_for_delta(0.25),
        [fresh | {"queries": 2, "interval": 0.25}],
    )
    made["interop.opendp_measurement"] = (opendp_map, [{"n_labels": 2, "delta": 0.25}])
    made["tables.Table.lookup"] = (of(darrm.tables.solve_grid(**PROBLEMS), "lookup"), [PROBLEMS])
    decided: Use = lambda **arguments: list(DECIDED.release_blocks(**arguments))  # noqa: E731
    made["mechanisms.PrivateDecision.release_blocks"] = (decided, [{"blocks": [[[1, 0, 1]]], "rows": 2, **rng}])
    plurality, given = darrm.objectives.rule("plurality", [0.75, 0.5]), darrm.objectives.costs(np.ones((3, 2, 2)))
    for name, objective in {
        "Objective.costs_at": TRUTH,
        "OfVoters.costs_at": TRUTH,
        "OfVoters.chances_at": TRUTH,
        "Paper.costs_at": darrm.objectives.paper(darrm.priors.independent()),
        "Truth.costs_at": TRUTH,
        "Truth.chances_at": TRUTH,
        "Rule.costs_at": plurality,
        "Rule.chances_at": plurality,
        "Costs.costs_at": given,
    }.items():
        use = partial(of(objective, name.split(".")[1]), problem=darrm.DecisionProblem(GROUPS, epsilon=1.0))
        made[f"objectives.{name}"] = (use, [{"counts": [[[2, 0], [0, 1]]]}])
    made["priors.Prior.ones"] = (of(UNIFORM, "ones"), [{"K": 3}])
    made["priors.Prior.sample"] = (of(UNIFORM, "sample"), [{"n": 2, "K": 3, **rng}])
    return made | estimators(labels)


def estimators(labels: Any) -> dict[str, tuple[Use | None, Sequence[Arguments]]]:
    """Their parameters are checked when they are fitted, and their data by scikit-learn."""
    learners = labels.learners
    tight = {"tol": 0.25, "max_iter": 64}
    ensemble, sgd = darrm.ensemble.PrivateMajorityClassifier, darrm.ensemble.DPLogisticRegression
    rr = learners.RandomizedResponseClassifier
    adam = {"solver": "adam", "learning_rate": 0.0625, "epochs": 2, "batch_size": 4, "random_state": 1}
    budget = {"K": 3, "overlap": 1, "total_epsilon": 64.0, "total_delta": 0.25, "n_jobs": 1}
    fresh, paid = {"voters": "fresh", "epsilon": 1.0}, {"teachers": "non-private"}
    training = {"epsilon": 1.0, "delta": 0.0625, "sampling_rate": 0.5, "steps": 2, "clip": 1.0, "learning_rate": 1.0}
    public = {"intercept_scaling": 0.5, "n_records": 12.0, "classes": (0, 1), "random_state": 1}
    return {
        "labels.learners.AggregateRegressor": (fitted(learners.AggregateRegressor), [{"intercept_column": 1}]),
        "labels.learners.BagClassifier": (fitted(learners.BagClassifier), [tight | {"C": 1.0}, tight | adam]),
        "labels.learners.RandomizedResponseClassifier": (
            fitted(rr),
            [tight | {"C": 1.0, "epsilon": 4.0}, adam | {"epsilon": 4.0}],
        ),
        "ensemble.DPLogisticRegression": (fitted(sgd), [training | public]),
        "ensemble.PrivateMajorityClassifier": (
            fitted(ensemble, random_state=1),
            [
                budget | fresh | {"m": 1.0, "copies": 1},
                budget | fresh | {"queries": 1},
                budget | fresh | {"m": 0.5, "colluders": 1, "base_accuracy": 0.75},
                budget | {"voters": "fixed", "epsilon": 1.0, "Delta": 0.0625, "estimator": sgd(steps=2)},
                budget | paid | {"gamma": 0.5, "shards": np.arange(12).reshape(3, 4).tolist()},
                budget | paid | {"sigma": 2.0},
                budget | paid | {"queries": 1, "base_accuracy": 0.75},
            ],
        ),
    }


TABLE = table()

# What needs no table: the data of estimators is scikit-learn's to check; files, ledgers and what needs PyTorch have
# tests of their own; a histogram of votes has no probabilities to sample; who is present is the problem's to check,
# and gains are taken from costs that an objective gave.
ELSEWHERE = re.compile(
    r"(ensemble|labels\.learners)\.\w+\.(fit|predict|predict_proba|decision_function)|votes\..*|accounting\.Ledger.*|interop\.(shared_labels|split_votes)"
    r"|priors\.(Prior|Votes)\.sample|objectives\.(\w+\.with_present|gains)"
)
# What may be a number among other things: names of answers, designs by numbers of present voters.
OTHER_THINGS = {("DecisionProblem", "classes"), ("plan", "classes"), ("Design", "fewer")}
# Infinities that mean something.
INFINITE = {
    ("VoterGroup", "epsilon"),
    ("compare", "time_limit"),
    ("compare", "fallback_epsilon"),
    ("plan", "time_limit"),
    ("plan", "aggregator_epsilon"),
    ("plan", "epsilon"),
    ("plan", "fallback_epsilon"),
    ("objectives.randomized_response_accuracy", "epsilon"),
    ("Design", "gap"),
    ("solve", "time_limit"),
    ("labels.bounds.extreme_bags", "threshold"),
    ("labels.Distribution.cdf", "x"),
}
# Numbers of voters that are too many to solve for are a problem all the same; what solves it refuses them.
UNBOUNDED = {("MajorityProblem", "K"), ("tables.grid", "K"), ("tables.solve_grid", "K"), ("tables.Table.lookup", "K")}
# Arrays of zeros and ones, of truth values or of indices: numpy's own kinds of number only, for speed.
PLAIN = {"votes", "blocks", "noised", "event", "bags", "shards", "channels", "image_shape", "classes"}
# What an error names: values of blocks, gamma of a majority, the release that a table is.
SAID_OF = {
    "blocks": "(vote|block)",
    "release": "(gamma|release)",
    "table": "(table|release|gamma)",
    "total_epsilon": "(release|total)_epsilon",  # a majority's takes the older name too
}


def needed() -> list[tuple[str, str]]:
    pairs = [
        (name, number) for name, call in POINTS.items() if not ELSEWHERE.fullmatch(name) for number in numbers(call)
    ]
    return [pair for pair in pairs if pair not in OTHER_THINGS]


def in_table(name: str, number: str) -> bool:
    """Whether the table has arguments with that number."""
    return name in TABLE and any(base.get(number) is not None for base in TABLE[name][1])


def base_of(name: str, number: str) -> tuple[Use, dict[str, Any]]:
    """How an entry point is called, and valid arguments with that number."""
    use, bases = TABLE[name]
    base = next(base for base in bases if base.get(number) is not None)
    return use or POINTS[name], dict(base)


def called(use: Use, arguments: Arguments) -> Any:
    ready = {name: value.make() if isinstance(value, Made) else value for name, value in arguments.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return use(**ready)


def test_every_number_of_every_entry_point_is_in_the_table() -> None:
    missing = [pair for pair in needed() if not in_table(*pair)]
    assert not missing, f"add what they take to table() in this file: {missing}"
    assert set(TABLE) <= set(POINTS)


def bad_scalars(name: str, number: str, value: Any, optional: bool) -> list[Any]:
    bad: list[Any] = [math.nan, True, np.True_, "1", b"1", object(), 1j, Decimal(1)]
    bad += [10**400, 10**5000] * ((name, number) not in UNBOUNDED)
    bad += [Fraction(value) + BELOW_FLOAT64, np.datetime64("2020")]
    bad += [np.array([1.0, 2.0]), [1.0]] * (number != "bag_size")  # which may be several
    bad += [math.inf] * ((name, number) not in INFINITE) + [-math.inf] * (number != "x")
    return bad + [None] * (not optional)


def bad_arrays(name: str, number: str, value: Any, optional: bool) -> list[Any]:
    def instead(wrong: Any) -> Any:
        """The array with another first number."""
        if isinstance(value, Mapping):
            return {key: [wrong, *numbers[1:]] for key, numbers in value.items()}
        if not isinstance(value, list | tuple):
            return wrong
        first, rest = value[0], list(value[1:])
        return [[wrong, *list(first)[1:]] if isinstance(first, list | tuple) else wrong, *rest]

    inner = [math.nan, "1", 1j, object(), *[None] * (not optional), *[10**400] * ((name, number) not in UNBOUNDED)]
    return ["text", object(), [[1.0], [1.0, 2.0]], *map(instead, inner)]


# Looked at when all else is computed.
LATE = {("compare", "draws"): [pytest.mark.slow], ("compare", "extra"): [pytest.mark.thorough]}


@pytest.mark.first(150)
@pytest.mark.parametrize(
    ("name", "number"),
    [pytest.param(*pair, id=" ".join(pair), marks=LATE.get(pair, [])) for pair in needed() if in_table(*pair)],
)
def test_bad_numbers_are_refused_in_one_line(name: str, number: str) -> None:
    kind, optional = numbers(POINTS[name])[number]
    use, base = base_of(name, number)
    bad = (bad_scalars if kind == "scalar" else bad_arrays)(name, number, base[number], optional)
    wrong = []
    for value in bad:
        shown = "10**5000" if isinstance(value, int) and value > 10**4000 else f"{value!r}"[:60]
        try:
            called(use, base | {number: value})
            wrong.append(f"{shown} is accepted")
        except darrm.InputError as error:
            text = str(error)
            named = SAID_OF.get(number, number).removesuffix("s")  # one of several may be named too
            if len(text.splitlines()) != 1 or not re.search(rf"\b{named}s?\b", text, re.IGNORECASE):
                wrong.append(f"{shown}: {text!r}")
        except Exception as error:  # what must not come
            wrong.append(f"{shown}: {type(error).__name__}: {error}")
    assert wrong == []


def exotic(kind: str, value: Any) -> Any:
    """The same number, or numbers, as another type; the plain ones if that type does not hold them."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: exotic(kind, x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [exotic(kind, x) for x in value]
    if kind == "other":
        return float(value) if isinstance(value, int) else int(value) if float(value).is_integer() else value
    if kind == "numpy":
        return np.int64(value) if isinstance(value, int) else np.float64(value)
    if kind == "Fraction":
        return Fraction(value)
    return np.float32(value) if float(np.float32(value)) == value else value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or np.isscalar(a):
        return bool(np.array_equal(a, b)) or (np.isscalar(a) and a != a and b != b)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a):
        fields = [field.name for field in dataclasses.fields(a) if field.name not in ("rows", "seconds")]
        return all(same(getattr(a, name), getattr(b, name)) for name in fields)
    return type(a) is type(b) and (" at 0x" in repr(a) or repr(a) == repr(b))


SLOWEST = {"plan", "ensemble.DPLogisticRegression"}
SECONDS = SLOWEST | {"compare", "ensemble.PrivateMajorityClassifier"}  # of each call


@pytest.mark.first(40, 290)
@pytest.mark.parametrize("kind", ["other", "numpy", "Fraction", "float32"])
@pytest.mark.parametrize(
    ("name", "base"),
    [
        pytest.param(
            name,
            i,
            id=f"{name} {i}",
            marks=([pytest.mark.slow] if i or name in SLOWEST else [pytest.mark.thorough]) * (name in SECONDS),
        )
        for name in TABLE
        for i in range(len(TABLE[name][1]))
    ],
)
def test_the_same_number_of_another_type_gives_the_same(name: str, base: int, kind: str) -> None:
    use, bases = TABLE[name]
    call, plain = use or POINTS[name], dict(bases[base])
    given = [number for number in numbers(POINTS[name]) if plain.get(number) is not None and number not in PLAIN]
    others = {number: exotic(kind, plain[number]) for number in given}
    assert same(called(call, plain), called(call, plain | others))
