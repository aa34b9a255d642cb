"""Private ensembles with scikit-learn's interface: many classifiers, one private label.

Whether voters are fixed (made private once) or fresh (new coins make every answer private) decides the cost of labels.
So the ensemble asks for it (docs/theory.md, "Many releases: fresh voters, fixed voters"). The estimators load when
first used: without scikit-learn the package can be imported, its estimators cannot.
"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.ensemble.dp_logistic_regression import DPLogisticRegression as DPLogisticRegression
    from darrm.ensemble.majority_classifier import PrivateMajorityClassifier as PrivateMajorityClassifier
    from darrm.ensemble.releases import EnsemblePrivacy as EnsemblePrivacy
    from darrm.ensemble.sharding import shards as shards

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.ensemble.dp_logistic_regression": "DPLogisticRegression",
        "darrm.ensemble.majority_classifier": "PrivateMajorityClassifier",
        "darrm.ensemble.releases": "EnsemblePrivacy",
        "darrm.ensemble.sharding": "shards",
    },
)
