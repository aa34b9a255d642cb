"""Private ensembles with scikit-learn's interface: many classifiers, one private label.

The cost of labels depends on whether voters are fixed (trained with DP once) or fresh (each answer is private by its
own randomness). So ``voters`` must be stated (docs/theory.md, "Many releases: fresh voters, fixed voters"). The
estimators load when first used: without scikit-learn the package can be imported, and its estimators cannot.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
