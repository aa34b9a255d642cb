"""Verification of a design file from the definitions, without code of the solver or of the certificate.

Given the data, voters vote independently, and at most t of them are affected between neighbouring data sets. So the
distribution of the votes, and with it Pr[answer in S] - e^epsilon' Pr'[answer in S] for any set S of answers, is affine
in the pair (P, P') of each voter while the others stay. A function that is affine in each of several points has its
largest value over polytopes where every point is a corner. A voter that is not affected has P = P', and its corners are
the deterministic votes. An affected voter is (epsilon, Delta)-DP. Two classes: p <= e^epsilon p' + Delta and the like
bound a polygon of eight corners (four if Delta = 0): twice the same class, and the six of `listing.POLYGON`. More
classes: every such pair is made from a private bit of two outcomes, of four if Delta > 0 (Kairouz, Oh, Viswanath, ICML
2015), so the corners say a class for each outcome. Voters of one group are alike: multisets of corners are all cases.
The largest S for a case is that of all answers with a positive difference. All cases are listed, D' for D among them.

Numbers are integers over 2^bits: probabilities on D are rounded up, those on D' down, e^epsilon' is rounded down, and
voters are taken as a little less private. So every confirmed claim holds.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, SupportsFloat

from darrm.errors import InputError
from darrm.independent.content import Release, of_noise_function, releases
from darrm.independent.listing import POLYGON, Excess, Listing, n_cases, precision

_NAMES = dict(zip(("(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)"), POLYGON, strict=True))
_SLACK = Fraction(1, 10**6)  # of the tight epsilon: that much less must not hold
_MOST_ROUNDING = Fraction(1, 10**6)  # of a probability: what a file may put down to rounding
_NEAR = Fraction(1, 10**12)  # relative: cases that differ by less are equally bad
_FIGURES = Fraction(1, 10**9)  # of the two probabilities of the worst case
_ROUNDING = 1e-9  # a tight epsilon below it may be rounding alone
_SECONDS = 2.5e-6  # of a case at one epsilon with 256 bits
_LARGEST = sys.float_info.max
_EXPONENTIAL = 1.2  # seconds of e^x with 30,000 bits; a check takes some ten


@dataclass(frozen=True)
class Cost:
    """The work of a check.

    Attributes
    ----------
    cases : int
        The number of cases, times answers and times the epsilons at which each is verified.
    bits : int
        The number of bits of each number.
    seconds : float
        The time on one core, to about a factor of three.
    """

    cases: int
    bits: int
    seconds: float


@dataclass(frozen=True)
class Findings:
    """The result of an independent check.

    Attributes
    ----------
    wrong : tuple of str
        Claims of the file that are false, or could not be verified; empty if the guarantee holds as claimed.
    loose : tuple of str
        Inaccurate descriptions on which no guarantee rests: a worst case that is not the worst, a tight epsilon that is
        not the least. Above 700 nats float64 cannot distinguish these, and where voters with a delta are too many, a
        certificate states a bound.
    tables, cases, bits : int
        The numbers of verified tables and cases, and the largest number of bits.
    """

    wrong: tuple[str, ...]
    loose: tuple[str, ...]
    tables: int
    cases: int
    bits: int


def cost(content: dict[str, Any]) -> Cost:
    """The work that `check` would take.

    Parameters
    ----------
    content : dict
        As for `check`.

    Returns
    -------
    Cost

    Raises
    ------
    InputError
        If the content is not that of a design file, or of more votes than a check can hold.

    Examples
    --------
    >>> import json
    >>> import darrm
    >>> darrm.solve(K=5, m=1, epsilon=0.5).save("gamma.json")
    >>> with open("gamma.json") as file:
    ...     cost = darrm.independent.cost(json.load(file))
    >>> cost.cases, cost.seconds < 1
    (168, True)
    """
    cases, bits, seconds = 0, 0, 0.0
    for release in releases(content):
        own = n_cases(release) * len(_epsilons(release))
        digits = precision(release)
        cases, bits = cases + own, max(bits, digits)
        seconds += own * _SECONDS * max(1.0, digits / 512) ** 1.6
        if release.claim is not None:
            seconds += 10 * _EXPONENTIAL * (digits / 30_000) ** 2.3
    return Cost(cases, bits, seconds)


def check(content: dict[str, Any], progress: Callable[[int, int], None] | None = None) -> Findings:
    """Verify a design file from the definitions alone, in integer arithmetic that rounds against it.

    It lists every case that the voters allow and recomputes: the guarantee, every point of a profile, needed delta and
    tight epsilon as upper bounds, and the worst case. It does not verify error, cost and gap, on which no guarantee
    rests, nor the checksum.

    Parameters
    ----------
    content : dict
        The whole content of a file that `Design.save` wrote, as ``json`` reads it.
    progress : callable, optional
        Called with the number of finished cases and of all cases; see `Cost`.

    Returns
    -------
    Findings

    Raises
    ------
    InputError
        If the content is not that of a design file, or of more votes than a check can hold.

    Notes
    -----
    `cost` returns its work: the number of multisets of corners, which grows with K to the power of 3 for two classes
    without Delta and of 7 with it.

    Examples
    --------
    >>> import json
    >>> import darrm
    >>> darrm.solve(K=5, m=1, epsilon=0.5).save("gamma.json")
    >>> with open("gamma.json") as file:
    ...     content = json.load(file)
    >>> darrm.independent.check(content).wrong
    ()
    >>> content["problem"]["epsilon"] = 0.51  # voters that are less private than the noise is made for
    >>> darrm.independent.check(content).wrong != ()
    True
    """
    every = releases(content)
    total = cost(content).cases
    wrong, loose, done, most = list[str](), list[str](), 0, 0
    for release in every:
        bits, before = precision(release), done
        listing, epsilons = Listing(release, bits), _epsilons(release)

        def report(cases: int, before: int = before, times: int = len(epsilons)) -> None:
            if progress is not None:
                progress(before + cases * times, total)

        excess = listing.worst(epsilons, report)
        done, most = done + n_cases(release) * len(epsilons), max(most, bits)
        wrong += _broken(release, excess)
        if release.claim is not None:
            of = release.name.removeprefix("the table")  # the kind of change, if there are several
            wrong += [line + of for line in _overstated(release, release.claim, excess)]
            loose += [line + of for line in _unlike(listing, release.claim, excess)]
    return Findings(tuple(wrong), tuple(loose), len({id(release.table) for release in every}), done, most)


def needed_delta(gamma: Iterable[SupportsFloat], problem: Any) -> float:
    """The delta that a noise function needs at the epsilon of a problem, from the definitions, rounded up.

        max over all cases of  max(0, Pr[1 | p] - e^epsilon Pr[1 | p']),     epsilon = m times that of a voter

    For noise functions outside a design file. The guarantee holds if the result is at most the delta of the problem. A
    table exactly at the limit exceeds it by the rounding of some hundred bits; `darrm.verify` counts rounding of
    float64.

    Parameters
    ----------
    gamma : K + 1 numbers in [0, 1], the same at l and K - l
        Each counts as the float64 that is nearest to it.
    problem : MajorityProblem

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    InputError
        If gamma is not a noise function of K voters, or problem not a `MajorityProblem`.

    Notes
    -----
    As `check`: some 2.5 microseconds for each of C(K+3, 3) multisets, or of C(K+7, 7) if Delta > 0.

    Examples
    --------
    One random vote is exactly as private as a vote. The majority of three is not:

    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=5, m=1, epsilon=0.5)
    >>> darrm.independent.needed_delta(darrm.baselines.subsampling(5, 1), problem) < 1e-50
    True
    >>> round(darrm.independent.needed_delta(darrm.baselines.subsampling(5, 3), problem), 4)
    0.1525
    """
    release = of_noise_function(gamma, problem)
    most = max(Fraction(0), Listing(release, precision(release)).worst([release.limits[0][0]]).most[0])
    short = float(most)
    return short if Fraction(short) >= most else math.nextafter(short, math.inf)


def _epsilons(release: Release) -> list[Fraction | None]:
    """The epsilons to verify: guarantee and profile; for the table with a certificate its tight epsilon, and less."""
    epsilons = [epsilon for epsilon, _ in release.limits]
    if release.claim is not None and (tight := _tight(release.claim)) is not None:
        tight = min(tight, release.limits[0][0] or tight)  # above the guarantee it is no claim of its own
        epsilons += [tight, tight * (1 - _SLACK)]
    return epsilons


def _tight(claim: dict[str, Any]) -> Fraction | None:
    try:
        for name in ("holds", "worst_case", "probabilities"):
            claim[name]
        for name in ("needed_delta", "rounding", *(["tight_epsilon"] if claim["tight_epsilon"] is not None else [])):
            if type(claim[name]) not in (int, float) or not 0 <= claim[name] <= _LARGEST:
                raise ValueError(f"{name} is not a number in [0, {_LARGEST!r}]: {claim[name]!r:.80}")
        return None if claim["tight_epsilon"] is None else Fraction(claim["tight_epsilon"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"The independent check could not read the certificate ({error}).") from error


def _broken(release: Release, excess: Excess) -> list[str]:
    """The limits that are not kept."""
    return [
        f"{release.name} is not {'proved ' if most - slack <= delta else ''}({_shown(epsilon)}, {_shown(delta)})-DP: "
        f"it needs delta = {_shown(most)}"
        for (epsilon, delta), most, slack in zip(release.limits, excess.most, excess.slack, strict=False)
        if most > delta
    ]


def _overstated(release: Release, claim: dict[str, Any], excess: Excess) -> list[str]:
    """The claims of a certificate that are better than the truth."""
    delta = release.limits[0][1]
    wrong = [] if claim["holds"] is True else [f"the file does not say of itself that it holds: {claim['holds']!r:.40}"]
    if excess.most[0] > Fraction(claim["needed_delta"]):
        wrong.append(f"the needed delta is {_shown(excess.most[0])}, not {claim['needed_delta']!r}")
    if claim["tight_epsilon"] is not None and excess.most[-2] > delta:
        guaranteed = release.limits[0][0]
        judged = claim["tight_epsilon"] if guaranteed is None else min(Fraction(claim["tight_epsilon"]), guaranteed)
        wrong.append(f"the tight epsilon is above {_shown(Fraction(judged))}")
    return wrong


def _unlike(listing: Listing, claim: dict[str, Any], excess: Excess) -> list[str]:
    """The inaccurate descriptions in a certificate."""
    release, tight = listing.release, claim["tight_epsilon"]
    least = excess.most[0] - excess.slack[0] - abs(excess.most[0]) * _NEAR
    least -= 2 * min(Fraction(claim["rounding"]), _MOST_ROUNDING)
    loose = []
    try:
        p, q = listing.at(*_case(release, claim["worst_case"]))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        loose.append(f"the worst case is none of this problem: {claim['worst_case']!r:.400}")
    else:
        own = p - Fraction(listing.price(release.limits[0][0]) or 0, 1 << listing.bits) * q
        if own < least:
            loose.append(f"the worst case is not {claim['worst_case']}: {_shown(own)}, not {_shown(excess.most[0])}")
        said = claim["probabilities"]
        if not _near(said, p, q):
            loose.append(f"the probabilities of the worst case are {_shown(p)} and {_shown(q)}, not {said!r:.80}")
    guaranteed, delta = release.limits[0]
    if tight is None and guaranteed is not None:
        loose.append(f"the tight epsilon is not infinite: {_shown(guaranteed)} holds")
    kept = excess.most[0] <= delta
    far = kept and tight is not None and guaranteed is not None and tight > guaranteed * (1 + _SLACK)
    if far or (tight is not None and tight > _ROUNDING and excess.most[-1] <= delta):
        loose.append(f"the tight epsilon is below {tight!r} by more than a part in a million")
    return loose


def _near(said: Any, p: Fraction, q: Fraction) -> bool:
    """Whether a certificate says these two probabilities."""
    if type(said) is not list or len(said) != 2 or any(type(x) not in (int, float) for x in said):
        return False
    return all(0 <= x <= 1 and abs(Fraction(x) - own) <= _FIGURES for x, own in zip(said, (p, q), strict=True))


def _case(
    release: Release, worst: dict[str, int]
) -> tuple[list[dict[tuple[int, ...], int]], list[tuple[int, ...]], list[int]]:
    """A named worst case: the affected voters of each group, the votes of the others, and the answers."""
    reached: list[dict[tuple[int, ...], int]] = [{} for _ in release.groups]
    sure = [[0] * release.classes for _ in release.groups]
    answers = []
    for name, count in worst.items():
        g, place = 0, name
        if found := re.fullmatch(r"group (\d+) (.*)", name):
            g, place = int(found[1]) - 1, found[2]
        place = place.removeprefix("at ") if place.startswith("at (") else place
        known = release.groups[g].randomizer is not None
        outcomes = 4 if release.groups[g].delta and release.groups[g].epsilon is not None else 2
        if name == "answer":
            answers = [count]
        elif found := re.fullmatch(r"answer (\d+)", name):
            answers.append(int(found[1]))
        elif found := re.fullmatch(r"colluders for (\d+)", place):
            sure[g][int(found[1])] += count
        elif known and (found := re.fullmatch(r"surely (\d+)", place)):
            truth = min(int(found[1]), release.groups[g].truths(release.classes) - 1)
            reached[g][truth, truth] = reached[g].get((truth, truth), 0) + count
        elif place in ("(0,0)", "(1,1)"):
            sure[g][int(place[1])] += count
        elif found := re.fullmatch(r"surely (\d+)", place):
            sure[g][int(found[1])] += count
        elif place in _NAMES:
            said = _NAMES[place] if outcomes == 4 else {"(hi,lo)": (1, 0), "(lo,hi)": (0, 1)}[place]
            reached[g][said] = count
        elif found := re.fullmatch(r"from (\d+) to (\d+)", place):
            last = release.groups[g].truths(release.classes) - 1
            here, there = (min(int(truth), last) for truth in found.groups())
            reached[g][here, there] = reached[g].get((here, there), 0) + count
        else:
            reached[g][tuple(int(c) for c in place.strip("()").split(","))] = count
    moved = [sum(count for said, count in own.items() if said[0] != said[1] or len(said) > 2) for own in reached]
    sizes = [sum(all_of.values()) + sum(own) for all_of, own in zip(reached, sure, strict=True)]
    within = all(n <= group.affected for n, group in zip(moved, release.groups, strict=True))
    if sizes != [group.count for group in release.groups] or sum(moved) > release.affected or not within:
        raise ValueError("not so many voters")
    return reached, [tuple(own) for own in sure], sorted(set(answers)) or [1]


def _shown(value: Fraction | None) -> str:
    if value is None:
        return "infinity"
    if abs(value) > _LARGEST:
        return f"about {'-' if value < 0 else ''}10^{math.log10(abs(int(value))):.0f}"
    number = float(value)
    short = f"{number:.12g}"
    return short if float(short) == number else repr(number)
