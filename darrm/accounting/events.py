"""Events of dp-accounting: an event for labels, an accountant that composes it, and other events in a ledger."""

from __future__ import annotations

import math
from typing import Any

from darrm._dp_accounting import (
    NeighboringRelation,
    PrivacyLossDistribution,
    attr,
    events,
    from_randomized_response,
)
from darrm._dp_accounting import PLDAccountant as _PLDAccountant
from darrm._validation import check_count, real, whole
from darrm.accounting.accounts import DIRECTED, Other, stated
from darrm.accounting.curves import Curve
from darrm.accounting.loss_distributions import (
    INTERVAL,
    TEXTS,
    checked_interval,
    checked_relation,
    curve_of_distribution,
    distribution_of,
    label_of,
    labels_or_voters,
    relation_of,
)
from darrm.accounting.noisy_max import CountMechanism
from darrm.accounting.releases import OneLabel
from darrm.design.design import Design
from darrm.errors import InputError

_ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE  # dp-accounting's own default
_MOST_POINTS = 500_000  # interval of losses of an event for a ledger; largest one, in nats
_TOLD = 1e-5  # delta of the epsilon in the description of a distribution


@attr.s(frozen=True, auto_attribs=True)
class LabelsDpEvent(events.DpEvent):  # type: ignore[misc]
    """The labels of a design as an event of dp-accounting; made by `dp_event`.

    Attributes
    ----------
    label : OneLabel or mechanism for counts
        The release of one label.
    voters : {"fresh", "fixed"}
    queries : int
    adjacency : str
        The neighbouring relation.
    """

    label: OneLabel | CountMechanism = attr.field(
        repr=lambda label: repr(label.problem if isinstance(label, OneLabel) else label)
    )
    voters: str
    queries: int
    adjacency: str


def dp_event(
    design: Design | CountMechanism, *, voters: str | None = None, queries: int = 1, adjacency: str | None = None
) -> LabelsDpEvent:
    """The labels of a design as an event for `PLDAccountant`, also in ``ComposedDpEvent`` or ``SelfComposedDpEvent``.

    Parameters
    ----------
    design : Design, or a mechanism for counts such as GaussianNoisyMax
    voters : {"fresh", "fixed"}
        There is no default, unless all voters are non-private. For fixed voters the event is one set of trained voters
        with all its answers; composed several times it means several sets of voters.
    queries : int in [1, 1e7]
        Number of labels; for fixed voters it has no effect.
    adjacency : str, default "replace-one"
        For noisy max: which neighbours differ in one vote. A design has its own.

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

    A thousand labels of noisy max, of any number of votes and classes:

    >>> noisy = darrm.interop.dp_event(darrm.mechanisms.GaussianNoisyMax(40.0), queries=1000)
    >>> accountant = darrm.interop.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE)
    >>> round(accountant.compose(noisy).get_epsilon(1e-5), 2)
    3.88
    """
    label, kind, neighbours = label_of(design, voters, adjacency, "An event of dp-accounting")
    return LabelsDpEvent(label, kind, check_count("queries", queries), neighbours)


class PLDAccountant(_PLDAccountant):  # type: ignore[misc]
    """dp-accounting's `PLDAccountant`, extended by `dp_event` and by counts of randomized response.

    Parameters
    ----------
    neighboring_relation : dp_accounting.NeighboringRelation
        As in dp-accounting; ``ADD_OR_REMOVE_ONE`` if not given. Designs are for "replace-one" neighbours unless they
        have another adjacency: pass ``REPLACE_ONE``. Events for other neighbours are refused.
    value_discretization_interval : float
        Grid interval of losses, nats.

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
    dp-accounting 0.6 composes a ``RandomizedResponseDpEvent`` only once, whatever its count.
    """

    _pld: Any

    def __init__(
        self, neighboring_relation: Any = _ADD_REMOVE, value_discretization_interval: float = INTERVAL
    ) -> None:
        super().__init__(checked_relation(neighboring_relation), checked_interval(value_discretization_interval))

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
                curve = labels_or_voters(event.label, event.voters, event.queries * (count if fresh else 1))
                pld = distribution_of(curve, self._value_discretization_interval)
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
    """DP-SGD as an event: a number of Gaussian answers, each on a Poisson sample."""
    noise = real(
        "noise_multiplier", noise_multiplier, 0, 1e6, "(]", hint="Pass the noise over the clip norm, e.g. 1.1."
    )
    rate = real("sampling_rate", sampling_rate, 0, 1, "(]", hint="Pass the share of records in a batch.")
    step = events.GaussianDpEvent(noise)
    return events.SelfComposedDpEvent(
        step if rate == 1 else events.PoissonSampledDpEvent(rate, step), check_count("steps", steps)
    )


def _interval(event: Any) -> float:
    """The grid interval of losses: wider where losses are large, for at most `_MOST_POINTS` points.

    Raises
    ------
    InputError
        If one answer, or all Gaussian ones together, are far beyond any budget.
    """
    largest = _largest(*_losses(event))
    if largest > _MOST_POINTS:
        raise InputError(
            f"{_short(event)} has losses up to {largest:.3g} nats. It is not private: a ledger cannot charge it. Add "
            "more noise."
        )
    return max(INTERVAL, largest / _MOST_POINTS)


def _losses(event: Any) -> tuple[float, float]:
    """The sum of the pure-DP epsilons of Laplace and single sampled answers, and that of 1 / noise^2 of the others.

    Events of other kinds add nothing.
    """
    if isinstance(event, events.SelfComposedDpEvent):
        one, gaussian = _losses(event.event)
        return one, gaussian * event.count
    if isinstance(event, events.ComposedDpEvent):
        parts = [_losses(part) for part in event.events]
        return max((one for one, _ in parts), default=0.0), sum(gaussian for _, gaussian in parts)
    if isinstance(event, events.PoissonSampledDpEvent):
        return _largest(*_losses(event.event)), 0.0
    noise = getattr(event, "noise_multiplier", 0)
    if not noise:
        return 0.0, 0.0
    inverse = min(1 / abs(noise), 1e150)
    return (0.0, inverse * inverse) if isinstance(event, events.GaussianDpEvent) else (inverse, 0.0)


def _largest(one: float, gaussian: float) -> float:
    """The spread of the losses: for Gaussian noise on both sides of the mean, when a record is replaced."""
    return max(one, 2 * gaussian + 40 * math.sqrt(max(gaussian, 0.0)))


def account_of_foreign(what: object, said: str | None, ledger_adjacency: str) -> Other:
    """The account of an event or a distribution of dp-accounting, before it is charged to a ledger.

    ``said`` is the neighbouring relation that the caller states.
    """
    relation = relation_of(ledger_adjacency)
    if isinstance(what, events.DpEvent):
        if said is not None:
            stated(said, ledger_adjacency, "The event")
        try:
            accountant = PLDAccountant(relation, _interval(what))
            refused = accountant._maybe_compose(what, 1, False)
            reason = None if refused is None else str(refused.error_message)
            if refused is None:
                accountant.compose(what)
        except InputError:
            raise
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            reason = str(error)
        except MemoryError:
            reason = "its losses are too many for this machine's memory"
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
        known = TEXTS.get(getattr(what, "neighboring_relation", None))
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
