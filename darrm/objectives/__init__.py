"""What a decision is good for: the truth at a cost, or a rule of the votes. Every objective is a cost to be small.

    minimise  sum over n, o of  C(n, o) X_o(n)

over the numbers n of votes for each class in each group and the answers o; X_o(n) is the probability of answer o.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
