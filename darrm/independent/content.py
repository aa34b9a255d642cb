"""The voters, tables and claims in a design file, parsed independently, as exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, SupportsFloat
from unicodedata import normalize

from darrm.errors import InputError

Vector = tuple[int, ...]
Limit = tuple[Fraction | None, Fraction]
MOST_VOTES = 2_000_000  # rows of a table in full
_U = Fraction(1, 2**53)
_ROW = Fraction(1, 10**9)
_FAR = Fraction(10_000)  # nats of a profile
_MOST = 10**6  # voters, and nats of one vote or decision
_CLASSES = 64
_SHARED = {"epsilon", "delta", "max_affected", "adjacency"}
_OF_MAJORITY = _SHARED | {"K", "m", "Delta"}
_OF_DECISION = _SHARED | {"groups", "classes", "none"}
_OF_GROUP = {"count", "epsilon", "delta", "max_affected", "names", "randomizer", "colluders"}
_OF_CERTIFICATE = {"holds", "needed_delta", "tight_epsilon", "worst_case", "probabilities", "rounding"}
_OF_PART = {"present", "gap", "expected_cost", "table_hex"}
_OF_ALL = {"format", "version", "problem", "objective", "gap", "certificate", "profile", "made_with", "sha256"}
_OF_MAJORITIES = _OF_ALL | {"planned_for", "gamma", "gamma_hex", "shape", "prior", "error", "disagreement"}
_OF_DECISIONS = _OF_ALL | {"table", "table_hex", "ordered", "expected_cost", "absent", "fewer", "planned_for"}


@dataclass(frozen=True)
class Group:
    """``count`` voters, each (epsilon, delta)-DP, of which at most ``affected`` are affected.

    ``epsilon`` is None if it is infinite. All voters but ``colluders`` draw their votes from true answers, if
    ``randomizer`` says how: Pr[vote | truth], a row for each truth, or "response" for randomized response of epsilon.
    """

    count: int
    epsilon: Fraction | None
    delta: Fraction
    affected: int
    randomizer: tuple[tuple[Fraction, ...], ...] | str | None = None
    colluders: int = 0

    def truths(self, classes: int) -> int:
        """The number of true answers."""
        return len(self.randomizer) if isinstance(self.randomizer, tuple) else classes


@dataclass(frozen=True)
class Release:
    """A table and its claims.

    Attributes
    ----------
    name : str
        Which of the tables of a file it is.
    groups : tuple of Group
    classes : int
    affected : int
        The largest number of affected voters, over all groups.
    table : tuple of tuples of Fraction
        For each answer its probability at the votes of all groups: `vectors` of each, the last group fastest.
    limits : tuple of (Fraction or None, Fraction)
        The claimed (epsilon, delta): the guarantee first, then the points of the profile. None is infinity.
    claim : dict, or None
        The certificate, if the file has one for this table. Where each group has a limit of its own, a table is listed
        once for each kind of change, with its limit and its certificate, and no affected voters in other groups; that
        of fewer voters, for each kind that affects any of these.
    """

    name: str
    groups: tuple[Group, ...]
    classes: int
    affected: int
    table: tuple[tuple[Fraction, ...], ...]
    limits: tuple[Limit, ...]
    claim: dict[str, Any] | None = None

    @property
    def mirrored(self) -> bool:
        """Whether two answers change places if all votes do: then one of them is enough to look at."""
        if self.classes != 2 or len(self.table) != 2 or any(isinstance(g.randomizer, tuple) for g in self.groups):
            return False
        return self.table[0] == self.table[1][::-1]  # the last vectors first: all votes turned


@lru_cache(maxsize=4096)
def vectors(total: int, classes: int) -> tuple[Vector, ...]:
    """Every way in which ``total`` votes fall on the classes; the first has the most votes at first."""
    if classes == 1:
        return ((total,),)
    return tuple((first, *rest) for first in range(total, -1, -1) for rest in vectors(total - first, classes - 1))


def releases(content: dict[str, Any]) -> tuple[Release, ...]:
    """The tables of a file: one, or where voters may be absent one for each attendance; see `Release.claim`.

    Raises
    ------
    InputError
        If something that a check needs is missing or is no number of its kind.
    """
    try:
        if type(content) is not dict:
            raise ValueError(f"its content must be parts with names, not {content!r:.80}")
        problem = content["problem"]
        for name, part in (("problem", problem), ("certificate", content["certificate"])):
            if type(part) is not dict:
                raise ValueError(f"{name} must have parts with names, not be {part!r:.80}")
        neighbours = problem["adjacency"]
        if type(neighbours) is not str or not neighbours.strip() or not neighbours.isprintable():
            raise ValueError(f"adjacency must be a text of one line, not {neighbours!r:.80}")
        if type(content["profile"]) is not list:
            raise ValueError("profile must be a list")
        if content.get("planned_for", "fresh") not in ("fresh", "fixed"):
            raise ValueError(f"planned_for must be fresh or fixed, not {content['planned_for']!r:.80}")
        _only(_OF_DECISIONS if "groups" in problem else _OF_MAJORITIES, content, "a design")
        # A smaller epsilon is stricter, and nothing less private than the largest is worth its digits.
        points = ((_or_infinite(epsilon), _number(delta, 0, 1)) for epsilon, delta in content["profile"])
        profile = tuple((epsilon if epsilon is None else min(epsilon, _FAR), delta) for epsilon, delta in points)
        if "groups" in problem:
            return tuple(_decisions(content, problem, profile))
        return (_majority(content, problem, profile),)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"The independent check could not read the design: {said}. It may be cut off or edited: ask for the file "
            "that `design.save` or `darrm solve --out` wrote."
        ) from error


def _only(names: set[str], given: dict[str, Any], of: str = "the problem") -> None:
    """Refuse what is not read here: a reader may take it for a part of the claim."""
    if unknown := given.keys() - names:
        raise ValueError(f"nothing of {of} is called {min(unknown)!r}")


def of_noise_function(gamma: Iterable[SupportsFloat], problem: Any) -> Release:
    """The release of a noise function that is in no file.

    Raises
    ------
    InputError
    """
    if (
        not is_dataclass(problem)
        or isinstance(problem, type)
        or {entry.name for entry in fields(problem)} != _OF_MAJORITY
    ):
        raise InputError(
            f"problem must be a MajorityProblem. Got {problem!r:.80}. For any other release save the design and check "
            "the file: darrm.independent.check."
        )
    try:
        given = list(gamma)
        if any(isinstance(number, str | bytes | bool) for number in given):
            raise ValueError("it holds texts or truth values")
        numbers = [float(number) for number in given]
        exactly = {"gamma": numbers, "gamma_hex": [number.hex() for number in numbers]}
        return _majority(exactly, asdict(problem), ())
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The independent check could not read gamma: {error}. Pass K + 1 numbers in [0, 1], the same at l and "
            "K - l."
        ) from error


def _majority(content: dict[str, Any], problem: dict[str, Any], profile: tuple[Limit, ...]) -> Release:
    _only(_OF_MAJORITY, problem)
    K = _whole(problem["K"], 1, _MOST)
    gamma = _exact(content["gamma_hex"])
    if len(gamma) != K + 1:
        raise ValueError("gamma must have K + 1 numbers")
    _same_numbers(content["gamma"], gamma, [K + 1])
    if any(gamma[l] != gamma[K - l] for l in range(K + 1)):
        raise ValueError("gamma must be the same at l and K - l")
    ones = tuple((1 + ((2 * l > K) - (2 * l < K)) * gamma[l]) / 2 for l in range(K + 1))
    affected = _whole(problem["max_affected"], 1, K)
    epsilon, m = _positive(problem["epsilon"], _MOST), _positive(problem["m"], K)
    group = Group(K, epsilon, _number(problem["Delta"], 0, 1), affected)
    guarantee = (m * epsilon, _number(problem["delta"], 0, 1))
    zeros = tuple(1 - x for x in ones)
    claim = content.get("certificate")
    _only(_OF_CERTIFICATE, claim or {}, "the certificate")
    return Release("the table", (group,), 2, affected, (zeros, ones), (guarantee, *profile), claim)


def _decisions(content: dict[str, Any], problem: dict[str, Any], profile: tuple[Limit, ...]) -> Iterator[Release]:
    for given, names in ((problem, _OF_DECISION), *((group, _OF_GROUP) for group in problem["groups"])):
        _only(names, given)
    groups = tuple(
        Group(
            _whole(group["count"], 1, _MOST),
            None if group["epsilon"] is None else _positive(group["epsilon"], _MOST),
            _number(group["delta"], 0, 1),
            _whole(group["max_affected"], 1, group["count"] - _colluders(group)),
            _randomizer(group),
            _colluders(group),
        )
        for group in problem["groups"]
    )
    _check_voters(problem["groups"])
    named = problem["classes"]
    if isinstance(named, list) and (any(type(name) is not str for name in named) or len({*named}) < len(named)):
        raise ValueError("classes must have a name each, or be a number")
    classes = _whole(len(named) if isinstance(named, list) else named, 2, _CLASSES)
    for group in groups:
        if isinstance(group.randomizer, tuple) and any(len(row) != classes for row in group.randomizer):
            raise ValueError("a randomizer must have a probability for each class")
    none = problem.get("none", False)
    if type(none) is not bool:
        raise ValueError("none must be true or false")
    affected = _whole(problem["max_affected"], 1, sum(group.affected for group in groups))
    exact = _exact(content["table_hex"])
    _same_numbers(content["table"], exact, _shape(len(exact), groups, classes, classes + none))
    table = _table(exact, groups, classes, classes + none)
    kinds = _kinds(problem, groups)
    if len(kinds) > 1 and profile:
        raise ValueError("where each group has a limit of its own, no profile is read here")
    claims = {"": content["certificate"]} if len(kinds) == 1 else _certificates(content["certificate"], kinds)
    for kind, (own, limit) in kinds.items():
        _only(_OF_CERTIFICATE, claims[kind], "the certificate")
        name, most = f"the table for a change in {kind}" if kind else "the table", sum(g.affected for g in own)
        yield Release(name, own, classes, min(affected, most), table, (limit, *profile), claims[kind])
    fewer = {tuple(_whole(n, 0) for n in part["present"]): part for part in content.get("fewer", [])}
    if len(fewer) != len(content.get("fewer", [])) or bool(fewer) != (content["absent"] is True):
        raise ValueError("absent voters need one table for each attendance")
    if fewer and fewer.keys() != set(product(*(range(group.count + 1) for group in groups))) - {
        tuple(group.count for group in groups),
        (0,) * len(groups),
    }:
        raise ValueError("absent voters need a table for every attendance but all and none")
    for present, part in fewer.items():
        _only(_OF_PART, part, "a table for fewer voters")
        there = tuple(replace(group, count=count) for count, group in zip(present, groups, strict=True) if count)
        table = _table(_exact(part["table_hex"]), there, classes, classes + none)
        for kind, (all_of, limit) in kinds.items():
            own = tuple(
                Group(count, group.epsilon, group.delta, min(count, group.affected))
                for count, group in zip(present, all_of, strict=True)
                if count
            )
            most = min(affected, sum(g.affected for g in own))
            if most:  # a change that affects absent voters alone changes no vote
                name = f"the table for {list(present)} present voters{f' for a change in {kind}' * bool(kind)}"
                yield Release(name, own, classes, most, table, (limit, *profile))


def _kinds(problem: dict[str, Any], groups: tuple[Group, ...]) -> dict[str, tuple[tuple[Group, ...], Limit]]:
    """The voters that each kind of change can affect, and its limit; one kind, "", if all changes have one limit."""
    epsilons, deltas = problem["epsilon"], problem["delta"]
    if type(epsilons) is not list:
        return {"": (groups, (_positive(epsilons, _MOST), _number(deltas, 0, 1)))}
    G, most = len(groups), problem["max_affected"]
    if type(deltas) is not list or len(deltas) != len(epsilons) or len(epsilons) not in (G, G + 1) or G < 2:
        raise ValueError("epsilon and delta must be numbers, or lists of one for each group")
    limits = [(_positive(e, _MOST), _number(d, 0, 1)) for e, d in zip(epsilons, deltas, strict=True)]
    if len(limits) > G and (most < 2 or limits[-1] != (max(e for e, _ in limits), max(d for _, d in limits))):
        raise ValueError("the limit of changes in several groups must be at least that of each")
    if len(limits) == G and most > max(group.affected for group in groups):
        raise ValueError("a change in one group alone must not affect more voters than a group allows")
    found: dict[str, tuple[tuple[Group, ...], Limit]] = {}
    for k, limit in enumerate(limits):
        own = tuple(group if k in (g, G) else replace(group, affected=0) for g, group in enumerate(groups))
        found[f"group {k + 1}" if k < G else "several groups"] = own, limit
    return found


def _certificates(certificate: dict[str, Any], kinds: Iterable[str]) -> dict[str, Any]:
    """The certificate of each kind of change."""
    _only({"kinds"}, certificate, "the certificate of several kinds of change")
    claims = certificate["kinds"]
    if type(claims) is not dict or claims.keys() != set(kinds) or any(type(c) is not dict for c in claims.values()):
        raise ValueError("the certificate must have a part for each kind of change")
    return claims


def _colluders(group: dict[str, Any]) -> int:
    if ("colluders" in group) != ("randomizer" in group):
        raise ValueError("a randomizer and colluders go together")
    return _whole(group.get("colluders", 0), 0, group["count"] - 1)


def _randomizer(group: dict[str, Any]) -> tuple[tuple[Fraction, ...], ...] | str | None:
    """The randomizer of a group as exact numbers: every row of a table is divided by its sum."""
    given = group.get("randomizer")
    if "randomizer" not in group:
        return None
    if group["delta"] != 0:
        raise ValueError("voters with a randomizer must have no delta")
    if given == "randomized response":
        if group["epsilon"] is None:
            raise ValueError("randomized response must have a finite epsilon")
        return "response"
    if type(given) is not list or not 2 <= len(given) <= _CLASSES or any(type(row) is not list for row in given):
        raise ValueError("a randomizer must be a table, or randomized response")
    rows = [[_number(value, 0, 2) for value in row] for row in given]
    if any(abs(sum(row, Fraction(-1))) > _ROW for row in rows):
        raise ValueError("the rows of a randomizer must sum to 1")
    return tuple(tuple(value / sum(row) for value in row) for row in rows)


def _check_voters(groups: list[dict[str, Any]]) -> None:
    """Refuse names by which the columns of votes could be taken for more or fewer voters than there are."""
    written = [group["names"] for group in groups if "names" in group]
    if not written:
        return
    if any(type(names) is not list or any(type(name) is not str for name in names) for names in written):
        raise ValueError("names of voters must be lists of texts")
    if [len(names) for names in written] != [group["count"] for group in groups]:
        raise ValueError("either no voter has a name or each has one")
    each = [name for names in written for name in names]
    if len({*each}) < len(each):
        raise ValueError("no two voters may have the same name")
    for name in each:
        if not name.isprintable() or name != normalize("NFC", name.strip()) or name.lower() in ("", "id", "label"):
            raise ValueError(f"{name!r:.80} cannot be the name of a voter")


def _table(
    exact: list[Fraction], groups: tuple[Group, ...], classes: int, answers: int
) -> tuple[tuple[Fraction, ...], ...]:
    """A column for each answer, of the probabilities that are drawn."""
    rows = math.prod(math.comb(group.count + classes - 1, classes - 1) for group in groups)
    if answers == 2:
        if len(exact) != rows:
            raise ValueError(f"the table must have {rows} numbers")
        return tuple(1 - x for x in exact), tuple(exact)
    if len(exact) == rows * answers:
        made = [_drawn(exact[i : i + answers], [1] * answers, i) for i in range(0, len(exact), answers)]
        return tuple(zip(*made, strict=True))
    return _of_names(exact, groups, classes, answers)


def _of_names(
    exact: list[Fraction], groups: tuple[Group, ...], classes: int, answers: int
) -> tuple[tuple[Fraction, ...], ...]:
    """A table that treats all classes alike, in full: its rows are for votes that fall from class to class."""
    (group,) = groups
    many = math.comb(group.count + classes - 1, classes - 1)
    if many > MOST_VOTES:
        raise InputError(
            f"The independent check takes at most {MOST_VOTES:,} vectors of votes. Got {many:,}, of {group.count} "
            f"voters and {classes} classes. Use darrm verify without it."
        )
    every = vectors(group.count, classes)
    falling = [votes for votes in every if all(votes[c] >= votes[c + 1] for c in range(classes - 1))]
    if len(exact) != len(falling) * answers:
        raise ValueError(f"the table must have {len(every)} or {len(falling)} rows of {answers} numbers")
    rows = {}
    for i, votes in enumerate(falling):
        sizes = [votes.count(n) for n in sorted(set(votes), reverse=True)] + [1] * (answers - classes)
        rows[votes] = _drawn(exact[i * answers : (i + 1) * answers], sizes, i * answers)
    made = []
    for votes in every:
        order = sorted(range(classes), key=lambda c: -votes[c])  # stable: equal ones have equal probabilities
        row = rows[tuple(votes[c] for c in order)]
        made.append([*(row[order.index(c)] for c in range(classes)), *row[classes:]])
    return tuple(zip(*made, strict=True))


def _drawn(row: list[Fraction], sizes: list[int], start: int) -> list[Fraction]:
    """The probabilities that the stored row from entry ``start`` on stands for.

    Blocks of ``sizes`` have one probability for each of their answers. The first block of the largest mass has what
    the others leave.
    """
    blocks, at = [], 0
    for size in sizes:
        if len(set(row[at : at + size])) > 1:
            raise ValueError("classes of as many votes must have the same probability")
        blocks.append(size * row[at])
        at += size
    first = blocks.index(max(blocks))
    rest = 1 - sum(blocks) + blocks[first]
    if abs(rest - blocks[first]) > (3 * len(row) + 2) * _U or rest < 0:  # no rounding of float64
        raise ValueError(
            f"the probabilities of all answers must sum to 1, but those of row {start // len(row) + 1} to "
            f"{float(sum(row))!r}"
        )
    blocks[first] = rest
    return [mass / size for mass, size in zip(blocks, sizes, strict=True) for _ in range(size)]


def _exact(texts: list[str]) -> list[Fraction]:
    """Probabilities from their hexadecimal texts."""
    values = [float.fromhex(text) for text in texts]
    if type(texts) is not list or [value.hex() for value in values] != texts:
        raise ValueError("exact numbers must be a list of texts as float.hex writes them")
    if not all(0 <= value <= 1 for value in values):
        raise ValueError("probabilities must be in [0, 1]")
    return [Fraction(value) for value in values]


def _shape(numbers: int, groups: tuple[Group, ...], classes: int, answers: int) -> list[int]:
    """How the decimal numbers of a table are nested: by the votes of each group, then by several answers."""
    each = [math.comb(group.count + classes - 1, classes - 1) for group in groups]
    if answers == 2:
        return each
    return [*(each if numbers == math.prod(each) * answers else [numbers // answers]), answers]


def _same_numbers(shown: Any, exact: list[Fraction], shape: list[int]) -> None:
    """Refuse decimal numbers ``shown`` that are not nested in this shape, or are others than the exact ones."""
    shown = [shown]
    for size in shape:
        if any(type(part) is not list or len(part) != size for part in shown):
            raise ValueError(f"the decimal numbers must be lists in the shape {' x '.join(map(str, shape))}")
        shown = [value for part in shown for value in part]
    if [_number(value, 0, 2) for value in shown] != exact:
        raise ValueError("the decimal numbers are others than the exact ones")


def _whole(value: Any, low: int, high: float = math.inf) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{value!r:.80} is not an integer in [{low}, {high}]")
    return value


def _number(value: Any, low: int, high: float = math.inf) -> Fraction:
    """A number in [low, high)."""
    if type(value) not in (int, float) or not low <= value < high:
        raise ValueError(f"{value!r:.80} is not a number in [{low}, {high})")
    return Fraction(value)


def _positive(value: Any, most: int) -> Fraction:
    """A number in (0, most]."""
    number = _number(value, 0)
    if not 0 < number <= most:
        raise ValueError(f"{value!r:.80} is not a number in (0, {most}]")
    return number


def _or_infinite(value: Any) -> Fraction | None:
    if type(value) is int:
        value = float(value)  # one that is too large is refused
    return None if value is None else _number(value, 0)
