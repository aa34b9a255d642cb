"""Labels of a design as an OpenDP measurement: a function of the data, and a privacy map for all labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import check_count, check_total_delta, not_a_design, plain, refusal, shown, whole
from darrm.accounting.composition import compose
from darrm.design.design import Design
from darrm.errors import InputError, MissingExtraError
from darrm.mechanisms.decision import PrivateDecision
from darrm.mechanisms.noisy_max import NoisyMax
from darrm.mechanisms.own_votes import OwnVotes
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import check_one_limit
from darrm.problem.model import VoterModel
from darrm.votes.tally import counts

if TYPE_CHECKING:
    from opendp.mod import Domain, Measurement, Metric

_FEATURES = ("contrib", "honest-but-curious")
# The metrics in which neighbours have distance 1, by adjacency.
_METRICS = {
    "replace-one": ("change_one_distance", "hamming_distance"),
    "add-remove": ("symmetric_distance", "insert_delete_distance"),
}


def opendp_measurement(
    design: Design | NoisyMax,
    *,
    n_labels: int,
    votes: Callable[[Any], ArrayLike] | None,
    voters: str | None = None,
    input_domain: Domain | None = None,
    input_metric: Metric | None = None,
    delta: float | None = None,
    public: bool = False,
) -> Measurement:
    """An OpenDP measurement that releases ``n_labels`` labels of one design or of noisy max, all at once.

        function: data -> votes(data), shape (n_labels, K) -> one label for each row
        map:      0 -> 0, 1 (neighbours) -> the cumulative privacy loss of all labels, more -> infinity

    The cost is ``compose(design, n_labels, delta=delta, voters=voters).upper``, nats: certified and rounded up. OpenDP
    adds it to that of other measurements on the same data, and can chain transformations before it.

    Parameters
    ----------
    design : Design, or GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip or ExponentialMechanism
        A design with two or more answers; or noisy max, for "replace-one" neighbours of which one vote differs.
    n_labels : int in [1, 1e7]
        Number of labels that one call of the measurement releases.
    votes : callable or None
        Maps a member of ``input_domain`` to the votes, array_like of shape (n_labels, K): one row a label, columns in
        the order of the design's groups, values as for `darrm.mechanisms.DaRRM.release`. For noisy max it maps to
        counts as its ``release`` takes them, (n_labels, classes), dense or sparse. See Notes for its conditions.
        None: the input of the measurement is the votes themselves, see below.
    voters : {"fresh", "fixed"}
        As in `darrm.accounting.compose`; there is no default. Leave it out where ``votes`` is None.
    input_domain : opendp Domain
        The domain of the private data. OpenDP does not check that data are members of it.
    input_metric : opendp Metric
        A metric in which neighbours by the design's ``adjacency`` have distance 1. "replace-one":
        ``change_one_distance()``, or ``hamming_distance()`` for a record that is replaced in its place. "add-remove":
        ``symmetric_distance()`` or ``insert_delete_distance()``. For any text:
        ``user_distance(design.problem.adjacency)``. Change-one and symmetric distance ignore the order of records. With
        them, the voters' privacy and ``max_affected`` must hold for any order; for shards by position they do not.
    delta : float in [0, 1), optional
        Delta for all labels together. It is 0 if left out, which is allowed where the design has a delta of 0.
    public : bool
        Whether the votes behind the prior of the design are public, if it was read from votes (`darrm.priors.votes`).
        Such a design requires it: a measurement that refused these votes, as `DaRRM.release` does, would reveal
        information about them.

    Returns
    -------
    opendp.mod.Measurement
        Its release is a list of int, ``n_labels`` labels; those of a `darrm.DecisionProblem` have
        names by its ``named``. Its measure is
        ``max_divergence()``, distances epsilon, if delta is 0; otherwise ``fixed_smoothed_max_divergence()``, pairs
        (epsilon, delta).

    Raises
    ------
    InputError
        If a value is unusable, the metric does not fit the design, or OpenDP's features are not enabled. If its prior
        was read from votes, unless ``public``.
    MissingExtraError
        If OpenDP is not installed.

    Notes
    -----
    OpenDP does not verify the map. It is valid if, at each call,

    * all private data that ``votes`` uses come from its argument. Voters that were trained on records before are not
      covered, because a call is then not a function of the data that OpenDP protects.
    * all randomness of ``votes`` is drawn anew, independently for each voter. Given the data, voters are independent.
    * each voter is as private as the design states, for neighbours at distance 1. Fresh: each answer, by its own
      randomness. Fixed: all answers together; so each call must train new voters, and ``n_labels`` must be all labels
      that they ever release. Two calls that share fixed voters may cost more than the sum that OpenDP forms.
    * between neighbours at most ``max_affected`` voters are affected, and who is absent does not depend on the data.
    * whether ``votes`` fails does not depend on the data, because the caller sees an exception and its text.

    Without ``votes`` the input is a list of K voters, each a sequence of its ``n_labels`` answers, and the distance is
    ``hamming_distance()``: the number of voters that differ. That is valid for non-private voters (epsilon = infinity)
    only, and finite up to ``max_affected``. The privacy of private voters comes from how their answers are computed;
    given answers may differ arbitrarily between neighbours. A stable transformation from the records to the votes can
    precede it.

    The measurement calls Python: it is slower than OpenDP's own, and cannot be serialised. It does not use a ledger.
    Cost: that of `darrm.accounting.compose`, once, when it is made. OpenDP's features "contrib" and
    "honest-but-curious" must be enabled: by the second you vouch for the conditions above.
    Gaboardi, Hay, Vadhan, "A programming framework for OpenDP" (2020); docs/theory.md, "Many releases".

    Examples
    --------
    >>> import darrm, numpy as np, opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> design = darrm.solve(K=3, m=1, epsilon=0.5)
    >>> flips = darrm.mechanisms.RandomizedResponse(0.5)
    >>> labels = darrm.interop.opendp_measurement(
    ...     design, n_labels=4, voters="fresh", votes=lambda data: flips.release(np.tile(data, (4, 1))),
    ...     input_domain=dp.vector_domain(dp.atom_domain(T=int), size=3), input_metric=dp.hamming_distance(),
    ... )
    >>> len(labels([1, 1, 0])), labels.map(0), labels.map(2)
    (4, 0.0, inf)
    >>> labels.map(1) == darrm.accounting.compose(design, 4, delta=0, voters="fresh").upper
    True
    """
    if not isinstance(design, Design):
        if isinstance(design, NoisyMax):
            return _of_noisy_max(
                design, check_count("n_labels", n_labels), votes, voters, input_domain, input_metric, delta
            )
        raise not_a_design("design must be a Design", design)
    check_one_limit(design.problem, "A measurement of OpenDP")
    dp = _prelude()
    if OwnVotes(design, public):
        raise InputError(
            "The prior of this design was read from votes, which a measurement must not release, and cannot detect "
            "without revealing information. Pass public=True if those votes are public, or solve with another prior."
        )
    n_labels = check_count("n_labels", n_labels)
    delta = _delta(design, delta)
    furthest = 1
    if votes is None:
        problem = _without_privacy(design, voters=voters, input_domain=input_domain, input_metric=input_metric)
        votes, voters = _by_rows, "fresh"  # only output noise protects, and it is fresh for every label
        input_domain, input_metric, furthest = _space_of_votes(dp, problem, n_labels)
    elif callable(votes):
        _check_space(dp, design.problem.adjacency, input_domain, input_metric)
    else:
        raise refusal("votes", "a function from the data to the votes, or None", votes)
    epsilon = compose(design, n_labels, delta=delta, voters=voters).upper
    released = _released(design, votes, (n_labels, design.problem.K))
    return _measurement(dp, (input_domain, input_metric, furthest), (epsilon, delta), released)


def _measurement(
    dp: Any, space: tuple[Any, Any, int], cost: tuple[float, float], released: Callable[[Any], list[int]]
) -> Measurement:
    """A measurement of that cost up to a distance, and of none beyond."""
    input_domain, input_metric, furthest = space
    measure, free, paid, unbounded = (
        (dp.fixed_smoothed_max_divergence(), (0.0, 0.0), cost, (math.inf, 1.0))
        if cost[1]
        else (dp.max_divergence(), 0.0, cost[0], math.inf)
    )

    def privacy_map(d_in: Any) -> Any:
        distance = whole("d_in", d_in, 0, math.inf, hint="Pass the distance of neighbours.")
        return free if distance == 0 else paid if distance <= furthest else unbounded

    made: Measurement = dp.m.make_user_measurement(
        input_domain, input_metric, measure, released, privacy_map, TO="Vec<i32>"
    )
    return made


def _of_noisy_max(
    mechanism: NoisyMax,
    n_labels: int,
    votes: Callable[[Any], Any] | None,
    voters: str | None,
    input_domain: Any,
    input_metric: Any,
    delta: float | None,
) -> Measurement:
    """That of noisy max."""
    dp, furthest = _prelude(), 1
    if votes is None:
        if mechanism.problem is None:
            raise InputError("Without votes noisy max needs K and classes. Got neither. Make the mechanism with both.")
        if input_domain is not None or input_metric is not None:
            raise InputError("input_domain and input_metric follow from noisy max without votes. Leave them out.")
        input_domain, input_metric, furthest = _space_of_votes(dp, mechanism.problem, n_labels)
        classes = mechanism.problem.n_classes

        def votes(answers: Any) -> Any:
            return counts(_by_rows(answers), classes, sparse=True)

    elif callable(votes):
        _check_space(dp, "replace-one", input_domain, input_metric)
    else:
        raise refusal("votes", "a function from the data to counts, or None", votes)
    total = check_total_delta(0.0 if delta is None else delta)
    epsilon = compose(mechanism, n_labels, delta=total, voters=voters).upper
    of_data = votes

    def labels(data: Any) -> list[int]:
        released: list[int] = mechanism.release(of_data(data)).tolist()
        if len(released) != n_labels:
            raise InputError(f"votes must have n_labels = {n_labels} rows of counts. Got {len(released)}.")
        return released

    return _measurement(dp, (input_domain, input_metric, furthest), (epsilon, total), labels)


def _released(design: Design, votes: Callable[[Any], ArrayLike], shape: tuple[int, int]) -> Callable[[Any], list[int]]:
    """The function from the data to labels."""
    mechanism = PrivateDecision(design)

    def labels(data: Any) -> list[int]:
        made = votes(data)
        rows = plain("votes", made, f"an array of shape {shape}")
        if rows.shape != shape:
            raise InputError(f"votes must have shape (n_labels, K) = {shape}, one row a label. Got {rows.shape}.")
        # Unchanged: where voters have names, a frame must not be read by position.
        released: list[int] = mechanism.release(made, public=True).tolist()
        return released

    return labels


def _prelude() -> Any:
    """OpenDP, refused unless it is installed and its features are enabled."""
    try:
        dp, mod = import_module("opendp.prelude"), import_module("opendp.mod")
    except ImportError:
        raise MissingExtraError("opendp_measurement needs OpenDP. Run: pip install 'darrm[opendp]'") from None
    try:
        mod.assert_features(*_FEATURES)
    except mod.OpenDPException:
        enabled = ", ".join(f'"{feature}"' for feature in _FEATURES)
        raise InputError(
            f"OpenDP's features {' and '.join(_FEATURES)} must be enabled: OpenDP cannot check what votes does. "
            f"Run opendp.prelude.enable_features({enabled}) once you vouch for it."
        ) from None
    return dp


def _delta(design: Design, delta: float | None) -> float:
    if delta is not None:
        return check_total_delta(delta)
    if design.problem.delta:
        raise InputError(
            f"delta must be given: one label of this design has a delta of {design.problem.delta!r}. Got none. "
            "Pass the total for all labels, e.g. 1e-5."
        )
    return 0.0


def _check_space(dp: Any, adjacency: str, domain: object, metric: object) -> None:
    """`InputError` unless there is a domain, and a metric in which neighbours of the design are at distance 1."""
    if not isinstance(domain, dp.Domain):
        hint = "Pass that of the private data, e.g. opendp.prelude.vector_domain(opendp.prelude.atom_domain(T=int))."
        raise refusal("input_domain", "a Domain of OpenDP", domain, hint)
    named = _METRICS.get(adjacency, ())
    fit = [*(getattr(dp, name)() for name in named), dp.user_distance(adjacency)]
    if isinstance(metric, dp.Metric) and metric in fit:
        return
    hint = f"The design's neighbours ({adjacency}) are at distance 1 there."
    if adjacency == "replace-one" and metric == dp.symmetric_distance():
        hint += (
            " Data of known size get there by opendp.prelude.t.then_metric_bounded(), and by then_ordered_random() "
            "after it if voters go by position."
        )
    allowed = " or ".join([*(f"{name}()" for name in named), f"user_distance({adjacency!r})"])
    raise refusal("input_metric", f"{allowed} of OpenDP", metric, hint)


def _without_privacy(design: Design, **left_out: object) -> AnyProblem:
    """The problem of a design for non-private voters; any other design is refused."""
    if any(math.isfinite(group.epsilon) for group in design.problem.groups):
        raise InputError(
            "votes must be a function where voters are private. Got None. Their privacy comes from how their answers "
            "are computed, and no map can claim it for given answers. Pass the function from the data to the votes, or "
            "a design for voters of epsilon = math.inf."
        )
    if design.absent:
        raise InputError(
            "votes must be a function where voters may be absent. Got None. Who is absent must not change with the "
            "votes. Pass a function, or a design without absent."
        )
    for name, value in left_out.items():
        if value is not None:
            raise InputError(f"{name} follows from the design where votes is None. Got {shown(value)}. Leave it out.")
    problem: AnyProblem = design.problem
    return problem


def _space_of_votes(dp: Any, problem: AnyProblem | VoterModel, n_labels: int) -> tuple[Domain, Metric, int]:
    """Domain and metric of K voters' answers, and the number of voters of any group that may change."""
    n = problem.n_classes

    def member(answers: Any) -> bool:
        values = np.asarray(answers)
        return values.shape == (n_labels,) and bool(np.isin(values, np.arange(n)).all())

    one = dp.user_domain(f"{n_labels} answers of one voter, numbers 0 to {n - 1}", member)
    caps = [group.max_affected for group in problem.groups if group.max_affected < group.count]
    furthest = min([problem.max_affected, *caps])
    return dp.vector_domain(one, size=problem.K), dp.hamming_distance(), furthest


def _by_rows(answers: Any) -> NDArray[Any]:
    """The votes with one row a label, from the answers of each voter."""
    return plain("votes", answers, "the answers of each voter, all of one length").T
