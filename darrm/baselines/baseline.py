"""The interface of a baseline: a family of noise with one parameter, or tables solved for a guarantee."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from darrm._validation import array
from darrm.certificate.certificate import Certificate, verify
from darrm.certificate.engines import search
from darrm.certificate.scaling import repair
from darrm.design.rules import of_all_votes
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.objectives import Objective, Paper
from darrm.problem import encodings
from darrm.problem.counts import Counts, sorted_counts
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import ByGroups
from darrm.problem.limits import guarantees

_TRIES = 100
_CLOSE, _ROUGHLY = 1e-9, 1e-4  # least distance of the logs of two tried parameters
_AIM = 1 - 5e-8  # share of the guarantee's epsilon within which the search ends
_FAR = 60.0  # log of an epsilon relative to the limit that replaces infinity, and its negative for 0
_STEP = math.log(4.0)
_NONE = math.log(1e-12)  # least parameter; below it a label is a coin flip
_LEAST = 1e-9  # probability of one of two answers
_ROUNDING = 1e-9  # largest relative excess by rounding, of a table that meets a guarantee exactly in theory
_MUCH_NOISE = 1e-4  # of `Family.most`
_SURE = 0.99  # least probability, at `Family.most`, of the most probable answer of all


class Family(NamedTuple):
    """Tables with one parameter; a larger one means less noise and, but for ``steps``, less privacy.

    Attributes
    ----------
    table : callable
        Maps the parameter > 0 to probabilities of answers: for two answers those of answer 1, else as in a `Design`.
    guess, most : float
        The first parameter to try, and the largest one, with nearly no noise. At a 10,000th of it a label must be
        almost independent of the votes. Searches look at both ends where no table below ``most`` is the answer.
    said : callable
        The parameter in words. It is rounded towards more noise: up where a larger one is more noise (`at_least`), down
        where a larger one is less (`at_most`).
    steps : tuple of float
        Rising parameters around which privacy can rise with the parameter, as where a table is cut off at 1; between
        two of them it must fall, or the search for the largest parameter ends below it. The search tries these first,
        in descending order.
    mixed : callable, optional
        Where more noise by the parameter can be less private: maps a parameter to the family of mixtures of its table
        with random answers.
    """

    table: Callable[[float], Array]
    guess: float
    most: float
    said: Callable[[float], str]
    steps: tuple[float, ...] = ()
    mixed: Callable[[float], Family] | None = None


def always(problem: ByGroups, objective: Objective) -> bool:
    return True


def of_a_noise_function(problem: ByGroups, objective: Objective) -> bool:
    """Whether the paper's noise functions apply: a majority under a prior of the paper."""
    return isinstance(objective, Paper) and encodings.of(problem, ()) is encodings.GAMMA


def not_of_a_noise_function(problem: ByGroups, objective: Objective) -> bool:
    return not of_a_noise_function(problem, objective)


