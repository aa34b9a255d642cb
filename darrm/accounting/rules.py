"""The four composition rules of a ledger, each with its own proof.

exact           labels of one design, by their exact adaptive composition (docs/theory.md, "Exact composition"), or of
                Gaussian noisy max of one sigma, by the ladder (docs/composition.md, "Any number of votes and classes"),
                or of several sigmas, by the filter of their ladders (Theorem 7a)
in-advance      any mechanisms, by the product of their dominating pairs (docs/composition.md, Theorem 1)
renyi-filter    any mechanisms, by their Renyi divergences of one order (Theorem 2)
basic-filter    mechanisms with a known (epsilon, delta), by their sums
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from darrm._validation import shown
from darrm.accounting import filters, released_once
from darrm.accounting.accounts import Account, Labels, NoisyLabels, Other
from darrm.accounting.composition import of_label
from darrm.accounting.curves import Curve, together
from darrm.accounting.fixed import check_fresh, fixed_voters, fixed_within
from darrm.accounting.fresh import labels_within
from darrm.accounting.gaussian import gdp_epsilon
from darrm.accounting.ladder import any_votes_profile
from darrm.accounting.ladder_filter import Noise, shares
from darrm.accounting.ledger_state import MOST_COUNTED, NOTHING_CHARGED, State
from darrm.accounting.mixed import labels_beside, labels_curve, noisy_curve, voters_curve
from darrm.accounting.noisy_max import queries_within, upper_of_any_votes
from darrm.accounting.releases import certified_of_any_voters
from darrm.accounting.theorems import MOST_LABELS
from darrm.certificate.certificate import verify
from darrm.errors import BudgetError, CertificateError, InputError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.bisection import largest_that
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import exactly
from darrm.problem.decision import AnyProblem

MOST_BESIDE = 10_000  # labels of noisy max beside other charges that are counted
_TOLERANCE = 1e-2  # relative accuracy of the bounds for one design
CONDITIONS = {
    "exact": "the number of labels does not depend on what was released; if it does, the budget holds in place of the "
    "total",
    "in-advance": "all charges are fixed in advance, independently of what was released, and are within the budget as "
    "a whole",
    "renyi-filter": "one use answers once; the next charge may depend on what was released, and then the budget holds "
    "in place of the total",
    "basic-filter": "one use answers once; the next charge may depend on what was released, and then the budget holds "
    "in place of the total",
}
LABELS_ALONE = "only labels of these voters were charged, chosen in any way"
_SAME_PROOF = 1.02  # relative distance of bounds on different grids
_ABOVE = "The ledger records charges above its budget. Count it as spent."
_NOTHING = (Fraction(0), Fraction(0))
# Numbers of labels that this process certified, by budget, design and other charges. The number in a file is no proof.
_CERTIFIED: dict[tuple[object, ...], int] = {}
_OF_ANY: dict[str, AnyProblem] = {}  # that of a design for any voters, with what this process certified of it
_SECOND = (
    "That is beyond the second budget of this ledger, epsilon {}: the total if only the affected voters randomize as "
    "stated, and the others may be any mechanism."
)
_NONE_SECOND = (
    "This ledger has a second budget, for the case that only the affected voters randomize as stated, and nothing is "
    "certified of these labels then."
)


def condition(state: State) -> str:
    """The condition under which the total holds."""
    return ", and ".join([*released_once.conditions(state), _of_rule(state)])


def _of_rule(state: State) -> str:
    # Labels of fixed voters whose own cost is charged are post-processing of private voters.
    paid = state.rule == "in-advance" and state.voters == "fixed" and state.of_designs > 0
    alone = paid and not any(account.charged for name, account in state.accounts.items() if name not in state.designs)
    if len(state.noisy) > 1 and state.rule == "exact":
        return CONDITIONS["exact"].replace("of labels", "of labels of each noise", 1)
    return LABELS_ALONE if alone else CONDITIONS[state.rule]


@usual_arithmetic
def take(state: State, account: Account, n: int) -> None:
    """Add ``n`` uses to an account of ``state``, or raise and add none."""
    if not isinstance(account, Other):
        _check_known(state, account)
    before = account.charged
    if before + n > MOST_COUNTED:
        raise BudgetError(f"A ledger counts to 2^64 of {account.said}, and {before} are charged. {NOTHING_CHARGED}")
    account.charged = before + n
    try:
        _TAKE[state.rule](state, account, n)
        _take_otherwise(state, account, n)
    except BaseException as error:
        account.charged = before
        if isinstance(error, BudgetError):
            _check_charged(state, account)
        raise


def _check_charged(state: State, account: Account) -> None:
    """`InputError` if the charges are above the budget as they are, so the file was edited: no ledger takes such."""
    if state.rule != "exact" and any(one.charged for one in state.accounts.values()):  # which counts them itself
        try:
            _TAKE[state.rule](state, account, 0)
        except BudgetError:
            raise InputError(_ABOVE) from None


def _take_otherwise(state: State, account: Account, n: int) -> None:
    """Refuse uses beyond the second budget, which holds if voters that are not affected may be any mechanism."""
    for second, own in _otherwise(state, account):
        try:
            _TAKE[state.rule](second, account if own is None else own, n)
        except BudgetError as error:
            raise BudgetError(f"{error} {_SECOND.format(exactly(second.total_epsilon))}") from None


def _otherwise(state: State, account: Account) -> Iterator[tuple[State, Labels | None]]:
    """The charges without the assumption on known randomizers, under the second budget, for each kind of change.

    Beside each the account of the labels that ``account`` counts. None if there is no second budget, or if no labels
    rest on a known randomizer: then it is at least the first, for the same charges.

    Raises
    ------
    BudgetError
        If nothing is certified of some labels.
    """
    if state.fallback_epsilon is None:
        return
    asked = isinstance(account, Labels)
    whole = replace(state, designs={**state.designs, account.name: account}) if isinstance(account, Labels) else state
    for kind in whole.kinds.values():
        designs, found = dict[str, Labels](), None
        for name, labels in kind.designs.items():
            is_asked = asked and (name == account.name or state.rule == "exact")
            if labels.charged or is_asked:
                own = replace(_for_any_voters(labels), allowed=None)
                designs[own.name] = own
                found = own if is_asked else found
        if any(labels.problem.known for labels in kind.designs.values()):
            yield replace(kind, total_epsilon=kind.fallback_epsilon, designs=designs, fallback_epsilon=None), found


def _for_any_voters(account: Labels) -> Labels:
    """`_of_any_voters`, each computed once."""
    if not account.problem.known:
        return account
    if account.name not in _OF_ANY:
        try:
            _OF_ANY[account.name] = _of_any_voters(account).problem
        except InputError as error:
            raise BudgetError(f"{_NONE_SECOND} ({error}) {NOTHING_CHARGED}") from None
    return replace(account, problem=_OF_ANY[account.name])


def _check_known(state: State, account: Labels | NoisyLabels) -> None:
    """Refuse labels by a known randomizer for fixed voters, or beside labels for which other voters are assumed.

    Votes of one design may be computed from earlier votes of another, unless both rest on the same assumption. A label
    of the second could then reveal randomness that protects the first. So can noisy max of the same votes.
    """
    assumed = [one for one in state.designs.values() if one.problem.known and (one.charged or one is account)]
    if assumed and (isinstance(account, NoisyLabels) or any(noisy.charged for noisy in state.noisy.values())):
        raise InputError(
            "A ledger with labels by a known randomizer takes no labels of noisy max, which may be of the same votes "
            "and reveal randomness that protects the others. Keep a ledger for noisy max, of other votes."
        )
    if isinstance(account, NoisyLabels):
        others = {other.max_affected for other in state.noisy.values() if other.charged} - {account.max_affected}
        if others:  # the condition of the total is one for all labels of noisy max
            raise InputError(
                f"This ledger charges noisy max for max_affected = {min(others)}. Got {account.max_affected}. Pass the "
                "largest number of votes that one record can change in every mechanism."
            )
        return
    if state.voters == "fixed":
        check_fresh(account.problem)
    if state.rule != "exact" and len(account.problem.kinds) > 1:
        raise InputError(
            f'Rule "{state.rule}" has one budget, and this design a limit for each group. Keep a ledger by the rule '
            '"exact" for it, with a budget for each.'
        )
    for other in state.designs.values():
        known = account.problem.known or other.problem.known
        if known and other.charged and voters_of(other.problem) != voters_of(account.problem):
            raise InputError(
                "A ledger with labels by a known randomizer takes labels of the same voters alone, with the same "
                "randomizer and colluders, because the randomness of all their votes protects the labels. Got "
                "other voters. Describe the voters alike in all designs, or keep a ledger for each."
            )


def _take_exact(state: State, account: Account, n: int) -> None:
    if isinstance(account, NoisyLabels):
        left = _left_of_noise(state, account)
        if left < -n:
            raise InputError(_ABOVE)
        check_left(n, account.charged - n, account.charged + left)
    if isinstance(account, Labels):
        for kind in state.kinds.values():  # the first kind of change whose budget is spent refuses
            (own,) = kind.designs.values()
            limit = _limit(kind, own)
            if own.charged - n > limit:
                raise InputError(_ABOVE)
            check_left(n, own.charged - n, limit)
            released_once.check(kind, own)


def _take_composed(state: State, account: Account, n: int) -> None:
    if isinstance(account, Labels) and state.voters == "fresh":
        allowed = _allowed_beside(state, account)
        if account.charged > allowed:
            _refuse(state, account, n, allowed - (account.charged - n))
    else:
        if not _same_voters(state):
            raise InputError(
                "This ledger is for other fixed voters: their groups differ in order, numbers, epsilon, Delta or "
                "max_affected. If they are the same voters, describe them alike in all designs: one group of the "
                "largest epsilon and Delta, with the same max_affected, is enough. If not, charge what the others cost "
                "by darrm.interop.privacy_loss_distribution."
            )
        if not _holds(state):
            _refuse(state, account, n)


def _take_sums(state: State, account: Account, n: int) -> None:
    epsilon, delta = sums(state)
    if epsilon > Fraction(state.total_epsilon) or delta > Fraction(state.total_delta):
        raise BudgetError(
            f"{_more(state, account, n)} would overspend: together ({_told_apart(epsilon, state.total_epsilon)}, "
            f"{_told_apart(delta, state.total_delta)}) by basic composition, of ({state.total_epsilon:g}, "
            f"{state.total_delta:g}).{_left(state, account, n)} {NOTHING_CHARGED}"
        )


def _told_apart(spent: Fraction, total: float) -> str:
    """A sum to six digits, or to all if it is above a total that these digits would show: ten times 0.1 above 1."""
    short = f"{float(spent):.6g}"
    return exactly(rounded_up(spent)) if spent > Fraction(total) and short == f"{total:.6g}" else short


def _take_renyi(state: State, account: Account, n: int) -> None:
    allowed = _filter(state)
    spent = divergences(state, allowed.order)
    if spent.divergence > allowed.divergence or spent.failure > allowed.failure:
        raise BudgetError(
            f"{_more(state, account, n)} would overspend: all together have a Renyi divergence of "
            f"{spent.divergence:.6g} at order {allowed.order:.6g}, where {max(allowed.divergence, 0):.6g} is allowed, "
            f"and a failure of {spent.failure:.3g}, where {allowed.failure:.3g} is allowed.{_left(state, account, n)} "
            f"{NOTHING_CHARGED}"
        )


_TAKE = {"exact": _take_exact, "in-advance": _take_composed, "renyi-filter": _take_renyi, "basic-filter": _take_sums}


@usual_arithmetic
def remaining(state: State, account: Labels | NoisyLabels) -> int | None:
    """The number of further labels of one account within the remaining budgets; None if unlimited."""
    if isinstance(account, NoisyLabels):
        return _more_noisy(state, account)
    first = _remaining(state, account)
    if first is None:
        return None  # fixed voters, who have no second budget
    try:
        seconds = [_remaining(second, own) for second, own in _otherwise(state, account) if own is not None]
    except BudgetError:
        return 0
    return min([first, *(left for left in seconds if left is not None)])


def _remaining(state: State, account: Labels) -> int | None:
    """`remaining` within the first budget."""
    if state.voters == "fixed" and state.rule == "in-advance":
        with_it = replace(account, charged=account.charged + 1)
        after = replace(state, designs={**state.designs, with_it.name: with_it})
        return None if _same_voters(after) and _holds(after) else 0
    if state.endless:
        return None
    if state.rule == "exact":
        each = [(kind, own) for kind in state.kinds.values() for own in kind.designs.values()]
        left = [released_once.limit(kind, own, _limit(kind, own)) - own.charged for kind, own in each]
        return max(0, min(left))
    if state.rule == "in-advance":
        return max(0, _allowed_beside(state, account) - account.charged)
    if state.rule == "basic-filter":
        return _allowed_by_sums(state, account)
    return _more_by_divergence(state, filters.of_release(account.label().gives(), _filter(state).order))


def _more_by_divergence(state: State, one: filters.Spent) -> int:
    """The number of further labels by the rule "renyi-filter", each of which spends ``one``."""
    allowed = _filter(state)
    used = divergences(state, allowed.order)
    more = [(a - s) * (1 - 1e-12) / o for a, s, o in zip(allowed[1:], used, one, strict=True) if o]
    return int(max(0, min(more, default=MOST_LABELS)))


def _more_noisy(state: State, account: NoisyLabels) -> int:
    """`remaining` for noisy max."""
    if state.rule == "exact":
        return max(0, _left_of_noise(state, account))
    if state.rule == "renyi-filter":
        return _more_by_divergence(state, _divergence(account, _filter(state).order))
    if state.rule == "basic-filter":
        _guarantee(account)

    def holds(n: int) -> bool:
        more = replace(account, charged=account.charged + n)
        return _holds(replace(state, noisy={**state.noisy, more.name: more}))

    return largest_that(MOST_BESIDE, holds)


@usual_arithmetic
def spent(state: State) -> tuple[float, float]:
    """(epsilon, delta) of all charges, rounded up; at most the budget. The largest, if each group has a budget."""
    kinds = state.kinds
    if len(kinds) > 1:
        epsilons, deltas = zip(*map(spent, kinds.values()), strict=True)
        return max(epsilons), max(deltas)
    (state,) = kinds.values()
    if not any(account.charged for account in state.accounts.values()):
        return 0.0, 0.0
    if state.rule == "basic-filter":
        epsilon, delta = sums(state)
        if epsilon > Fraction(state.total_epsilon) or delta > Fraction(state.total_delta):
            together = f"({float(epsilon):.6g}, {float(delta):.6g}) by basic composition"
            raise InputError(_ABOVE.replace(".", f": together {together}.", 1))
        return rounded_up(epsilon), rounded_up(delta)
    if state.rule == "renyi-filter":
        return _spent_by_divergence(state), state.total_delta
    if state.rule == "in-advance":
        cost = _composed(state)
        if cost > state.total_epsilon * _SAME_PROOF:
            raise InputError(_ABOVE)
        return min(cost, state.total_epsilon), state.total_delta
    return _exact(state), state.total_delta


@usual_arithmetic
def fallback(state: State) -> float | None:
    """The epsilon of all charges if voters that are not affected may be any mechanism, rounded up.

    At the total delta, for charges that do not depend on releases; infinite if none is certified there. None if no
    charged label rests on a known randomizer.
    """
    charged = [account for account in state.accounts.values() if account.charged]
    labels = [account for account in charged if isinstance(account, Labels)]
    if not any(account.problem.known for account in labels):
        return None
    if state.again:
        return released_once.votes_themselves(state, labels[0], labels[0].charged)
    with suppress(InputError):  # nothing is certified, or delta is below what is unavoidable
        of_any = {account.name: _of_any_voters(account) for account in labels}
        if len(charged) > 1:
            return _composed(replace(state, designs=of_any))
        (account,) = of_any.values()
        return of_label(account.label(), account.charged, state.total_delta, state.voters, _TOLERANCE).upper
    return math.inf


def _of_any_voters(account: Labels) -> Labels:
    """The account where voters of a known randomizer may be any mechanism; see `certified_of_any_voters`."""
    return replace(account, problem=certified_of_any_voters(account.problem, account.label().table))


def _exact(state: State) -> float:
    """The total of the labels of one account, at most the budget."""
    if state.noisy:
        charged = [noisy for noisy in state.noisy.values() if noisy.charged]
        upper = _total_of_noise(charged, state.total_delta)
        # Of several noises the shares are a proof of their own, where ladders that each begin at 0 prove less.
        first, several = next(iter(state.noisy.values())), len(state.noisy) > 1
        if _left_of_noise(state, first) < 0 if several else upper > state.total_epsilon * _SAME_PROOF:
            raise InputError(_ABOVE)
        return min(upper, state.total_epsilon)
    (account,) = state.designs.values()
    label = account.label()
    cost, least_cost = state.total_epsilon, 0.0
    if state.again:
        return min(cost, released_once.votes_themselves(state, account, account.charged))
    if state.voters == "fixed":
        cost = min(cost, fixed_voters(label.problem, state.total_delta))
    # The charges are within the budget, although `compose` may use another grid than the charge, or none.
    with suppress(InputError):
        total = of_label(label, account.charged, state.total_delta, state.voters, _TOLERANCE)
        cost, least_cost = min(cost, total.upper), total.lower
    if least_cost > state.total_epsilon:
        raise InputError(
            f"The ledger allows too many labels: the {account.charged} released ones cost at least {least_cost:.6g} at "
            f"delta {state.total_delta:g}, above its budget {state.total_epsilon:g}. Count it as spent."
        )
    return cost


def sums(state: State) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of all charges by basic composition."""
    epsilon, delta = _NOTHING
    for account in state.accounts.values():
        if account.charged:
            each = _guarantee(account)
            epsilon, delta = epsilon + account.charged * each[0], delta + account.charged * each[1]
    return epsilon, delta


