"""The exponential mechanism on vote counts, for non-private voters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from darrm._validation import check_positive
from darrm.mechanisms.label_chances import Chances
from darrm.mechanisms.noisy_max import NoisyMax
from darrm.randomness.digits import gumbel
from darrm.randomness.others import BELOW_GUMBEL

_FAR = 700.0  # nats, where float64 nears its end
_EACH = 1e-12  # relative error of an exponential, whose exponent errs by some roundings of at most 700


class ExponentialMechanism(NoisyMax):
    """The exponential mechanism: a class with probability proportional to e^(epsilon n / 2), n its votes.

        Pr[label = j] = e^(epsilon n_j / 2) / sum over i of e^(epsilon n_i / 2);   (epsilon, 0)-DP for one changed vote

    Parameters
    ----------
    epsilon : float > 0
        Epsilon of one label, for any number of votes and classes; nats.
    K, classes : int, optional
        As in `GaussianNoisyMax`. Totals of `darrm.accounting.compose` without them hold for any votes.

    Raises
    ------
    InputError

    Notes
    -----
    McSherry, Talwar (FOCS 2007). The largest of counts with Gumbel noise of scale 2 / epsilon has this law, and is
    drawn. One changed vote takes one from a count and adds it to another, so the logarithms of the ratios of two such
    laws lie in an interval of length epsilon that holds 0: a label has ``bounded_range`` epsilon (Dong, Durfee, Rogers,
    ICML 2020). Many labels then cost about half of what other mechanisms of this epsilon may cost
    (docs/composition.md, "Labels of bounded range"). One label errs at least as often as by `PermuteAndFlip`.

    Examples
    --------
    >>> import darrm
    >>> darrm.mechanisms.ExponentialMechanism(1.0).chances([[5, 3]]).round(4).tolist()
    [[0.7311, 0.2689]]

    A hundred labels of any votes, and the same of permute-and-flip:

    >>> kinds = darrm.mechanisms.ExponentialMechanism, darrm.mechanisms.PermuteAndFlip
    >>> [round(darrm.accounting.compose(kind(0.1), 100, delta=1e-5).upper, 2) for kind in kinds]
    [2.0, 4.31]
    """

    _parameters, _draw, _below = ("epsilon",), staticmethod(gumbel), BELOW_GUMBEL

    def __init__(self, epsilon: float, *, K: int | None = None, classes: int | None = None) -> None:
        self.epsilon = check_positive("epsilon", epsilon)
        super().__init__(K, classes)

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.epsilon) / 2

    @property
    def bounded_range(self) -> float:
        """Epsilon: how far apart the largest and the least privacy loss of one label are at most; nats."""
        return self.epsilon

    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        """Those of checked votes, with what is proved of their error."""
        with np.errstate(over="ignore"):
            behind = float(self._rate) * (votes.max(axis=1, keepdims=True) - votes)
        weights = np.where(behind < _FAR, np.exp(-np.minimum(behind, _FAR)), 0.0)
        values = weights / weights.sum(axis=1, keepdims=True)
        classes = votes.shape[1]
        return Chances(values, 2 * _EACH + (classes + 4) * 2.0**-52, classes * 1e-300)
