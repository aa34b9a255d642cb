"""Privacy loss distributions and events of dp-accounting: designs as theirs, and theirs as privacy curves.

dp-accounting's objects do not say for which neighbours they hold, but a Gaussian of sigma 4 costs another epsilon if a
record is replaced than if one is added. So what is made here knows its neighbours, and asks for those of the others.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from darrm._validation import check_count, check_voters, real, whole
from darrm.accounting.accounts import DIRECTED, Other, stated
from darrm.accounting.adaptive import Grid
from darrm.accounting.curves import Curve
from darrm.accounting.fresh import FAR
from darrm.accounting.mixed import labels_curve, voters_curve
from darrm.accounting.releases import OneLabel, one_label
from darrm.design.design import AnyDesign
from darrm.errors import InputError, MissingExtraError
from darrm.numerics.arrays import Array

try:
    import attr
    from dp_accounting import NeighboringRelation
    from dp_accounting import dp_event as events
    from dp_accounting.pld import PLDAccountant as _PLDAccountant
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, from_randomized_response
except ImportError:
    raise MissingExtraError(
        "Privacy loss distributions need dp-accounting of at least 0.6. Run: pip install darrm[interop]"
    ) from None

INTERVAL = 1e-4  # of losses, as in dp-accounting
_SHARP = 1e-9  # the delta near which curves of labels are made sharp
_NEGLIGIBLE = 1e-18  # of a curve: beyond, its losses count as infinite
_NOISE = 1e-6  # of deltas near 1, by dp-accounting's Fourier transforms; a delta is never above 1
_LEAST, _MOST = 1e-6, 1.0
_TOLD = 1e-5  # delta at which a distribution is named
_POINTS = 1000  # of a curve that is kept: so many evenly, and so many where the losses are
_MOST_LOSSES = 4_000_000
_RELATIONS = {
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-special": NeighboringRelation.REPLACE_SPECIAL,
}
_ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE  # dp-accounting's own default
_TEXTS = {relation: text for text, relation in _RELATIONS.items()}


def relation_of(adjacency: str) -> Any:
    """dp-accounting's word for what neighbouring means."""
    if adjacency not in _RELATIONS:
        raise InputError(
            f"dp-accounting knows no {adjacency!r} neighbours. Designs for it must have adjacency "
            f"{', '.join(_RELATIONS)}."
        )
    return _RELATIONS[adjacency]


def _checked_relation(relation: Any) -> Any:
    if not isinstance(relation, NeighboringRelation):
        raise InputError(f"neighboring_relation must be a NeighboringRelation of dp-accounting. Got {relation!r}.")
    return relation


def _checked_interval(interval: object, name: str = "value_discretization_interval") -> float:
    return real(name, interval, _LEAST, _MOST, "[]", hint="Pass nats; dp-accounting's own is 1e-4.")