def _guarantee(account: Account) -> tuple[Fraction, Fraction]:
    each = account.guarantee
    if each is None:
        raise InputError(
            f'Rule "basic-filter" adds up guarantees, and {account.said} has a privacy curve instead. '
            "Charge its (epsilon, delta), or keep a ledger by another rule."
        )
    return each


def divergences(state: State, order: float) -> filters.Spent:
    """The sums of the Renyi divergences and of the probabilities of failure of all charges, rounded up."""
    divergence = failure = 0.0
    for account in state.accounts.values():
        if account.charged:
            one = _divergence(account, order)
            divergence, failure = divergence + account.charged * one.divergence, failure + account.charged * one.failure
    more = 1 + 2.0**-50 * (len(state.accounts) + 1)
    return filters.Spent(divergence * more, failure * more)


def _divergence(account: Account, order: float) -> filters.Spent:
    """That of one use."""
    if isinstance(account, Labels):
        return filters.of_release(account.label().gives(), order)
    if isinstance(account, NoisyLabels):
        return filters.of_noisy_max(account.sigma, order, account.max_affected, account.sigma_check)
    return filters.of_curve(account.curve, order)


def _filter(state: State) -> filters.Filter:
    """The limits of the rule "renyi-filter", at the order that was fixed with the budget."""
    order, failure = state.order or math.inf, state.failure or 0.0
    return filters.filter_at(order, failure, state.total_epsilon, state.total_delta)


