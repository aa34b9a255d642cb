"""Private ensembles with scikit-learn's interface: many classifiers, one private label.

Whether voters are fixed (made private once) or fresh (they randomize every answer) decides what labels cost, so the
ensemble asks for it (docs/theory.md, "Many releases: fresh voters, fixed voters").
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from darrm.ensemble.dp_convolutional_classifier import DPConvolutionalClassifier
    from darrm.ensemble.dp_logistic_regression import DPLogisticRegression
    from darrm.ensemble.majority_classifier import PrivateMajorityClassifier
    from darrm.ensemble.releases import EnsemblePrivacy
    from darrm.ensemble.sharding import shards

# They load when first used: without scikit-learn the package can be imported, its estimators cannot.
_HOME = {
    "DPConvolutionalClassifier": "darrm.ensemble.dp_convolutional_classifier",
    "DPLogisticRegression": "darrm.ensemble.dp_logistic_regression",
    "EnsemblePrivacy": "darrm.ensemble.releases",
    "PrivateMajorityClassifier": "darrm.ensemble.majority_classifier",
    "shards": "darrm.ensemble.sharding",
}

__all__ = [
    "DPConvolutionalClassifier",
    "DPLogisticRegression",
    "EnsemblePrivacy",
    "PrivateMajorityClassifier",
    "shards",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'darrm.ensemble' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
