"""Optimal and certified noise for differentially private majority votes.

>>> import darrm
>>> design = darrm.solve(K=11, m=3, epsilon=0.1)
>>> design.gamma[6:].round(4).tolist()
[0.9397, 0.5421, 1.0, 1.0, 0.9773, 1.0]
>>> design.certificate.holds
True
"""

from darrm._lazy import face

__version__ = "0.1.0"

__getattr__, __dir__ = face(__name__, __file__)