def _spent_by_divergence(state: State) -> float:
    """The epsilon of the spent divergence: that of the filter minus the remaining divergence."""
    allowed = _filter(state)
    used, failed = divergences(state, allowed.order)
    if used > allowed.divergence or failed > allowed.failure:
        raise InputError(_ABOVE)
    return max(0.0, min(state.total_epsilon, state.total_epsilon - (allowed.divergence - used) * (1 - 1e-12)))


def curve_beside(state: State, account: Account | None = None) -> Curve:
    """The curve of all charges except one account."""
    delta = state.total_delta
    parts: list[tuple[Curve, int]] = []
    for other in state.accounts.values():
        if other is account or not other.charged:
            continue
        if isinstance(other, Other):
            parts.append(other.part())
        elif isinstance(other, NoisyLabels):
            parts.append((noisy_curve(other.sigma, other.charged, delta, other.max_affected, other.sigma_check), 1))
        elif state.voters == "fresh":
            parts.append((labels_curve(other.label(), other.charged, delta), 1))
    if state.voters == "fixed" and state.of_designs:
        first = next(labels for labels in state.designs.values() if labels.charged)
        parts.append((voters_curve(first.label()), 1))  # once, whatever they answer
    return together(parts, delta)


def _composed(state: State) -> float:
    """The least epsilon of all charges at the total delta, from above."""
    cost = min(_by_sums(state), curve_beside(state).epsilon(state.total_delta))
    return cost if cost <= state.total_epsilon else min(cost, _by_losses(state))


