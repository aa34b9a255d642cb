"""Learning from private label releases, with scikit-learn's interface.

Learning from a private release (and from public features) is post-processing without further privacy cost. The
estimators load when first used: without scikit-learn the package can be imported, its estimators cannot.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