class NeighboringPLD(PrivacyLossDistribution):  # type: ignore[misc]
    """A privacy loss distribution of dp-accounting that knows for which neighbours it holds.

    It warns of others, or refuses them, where *it* composes: write ``labels.compose(other)``. In
    ``other.compose(labels)`` dp-accounting does not ask.

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
        """The same distribution with the neighbours for which the caller says it holds.

        Parameters
        ----------
        pld : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        neighboring_relation : dp_accounting.NeighboringRelation
            What ``pld`` was made for; nothing checks that. Where a record is replaced, neither data set has a role of
            its own: a distribution with two directions becomes the larger of both.

        Raises
        ------
        InputError
        """
        if not isinstance(pld, PrivacyLossDistribution):
            raise InputError(f"pld must be a PrivacyLossDistribution of dp-accounting. Got {type(pld).__name__}.")
        relation = _checked_relation(neighboring_relation)
        if relation is NeighboringRelation.REPLACE_ONE and not pld._symmetric:
            curve = curve_of_distribution(pld).undirected
            pld = _distribution(curve, float(pld._pmf_remove._discretization))
        made = cls(pld._pmf_remove, None if pld._symmetric else pld._pmf_add)
        made.neighboring_relation = relation
        return made

    def compose(self, privacy_loss_distribution: Any, *options: Any, **more: Any) -> NeighboringPLD:
        """Both together, by dp-accounting. `InputError` for other neighbours; a warning if they are not known."""
        self._check(privacy_loss_distribution)
        return self.of(super().compose(privacy_loss_distribution, *options, **more), self.neighboring_relation)

    def self_compose(self, *options: Any, **more: Any) -> NeighboringPLD:
        """So many times, as dp-accounting does it."""
        return self.of(super().self_compose(*options, **more), self.neighboring_relation)

    def get_delta_for_epsilon_for_composed_pld(self, privacy_loss_distribution: Any, epsilon: Any) -> float:
        """The delta of both together, by dp-accounting; other neighbours as in `compose`."""
        self._check(privacy_loss_distribution)
        return float(super().get_delta_for_epsilon_for_composed_pld(privacy_loss_distribution, epsilon))

    def compute_mixture(self, other: Any, *options: Any, **more: Any) -> NeighboringPLD:
        """One of both by chance, as dp-accounting does it; other neighbours as in `compose`."""
        self._check(other)
        return self.of(super().compute_mixture(other, *options, **more), self.neighboring_relation)

    def _check(self, other: Any) -> None:
        theirs = getattr(other, "neighboring_relation", None)
        if theirs is None:
            warnings.warn(
                f"This distribution holds for {self.neighboring_relation.name}, and the other does not say for which "
                "neighbours it holds: made for others, the total is too small. Say it by NeighboringPLD.of, or compose "
                "events in darrm.interop.PLDAccountant, which knows.",
                stacklevel=3,
            )
        elif theirs is not self.neighboring_relation:
            raise InputError(
                f"One is for {self.neighboring_relation.name}, the other for {theirs.name}. Make both for the same "
                "neighbours."
            )


def privacy_loss_distribution(
    design: AnyDesign, *, voters: str | None = None, queries: int = 1, interval: float = INTERVAL
) -> NeighboringPLD:
    """A privacy loss distribution of dp-accounting that dominates labels of a design: pessimistic, with proof.

    Parameters
    ----------
    design : Design or DecisionDesign
        Its adjacency must be "replace-one", "add-remove" or "replace-special".
    voters : {"fresh", "fixed"}
        There is no default; see `darrm.accounting.compose`. Fixed: of the voters themselves, once, whatever the labels
        and however many.
    queries : int in [1, 1e7]
        Labels, asked in any order, also between other mechanisms. To ask for them here is sharper than to compose one
        label with itself: they are composed exactly, and only the total is rounded.
    interval : float in [1e-6, 1]
        Of the losses, nats. Distributions compose if theirs are the same; 1e-4 is dp-accounting's.

    Returns
    -------
    NeighboringPLD
        A `PrivacyLossDistribution` that knows its neighbours. Its delta at any epsilon is at least that of the labels.

    Raises
    ------
    InputError
    MissingExtraError
        Without dp-accounting.

    Notes
    -----
    docs/one_budget.md. Lines between points of the privacy curve, which is convex in e^epsilon (Doroshenko, Ghazi,
    Kamath, Kumar, Manurangsi, PoPETs 2022); every probability is rounded up. What dp-accounting does with it afterwards
    is not proved by darrm. One exact composition; then O(largest loss / interval).

    Examples
    --------
    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> labels = darrm.interop.privacy_loss_distribution(design, voters="fresh", queries=100)
    >>> round(labels.get_epsilon_for_delta(1e-5), 2)
    11.17
    """
    kind, label = check_voters(voters), one_label(design)
    relation = relation_of(label.problem.adjacency)
    queries = check_count("queries", queries)
    interval = _checked_interval(interval, "interval")
    return NeighboringPLD.of(_distribution(_curve(label, kind, queries), interval), relation)


def _curve(label: OneLabel, voters: str, queries: int) -> Curve:
    return voters_curve(label) if voters == "fixed" else labels_curve(label, queries, _SHARP)


def _distribution(curve: Curve, interval: float) -> Any:
    """dp-accounting's distribution of the pair that a curve describes; it is the same in both directions."""
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
    """The privacy curves of a distribution of dp-accounting, from above, at points enough for a total.

    Its own numbers are believed; `InputError` if they are optimistic or no probabilities.
    """
    pmfs = [pld._pmf_remove] if pld._symmetric else [pld._pmf_remove, pld._pmf_add]
    if not all(pmf._pessimistic_estimate for pmf in pmfs):
        raise InputError(
            "The privacy loss distribution is optimistic: its deltas are too small. Make it with "
            "pessimistic_estimate=True."
        )
    dense = [pmf.to_dense_pmf() for pmf in pmfs]
    step = float(dense[0]._discretization)
    top = max(1, min(max(pmf._lower_loss + pmf.size - 1 for pmf in dense), int(FAR / step)))  # beyond: infinite
    weight = np.zeros(top + 1)  # of the losses of both directions
    for pmf in dense:
        where = np.abs(np.arange(pmf.size) + pmf._lower_loss)
        np.add.at(weight, np.minimum(where, top), np.maximum(pmf._probs, 0.0))
    points = np.union1d(np.linspace(0, top, _POINTS).round(), _where_losses_are(weight))
    epsilons = np.asarray(points * step, dtype=np.float64)
    deltas = np.array([pmf.get_delta_for_epsilon(epsilons) for pmf in dense])
    if not (np.isfinite(deltas).all() and deltas.min() >= -_NOISE and deltas.max() <= 1 + _NOISE):
        raise InputError(
            "The privacy loss distribution has deltas that are no probabilities: dp-accounting's sums did not hold. "
            "Charge the (epsilon, delta) of the mechanism."
        )
    return Curve.of(epsilons, np.clip(deltas, 0.0, 1.0))