def _by_sums(state: State) -> float:
    """The total epsilon by basic composition; fixed voters count once, with their own cost."""
    paid_once = state.voters == "fixed" and state.of_designs > 0
    added = replace(state, designs={}) if paid_once else state
    if any(account.charged and account.guarantee is None for account in added.accounts.values()):
        return math.inf
    epsilon, delta = sums(added)
    left = Fraction(state.total_delta) - delta
    if left < 0:
        return math.inf
    if paid_once:
        first = next(labels for labels in state.designs.values() if labels.charged)
        voters = fixed_voters(first.problem, max(0.0, -rounded_up(-left)))
        if voters == math.inf:
            return math.inf
        epsilon += Fraction(voters)
    return rounded_up(epsilon)


def _by_losses(state: State) -> float:
    """The sum of the pure-DP epsilons at delta = 0, where the curves of rounded losses are not sharp."""
    if state.voters == "fixed" and state.of_designs:
        return math.inf
    total = 0.0
    for account in state.accounts.values():
        if not account.charged:
            continue
        if isinstance(account, Labels):
            release = account.label().gives()
            fails, each = release.delta_infinity > 0, release.largest_loss
        else:
            if account.guarantee is None:
                return math.inf
            fails, each = account.guarantee[1] > 0, rounded_up(account.guarantee[0])
        if fails:
            return math.inf
        total = (total + account.charged * each) * (1 + 2.0**-50)
    return total


