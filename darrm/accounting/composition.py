"""`darrm.accounting.compose`: the cumulative privacy loss of many labels of one design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from darrm._validation import check_count, check_total_delta, real
from darrm.accounting.fixed import of_fixed
from darrm.accounting.fresh import Total, of_region
from darrm.accounting.many_answers import of_rows
from darrm.accounting.noisy_max import CountMechanism, checks_of, of_any_votes, of_labels, of_votes, refuse_voters
from darrm.accounting.releases import OneLabel, checked_voters, for_each_kind, one_label
from darrm.accounting.rows import OutcomeRows
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.problem.groups import assumption


@usual_arithmetic
def compose(
    design: Design | CountMechanism,
    queries: int,
    *,
    delta: float | Sequence[float],
    voters: str | None = None,
    tolerance: float = 1e-3,
    K: int | None = None,
    classes: int | None = None,
) -> Total:
    """Bound the least epsilon with which ``queries`` labels of one design are (epsilon, delta)-DP together.

    Parameters
    ----------
    design : Design, GaussianNoisyMax, ConfidentNoisyMax, LaplaceNoisyMax, PermuteAndFlip or ExponentialMechanism
        If voters may be absent, each label may come from other present voters. Of `ConfidentNoisyMax` at most
        ``answers`` queries have a label.
    queries : int in [1, 1e7]
        Chosen adaptively: each query may depend on all labels before it. Queries without a label count too.
    delta : float in [0, 1), or a list of one for each kind of change
        Delta for all labels together. Where each group of the design has a limit of its own, each kind of change has
        its total: a record is of one kind at all labels.
    voters : {"fresh", "fixed"}
        There is no default, unless all voters are non-private: either word is then right, and "fresh" is taken. Fresh:
        every answer of a voter is (epsilon, Delta)-DP by its own fresh randomness, whatever state the voter keeps (its
        model, its earlier answers), which may depend on the data too. Releases then compose, exactly and adaptively.
        Fixed: all answers of a voter together are (epsilon, Delta)-DP, such as those of a model trained with DP once.
        Any number of labels then costs at most the optimal composition of ``max_affected`` voters, each with its own
        epsilon. It costs less if the randomness of ``queries`` releases hides more. Noisy max and permute-and-flip are
        for non-private voters, and their noise is fresh for every label. The voters may answer by the same models or by
        others; the total is the same, and ``voters`` must be left out.
    tolerance : float
        For fresh voters: the grid is refined until upper and lower bound are this close, relatively, or it would be too
        large.

    K, classes : int, optional
        For noisy max and permute-and-flip: the numbers of voters and classes; those of the mechanism if it has them.
        Neighbouring data sets differ in one vote, and the other votes are arbitrary. With both, the total is exact, for
        labels of exactly K votes for that many classes. One teacher less or more, or another class, can cost more,
        whether K is odd or even. So release by a mechanism that has them, ``GaussianNoisyMax(sigma, K=K,
        classes=classes)``, which refuses other votes. A teacher that abstains because of its data is another kind of
        change, which such a total does not cover. Without both, the total holds for any number of votes and classes,
        by the sigma or epsilon that the mechanism states, and so it does if there are too many votes to list, as for
        250 teachers and ten classes. For Gaussian noise it covers a teacher that appears or falls silent too.

    Returns
    -------
    Total

    Raises
    ------
    InputError
        If ``voters`` is missing, or "fresh" for a design of `darrm.plan` for fixed ones, or ``delta`` is below the
        unavoidable one, which the message states.
        If the probabilities of a mechanism contradict the epsilon or sigma that it states, or K and classes
        are not its own.

    Notes
    -----
    docs/theory.md, "Many releases" (fixed voters: Lemma 8 and Theorem 1) and "Exact composition"; docs/composition.md
    for noisy max and permute-and-flip. Some 50 separations, then O(corners * grid) for each query; above 10,000 queries
    blocks are composed as privacy loss distributions, which loosens the bound by some percent.

    Examples
    --------
    A hundred labels, composed exactly, and composed by their epsilon alone:

    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1, shape="monotone")
    >>> total = darrm.accounting.compose(design, 100, delta=1e-5, voters="fresh")
    >>> round(total.upper, 2), round(darrm.accounting.optimal(0.3, 0.0, 100, 1e-5).epsilon, 2)
    (11.16, 16.1)

    If the voters were trained with DP once, all their labels cost no more than the voters:

    >>> round(darrm.accounting.compose(design, 100, delta=1e-5, voters="fixed").upper, 2)
    1.09
    """
    if isinstance(design, CountMechanism):
        return _of_counts(design, queries, delta, voters, tolerance, K, classes)
    if K is not None or classes is not None:
        raise InputError(
            "K and classes are for noisy max, permute-and-flip and other mechanisms with a method _chances. "
            "Got "
            f"{type(design).__name__}. For a design leave them out: it has its own."
        )
    label, kind = one_label(design), checked_voters(design, voters)
    queries = check_count("queries", queries)
    deltas = for_each_kind(label.problem, "delta", delta)
    tolerance = real("tolerance", tolerance, 0, ends="()")
    each, rests = dict[str, Total](), assumption(label.problem)
    for name, own in label.kinds.items():
        total = of_label(own, queries, check_total_delta(deltas[name]), kind, tolerance)
        each[name] = replace(total, assumption=rests)
    largest, most = max(each.values(), key=lambda total: total.upper), max(deltas.values())
    if len(each) == 1:
        return largest
    # The largest pair holds for a change of any kind. A lower bound at a smaller delta is none at the largest.
    lower = max(total.lower for total in each.values() if total.delta == most)
    estimate = min(max(largest.estimate, lower), largest.upper)
    unavoidable = max(total.unavoidable for total in each.values())
    return replace(largest, lower=lower, estimate=estimate, delta=most, unavoidable=unavoidable, of=each)


def _of_counts(
    mechanism: CountMechanism,
    queries: int,
    delta: object,
    voters: str | None,
    tolerance: float,
    K: int | None,
    classes: int | None,
) -> Total:
    refuse_voters(mechanism, voters)
    votes, queries, delta = of_votes(mechanism, K, classes), check_count("queries", queries), check_total_delta(delta)
    tolerance = real("tolerance", tolerance, 0, ends="()")
    if votes is None:
        total = of_any_votes(mechanism, queries, delta)
    else:
        total = of_labels(mechanism, *votes, queries, delta, tolerance)
    checks = checks_of(mechanism, queries)
    return total if checks is None else replace(total, answers=checks.answers)


def of_label(label: OneLabel, queries: int, delta: float, voters: str, tolerance: float) -> Total:
    """`compose` for the release of one label."""
    if voters == "fixed":
        return of_fixed(label, queries, delta)
    problem, release = label.problem, label.gives()
    if isinstance(release, OutcomeRows):
        together = label.can_reach_all_at_once
        return of_rows(release, queries, delta, tolerance, label.guarantee, None, problem.affected, together)
    return of_region(release, problem.affected, queries, delta, tolerance, label.guarantee)