def _where_losses_are(weight: Array) -> Array:
    """Points as dense as the cube root of the losses there: so lines between them add least variance."""
    dense = np.cumsum(np.cbrt(weight + 1e-30))
    return np.searchsorted(dense, np.linspace(0, dense[-1], _POINTS)).clip(0, weight.size - 1).astype(np.float64)


@attr.s(frozen=True, auto_attribs=True)
class LabelsDpEvent(events.DpEvent):  # type: ignore[misc]
    """Labels of a design, as an event of dp-accounting; make it with `dp_event`.

    Attributes
    ----------
    label : OneLabel
        What one label comes from.
    voters : {"fresh", "fixed"}
    queries : int
    """

    label: OneLabel = attr.field(repr=lambda label: repr(label.problem))
    voters: str
    queries: int

    @property
    def adjacency(self) -> str:
        """What neighbouring means."""
        return self.label.problem.adjacency


def dp_event(design: AnyDesign, *, voters: str | None = None, queries: int = 1) -> LabelsDpEvent:
    """Labels of a design as an event, for `PLDAccountant`: alone, in ``ComposedDpEvent`` or ``SelfComposedDpEvent``.

    Parameters
    ----------
    design : Design or DecisionDesign
    voters : {"fresh", "fixed"}
        There is no default. Fixed: the event is that the voters are trained and answer, once; composed several times it
        is several sets of voters.
    queries : int in [1, 1e7]
        Labels; of fixed voters as many as you like.

    Returns
    -------
    LabelsDpEvent

    Raises
    ------
    InputError
    MissingExtraError

    Notes
    -----
    Accountants of dp-accounting itself refuse it as unsupported. There is no event for labels of sampled records:
    sampling would have to happen before the voters answer.

    Examples
    --------
    >>> import darrm
    >>> import dp_accounting as dp
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> labels = darrm.interop.dp_event(design, voters="fresh", queries=100)
    >>> accountant = darrm.interop.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE)
    >>> round(accountant.compose(labels).compose(dp.GaussianDpEvent(4.0)).get_epsilon(1e-5), 2)
    11.55
    """
    kind, label = check_voters(voters), one_label(design)
    relation_of(label.problem.adjacency)
    return LabelsDpEvent(label, kind, check_count("queries", queries))