def _holds(state: State) -> bool:
    return any(
        cost(state) <= state.total_epsilon
        for cost in (_by_sums, lambda state: curve_beside(state).epsilon(state.total_delta), _by_losses)
    )


def _limit(state: State, account: Labels) -> int:
    """The number of labels in all that the budget of one design covers: as in the file, if that is certified again."""
    most = state.limit(account)
    if state.endless:
        return most
    key = (state.total_epsilon, state.total_delta, state.voters, account.name)
    if key not in _CERTIFIED:
        within = fixed_within if state.voters == "fixed" else labels_within
        label = account.label()
        found = within(label, state.total_epsilon, state.total_delta, MOST_LABELS)
        if found < most:  # the tight epsilon of one label may allow more
            certificates = [verify(table, problem) for problem, table in label.tables]
            if not all(certificate.holds for certificate in certificates):
                raise CertificateError("A release of the ledger does not satisfy its guarantee. Count it as spent.")
            tight = max(certificate.tight_epsilon for certificate in certificates)
            tightly = replace(label, tight_epsilon=tight)
            found = max(found, within(tightly, state.total_epsilon, state.total_delta, MOST_LABELS))
        _CERTIFIED[key] = found
    return min(most, _CERTIFIED[key])


def _limit_of_noise(state: State, account: NoisyLabels) -> int:
    """The number of labels of noisy max in all that the budget covers: as in the file, if that is certified again."""
    noise = account.sigma, account.max_affected, account.sigma_check
    return _noisy_within(noise, state.total_epsilon, state.total_delta, state.limit(account))


