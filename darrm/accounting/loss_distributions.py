"""Privacy loss distributions of dp-accounting: made from designs, and converted to privacy curves.

dp-accounting's objects do not state their neighbouring relation, although a Gaussian of sigma 4 has another epsilon if
a record is replaced than if one is added. So the objects made here carry it, and it must be stated for others.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from darrm._dp_accounting import NeighboringRelation, PrivacyLossDistribution
from darrm._validation import check_count, real, shown
from darrm.accounting.adaptive import Grid
from darrm.accounting.curves import Curve
from darrm.accounting.fresh import FAR
from darrm.accounting.mixed import labels_curve, voters_curve
from darrm.accounting.noisy_max import CountMechanism, refuse_voters
from darrm.accounting.noisy_max import labels_curve as noisy_max_curve
from darrm.accounting.releases import OneLabel, checked_voters, one_label
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.groups import check_one_limit

_U = 2.0**-53
INTERVAL = 1e-4  # interval of losses, as in dp-accounting
_SHARP = 1e-9  # the delta near which curves of labels are sharp
_NEGLIGIBLE = 1e-18  # nats, of a curve; larger losses count as infinite
_NOISE = 1e-6  # error of deltas near 1 by dp-accounting's Fourier transforms
_LEAST, _MOST = 1e-6, 1.0
_POINTS = 1000  # points of a kept curve: that many evenly, and that many where the losses are
_MOST_LOSSES = 4_000_000
_RELATIONS = {
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-special": NeighboringRelation.REPLACE_SPECIAL,
}
TEXTS = {relation: text for text, relation in _RELATIONS.items()}


def relation_of(adjacency: str) -> Any:
    """dp-accounting's name for a neighbouring relation."""
    if adjacency not in _RELATIONS:
        raise InputError(
            f"dp-accounting knows no {adjacency!r} neighbours. Designs for it must have adjacency "
            f"{', '.join(_RELATIONS)}."
        )
    return _RELATIONS[adjacency]


def checked_relation(relation: Any) -> Any:
    if not isinstance(relation, NeighboringRelation):
        raise InputError(f"neighboring_relation must be a NeighboringRelation of dp-accounting. Got {relation!r}.")
    return relation


def checked_interval(interval: object, name: str = "value_discretization_interval") -> float:
    return real(name, interval, _LEAST, _MOST, "[]", hint="Pass nats; dp-accounting's own is 1e-4.")


class NeighboringPLD(PrivacyLossDistribution):  # type: ignore[misc]
    """A privacy loss distribution of dp-accounting with its neighbouring relation.

    Its own `compose` refuses other relations, and warns if the relation is unknown: write ``labels.compose(other)``.
    ``other.compose(labels)`` of dp-accounting does not check.

    Attributes
    ----------
    neighboring_relation : dp_accounting.NeighboringRelation

    Examples
    --------
    >>> import darrm
    >>> from dp_accounting import NeighboringRelation
    >>> from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
    >>> added = from_gaussian_mechanism(4.0)  # for adding or removing a record
    >>> noise = darrm.interop.NeighboringPLD.of(added, NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> darrm.interop.privacy_loss_distribution(design, voters="fresh").compose(noise)
    Traceback (most recent call last):
        ...
    darrm.errors.InputError: One is for REPLACE_ONE, the other for ADD_OR_REMOVE_ONE. Make both for the same neighbours.
    """

    neighboring_relation: Any

    @classmethod
    def of(cls, pld: Any, neighboring_relation: Any) -> NeighboringPLD:
        """The same distribution with the neighbouring relation that the caller states.

        Parameters
        ----------
        pld : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        neighboring_relation : dp_accounting.NeighboringRelation
            The relation of ``pld``, which cannot be checked. Where a record is replaced, the relation is symmetric: a
            distribution with two directions becomes the larger of both.

        Raises
        ------
        InputError
        """
        if not isinstance(pld, PrivacyLossDistribution):
            raise InputError(f"pld must be a PrivacyLossDistribution of dp-accounting. Got {type(pld).__name__}.")
        relation = checked_relation(neighboring_relation)
        if relation is NeighboringRelation.REPLACE_ONE and not pld._symmetric:
            curve = curve_of_distribution(pld).undirected
            pld = distribution_of(curve, float(pld._pmf_remove._discretization))
        made = cls(pld._pmf_remove, None if pld._symmetric else pld._pmf_add)
        made.neighboring_relation = relation
        return made

    def compose(self, privacy_loss_distribution: Any, *options: Any, **more: Any) -> NeighboringPLD:
        """The composition of both by dp-accounting. `InputError` for other neighbours, a warning for unknown ones."""
        self._check(privacy_loss_distribution)
        return self.of(super().compose(privacy_loss_distribution, *options, **more), self.neighboring_relation)

    def self_compose(self, *options: Any, **more: Any) -> NeighboringPLD:
        """The composition of ``num_times`` copies, by dp-accounting."""
        return self.of(super().self_compose(*options, **more), self.neighboring_relation)

    def get_delta_for_epsilon_for_composed_pld(self, privacy_loss_distribution: Any, epsilon: Any) -> float:
        """The delta of the composition of both, by dp-accounting; other neighbours as in `compose`."""
        self._check(privacy_loss_distribution)
        return float(super().get_delta_for_epsilon_for_composed_pld(privacy_loss_distribution, epsilon))

    def compute_mixture(self, other: Any, *options: Any, **more: Any) -> NeighboringPLD:
        """The mixture of both by dp-accounting; other neighbours as in `compose`."""
        self._check(other)
        return self.of(super().compute_mixture(other, *options, **more), self.neighboring_relation)

    def _check(self, other: Any) -> None:
        theirs = getattr(other, "neighboring_relation", None)
        if theirs is None:
            warnings.warn(
                f"This distribution holds for {self.neighboring_relation.name}, and the other has no stated "
                "neighbouring relation: if it is another, the total is too small. State it by NeighboringPLD.of, or "
                "compose events in darrm.interop.PLDAccountant, which checks it.",
                stacklevel=3,
            )
        elif theirs is not self.neighboring_relation:
            raise InputError(
                f"One is for {self.neighboring_relation.name}, the other for {theirs.name}. Make both for the same "
                "neighbours."
            )


