"""Objectives of decisions: costs of errors against the truth or a rule of the votes. Each is an expected cost:

    minimise  sum over n, o of  C(n, o) X_o(n)

over the numbers n of votes for each class in each group and the answers o; X_o(n) is the probability of answer o.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
