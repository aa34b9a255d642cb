"""Figures to reproduce.

gamma: recomputed by an exact linear program over the full list of corners, prior independent with mean .75, half of the
table from l = (K+1)/2 to K. objective: -1/2 sum over l > K/2 of (Bin(K,.75)(l) - Bin(K,.75)(K-l)) gamma(l). Baselines:
Lemma 3.1, Theorem 4.1 and Lemma A.1 of Jiang, Zhang, Joshi (TMLR 2024).
"""

import math
from typing import NamedTuple

from darrm.objectives import AtLeast, at_least

GAMMA = [
    ((11, 0.1, 1, 0), [1 / 11, 3 / 11, 5 / 11, 7 / 11, 9 / 11, 1]),
    ((11, 0.1, 3, 0), [0.939702612175, 0.542090086874, 1, 1, 0.977331829136, 1]),
    ((11, 0.1, 4, 0), [1, 0.9881801995595, 0.8939819337708, 1, 1, 1]),
    ((11, 0.1, 7, 0), [1, 1, 1, 1, 1, 1]),
    ((7, 0.3, 2, 0), [0.4805017214322, 0.7532497130946, 1, 1]),
    ((5, 0.5, 2, 0), [1, 0.8092237277943, 0.9784077285997]),
    ((11, 0.1, 3, 1e-5), [0.9392405761813, 0.5423404272148, 1, 1, 0.977695588276, 1]),
]
OBJECTIVE = [
    ((11, 0.1, 3), -0.4243664696822029),
    ((11, 0.1, 4), -0.4510677263388055),
    ((21, 0.1, 5), -0.4780088922323202),
    ((35, 0.1, 10), -0.4983891424016036),
]
# Prior common, K = 101, m = 10, epsilon = .1, Delta = 1e-5; independent computation.
ERROR_101 = {"free": 0.01119028, "monotone": 0.01197058}
SUBSAMPLING_11_3 = [0.15151515151515152, 0.442424242424, 0.69696969697, 0.890909090909, 1, 1]
DOUBLE_SUBSAMPLING_11_3 = [0.21645021645, 0.606060606061, 0.878787878788, 1, 1, 1]
CONSTANT_11_3_PURE = 0.29746058259919206


class Decision(NamedTuple):
    """Least costs of decisions by groups (count, epsilon, reach); None where no figure is.

    Independent computation: the same program by contraction of corner matrices, ten digits.
    """

    groups: list[tuple[int, float, int]]
    affected: int
    epsilon: float
    delta: float
    accuracy: list[float]
    least_cost: float | None
    least_disagreement: float
    rule: str | AtLeast = "majority"
    prior_of_1: float = 0.5
    cost_false_0: float = 1.0


DECISIONS = [
    Decision([(4, 1.0, 4), (7, 0.2, 7)], 11, 1.4, 0.0, [0.685, 0.54], 0.2581126828, 0.0633967964),
    Decision([(3, 2.0, 3), (6, 0.5, 6)], 9, 2.5, 0.0, [0.8, 0.6], 0.1316314339, 0.0357191437),
    Decision([(5, 1.0, 5), (10, 0.3, 10)], 3, 1.5, 1e-6, [0.66, 0.55], 0.2406886346, 0.0390809104),
    Decision([(25, 0.5, 1)], 1, 0.1, 0.0, [0.5857], 0.2825774502, 0.2047113184),
    Decision([(3, 1.0, 3), (3, 0.5, 3), (3, 0.1, 3)], 9, 1.0, 0.0, [0.68, 0.6, 0.52], 0.3105952001, 0.1160432017),
    Decision([(11, math.inf, 1)], 1, 0.5, 0.0, [0.8], 0.1179208352, 0.1144380726),
    Decision([(7, 0.5, 7)], 7, 1.2, 0.0, [0.6], 0.5487192587, 0.0190297234, prior_of_1=0.2, cost_false_0=5),
    Decision([(11, 0.5, 11)], 11, 1.5, 0.0, [0.6], None, 0.0334713718, at_least(3)),
    Decision([(6, 0.5, 2), (5, 1.0, 2)], 3, 1.0, 1e-6, [0.6, 0.7], None, 0.0613575172, at_least(4)),
]
