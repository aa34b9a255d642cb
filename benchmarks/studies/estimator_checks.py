"""scikit-learn's checks of every estimator of darrm: which pass, and which cannot hold, with the reason.

    python benchmarks/studies/estimator_checks.py [--docs]

Takes: five minutes. --docs writes docs/howto/labels.md.

Exit status 1 if a check fails that should hold, or one holds that is said not to.
The tests run the same lists but that of planned noise.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import sklearn
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from darrm.ensemble import DPLogisticRegression, PrivateMajorityClassifier
from darrm.labels import LaplaceLabelProportions
from darrm.labels.learners import AggregateRegressor, BagClassifier, RandomizedResponseClassifier
from darrm.mechanisms import RandomizedResponse
from darrm.randomness.words import NotPrivateWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))

import pages

_FRESH = {"voters": "fresh", "total_epsilon": 1e6, "total_delta": 1e-5, "copies": 3}  # pickles of a check are loaded
ENSEMBLE = [
    DPLogisticRegression(4.0, 1e-5),
    PrivateMajorityClassifier(voters="fixed", K=3, epsilon=4.0, Delta=1e-5),
    PrivateMajorityClassifier(epsilon=20.0, K=1, **_FRESH),
    PrivateMajorityClassifier(epsilon=20.0, K=3, **_FRESH),
    PrivateMajorityClassifier(teachers="non-private", K=3, gamma=40.0, total_epsilon=1e6, total_delta=1e-5, copies=3),
    PrivateMajorityClassifier(LogisticRegression(), voters="fixed", K=1, epsilon=1.0, Delta=0.0),
    PrivateMajorityClassifier(
        estimators=[("more", DPLogisticRegression(2.0, 1e-5)), ("less", DPLogisticRegression(4.0, 1e-5))],
        voters="fixed",
    ),
    PrivateMajorityClassifier(
        estimators=[LogisticRegression(), DecisionTreeClassifier(), LogisticRegression(C=0.1)], epsilon=20.0, **_FRESH
    ),
    PrivateMajorityClassifier(
        estimators=[
            FrozenEstimator(RidgeClassifier(alpha).fit([[0, 0], [1, 0], [1, 1]], [0, 1, 1])) for alpha in (1.0, 2.0)
        ],
        voters="fixed",
        epsilon=1.0,
        Delta=0.0,
    ),
    PrivateMajorityClassifier(epsilon=20.0, K=3, keyed=True, **_FRESH),
]
# Noise is planned at every fit, which takes the tests too long.
PLANNED = [
    PrivateMajorityClassifier(teachers="non-private", K=1, queries=6000, total_epsilon=3e5, total_delta=0.0, copies=3)
]
LEARNING = [
    RandomizedResponseClassifier(1e6),  # no noise
    RandomizedResponseClassifier(1.0),
    RandomizedResponseClassifier(mechanism=RandomizedResponse(8.0)),
    BagClassifier(),
    BagClassifier(loss="square"),
    BagClassifier(LaplaceLabelProportions(8.0)),
    AggregateRegressor(),
    AggregateRegressor(0),
]

ONE_CLASS = "in its data sets of a few rows a shard holds one class, which teachers without known classes cannot learn"
PREFITTED = "its voters know two columns and the classes 0 and 1, and the data of the check have others"
NO_SUMS = "its y are labels other than 0 and 1, or real numbers; with a mechanism y holds sums, any number for Laplace"
NO_RELEASE = "its labels were not released by randomized response of epsilon 1: their debiased mean is above 1"

# Two shards of three with both classes are more than some data sets have.
_SHARDS = ["check_fit_score_takes_y", "check_supervised_y_2d", "check_fit2d_1feature"]
_REASONS = {
    repr(ENSEMBLE[3]): (ONE_CLASS, _SHARDS),
    repr(ENSEMBLE[4]): (ONE_CLASS, _SHARDS),
    repr(ENSEMBLE[7]): (ONE_CLASS, _SHARDS),
    repr(ENSEMBLE[9]): (ONE_CLASS, _SHARDS),
    repr(ENSEMBLE[8]): (
        PREFITTED,
        [
            "check_fit_score_takes_y",
            "check_dont_overwrite_parameters",
            "check_n_features_in_after_fitting",
            "check_positive_only_tag_during_fit",
            "check_estimators_dtypes",
            "check_dtype_object",
            "check_pipeline_consistency",
            "check_estimators_nan_inf",
            "check_estimator_sparse_tag",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
            "check_estimators_pickle",
            "check_f_contiguous_array_estimator",
            "check_classifier_data_not_an_array",
            "check_classifiers_one_label_sample_weights",
            "check_classifiers_classes",
            "check_classifiers_train",
            "check_supervised_y_2d",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_fit2d_1feature",
            "check_dict_unchanged",
            "check_fit2d_predict1d",
            "check_array_api_input",
        ],
    ),
    repr(LEARNING[1]): (
        NO_RELEASE,
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
            "check_dtype_object",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
        ],
    ),
    repr(LEARNING[5]): (
        NO_SUMS,
        [
            "check_estimators_dtypes",
            "check_sample_weights_pandas_series",
            "check_sample_weights_not_an_array",
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_classifier_data_not_an_array",
            "check_classifiers_classes",
            "check_classifiers_regression_target",
            "check_classifier_not_supporting_multiclass",
            "check_fit2d_1feature",
        ],
    ),
}


def cannot_hold(estimator: Any) -> dict[str, str]:
    """The checks that an estimator of the lists above cannot pass, and why."""
    reason, checks = _REASONS.get(repr(estimator), ("", []))
    return dict.fromkeys(checks, reason)


def run(estimator: Any) -> list[dict[str, Any]]:
    """The outcome of each check: its name, status and exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return check_estimator(
            estimator, expected_failed_checks=cannot_hold(estimator), on_skip=None, on_fail=None
        )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Run scikit-learn's checks on the estimators of darrm.")
    parser.add_argument("--docs", action="store_true", help="also put the table into docs/howto/labels.md")
    docs = parser.parse_args().docs
    rows, notes, fine = [], [], True
    for estimator in [*ENSEMBLE, *PLANNED, *LEARNING]:
        outcomes, name = run(estimator), " ".join(repr(estimator).split())
        skipped = {one["check_name"] for one in outcomes if one["status"] == "skipped"}
        said = {check: reason for check, reason in cannot_hold(estimator).items() if check not in skipped}
        count = Counter(one["status"] for one in outcomes)
        failed = [one for one in outcomes if one["status"] == "failed"]
        holding = sorted(set(said) - {one["check_name"] for one in outcomes if one["status"] == "xfail"})
        rows.append((name, count["passed"], len(said), count["skipped"], len(failed)))
        print(
            f"{name}\n    {count['passed']} passed, {count['xfail']} cannot hold, {count['skipped']} skipped",
            flush=True,
        )
        for one in failed:
            print(f"    FAILED {one['check_name']}: {one['exception']}")
        for check in holding:
            print(f"    HOLDS, against what is said: {check}")
        for one in outcomes:
            if one["status"] == "skipped":
                print(f"    skipped {one['check_name']}: {one['exception']}")
        for check, reason in said.items():
            print(f"    cannot hold {check}: {reason}")
        if said:
            notes.append(f"* `{name}`: {next(iter(said.values()))}: {', '.join(f'`{check}`' for check in said)}.")
        fine &= not failed and not holding
    print(f"scikit-learn {sklearn.__version__}: {'as said' if fine else 'NOT as said'}")
    if docs and fine:
        table = ["| estimator | passed | cannot hold | skipped |", "| :-- | --: | --: | --: |"]
        table += [f"| `{name}` | {passed} | {unable} | {skipped} |" for name, passed, unable, skipped, _ in rows]
        text = "\n".join(
            [f"scikit-learn {sklearn.__version__}:", "", *table, "", "What cannot hold, and why:", "", *notes]
        )
        pages.put("estimator_checks", text, pages.DOCS / "howto" / "labels.md")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