def _left_of_noise(state: State, account: NoisyLabels) -> int:
    """The number of further labels of noisy max; below 0 if the charges are above the budget."""
    if len(state.noisy) == 1:
        return _limit_of_noise(state, account) - account.charged
    each = dict(zip(state.noisy, shares_of(list(state.noisy.values()), state), strict=True))
    if math.inf in each.values():
        return -account.charged - 1
    left = 1 - sum(noisy.charged * Fraction(each[name]) for name, noisy in state.noisy.items())
    return math.floor(left / Fraction(each[account.name]))


def left_of_noise(state: State) -> dict[str, int]:
    """`remaining` of each noise of the rule "exact", if only labels of that one follow."""
    return {noisy.short_name: remaining(state, noisy) or 0 for noisy in state.noisy.values()}


def shares_of(noisy: Sequence[NoisyLabels], state: State) -> tuple[float, ...]:
    """What a label of each takes of the budget; see `ladder_filter.shares`."""
    kinds = [Noise(one.sigma, one.sigma_check, one.max_affected) for one in noisy]
    order = tuple(sorted(set(kinds), key=lambda kind: (kind.sigma, kind.sigma_check or 0.0)))  # computed once
    found = dict(zip(order, shares(order, state.total_epsilon, state.total_delta), strict=True))
    return tuple(found[kind] for kind in kinds)