def privacy_loss_distribution(
    design: Design | CountMechanism,
    *,
    voters: str | None = None,
    queries: int = 1,
    interval: float = INTERVAL,
    adjacency: str | None = None,
) -> NeighboringPLD:
    """A certified pessimistic privacy loss distribution of dp-accounting for labels of a design or of noisy max.

    Parameters
    ----------
    design : Design, or a mechanism for counts such as GaussianNoisyMax
        Its adjacency must be "replace-one", "add-remove" or "replace-special".
    voters : {"fresh", "fixed"}
        There is no default; see `darrm.accounting.compose`. For fixed voters it is that of the voters themselves, once,
        for any number of labels.
    queries : int in [1, 1e7]
        Number of labels, which may be interleaved with other mechanisms. It is tighter than composing one label with
        itself: labels are composed exactly, and only the total is rounded.
    adjacency : str, default "replace-one"
        For noisy max: which neighbours differ in one vote. A design has its own.
    interval : float in [1e-6, 1]
        Grid interval of the losses, nats. Distributions compose only with equal intervals; dp-accounting's is 1e-4.

    Returns
    -------
    NeighboringPLD
        A `PrivacyLossDistribution` with its neighbouring relation. Its delta at any epsilon is at least that of the
        labels.

    Raises
    ------
    InputError
    MissingExtraError
        Without dp-accounting.

    Notes
    -----
    docs/composition.md. Lines between points of the privacy curve, which is convex in e^epsilon (Doroshenko, Ghazi,
    Kamath, Kumar, Manurangsi, PoPETs 2022); every probability is rounded up. Later computations of dp-accounting are
    not certified by darrm. One exact composition; then O(pure-DP epsilon / interval).

    Examples
    --------
    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> labels = darrm.interop.privacy_loss_distribution(design, voters="fresh", queries=100)
    >>> round(labels.get_epsilon_for_delta(1e-5), 2)
    11.17
    """
    label, kind, relation = label_of(design, voters, adjacency, "A privacy loss distribution")
    queries = check_count("queries", queries)
    interval = checked_interval(interval, "interval")
    curve = labels_or_voters(label, kind, queries)
    return NeighboringPLD.of(distribution_of(curve, interval), relation_of(relation))


def label_of(
    design: Design | CountMechanism, voters: str | None, adjacency: str | None, what: str
) -> tuple[OneLabel | CountMechanism, str, str]:
    """The release of one label, whether voters are fresh or fixed, and the neighbours."""
    if isinstance(design, CountMechanism):
        refuse_voters(design, voters)
        stated = "replace-one" if adjacency is None else adjacency
        relation_of(stated)
        return design, "fresh", stated
    label = one_label(design)
    check_one_limit(label.problem, what)
    own: str = label.problem.adjacency
    if adjacency is not None:
        raise InputError(f"A design has its own adjacency, {own!r}. Got adjacency = {shown(adjacency)}. Leave it out.")
    relation_of(own)
    return label, checked_voters(design, voters), own


