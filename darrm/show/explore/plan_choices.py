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
from darrm.errors import InputError
from darrm.problem.group_corners import entries
from darrm.problem.groups import VoterGroup
from darrm.problem.model import VoterModel
from darrm.show.explore import query
from darrm.show.explore.query import built, checked, groups_there
from darrm.show.wording import number_of

GROUPS = (1, 2, 3)
OF_GROUP = ("count", "epsilon", "accuracy")
AUTO = "auto"
MEANINGS = {"base": "before the noise", "votes": "of votes as cast"}
# Beyond, an answer takes more than some seconds.
MAX_VECTORS = 150
MAX_MULTISETS = 5000
MAX_QUERIES = 1000
MOST_EPSILON = 40.0  # of a vote that is to be found
# What the form shows at first. The number of affected voters and the kind of voters are not among it: nothing may
# guess them.
FIRST = {
    **{f"{name}{g}": "" for g in GROUPS for name in OF_GROUP},
    **{"count1": "25", "epsilon1": "0.5", "accuracy": "0.85", "meaning": "base"},
    **{"at_most": "2", "aggregator": "", "max_affected": "", "voters": ""},
    **{"queries": "200", "total_epsilon": "6", "total_delta": "1e-6"},
}
UNSAID = ("max_affected", "voters")
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
    """

    groups: tuple[tuple[int, float | str], ...]
    accuracies: tuple[float, ...]
    meaning: str
    max_affected: int
    queries: int
    total_epsilon: float
    total_delta: float
    voters: str
    at_most: float | None
    aggregator: float | None

    @property
    def free(self) -> tuple[int, ...]:
        """The groups whose epsilon is to be found."""
        return tuple(g for g, (_, epsilon) in enumerate(self.groups) if epsilon == AUTO)

    def arguments(self) -> dict[str, Any]:
        """What `darrm.plan` takes."""
        one, *others = self.groups
        values: dict[str, Any] = {"groups": list(self.groups)} if others else {"K": one[0], "epsilon": one[1]}
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
    return [name for name in UNSAID if not state.texts[name]]


def _choice(texts: Mapping[str, str], errors: dict[str, str]) -> Choice | None:
    before = len(errors)
    there = groups_there(texts, GROUPS, errors)
    groups = [_group(texts, g, errors) for g in there]
    known = len(errors) == before
    auto = any(texts[f"epsilon{g}"] == AUTO for g in there)

    voters = checked("voters", errors, lambda: check_voters(texts["voters"])) if texts["voters"] else None
    accuracies = _accuracies(texts, there, errors)
    meaning = checked("meaning", errors, lambda: _meaning(texts["meaning"], voters, auto))
    at_most, aggregator = _ends(texts, errors) if auto else (None, None)
    queries = checked("queries", errors, lambda: check_count("queries", number_of(texts["queries"])))
    epsilon = checked("total_epsilon", errors, lambda: _number("total_epsilon", texts, 0, MAX_EPSILON))
    delta = checked("total_delta", errors, lambda: check_total_delta(number_of(texts["total_delta"]), "total_delta"))
    reached = None
    if texts["max_affected"] and known:
        most = sum(group.count for group in groups if group is not None)
        reached = checked("max_affected", errors, lambda: _reached(texts["max_affected"], most))
    if len(errors) > before or queries is None or meaning is None or epsilon is None or delta is None:
        return None
    made = tuple((group.count, _epsilon(texts, g, group)) for g, group in zip(there, groups, strict=True) if group)
    found = Choice(
        made, accuracies, meaning, reached or 1, queries, epsilon, delta, voters or "fresh", at_most, aggregator
    )
    checked("queries", errors, lambda: _check_queries(found))
    checked("groups", errors, lambda: check_page_size(found))
    return None if reached is None or voters is None or len(errors) > before else found


def _group(texts: Mapping[str, str], g: int, errors: dict[str, str]) -> VoterGroup | None:
    epsilon: Any = 1.0 if texts[f"epsilon{g}"] == AUTO else number_of(texts[f"epsilon{g}"])
    values = {"count": number_of(texts[f"count{g}"]), "epsilon": epsilon}
    return built(VoterGroup, values, _HARMLESS_GROUP, errors, lambda name: f"{name}{g}")


def _epsilon(texts: Mapping[str, str], g: int, group: VoterGroup) -> float | str:
    return AUTO if texts[f"epsilon{g}"] == AUTO else group.epsilon


def _number(name: str, texts: Mapping[str, str], low: float, high: float, slot: str = "") -> float:
    return real(name, number_of(texts[slot or name]), low, high, "(]", hint="Pass nats, e.g. 6.")


def _reached(text: str, most: int) -> int:
    return whole("max_affected", number_of(text), 1, min(most, MAX_COUNT), allowed=f"in [1, {most}], the voters")


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
    if vectors > MAX_VECTORS:
        each = max(n for n in range(1, MAX_VECTORS) if (n + 1) ** many <= MAX_VECTORS)
        raise InputError(
            f"The vectors of counts, each count + 1 multiplied, must be at most {MAX_VECTORS} on this page. Got "
            f"{vectors:,}. {many} group{'s' * (many > 1)} of at most {each} voters would fit. {line}"
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
            parts += [f"--group {count}:{_plain(epsilon)}" for count, epsilon in value]
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
    if isinstance(value, tuple):
        return f"({', '.join(map(_python, value))})"
    if isinstance(value, str):
        return repr(value).replace("'", '"')
    return 'float("inf")' if isinstance(value, float) and math.isinf(value) else _plain(value)
