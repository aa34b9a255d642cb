"""The conversion of everything that a ledger can charge to the account that it keeps."""

from __future__ import annotations

from darrm._validation import not_a_design, real
from darrm.accounting.accounts import Account, Labels, NoisyLabels, Other, agree, stated
from darrm.accounting.fresh import FAR
from darrm.accounting.noisy_max import CountMechanism
from darrm.accounting.releases import checked_voters
from darrm.design.content import check_whole
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.problem.limits import adjacency_text

_FOREIGN = "dp_accounting"


def checked_design(design: object) -> Design:
    """A design, or an `InputError`."""
    if not isinstance(design, Design):
        raise not_a_design("A ledger takes a Design", design)
    return design


def check_planned(release: object, voters: str) -> None:
    """`InputError` if a design is to be charged for other voters than those for which it was planned."""
    if isinstance(release, Design):
        checked_voters(release, voters)


def noise_of(release: object) -> float | None:
    """The sigma of Gaussian noisy max; None for anything else. `InputError` if its labels have a cap."""
    if getattr(release, "sigma_check", None) is not None and getattr(release, "answers", None) is not None:
        raise InputError(
            f"A ledger charges every query of {type(release).__name__} as a check and a label, and does not count a "
            "cap on labels. Make it without answers. Or charge the pair (epsilon, delta) that darrm.accounting.compose "
            'certifies for all its queries, to a ledger by the rule "in-advance" or "basic-filter".'
        )
    sigma: float | None = getattr(release, "sigma", None) if isinstance(release, CountMechanism) else None
    return sigma


def labels_of(release: object, ledger_adjacency: str, voters: str) -> Labels | NoisyLabels:
    """The account of a design or of Gaussian noisy max, with or without checks, before its first label."""
    sigma = noise_of(release)
    if sigma is not None:
        return NoisyLabels.of(sigma, getattr(release, "max_affected", 1), getattr(release, "sigma_check", None))
    design = checked_design(release)
    check_planned(design, voters)
    agree(design.problem.adjacency, ledger_adjacency, "The ledger")
    check_whole(design.problem)
    return Labels.of(design)


def account_of(what: object, adjacency: str | None, ledger_adjacency: str, voters: str) -> Account:
    """The account of anything with a privacy loss, before it is charged.

    ``adjacency`` is the caller's statement for ``what``; a design and an event have their own, and noisy max is for a
    change of its ``max_affected`` votes, whatever change of the records that is.

    Raises
    ------
    InputError
        If a ledger cannot charge ``what``, or it is private for other neighbours than those of the ledger.
    """
    said = None if adjacency is None else adjacency_text(adjacency)
    if noise_of(what) is not None:
        if said is not None:
            agree(said, ledger_adjacency, "The ledger")
        return labels_of(what, ledger_adjacency, voters)
    if isinstance(what, Design):
        agree(said or what.problem.adjacency, what.problem.adjacency, "The design")
        return labels_of(what, ledger_adjacency, voters)
    foreign = any(kind.__module__.split(".")[0] == _FOREIGN for kind in type(what).__mro__)
    if foreign:
        from darrm.accounting.events import account_of_foreign

        return account_of_foreign(what, said, ledger_adjacency)
    if isinstance(what, tuple) and len(what) == 2:
        epsilon = real("epsilon", what[0], 0, FAR, "[]", hint="Charge the guarantee of the mechanism.")
        delta = real("delta", what[1], 0, 1, "[)", hint="Charge the guarantee of the mechanism.")
        stated(said, ledger_adjacency, "A pair (epsilon, delta)")
        return Other.of_guarantee(epsilon + 0.0, delta + 0.0)
    raise InputError(
        "A ledger charges a Design, GaussianNoisyMax, a pair (epsilon, delta), or an event or privacy loss "
        f"distribution of dp-accounting. Got {type(what).__name__}. For LaplaceNoisyMax and PermuteAndFlip, charge "
        "(epsilon, 0) for each label, with the epsilon of the mechanism."
    )