class PLDAccountant(_PLDAccountant):  # type: ignore[misc]
    """dp-accounting's `PLDAccountant` that knows `dp_event` too, and composes randomized response as often as told.

    Parameters
    ----------
    neighboring_relation : dp_accounting.NeighboringRelation
        As there; ``ADD_OR_REMOVE_ONE`` if not given. Designs are for "replace-one" neighbours unless they say another
        adjacency: pass ``REPLACE_ONE``. Events for other neighbours are refused.
    value_discretization_interval : float
        Of losses, nats.

    Examples
    --------
    >>> import darrm
    >>> import dp_accounting as dp
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> accountant = darrm.interop.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE)
    >>> label = darrm.interop.dp_event(design, voters="fresh")
    >>> round(accountant.compose(label, 100).get_epsilon(1e-5), 2)
    11.17

    Notes
    -----
    dp-accounting 0.6 counts a ``RandomizedResponseDpEvent`` once, whatever its count.
    """

    _pld: Any

    def __init__(
        self, neighboring_relation: Any = _ADD_REMOVE, value_discretization_interval: float = INTERVAL
    ) -> None:
        super().__init__(_checked_relation(neighboring_relation), _checked_interval(value_discretization_interval))

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if isinstance(event, LabelsDpEvent):
            relation = relation_of(event.adjacency)
            if relation is not self.neighboring_relation:
                return self.CompositionErrorDetails(
                    invalid_event=event,
                    error_message=(
                        f"the design is for {event.adjacency} neighbours, the accountant for "
                        f"{self.neighboring_relation.name}. Make a PLDAccountant({relation}), or a design with another "
                        "adjacency"
                    ),
                )
            if do_compose:
                fresh = event.voters == "fresh"
                curve = _curve(event.label, event.voters, event.queries * (count if fresh else 1))
                pld = _distribution(curve, self._value_discretization_interval)
                self._pld = self._pld.compose(pld if fresh or count == 1 else pld.self_compose(count))
            return None
        if do_compose and isinstance(event, events.RandomizedResponseDpEvent) and event.noise_parameter:
            if whole("num_buckets", event.num_buckets) > 1:
                pld = from_randomized_response(
                    noise_parameter=event.noise_parameter,
                    num_buckets=event.num_buckets,
                    value_discretization_interval=self._value_discretization_interval,
                    neighboring_relation=self.neighboring_relation,
                )
                self._pld = self._pld.compose(pld.self_compose(count))
            return None
        return super()._maybe_compose(event, count, do_compose)


def training(noise_multiplier: float, sampling_rate: float, steps: int) -> Any:
    """DP-SGD as an event: so many Gaussian answers, each on a Poisson sample."""
    noise = real(
        "noise_multiplier", noise_multiplier, 0, 1e6, "(]", hint="Pass the noise over the clip norm, e.g. 1.1."
    )
    rate = real("sampling_rate", sampling_rate, 0, 1, "(]", hint="Pass the share of records in a batch.")
    step = events.GaussianDpEvent(noise)
    return events.SelfComposedDpEvent(
        step if rate == 1 else events.PoissonSampledDpEvent(rate, step), check_count("steps", steps)
    )


def account_of_foreign(what: object, said: str | None, ledger_adjacency: str) -> Other:
    """The account of an event or a distribution of dp-accounting, before it is charged to a ledger.

    ``said`` is for which neighbours the caller says that it holds.
    """
    relation = relation_of(ledger_adjacency)
    if isinstance(what, events.DpEvent):
        if said is not None:
            stated(said, ledger_adjacency, "The event")
        accountant = PLDAccountant(relation)
        try:
            refused = accountant._maybe_compose(what, 1, False)
            reason = None if refused is None else str(refused.error_message)
            if refused is None:
                accountant.compose(what)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            reason = str(error)
        if reason is not None:
            laplace = isinstance(what, events.LaplaceDpEvent)
            hint = " A count with Laplace noise of scale b is (1 / b, 0)-DP." if laplace else ""
            raise InputError(
                f"dp-accounting cannot account for {_short(what)} under {relation.name}: "
                f"{' '.join(reason.split()).rstrip('.')}. Charge its (epsilon, delta), or its loss distribution by "
                f"NeighboringPLD.of.{hint}"
            )
        if math.isinf(accountant.get_epsilon(0.5)):
            raise InputError("The event is not private. A ledger cannot charge it.")
        text = repr(what)
        return _account(curve_of_distribution(accountant._pld), " ".join(text.split()), ledger_adjacency)
    if isinstance(what, PrivacyLossDistribution):
        known = _TEXTS.get(getattr(what, "neighboring_relation", None))
        if known is not None:
            stated(known, ledger_adjacency, "The distribution")
        if known is None or said is not None:
            stated(said, ledger_adjacency, "A privacy loss distribution")
        curve = curve_of_distribution(what)
        return _account(
            curve, f"a privacy loss distribution ({curve.epsilon(_TOLD):.3g} at delta {_TOLD:g})", ledger_adjacency
        )
    raise InputError(
        f"A ledger charges events and privacy loss distributions of dp-accounting. Got {type(what).__name__}."
    )


def _account(curve: Curve, said: str, adjacency: str) -> Other:
    return Other.of_curve(curve if adjacency in DIRECTED else curve.undirected, said)


def _short(event: object) -> str:
    return f"{' '.join(repr(event).split()):.160}"
