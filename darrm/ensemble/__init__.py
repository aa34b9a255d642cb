"""Private ensembles with scikit-learn's interface: many classifiers, one private label.

Whether voters are fixed (made private once) or fresh (new coins make every answer private) decides the cost of labels.
So the ensemble asks for it (docs/theory.md, "Many releases: fresh voters, fixed voters"). The estimators load when
first used: without scikit-learn the package can be imported, its estimators cannot.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
