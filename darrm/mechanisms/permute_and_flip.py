"""Permute-and-flip on vote counts, for non-private voters."""

from __future__ import annotations

from fractions import Fraction

from darrm._validation import check_positive
from darrm.mechanisms.label_chances import EXPONENTIAL
from darrm.mechanisms.noisy_max import NoisyMax
from darrm.randomness.digits import exponential
from darrm.randomness.others import BELOW_EXPONENTIAL


class PermuteAndFlip(NoisyMax):
    """Permute-and-flip: the largest of counts + exponential noise of scale 2 / epsilon.

        Pr[label = j] = p_j integral over u in [0, 1] of prod over i != j of (1 - u p_i),
        p_j = e^((epsilon / 2) (n_j - max n));     (epsilon, 0)-DP for one changed vote

    Parameters
    ----------
    epsilon : float > 0
        Epsilon of one label, for any number of votes and classes; nats.
    K, classes : int, optional
        As in `GaussianNoisyMax`: totals of `darrm.accounting.compose` are for one K and one number of classes.

    Raises
    ------
    InputError

    Notes
    -----
    McKenna, Sheldon, "Permute-and-flip" (NeurIPS 2020): classes in random order, each with a coin of bias p_j, until
    one comes up. One changed vote takes one from a count and adds it to another. No label is as often wrong as by the
    exponential mechanism of the same epsilon. The largest of counts with exponential noise has the same law (Ding et
    al., "The permute-and-flip mechanism is identical to report-noisy-max with exponential noise", 2021), and is drawn.

    Examples
    --------
    Its label error rate is lower than that of Laplace noise with the same epsilon:

    >>> import darrm
    >>> darrm.mechanisms.PermuteAndFlip(1.0).chances([[5, 3]]).round(4).tolist()
    [[0.8161, 0.1839]]
    >>> darrm.mechanisms.LaplaceNoisyMax(0.5).chances([[5, 3]]).round(4).tolist()
    [[0.7241, 0.2759]]
    """

    _parameters, _law, _draw, _below = ("epsilon",), EXPONENTIAL, staticmethod(exponential), BELOW_EXPONENTIAL

    def __init__(self, epsilon: float, *, K: int | None = None, classes: int | None = None) -> None:
        self.epsilon = check_positive("epsilon", epsilon)
        super().__init__(K, classes)

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.epsilon) / 2