def labels_or_voters(label: OneLabel | CountMechanism, voters: str, queries: int) -> Curve:
    if not isinstance(label, OneLabel):
        return noisy_max_curve(label, queries, _SHARP)
    return voters_curve(label) if voters == "fixed" else labels_curve(label, queries, _SHARP)


def distribution_of(curve: Curve, interval: float) -> Any:
    """dp-accounting's distribution of the dominating pair of a curve that is equal in both directions."""
    worst = curve.deltas.max(axis=0)
    end = int(np.flatnonzero(worst <= max(worst[-1] * (1 + 1e-9), _NEGLIGIBLE))[0])
    size = max(1, math.ceil(float(curve.epsilons[end]) / interval))
    if size > _MOST_LOSSES:
        raise InputError(
            f"Losses up to {float(curve.epsilons[end]):.3g} need {size} points of {interval:g}, above {_MOST_LOSSES}. "
            "Pass a wider interval."
        )
    (losses,) = curve.on(Grid(interval, size))
    chances = {i - size: float(P) for i, P in enumerate(losses.P) if P}
    return PrivacyLossDistribution.create_from_rounded_probability(chances, min(1.0, losses.infinite), interval)


def curve_of_distribution(pld: Any) -> Curve:
    """The privacy curves of a distribution of dp-accounting, rounded up, at enough points for a total.

    Its own numbers are not verified; `InputError` if they are optimistic or not probabilities.
    """
    pmfs = [pld._pmf_remove] if pld._symmetric else [pld._pmf_remove, pld._pmf_add]
    if not all(pmf._pessimistic_estimate for pmf in pmfs):
        raise InputError(
            "The privacy loss distribution is optimistic: its deltas are too small. Make it with "
            "pessimistic_estimate=True."
        )
    dense = [pmf.to_dense_pmf() for pmf in pmfs]
    step = float(dense[0]._discretization)
    top = max(1, min(max(pmf._lower_loss + pmf.size - 1 for pmf in dense), int(FAR / step)))  # infinite beyond
    weight = np.zeros(top + 1)  # of the losses of both directions
    for pmf in dense:
        where = np.abs(np.arange(pmf.size) + pmf._lower_loss)
        np.add.at(weight, np.minimum(where, top), np.maximum(pmf._probs, 0.0))
    points = np.union1d(np.linspace(0, top, _POINTS).round(), _where_losses_are(weight))
    epsilons = np.asarray(points * step, dtype=np.float64)
    deltas = np.array([_deltas(pmf, epsilons) for pmf in dense])
    if not (np.isfinite(deltas).all() and deltas.min() >= -_NOISE and deltas.max() <= 1 + _NOISE):
        raise InputError(
            "The privacy loss distribution has deltas outside [0, 1]: dp-accounting's sums lost accuracy. "
            "Charge the (epsilon, delta) of the mechanism."
        )
    return Curve.of(epsilons, np.clip(deltas, 0.0, 1.0))


def _deltas(pmf: Any, epsilons: Array) -> Array:
    """The deltas that ``pmf.get_delta_for_epsilon`` returns, or a little more. Its loop over all losses is slow.

    They are sums of P(s) and of P(s) e^-s over losses s > epsilon, from the right: the same terms in the same order.
    What is added covers the rounding of the last difference.
    """
    losses = (np.arange(pmf.size) + pmf._lower_loss) * pmf._discretization
    above = losses.size - np.searchsorted(losses, epsilons, side="right")
    P, s = (side[::-1][: above.max(initial=0)] for side in (np.asarray(pmf._probs, dtype=np.float64), losses))
    on = np.cumsum(np.append(pmf._infinity_mass, P))[above]
    off = np.cumsum(np.append(0.0, P * np.exp(-s)))[above]
    return np.asarray(on - np.exp(epsilons) * off + 16 * _U * np.abs(on))


def _where_losses_are(weight: Array) -> Array:
    """Points as dense as the cube root of the density of losses, so that lines between them add least variance."""
    dense = np.cumsum(np.cbrt(weight + 1e-30))
    return np.searchsorted(dense, np.linspace(0, dense[-1], _POINTS)).clip(0, weight.size - 1).astype(np.float64)
