"""The choices on the page of plans: from a query string to voters and a budget, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from darrm._validation import (
    MAX_COUNT,
    MAX_EPSILON,
    check_count,
    check_total_delta,
    check_voters,
    choice,
    real,
    whole,
)
from darrm.accounting.fixed import check_fresh
from darrm.errors import InputError
from darrm.numerics.printed import counted
from darrm.problem.group_corners import entries
from darrm.problem.groups import VoterGroup
from darrm.problem.model import VoterModel
from darrm.show import typed
from darrm.show.explore import query
from darrm.show.explore.query import RANDOMIZERS, built, checked, colluders_of, groups_there
from darrm.show.wording import number_of

GROUPS = (1, 2, 3)
OF_GROUP = ("count", "epsilon", "accuracy")
AUTO = "auto"
MEANINGS = {"base": "before the noise", "votes": "of votes as cast"}
# Beyond, an answer takes more than some seconds.
MAX_VECTORS, MAX_STATED = 150, 61  # of counts; the second where the randomizer is stated
MAX_MULTISETS = 5000
MAX_QUERIES = 1000
MOST_EPSILON = 40.0  # of a vote that is to be found
# What the form shows at first. The numbers of affected voters and of colluders and the kind of voters are not among
# it: nothing may guess them.
FIRST = {
    **{f"{name}{g}": "" for g in GROUPS for name in OF_GROUP},
    **{"count1": "25", "epsilon1": "0.5", "accuracy": "0.85", "meaning": "base"},
    **{"randomizer": "", "colluders": ""},
    **{"at_most": "2", "aggregator": "", "max_affected": "", "voters": ""},
    **{"queries": "200", "total_epsilon": "6", "total_delta": "1e-6"},
}
UNSAID = ("max_affected", "voters")
_Pairs: TypeAlias = tuple[tuple[int, float | str], ...]
_HARMLESS_GROUP = {"count": MAX_VECTORS, "epsilon": 1.0}


@dataclass(frozen=True)
class Choice:
    """All that determines a plan; a key of a cache.

    Attributes
    ----------
    groups : tuple of (int, float or "auto")
    accuracies : tuple of float
        One for all groups, or one for each.
    meaning : {"base", "votes"}
        Which answers have these accuracies.
    max_affected, queries : int
    total_epsilon, total_delta : float
    voters : {"fresh", "fixed"}
    at_most, aggregator : float or None
        Ends of an epsilon that is to be found; None without one.
    colluders : tuple of int
        One for all groups, or one for each, of voters by randomized response; empty for any voters.
    """

    groups: _Pairs
    accuracies: tuple[float, ...]
    meaning: str
    max_affected: int
    queries: int
    total_epsilon: float
    total_delta: float
    voters: str
    at_most: float | None
    aggregator: float | None
    colluders: tuple[int, ...] = ()

    @property
    def free(self) -> tuple[int, ...]:
        """The groups whose epsilon is to be found."""
        return tuple(g for g, (_, epsilon) in enumerate(self.groups) if epsilon == AUTO)

    def arguments(self) -> dict[str, Any]:
        """What `darrm.plan` takes."""
        one, *others = self.groups
        values: dict[str, Any] = {"groups": list(self.groups)} if others else {"K": one[0], "epsilon": one[1]}
        if self.colluders:
            values = {"groups": _randomized(self.groups, self.colluders)}
        if self.meaning == "votes":
            each = self.accuracies * len(self.groups) if len(self.accuracies) == 1 else self.accuracies
            values["accuracy"] = list(each)
        else:
            several = len(self.accuracies) > 1
            values["base_accuracy"] = list(self.accuracies) if several else self.accuracies[0]
        values["max_affected"] = self.max_affected
        ends = {"at_most": self.at_most, "aggregator_epsilon": self.aggregator}
        values |= {name: value for name, value in ends.items() if value is not None}
        return values | {
            "queries": self.queries,
            "total_epsilon": self.total_epsilon,
            "total_delta": self.total_delta,
            "voters": self.voters,
        }


Choices: TypeAlias = query.Choices[Choice]


def read(pairs: Iterable[tuple[str, str]]) -> Choices:
    """Read a query string, given as pairs; what is wrong is in ``errors``, and nothing is raised."""
    return query.read(pairs, FIRST, _choice)


def unsaid(state: Choices) -> list[str]:
    """What has no default and was not said."""
    missing = [name for name in UNSAID if not state.texts[name]]
    return missing + ["colluders"] * (state.texts["randomizer"] != "" and colluders_of(state.texts) is None)


def _choice(texts: Mapping[str, str], errors: dict[str, str]) -> Choice | None:
    before = len(errors)
    there = groups_there(texts, GROUPS, errors)
    groups = [_group(texts, g, errors) for g in there]
    known = len(errors) == before
    randomizer = texts["randomizer"]
    if randomizer:
        checked("randomizer", errors, lambda: choice("randomizer", randomizer, tuple(filter(None, RANDOMIZERS))))
    auto = any(texts[f"epsilon{g}"] == AUTO for g in there)

    voters = checked("voters", errors, lambda: check_voters(texts["voters"])) if texts["voters"] else None
    accuracies = _accuracies(texts, there, errors)
    meaning = checked("meaning", errors, lambda: _meaning(texts["meaning"], voters, auto))
    at_most, aggregator = _ends(texts, errors) if auto else (None, None)
    queries = checked("queries", errors, lambda: check_count("queries", number_of(texts["queries"])))
    epsilon = checked("total_epsilon", errors, lambda: _number("total_epsilon", texts, 0, MAX_EPSILON))
    delta = checked("total_delta", errors, lambda: check_total_delta(number_of(texts["total_delta"]), "total_delta"))
    pairs = tuple((group.count, _epsilon(texts, g, group)) for g, group in zip(there, groups, strict=True) if group)
    reached: int | None = None
    colluders: tuple[int, ...] = ()
    if known:
        most = sum(count for count, _ in pairs)
        if randomizer in RANDOMIZERS and randomizer:
            bare = all(epsilon == math.inf for _, epsilon in pairs)
            stated = checked(
                "randomizer" if bare else "colluders", errors, lambda: _stated(texts, pairs, voters, errors)
            )
            colluders, most = stated or ((), most)
        if texts["max_affected"]:
            reached = checked("max_affected", errors, lambda: _reached(texts["max_affected"], most, colluders))
    if len(errors) > before or queries is None or meaning is None or epsilon is None or delta is None:
        return None
    found = Choice(
        *(pairs, accuracies, meaning, reached or 1, queries, epsilon, delta, voters or "fresh", at_most, aggregator),
        colluders,
    )
    checked("queries", errors, lambda: _check_queries(found))
    checked("groups", errors, lambda: check_page_size(found))
    silent = reached is None or voters is None or (randomizer and not texts["colluders"])
    return None if silent or len(errors) > before else found


def _group(texts: Mapping[str, str], g: int, errors: dict[str, str]) -> VoterGroup | None:
    epsilon: Any = 1.0 if texts[f"epsilon{g}"] == AUTO else number_of(texts[f"epsilon{g}"])
    values = {"count": number_of(texts[f"count{g}"]), "epsilon": epsilon}
    return built(VoterGroup, values, _HARMLESS_GROUP, errors, lambda name: f"{name}{g}")


def _epsilon(texts: Mapping[str, str], g: int, group: VoterGroup) -> float | str:
    return AUTO if texts[f"epsilon{g}"] == AUTO else group.epsilon


def _stated(
    texts: Mapping[str, str], groups: _Pairs, voters: str | None, errors: dict[str, str]
) -> tuple[tuple[int, ...], int]:
    """The colluders of voters by randomized response, none while they are unsaid; and how many others there are."""
    colluders = tuple(typed.numbers("colluders", colluders_of(texts) or "0", int))
    made = _randomized(tuple((count, 1.0 if epsilon == AUTO else epsilon) for count, epsilon in groups), colluders)
    if voters == "fixed":
        checked("randomizer", errors, lambda: check_fresh(VoterModel(made)))
    return colluders, sum(group.max_affected for group in made)


def _randomized(groups: _Pairs, colluders: tuple[int, ...]) -> list[Any]:
    """Voters by randomized response, as `darrm.plan` takes them."""
    parts = [[count, epsilon, 0.0, None, None] for count, epsilon in groups]
    return typed.named(typed.randomized(parts, "response", ",".join(map(str, colluders))), None)


def _number(name: str, texts: Mapping[str, str], low: float, high: float, slot: str = "") -> float:
    return real(name, number_of(texts[slot or name]), low, high, "(]", hint="Pass nats, e.g. 6.")


def _reached(text: str, most: int, colluders: tuple[int, ...]) -> int:
    allowed = f"in [1, {most}], the voters{' that do not collude' * any(colluders)}"
    return whole("max_affected", number_of(text), 1, min(most, MAX_COUNT), allowed=allowed)


def _accuracies(texts: Mapping[str, str], there: list[int], errors: dict[str, str]) -> tuple[float, ...]:
    """One accuracy if no group has its own, else one for each; of no use where something is wrong."""

    def one(slot: str) -> float | None:
        return checked(slot, errors, lambda: real("accuracy", number_of(texts[slot]), 0, 1))

    own = {g: one(f"accuracy{g}") for g in there if texts[f"accuracy{g}"]}
    common = one("accuracy") if len(own) < len(there) else None
    found = [own.get(g, common) for g in there] if own else [common]
    return tuple(math.nan if value is None else value for value in found)


def _meaning(text: str, voters: str | None, auto: bool) -> str:
    meaning = choice("meaning", text, tuple(MEANINGS))
    if auto and meaning == "votes":
        raise InputError(
            'An epsilon "auto" needs the accuracy before the noise, which determines the accuracy of a vote of each '
            "epsilon. Choose that accuracy, or give the epsilon."
        )
    if voters == "fixed" and meaning == "base":
        raise InputError(
            "Fixed voters were trained with DP once and add no noise to each answer. Choose the accuracy of votes as "
            "cast, and give it."
        )
    return meaning


def _ends(texts: Mapping[str, str], errors: dict[str, str]) -> tuple[float | None, float | None]:
    """The ends of an epsilon that is to be found."""
    if not texts["at_most"] and not texts["aggregator"]:
        errors.setdefault(
            "at_most",
            'An epsilon "auto" needs an upper limit, because a larger epsilon is always better for the labels. Give '
            "the largest epsilon of one vote, or of all votes together.",
        )
        return None, None
    ends = (("at_most", "at_most", MOST_EPSILON), ("aggregator_epsilon", "aggregator", MAX_EPSILON))
    found = [
        checked(slot, errors, lambda name=name, slot=slot, high=high: _number(name, texts, 0, high, slot))  # type: ignore[misc]
        if texts[slot]
        else None
        for name, slot, high in ends
    ]
    return found[0], found[1]


def _check_queries(chosen: Choice) -> bool:
    if chosen.queries > MAX_QUERIES:
        raise InputError(
            f"queries must be at most {MAX_QUERIES:,} on this page. Got {chosen.queries:,}. For more use the command "
            f"line: {plan_command(chosen)}"
        )
    return True


def check_page_size(chosen: Choice) -> bool:
    """Refuse what would take more than some seconds, with what would fit."""
    line = f"For more use the command line: {plan_command(chosen)}"
    many = len(chosen.groups)
    vectors = math.prod(count + 1 for count, _ in chosen.groups)
    most, of = (MAX_STATED, " for a stated randomizer") if chosen.colluders else (MAX_VECTORS, "")
    if vectors > most:
        each = max(n for n in range(1, most) if (n + 1) ** many <= most)
        raise InputError(
            f"The vectors of counts, each count + 1 multiplied, must be at most {most} on this page{of}. Got "
            f"{vectors:,}. {counted(many, 'group')} of at most {each} voters would fit. {line}"
        )
    multisets = _multisets(chosen, chosen.max_affected)
    if multisets > MAX_MULTISETS:
        sizes = ((t, _multisets(chosen, t)) for t in range(chosen.max_affected - 1, 0, -1))
        fits = next((t for t, size in sizes if size <= MAX_MULTISETS), 0)
        would = f"max_affected = {fits} would fit" if fits else "Fewer voters would fit"
        raise InputError(
            f"Multisets of corner points must be at most {MAX_MULTISETS:,} on this page. Got {multisets:,}. {would}, "
            f"if no more voters are affected. {line}"
        )
    return True


def _multisets(chosen: Choice, reached: int) -> int:
    groups = [VoterGroup(count, 1.0 if isinstance(epsilon, str) else epsilon) for count, epsilon in chosen.groups]
    return entries(VoterModel(groups, max_affected=reached))


def _plain(value: object) -> str:
    """A number as both Python and the command line read it, or a text."""
    if isinstance(value, float):
        if math.isinf(value):
            return "inf"
        return repr(int(value) if value.is_integer() and abs(value) < 2**53 else value)
    return str(value)


def plan_command(chosen: Choice) -> str:
    """The command that makes the same plan."""
    parts = ["darrm plan"]
    for name, value in chosen.arguments().items():
        if name == "groups":
            parts += [f"--group {count}:{_plain(epsilon)}" for count, epsilon in chosen.groups]
            if chosen.colluders:
                parts.append(f"--randomizer response --colluders {','.join(map(str, chosen.colluders))}")
        else:
            text = ",".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
            parts.append(f"--{name.replace('_', '-')} {text}")
    return " ".join(parts)


def plan_python(chosen: Choice) -> str:
    """The Python that makes the same plan."""
    lines = [f"    {name}={_python(value)}," for name, value in chosen.arguments().items()]
    return "\n".join(["import darrm", "", "plan = darrm.plan(", *lines, ")", 'plan.design.save("decision.json")'])


def _python(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    if isinstance(value, VoterGroup):
        known = f', randomizer="{value.randomizer}", colluders={value.colluders}' * (value.randomizer is not None)
        return f"darrm.VoterGroup({value.count}, epsilon={_python(value.epsilon)}{known})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_python, value))})"
    if isinstance(value, str):
        return repr(value).replace("'", '"')
    return 'float("inf")' if isinstance(value, float) and math.isinf(value) else _plain(value)
