"""Learning from private label releases, with scikit-learn's interface.

A release is private once and for all: learning from it (and from public features) costs nothing more. The estimators
load when first used: without scikit-learn the package can be imported, its estimators cannot.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
