"""What was chosen on the page: from a query string to a problem and back, and what is wrong beside each control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from darrm import priors
from darrm._validation import check_count, check_total_delta, check_voters
from darrm.design.design import SHAPES
from darrm.errors import InputError
from darrm.priors import Prior
from darrm.problem.majority import MajorityProblem
from darrm.show.explore.query import Place, built, checked, gather, needed
from darrm.show.wording import number_of

MAX_K = 201  # beyond, an answer takes more than a few seconds
MAX_QUERIES = 1000
# What the form shows at first. Voters are not among them: nothing may guess which kind they are.
FIRST = {
    "K": "11",
    "m": "3",
    "epsilon": "0.1",
    "Delta": "0",
    "delta": "",
    "max_affected": "",
    "prior": "uniform",
    "shape": "free",
    "queries": "100",
    "total_delta": "1e-5",
    "voters": "",
}
DESIGN = ("K", "m", "epsilon", "Delta", "delta", "max_affected", "prior", "shape")
_HARMLESS = {"K": MAX_K, "m": 1, "epsilon": 1, "Delta": 0, "delta": None, "max_affected": None}
_MANY = ("queries", "total_delta", "voters")
_LONGEST = {"prior": 6000}  # characters: a probability for each of MAX_K voters
KEPT = "b."  # before the names of the design that was kept


@dataclass(frozen=True)
class Choice:
    """All that determines a design; a key of a cache."""

    problem: MajorityProblem
    prior: Prior
    shape: str


@dataclass(frozen=True)
class Many:
    """How many labels, with which total delta, of which voters."""

    queries: int
    delta: float
    voters: str


@dataclass
class Choices:
    """A query string, read.

    Attributes
    ----------
    texts : dict of str to str
        What stands in each control.
    kept_texts : dict of str to str
        The same of the design that was kept; empty if there is none.
    choice, kept : Choice or None
        None where something is wrong, or nothing was kept.
    many : Many or None
        None if it was not said which kind of voters there are.
    errors : dict of str to str
        What is wrong, by the name of the control; "kept" for the design that was kept.
    """

    texts: dict[str, str]
    kept_texts: dict[str, str] = field(default_factory=dict)
    choice: Choice | None = None
    kept: Choice | None = None
    many: Many | None = None
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, str]:
        """The errors that leave no design to show; the others are about many labels."""
        return {name: text for name, text in self.errors.items() if name not in _MANY}

    def query(self, *, keep: bool | None = None) -> str:
        """The query string that leads here; ``keep`` keeps the present design beside itself or lets the kept one go."""
        texts = needed(self.texts, FIRST)
        kept = self.kept_texts
        if keep is not None:
            kept = {name: self.texts[name] for name in DESIGN if self.texts[name]} if keep else {}
        return urlencode({**texts, **{KEPT + name: text for name, text in kept.items()}})


def read(pairs: Iterable[tuple[str, str]]) -> Choices:
    """Read a query string, given as pairs; what is wrong is in ``errors``, and nothing is raised."""
    state = Choices(dict(FIRST))

    def place(key: str) -> Place | None:
        name = key.removeprefix(KEPT)
        if key != name:
            return Place(name, "kept", state.kept_texts) if name in DESIGN else None
        return Place(name, name, state.texts) if name in FIRST else None

    gather(pairs, place, state.errors, _LONGEST)
    state.choice = _choice(state.texts, state.errors)
    if state.kept_texts and "kept" not in state.errors:
        wrong: dict[str, str] = {}
        blank = dict.fromkeys(DESIGN, "")
        defaults = {name: FIRST[name] for name in ("Delta", "prior", "shape")}
        state.kept = _choice({**blank, **defaults, **state.kept_texts}, wrong)
        if wrong:
            state.errors["kept"] = f"The design that was kept is of no use: {next(iter(wrong.values()))}"
    state.many = _many(state.texts, state.errors)
    return state


def _choice(texts: Mapping[str, str], errors: dict[str, str]) -> Choice | None:
    before = len(errors)
    values = {name: number_of(texts[name]) for name in DESIGN[:6] if texts[name] or name in DESIGN[:4]}
    problem = built(MajorityProblem, values, _HARMLESS, errors)
    if problem is None:
        return None
    if problem.K > MAX_K:
        errors.setdefault(
            "K",
            f"K must be at most {MAX_K} on this page. Got {problem.K}. For more votes use the command line: "
            f"{solve_command(Choice(problem, priors.independent(), SHAPES[0]))}",
        )
    prior = checked("prior", errors, lambda: _prior(texts["prior"], problem))
    if texts["shape"] not in SHAPES:
        errors.setdefault("shape", f"shape must be one of {', '.join(SHAPES)}. Got {texts['shape']!r}.")
    if len(errors) > before or prior is None:
        return None
    return Choice(problem, prior, texts["shape"])


def _prior(text: str, problem: MajorityProblem) -> Prior:
    prior = priors.parse(text)
    if problem.K <= MAX_K:
        priors.weights(prior, problem.K, prior.default_objective)
    return prior


def _many(texts: Mapping[str, str], errors: dict[str, str]) -> Many | None:
    queries = checked("queries", errors, lambda: _queries(texts))
    delta = checked("total_delta", errors, lambda: check_total_delta(number_of(texts["total_delta"]), "total_delta"))
    voters = checked("voters", errors, lambda: check_voters(texts["voters"])) if texts["voters"] else None
    if queries is None or delta is None or voters is None or errors.keys() & set(_MANY):
        return None
    return Many(queries, delta, voters)


def _queries(texts: Mapping[str, str]) -> int:
    queries = check_count("queries", number_of(texts["queries"]))
    if queries > MAX_QUERIES:
        raise InputError(
            f"queries must be at most {MAX_QUERIES} on this page. Got {queries}. For more labels download the "
            f"design, then: darrm budget gamma.json --queries {queries} --delta {texts['total_delta']} --voters ..."
        )
    return queries


def _arguments(choice: Choice) -> dict[str, str]:
    """What differs from the defaults of `darrm.solve`, each as both Python and the command line read it."""
    problem = choice.problem
    given: dict[str, Any] = {name: getattr(problem, name) for name in DESIGN[:6]}
    alone = MajorityProblem(**{name: given[name] for name in DESIGN[:4]})
    usual = {"Delta": 0, "delta": alone.delta, "max_affected": alone.max_affected}
    values = {name: value for name, value in given.items() if value != usual.get(name)}
    texts = {name: repr(int(value) if float(value).is_integer() else value) for name, value in values.items()}
    if choice.prior != priors.independent():
        texts["prior"] = choice.prior.text()
    if choice.shape != SHAPES[0]:
        texts["shape"] = choice.shape
    return texts


_OPTIONS = {"Delta": "voter-delta", "max_affected": "max-affected"}


def solve_command(choice: Choice) -> str:
    """The command that makes the same design."""
    return " ".join(
        ["darrm solve", *(f"--{_OPTIONS.get(name, name)} {text}" for name, text in _arguments(choice).items())]
    )


def solve_python(choice: Choice) -> str:
    """The Python that makes the same design."""
    arguments = ", ".join(
        f"{name}={text!r}" if name in ("prior", "shape") else f"{name}={text}"
        for name, text in _arguments(choice).items()
    )
    return f"import darrm\n\ndesign = darrm.solve({arguments})"


def budget_command(many: Many) -> str:
    """The command that says what many labels cost."""
    return f"darrm budget gamma.json --queries {many.queries} --delta {many.delta!r} --voters {many.voters}"


def budget_python(many: Many) -> str:
    """The Python that says it."""
    return f'darrm.accounting.compose(design, {many.queries}, delta={many.delta!r}, voters="{many.voters}")'