def _total_of_noise(noisy: Sequence[NoisyLabels], delta: float) -> float:
    """The total epsilon of the charged labels, whose numbers do not depend on what was released."""
    if len(noisy) == 1:
        return upper_of_any_votes(noisy[0], noisy[0].charged, delta)
    level = padded = 0.0
    for one in noisy:
        mu, pad = any_votes_profile(one.sigma, one.charged, delta / len(noisy), one.max_affected, one.sigma_check)
        level, padded = (level + mu * mu) * (1 + 1e-15), padded + pad
    return gdp_epsilon(math.sqrt(level) * (1 + 1e-15), delta - padded * (1 + 1e-15))


@lru_cache(maxsize=64)
def _noisy_within(noise: tuple[float, int, float | None], epsilon: float, delta: float, most: int) -> int:
    """The number of labels, at most ``most``; one total tells where these are within the budget."""
    noisy = NoisyLabels.of(*noise)
    if upper_of_any_votes(noisy, most, delta) <= epsilon:
        return most
    return queries_within(noisy, epsilon, delta, most).queries


def _allowed_beside(state: State, account: Labels) -> int:
    """The number of labels of a design that the budget covers together with all other charges."""
    others = sorted((name, other.charged) for name, other in state.accounts.items() if name != account.name)
    key = (state.total_epsilon, state.total_delta, account.name, *others)
    if key not in _CERTIFIED:
        _CERTIFIED[key] = _certified_beside(state, account)
    return _CERTIFIED[key]


def _certified_beside(state: State, account: Labels) -> int:
    by_sums = 0
    others = replace(state, designs={k: v for k, v in state.designs.items() if v is not account})
    if _by_sums(others) < math.inf:
        by_sums = _allowed_by_sums(others, account)
    rest, budget = curve_beside(state, account), (state.total_epsilon, state.total_delta)
    if rest.silent:
        return max(by_sums, labels_within(account.label(), *budget, MOST_LABELS))
    return max(by_sums, labels_beside(rest, account.label(), *budget, MOST_LABELS))