@dataclass(frozen=True)
class Baseline:
    """A mechanism with as little noise as a guarantee, or a total, allows.

    Examples
    --------
    Permute-and-flip with the largest epsilon within a guarantee, in words:

    >>> import darrm
    >>> from darrm.baselines.permute_and_flip import BASELINE
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(11, epsilon=0.1)], epsilon=0.3)
    >>> BASELINE.tables(problem, darrm.objectives.truth([0.6]), 60.0)["permute-and-flip"][0]
    'epsilon 1.073 for one changed vote'

    Attributes
    ----------
    name : str
    family : callable
        Takes a problem or a `VoterModel`, and an objective.
    source : str
        Where it comes from: authors, venue and year, and the section or algorithm.
    serves : callable
        Whether the mechanism applies to the voters and the objective.
    exact : callable, optional
        Its table with the least noise for one release, where no search is needed.
    """

    name: str
    family: Callable[[ByGroups, Objective], Family]
    source: str
    serves: Callable[[ByGroups, Objective], bool] = always
    exact: Callable[[AnyProblem, Objective], Array] | None = None

    def __post_init__(self) -> None:
        made = self.family

        def checked(problem: ByGroups, objective: Objective) -> Family:
            """The family, whose tables are refused by the baseline's name: comparisons and plans both take them."""
            family, looked = made(problem, objective), False

            def table(parameter: float) -> Array:
                nonlocal looked
                with _of_baseline(self.name, f" at the parameter {parameter:.4g}"):
                    found = family.table(parameter)
                    if not looked:  # a search asks for hundreds; the one that it ends with is verified
                        check = encodings.binary_table if problem.binary else encodings.FULL.checked
                        check(_inside(found), problem)
                        looked = True
                return found

            return family._replace(table=table)

        object.__setattr__(self, "family", checked)

    def names(self, problem: AnyProblem, objective: Objective, time_limit: float) -> Iterable[str]:
        """Its name, which its table has if there is one."""
        return (self.name,)

    def tables(self, problem: AnyProblem, objective: Objective, time_limit: float) -> Mapping[str, tuple[str, Array]]:
        """The table of least noise that is certified, in the problem's encoding; none if no noise is enough."""
        if self.exact is not None:
            return {self.name: ("", self.exact(problem, objective))}
        family = self.family(problem, objective)
        found = least_noise(family, problem)
        if found is None or found[0] == family.said(family.most):  # as of any family whose noise grows
            self.check_ends(family, problem)
        return {} if found is None else {self.name: found}

    def check_ends(self, family: Family, problem: ByGroups) -> None:
        """`InputError` unless there is nearly no noise at `Family.most`, and more at a small part of it.

        Searches look where no table below ``most`` is their answer.
        """
        much, little = (family.table(family.most * share) for share in (_MUCH_NOISE, 1.0))
        over = None if problem.binary else tuple(range(little.ndim - 1))
        by_much, by_little = (float(np.ptp(table, axis=over).max()) for table in (much, little))
        if by_much == by_little == 0:  # votes that favour no answer, or classes alike of one voter
            return
        surest = [np.maximum(one, 1 - one) if problem.binary else one.max(axis=-1) for one in (much, little)]
        # Without noise the rows of classes alike all have the same sure answer, so either may grow.
        noisier = by_little < by_much - _ROUNDING and surest[1].mean() < surest[0].mean() + _ROUNDING
        sure = float(surest[1].max())
        if sure < _SURE or noisier:
            raise InputError(
                f"The baseline {self.name!r} must have nearly no noise at Family.most, {family.most:g}, and most noise "
                f"at small parameters. Its surest label there has the probability {sure:.3g}; between votes "
                f"probabilities differ by up to {by_little:.3g} there, and by {by_much:.3g} at a 10,000th of it. If "
                "noise grows with the parameter, take 1 / parameter."
            )


@dataclass(frozen=True)
class SolvedBaseline:
    """Tables that are solved for a guarantee, or have none.

    Examples
    --------
    >>> import darrm
    >>> from darrm.baselines.restricted import ONE_GROUP_ALONE
    >>> groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.4)
    >>> ONE_GROUP_ALONE.tables(problem, darrm.objectives.truth([0.685, 0.54]), 60.0)["group 1 alone"][0]
    '4 of epsilon 1'

    Attributes
    ----------
    name : str
    solved : callable
        Takes a problem, an objective and the time limit of each solve in seconds. Returns tables by name, in the
        problem's encoding, each with its setting in words.
    source : str
    serves : callable
        As of a `Baseline`.
    private : bool
        Whether they keep the guarantee; tables without noise do not, and are listed for comparison.
    called : callable, optional
        The names of the tables of a problem and an objective, where they are known before the tables.
    """

    name: str
    solved: Callable[[AnyProblem, Objective, float], Mapping[str, tuple[str, Array]]] = field(repr=False)
    source: str
    serves: Callable[[ByGroups, Objective], bool] = always
    private: bool = True
    called: Callable[[AnyProblem, Objective], Iterable[str]] | None = field(default=None, repr=False)

    def names(self, problem: AnyProblem, objective: Objective, time_limit: float) -> Iterable[str]:
        """The names of its tables."""
        return self.tables(problem, objective, time_limit) if self.called is None else self.called(problem, objective)

    def tables(self, problem: AnyProblem, objective: Objective, time_limit: float) -> Mapping[str, tuple[str, Array]]:
        """The tables of `solved`."""
        found = self.solved(problem, objective, time_limit)
        with _of_baseline(self.name):
            for _, table in found.values():
                encodings.table(table, problem)
        return found


