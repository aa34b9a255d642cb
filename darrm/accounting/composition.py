"""What many labels of one design cost together, fresh voters or fixed."""

from __future__ import annotations

from darrm._validation import check_count, check_total_delta, check_voters, real
from darrm.accounting.fixed import of_fixed
from darrm.accounting.fresh import Total, of_region
from darrm.accounting.releases import OneLabel, one_label
from darrm.design.design import AnyDesign


def compose(
    design: AnyDesign, queries: int, *, delta: float, voters: str | None = None, tolerance: float = 1e-3
) -> Total:
    """The least epsilon with which ``queries`` labels of one design are (epsilon, delta)-DP together, with proof.

    Parameters
    ----------
    design : Design or DecisionDesign
        If voters may be absent, every label may be that of other present voters.
    queries : int in [1, 1e7]
        Chosen adaptively: each query may depend on all labels before it.
    delta : float in [0, 1)
        For all labels together.
    voters : {"fresh", "fixed"}
        There is no default. Fresh: every answer of a voter is (epsilon, Delta)-DP by new coins of its own, whatever
        else the voter keeps (its model, its earlier answers), which may change with the data too. Then releases
        compose, exactly and adaptively. Fixed: each voter was made private once, (epsilon, Delta)-DP with all its
        answers together, such as a model trained with differential privacy. Then any number of labels costs at most the
        optimal composition of ``max_affected`` voters, each with its own epsilon, and less if the coins of ``queries``
        releases hide more than that.
    tolerance : float
        Fresh: the grid is refined until upper and lower bound are this close, relatively, or time would go on.

    Returns
    -------
    Total

    Raises
    ------
    InputError
        If voters are not named, or ``delta`` is below what no epsilon avoids; the message gives that number.

    Notes
    -----
    docs/theory.md, "Many releases" (fixed voters: Lemma 8 and Theorem 1) and "Exact composition". Some 50 separations,
    then O(corners * grid) for each query; above 10,000 queries blocks are composed as privacy loss distributions, which
    costs some percent.
    """
    kind = check_voters(voters)
    label = one_label(design)
    queries = check_count("queries", queries)
    delta = check_total_delta(delta)
    tolerance = real("tolerance", tolerance, 0, ends="()")
    return of_label(label, queries, delta, kind, tolerance)


def of_label(label: OneLabel, queries: int, delta: float, voters: str, tolerance: float) -> Total:
    """`compose`, from what one label comes from."""
    if voters == "fixed":
        return of_fixed(label, queries, delta)
    problem = label.problem
    return of_region(label.region(), problem.affected, queries, delta, tolerance, label.guarantee)
