"""Every measure of label privacy, for a grid of mechanisms and bag sizes, on the labels of one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import check_jobs, is_listed, plain, whole
from darrm.errors import InputError
from darrm.labels.audit_row import AuditRow, Utility, audit_row
from darrm.labels.measures.advantage import Mechanism
from darrm.labels.measures.classes import kernel_of_classes
from darrm.labels.measures.joint_releases import JointCounts, joint
from darrm.labels.measures.kernels import CountKernel, OfLabels, channel
from darrm.labels.mechanisms.label_proportions import LaplaceLabelProportions
from darrm.mechanisms.class_labels import check_class_labels, check_class_probabilities
from darrm.mechanisms.decision import DaRRM
from darrm.mechanisms.random_bags import Bags, check_labels
from darrm.mechanisms.random_bags import bags as random_bags
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags

Cell = tuple[str, Mechanism, Bags]


@runtime_checkable
class _Classifier(Protocol):
    def predict_proba(self, X: Any) -> Any: ...


def audit(
    mechanisms: Mapping[str, Mechanism | Sequence[Mechanism]] | Sequence[tuple[str, Mechanism | Sequence[Mechanism]]],
    eta: ArrayLike,
    *,
    bag_size: int | Sequence[int] | None = None,
    bags: Bags | ArrayLike | None = None,
    labels: ArrayLike | None = None,
    utility: Utility | None = None,
    rng: np.random.Generator | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[AuditRow]:
    """Measure the label privacy of mechanisms, for every mechanism and every bag size.

    Parameters
    ----------
    mechanisms : mapping of names to mechanisms, or sequence of pairs
        As for `individual_advantage`. A mechanism that answers each label on its own is audited once, with bags of 1,
        unless ``bags`` are given. A list or tuple of mechanisms means releases of the same labels, in the same bags, to
        the same attacker (`darrm.labels.joint`, which lists the refused combinations).
    eta : array_like, shape (n,), in [0, 1]
        Probability of a one for every label, as the attacker knows it; `eta_from_model` takes it from a classifier.
        For `RandomizedResponse` of C > 2 classes: shape (n, C), probabilities of all classes, rows of sum 1.
    bag_size : int or sequence of int in [1, n]
        Random bags are drawn, the same for all mechanisms. n mod bag_size labels remain in no bag. May be left out if
        every mechanism answers each label on its own or has a size of its own (`DaRRM`: its K voters; `CountKernel`).
    bags : Bags or array_like of int, shape (bags, size)
        Bags as indices of ``eta``, no index twice, instead of ``bag_size``.
    labels : array_like of int in 0..C - 1, shape (n,), optional
        Handed on to ``utility``.
    utility : callable, optional
        Maps mechanism, bags (indices, shape (bags, size)) and labels to a mapping with "auc", "cross_entropy" or both:
        the utility of a learner on the release. It runs in several threads if ``jobs`` is above 1.
    rng : numpy.random.Generator, optional
        Makes the bags reproducible (`darrm.mechanisms.bags`).
    jobs : int
        Threads; -1 for all processors. Each takes one row; threads beyond the rows share the bags of a row for the
        percentile (the other measures use all processors in any case). The rows do not depend on it.
    progress : callable, optional
        Called with the number of finished rows and of all rows.

    Returns
    -------
    list of AuditRow
        By bag size, then mechanism, in the order given.

    Raises
    ------
    InputError

    Notes
    -----
    O(n bag_size) a row, times the outcomes for mechanisms with other kernels than exact counts. Memory does not grow
    with n, but for some arrays of n numbers: bags are taken in parts, and the percentile is merged exactly
    (`darrm.labels.percentiles`). Measures: Busa-Fekete et al. (NeurIPS 2024), Sections 3 and 4.

    Examples
    --------
    Labels that are 0 or 1 with equal probability, in bags of four and of eight:

    >>> import darrm
    >>> sums, noisy = darrm.labels.LabelProportions(), darrm.labels.GeometricLabelProportions(1.0)
    >>> for row in darrm.labels.audit({"sums": sums, "noisy": noisy}, [0.5] * 64, bag_size=[4, 8]):
    ...     print(row.bag_size, row.mechanism, round(row.additive_advantage, 4), row.guaranteed_epsilon)
    4 sums 0.1875 inf
    4 noisy 0.1331 1.0
    8 sums 0.1367 inf
    8 noisy 0.108 1.0
    """
    pairs = mechanisms.items() if isinstance(mechanisms, Mapping) else mechanisms
    given = list(pairs) if is_listed(pairs) else []
    if not given or not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in given):
        raise InputError(
            "mechanisms must be a mapping of names to mechanisms, or (name, mechanism) pairs, at least one."
        )
    named = [(name, _as_one(releases)) for name, releases in given]
    chances = _check_eta(eta, named)
    truth = None
    if labels is not None:
        truth = check_labels(labels) if chances.ndim == 1 else check_class_labels(labels, chances.shape[1])
        if truth.shape != chances.shape[:1]:
            raise InputError(f"labels must have the shape ({len(chances)},), as eta has rows. Got {truth.shape}.")
    if bag_size is not None and bags is not None:
        raise InputError("Pass bag_size, or bags, one of the two. Got both.")
    if bag_size is None and bags is None:
        sizeless = [name for name, mechanism in named if _own_size(mechanism) is None]
        if sizeless:
            raise InputError(f"Pass bag_size, or bags, one of the two: {sizeless[0]} answers bags of any size.")
    if bags is not None:
        groups = _check_bags(bags, len(chances))
        cells = [(name, mechanism, groups) for name, mechanism in named]
    else:
        cells = list(_grid(named, len(chances), bag_size, rng))
    for _, mechanism, groups in cells:  # what cannot be audited is said before the work
        if chances.ndim == 1 and not isinstance(mechanism, LaplaceLabelProportions):
            channel(mechanism, groups.indices.shape[1])
    return _run([(*cell, chances, truth, utility) for cell in cells], jobs, progress)


def eta_from_model(model: object, X: object) -> Array:
    """Probability of label 1 for every example, from a fitted classifier; of more than two classes those of all.

    Parameters
    ----------
    model
        With ``predict_proba`` and ``classes_``, as in scikit-learn; class c of ``classes_`` is label c.
    X
        Features, as the model takes them.

    Returns
    -------
    ndarray, shape (n,), or (n, C) for C > 2 classes

    Raises
    ------
    InputError

    Notes
    -----
    Section 4 of Busa-Fekete et al. (2024): a model trained without any privacy stands in for the attacker's knowledge.
    Pass other examples than it was trained on, or it knows their labels already.

    Examples
    --------
    Twenty examples in order of one feature; a model of every second says how likely the others are 1:

    >>> import darrm
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    >>> model = LogisticRegression().fit(X[::2], y[::2])
    >>> (darrm.labels.eta_from_model(model, X[1::2]) > 0.5).tolist()
    [False, False, False, False, False, True, True, True, True, True]
    """
    if not isinstance(model, _Classifier):
        raise InputError(f"model must be a fitted classifier with predict_proba. Got {type(model).__name__}.")
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)
    if chances.ndim != 2 or chances.shape[1] < 2:
        raise InputError(f"model must tell two or more classes apart. Its probabilities have shape {chances.shape}.")
    if chances.shape[1] == 2:
        return np.asarray(as_bags(chances[:, 1])[0][0])
    return check_class_probabilities(chances, chances.shape[1])[0]


def _check_eta(eta: ArrayLike, named: Sequence[tuple[str, Mechanism]]) -> Array:
    """``eta`` of shape (n,), or (n, C) if the mechanisms have C > 2 classes, as all must then."""
    kernels = [kernel_of_classes(mechanism) for _, mechanism in named]
    sizes = [2 if kernel is None else len(kernel) for kernel in kernels]
    classes = sizes[0]
    if len(set(sizes)) > 1:
        other = next(i for i, size in enumerate(sizes) if size != classes)
        raise InputError(
            f"mechanisms must all have as many classes. Got {classes} of {named[0][0]} and {sizes[other]} of "
            f"{named[other][0]}. Audit them apart."
        )
    if classes > 2:
        rows, single = check_class_probabilities(eta, classes)
        if single:
            raise InputError(f"eta must have shape (n, {classes}): a row for each label. Got {(classes,)}.")
        return rows
    chances, single = as_bags(eta)
    if not single:
        raise InputError(
            f"eta must have shape (n,) for two classes; pass bag_size or bags for the bags. Got {chances.shape}."
        )
    return np.asarray(chances[0])


def _check_bags(given: Bags | ArrayLike, n: int) -> Bags:
    """Indices of bags, and what is in none of them."""
    indices = plain("bags", given.indices if isinstance(given, Bags) else given, "rows of one length")
    if indices.ndim != 2 or not indices.size or indices.dtype.kind not in "iu":
        raise InputError(f"bags must be indices of eta, of shape (bags, size). Got {indices.dtype} {indices.shape}.")
    if not (indices.min() >= 0 and indices.max() < n):
        raise InputError(f"bags must be indices in [0, {n - 1}]. Got {indices.min()} to {indices.max()}.")
    used = np.bincount(indices.ravel(), minlength=n)
    if used.max() > 1:
        raise InputError(f"bags must not hold an index twice. Got {int(used.argmax())} {used.max()} times.")
    return Bags(indices.astype(np.intp), np.flatnonzero(used == 0))


def _as_one(releases: Mechanism | Sequence[Mechanism]) -> Mechanism:
    if isinstance(releases, str):
        raise InputError(f"mechanism must be one of darrm.mechanisms, such as LabelProportions(). Got {releases!r}.")
    return joint(releases) if isinstance(releases, Sequence) else releases


def _of_labels(mechanism: object) -> bool:
    return isinstance(mechanism, OfLabels) and not isinstance(mechanism, type)


def _own_size(mechanism: object) -> int | None:
    """Bag size of a mechanism that has one: 1 if it answers each label on its own."""
    if _of_labels(mechanism):
        return 1
    if isinstance(mechanism, DaRRM):
        return int(mechanism.design.problem.K)
    if isinstance(mechanism, CountKernel):
        return mechanism.k
    if isinstance(mechanism, JointCounts):
        return next(filter(None, map(_own_size, mechanism.mechanisms)), None)
    return None


def _grid(
    named: Sequence[tuple[str, Mechanism]], n: int, bag_size: object, rng: np.random.Generator | None
) -> Iterator[Cell]:
    alone = Bags(np.arange(n)[:, None], np.arange(0))
    if bag_size is None:
        drawn: dict[int | None, Bags] = {}
        for name, mechanism in named:
            size = _own_size(mechanism)
            if not _of_labels(mechanism) and size not in drawn:
                drawn[size] = random_bags(n, whole(f"the size of the bags of {name}", size, 1, n), rng)
            yield name, mechanism, alone if _of_labels(mechanism) else drawn[size]
        return
    sizes: Sequence[Any] = list(bag_size) if isinstance(bag_size, Sequence | np.ndarray) else [bag_size]
    if not sizes:
        raise InputError("bag_size must hold at least one size. Got none.")
    for place, size in enumerate(sizes):
        groups = random_bags(n, whole("bag_size", size, 1, n), rng)
        for name, mechanism in named:
            if not _of_labels(mechanism):
                yield name, mechanism, groups
            elif place == 0:
                yield name, mechanism, alone


def _run(cells: Sequence[tuple[Any, ...]], jobs: int, progress: Callable[[int, int], None] | None) -> list[AuditRow]:
    from joblib import Parallel, delayed, effective_n_jobs

    rows = []
    at_once = effective_n_jobs(check_jobs(jobs))
    threads = max(1, at_once // max(1, len(cells)))
    results = Parallel(n_jobs=min(at_once, max(1, len(cells))), prefer="threads", return_as="generator")(
        delayed(audit_row)(*cell, threads) for cell in cells
    )
    for row in results:
        rows.append(row)
        if progress is not None:
            progress(len(rows), len(cells))
    return rows