@contextmanager
def _of_baseline(name: str, where: str = "") -> Iterator[None]:
    """An `InputError` of a table is about the baseline, and not about what the user gave."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"The table of the baseline {name!r}{where} is wrong: {error} If the baseline is not for these voters, say "
            "so by its serves."
        ) from None


def _inside(table: Array) -> Array:
    """A table without what rounding adds beyond [0, 1]."""
    inside = np.clip(table, 0.0, 1.0)
    return np.asarray(inside if (np.abs(inside - table) <= _ROUNDING).all() else table)


def by_counts(problem: ByGroups, chances: Callable[[Counts, float], Array]) -> Callable[[float], Array]:
    """Tables that look at the counts of all groups together, from the probabilities of classes at sorted counts.

    ``chances`` takes counts, the most first, shape (rows, classes), and the parameter; `InputError` if what it first
    returns are no such probabilities. With two answers each has a probability of at least 1e-9, because a table holds
    that of one answer, and float64 near 1 has steps of a factor 2 in the probability of the other. Raising both does
    not increase the ratio of two probabilities.
    """
    counts = sorted_counts(problem.K, problem.n_classes)
    least, looked = _LEAST if problem.binary else 0.0, False

    def checked(chances: Array) -> Array:
        hint = "Return the probability of each class, for each row of counts."
        found = array("chances", _inside(chances), counts.shape, 0, 1, "[]", hint=hint)
        sums = found.sum(axis=1)  # which `of_all_votes` would make 1
        if np.abs(sums - 1).max() > _ROUNDING:
            raise InputError(
                f"The probabilities of all classes must sum to 1. Got {sums[np.abs(sums - 1).argmax()]:.6g}. {hint}"
            )
        return found

    def table(parameter: float) -> Array:
        nonlocal looked
        found = chances(counts, parameter)
        if not looked:
            found, looked = checked(found), True
        return of_all_votes(np.maximum(found, least), problem)

    return table


def least_noise(family: Family, problem: AnyProblem) -> tuple[str, Array] | None:
    """The table with the largest certified parameter, and the parameter in words; None if there is none.

    The search ends within a relative 1e-7 of the guarantee's epsilon; if each kind of change has its own, of the first
    that is reached. It assumes that privacy falls with the parameter,
    except between `Family.steps`: above the largest step that is private enough it searches up to the next one.

    Examples
    --------
    >>> import darrm
    >>> from darrm.baselines import gaussian
    >>> from darrm.baselines.baseline import least_noise
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(11, epsilon=0.1)], epsilon=0.3)
    >>> said, table = least_noise(gaussian.BASELINE.family(problem, darrm.objectives.truth([0.6])), problem)
    >>> said
    'sigma 1.878 at each count'
    """

    def held(parameter: float) -> tuple[float, Array | None, bool]:
        """The share of the epsilon that is spent, the table if it keeps the guarantee, and whether it was scaled."""
        made = encodings.of_answers(family.table(parameter), problem)
        table, certificate = certified(made, problem)
        # m epsilon may be below all floats
        spent = max(
            own.tight_epsilon / max(epsilon * _AIM, sys.float_info.min)
            for own, epsilon, _ in _each(certificate, problem)
        )
        return spent, table if certificate.holds else None, table is not made

    def refuted(parameter: float) -> bool:
        """Whether a quickly found case violates the guarantee by more than rounding."""
        table = encodings.of_answers(family.table(parameter), problem)
        return any(
            search(table, limit).glimpse(limit.epsilon).bound > limit.delta * (1 + _ROUNDING) + _ROUNDING
            for limit in guarantees(problem)
        )

    # Ends of the log of the parameter, each with the log of its epsilon relative to the target.
    low, high, most = (-math.inf, -_FAR), (math.inf, _FAR), math.log(family.most)
    found: tuple[float, Array] | None = None
    at, side = min(math.log(family.guess), most), 0
    steps = [math.log(step) for step in family.steps]
    for _ in range(_TRIES + len(steps)):
        check_time()
        if steps:
            at = steps.pop()
            if refuted(math.exp(at)):
                continue
        spent, table, mended = held(min(math.exp(at), family.most))
        over = math.log(min(max(spent, math.exp(-_FAR)), math.exp(_FAR)))
        if table is not None:
            steps.clear()
            found = min(math.exp(at), family.most), table
            if at >= most or (over >= math.log(_AIM) and not mended):
                break
            # An end that stays counts half, else a bent curve would keep it for long (the Illinois method).
            low, high, side = (at, min(over, 0.0)), (high[0], high[1] / 2) if side < 0 else high, -1
        else:
            low, high, side = (low[0], low[1] / 2) if side > 0 else low, (at, max(over, 0.0)), 1
        # Where five and six votes both have exactly the epsilon of the limit, the end of that range is found only
        # roughly.
        if high[0] - low[0] <= (_CLOSE if low[1] < 0 else _ROUGHLY) or at < _NONE:
            break
        at = min(_between(low, high), most)
    if found is None:
        return None
    whole = float(math.ceil(found[0]))
    if whole <= family.most and (table := held(whole)[1]) is not None:
        found = whole, table
    return family.said(found[0]), found[1]


def _between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """The zero of the line between two ends; a long step while one end is open, the middle where one is infinite."""
    if math.isinf(high[0]) or math.isinf(low[0]):
        return low[0] + _STEP if math.isinf(high[0]) else high[0] - _STEP
    share = low[1] / (low[1] - high[1]) if low[1] < 0 < high[1] < _FAR / 2 else 0.5
    return low[0] + min(max(share, 1e-3), 1 - 1e-3) * (high[0] - low[0])


def certified(table: Array, problem: AnyProblem) -> tuple[Array, Certificate]:
    """The table with its certificate; it is scaled down first if it misses the guarantee only by rounding.

    Examples
    --------
    Subsampling of 5 votes meets 3 epsilon exactly, and misses it by rounding; that of 7 votes is left unchanged:

    >>> import darrm
    >>> from darrm.baselines.baseline import certified
    >>> problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1)
    >>> [certified(darrm.baselines.subsampling(11, m), problem)[1].holds for m in (5, 7)]
    [True, False]
    """
    certificate = verify(table, problem)
    near = 1 + _ROUNDING
    by_rounding = all(
        own.tight_epsilon <= epsilon * near or own.needed_delta <= delta * near
        for own, epsilon, delta in _each(certificate, problem)
    )
    if certificate.holds or not by_rounding:
        return table, certificate
    scaled = repair(table, problem)
    if not np.allclose(scaled, table, rtol=0, atol=_ROUNDING):
        return table, certificate
    return scaled, verify(scaled, problem)


def _each(certificate: Certificate, problem: AnyProblem) -> Iterator[tuple[Certificate, float, float]]:
    """The certificate, the epsilon and the delta of every kind of change."""
    for name, kind in problem.kinds.items():
        yield certificate.kinds.get(name, certificate), kind.release_epsilon, kind.delta
