"""One row of an audit: every measure of label privacy of one mechanism on one set of bags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.labels.measures.advantage import Mechanism
from darrm.labels.measures.utility import all_measures
from darrm.labels.percentiles import multiplicative_summary
from darrm.mechanisms.class_labels import Labels
from darrm.mechanisms.random_bags import Bags
from darrm.numerics.arrays import Array

Utility = Callable[[Any, NDArray[np.intp], Labels | None], Mapping[str, float]]
_LEVEL = 0.98


@dataclass(frozen=True)
class AuditRow:
    """All measures of label privacy of one mechanism, on the labels of one data set in bags of one size.

    Attributes
    ----------
    mechanism : str
    bag_size, bags, remainder : int
        ``bags`` bags of ``bag_size`` labels were audited; ``remainder`` labels are in no bag.
    guaranteed_epsilon : float
        Label differential privacy of the mechanism, nats, whatever the data. Infinity if it guarantees none: exact
        counts, and mechanisms whose guarantee is about something else (`DaRRM`: a record behind the voters; Gaussian
        noisy max: Renyi differential privacy).
    largest_log_odds_change : float
        Largest change of the log odds of any of these labels by any output, nats; for this attacker, not a guarantee.
    additive_advantage, max_individual_advantage : float
        Mean over the labels, and the largest, in [0, 1/2]; C classes: in [0, 1 - 1/C].
    multiplicative_98, infinite_mass : float
        98th percentile, over outputs and labels, of the change of the log odds, nats, and the probability of an
        infinite change.
    mean_leakage, max_leakage : float
        Maximal leakage from a label to the output, nats, in [0, log 2]; C classes: in [0, log C].
    mean_total_variation, max_total_variation : float
        Between the outputs for a label 1 and 0; C classes: the largest over pairs of classes.
    attack_utility : float
        Expected share of labels that the best attacker guesses correctly.
    auc, cross_entropy : float or None
        Utility of a learner on the release, as returned by the ``utility`` that was passed.
    released_by : mechanism or None
        The mechanism itself, for several releases the `darrm.labels.joint` of them. Not compared; text in files.

    Notes
    -----
    Every measure is exact up to rounding (Laplace noise: for continuous noise); see the functions of the same names.

    Examples
    --------
    A row of an audit, as plain values:

    >>> import darrm
    >>> [row] = darrm.labels.audit({"llp": darrm.labels.LabelProportions()}, [0.5] * 8, bag_size=4)
    >>> values = row.record()
    >>> values["mechanism"], values["bags"], round(values["additive_advantage"], 4)
    ('llp', 2, 0.1875)
    """

    mechanism: str
    bag_size: int
    bags: int
    remainder: int
    guaranteed_epsilon: float
    largest_log_odds_change: float
    additive_advantage: float
    max_individual_advantage: float
    multiplicative_98: float
    infinite_mass: float
    mean_leakage: float
    max_leakage: float
    mean_total_variation: float
    max_total_variation: float
    attack_utility: float
    auc: float | None = None
    cross_entropy: float | None = None
    released_by: Any = field(default=None, compare=False)

    def record(self) -> dict[str, Any]:
        """All attributes by name, the mechanism as text."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {"released_by": None if self.released_by is None else str(self.released_by)}


def audit_row(
    name: str,
    mechanism: Mechanism,
    groups: Bags,
    eta: Array,
    labels: Labels | None,
    utility: Utility | None,
    threads: int = 1,
) -> AuditRow:
    """All measures of one mechanism; the arguments are as in `darrm.labels.audit`."""
    p = eta[groups.indices] if eta.ndim == 1 else eta[groups.indices.ravel()]
    percentile = multiplicative_summary(mechanism, p, _LEVEL, threads=threads)
    learned = {} if utility is None else dict(utility(mechanism, groups.indices, labels))
    if not learned.keys() <= {"auc", "cross_entropy"}:
        raise InputError(f'utility must return "auc", "cross_entropy" or both. Got {", ".join(map(str, learned))}.')
    return AuditRow(
        mechanism=name,
        bag_size=groups.indices.shape[1],
        bags=groups.indices.shape[0],
        remainder=groups.remainder.size,
        auc=None if learned.get("auc") is None else float(learned["auc"]),
        cross_entropy=None if learned.get("cross_entropy") is None else float(learned["cross_entropy"]),
        released_by=mechanism,
        **all_measures(mechanism, p, percentile),
    )