def _allowed_by_sums(state: State, account: Labels) -> int:
    """The number of further labels of a design that basic composition allows."""
    most = (Fraction(state.total_epsilon), Fraction(state.total_delta))
    left = [(m - s) // e for m, s, e in zip(most, sums(state), account.guarantee, strict=True) if e]
    return int(max(0, min(left)))


def _same_voters(state: State) -> bool:
    """Whether all labels of fixed voters may come from one set of voters, which is charged once."""
    charged = [labels.problem for labels in state.designs.values() if labels.charged]
    return state.voters != "fixed" or len({voters_of(problem) for problem in charged}) <= 1


def other_voters(state: State, problem: AnyProblem) -> tuple[str, ...] | None:
    """The voters that a ledger for fixed voters charged, if their names differ from those of a problem.

    Names are compared where both have them, group by group in any order.
    """
    own = _names_of(problem)
    for account in state.designs.values() if state.voters == "fixed" and own else ():
        known = _names_of(account.problem) if account.charged or state.rule == "exact" else ()
        if known and known != own:
            return account.problem.voters
    return None


def check_names(state: State, problem: AnyProblem) -> None:
    """`InputError` if the names are those of other fixed voters, who would not be charged."""
    known = other_voters(state, problem)
    if known is not None:
        raise InputError(
            f"This ledger charges the fixed voters {shown(known)}, once. Got a design for {shown(problem.voters)}. "
            "Other voters need a ledger of their own, whose budget is added. If they are the same, use the same names "
            "in every design, group by group."
        )


def with_names(account: Labels, problem: AnyProblem) -> Labels:
    """The account with the names of the voters of this problem, if it had none."""
    if not _names_of(account.problem):
        account.problem = problem
    return account


def _names_of(problem: AnyProblem) -> tuple[frozenset[str], ...]:
    """The names of the voters of each group, empty if they have none."""
    return tuple(frozenset(group.names) for group in problem.groups if group.names)


def voters_of(problem: AnyProblem) -> tuple[object, ...]:
    """The properties of a problem's voters, for comparison."""
    return (*problem.groups, problem.max_affected)


def delta_alone(state: State, account: Account) -> str:
    """The delta of one label, where it exceeds the total by itself; else nothing, nor where groups have several."""
    delta, total = getattr(getattr(account, "problem", None), "delta", None), state.total_delta
    if state.voters == "fixed" or not (isinstance(delta, float | int) and isinstance(total, float | int)):
        return ""
    return f" One label has delta {delta:g} alone." if delta > total else ""


def _refuse(state: State, account: Account, n: int, left: int | None = None) -> None:
    said = "" if left is None else f" {max(left, 0)} are left.{delta_alone(state, account)}"
    raise BudgetError(
        f"{_more(state, account, n)} would overspend: with all charges so far, no total within "
        f"({exactly(state.total_epsilon)}, {exactly(state.total_delta)}) is certified.{said} {NOTHING_CHARGED}"
    )


def _left(state: State, account: Account, n: int) -> str:
    """The number of labels left, for print, after ``n`` more were counted already."""
    if not isinstance(account, Labels):
        return ""
    before = replace(account, charged=account.charged - n)
    return f" {remaining(replace(state, designs={**state.designs, before.name: before}), before)} are left."


def _more(state: State, account: Account, n: int) -> str:
    if not isinstance(account, Other):
        return f"{n} more label{'s' * (n != 1)}"
    said = f"{n} times {account.said}" if n > 1 else account.said[:1].upper() + account.said[1:]
    return said if account.guarantee else f"{said} under {state.adjacency}"  # as dp-accounting composes it there


def check_left(n: int, released: int, allowed: int) -> None:
    """`BudgetError` if ``n`` labels more than ``released`` are more than ``allowed``."""
    if released + n > allowed:
        raise BudgetError(
            f"{n} more label{'s' * (n != 1)} would overspend: {released} of {allowed} are released. "
            f"{max(allowed - released, 0)} are left. {NOTHING_CHARGED}"
        )
