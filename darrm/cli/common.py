"""What the commands share: options of a problem, numbers, printing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from darrm.priors import Prior
    from darrm.problem.majority import MajorityProblem


class Number(click.ParamType[Any]):
    """A number, or whatever text came instead: the problem says what is wrong with it, in one place."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        from darrm.show.wording import number_of

        return number_of(value)


NUMBER = Number()

_PROBLEM = [
    click.option("--K", "K", type=NUMBER, required=True, help="Number of mechanisms."),
    click.option(
        "--m",
        "m",
        type=NUMBER,
        required=True,
        help="Privacy allowance in [1, K]: one label is (m epsilon, delta)-DP. Delta = 0: no noise from (K+1)/2 on.",
    ),
    click.option("--epsilon", "epsilon", type=NUMBER, required=True, help="Privacy of one mechanism, in nats."),
    click.option("--Delta", "Delta", type=NUMBER, default=0.0, help="Failure probability of one mechanism [0]."),
    click.option(
        "--delta", "delta", type=NUMBER, default=None, help="Failure probability of the release [1 - (1 - Delta)^m]."
    ),
    click.option("--changed", type=NUMBER, default=None, help="How many mechanisms one record can reach [K]."),
    click.option(
        "--adjacency",
        default="replace-one",
        show_default=True,
        help="What neighbours are: a name that goes with the design; the noise is the same.",
    ),
]
_PRIOR = [
    click.option(
        "--prior",
        default="uniform",
        show_default=True,
        help="uniform, independent:LOW,HIGH, common:A,B, fixed:P1,...,PK, votes:C0,...,CK, votes:FILE.csv (public).",
    ),
    click.option(
        "--objective", type=click.Choice(["tv", "disagreement"]), default=None, help="What to minimise [by the prior]."
    ),
]


def _all(options: Sequence[Callable[..., Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


problem_options = _all(_PROBLEM)
prior_options = _all(_PRIOR)
voters_option = click.option(
    "--voters",
    default=None,
    help="fresh (the new coins of every answer make it private by themselves, whatever else the voter keeps) or fixed "
    "(made private once with all its answers together, such as a DP-SGD model). Must be said.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def take_problem(values: dict[str, Any]) -> MajorityProblem:
    """The problem from the options, which are taken out of ``values``."""
    from darrm.problem.majority import MajorityProblem

    names = ("K", "m", "epsilon", "Delta", "delta", "changed", "adjacency")
    return MajorityProblem(**{name: values.pop(name) for name in names})


def take_prior(text: str) -> Prior:
    """A prior from its text, where votes: may also name a votes file."""
    from darrm import priors, votes

    kind, _, rest = text.partition(":")
    if kind == "votes" and rest.endswith((".csv", ".parquet")):
        return priors.votes(votes.read(rest).histogram)
    return priors.parse(text)


def print_json(values: Mapping[str, object]) -> None:
    """One JSON object on standard output; infinities are null."""
    from darrm.storage.sealed_json import finite

    click.echo(json.dumps(finite(dict(values)), allow_nan=False))


def console() -> Console:
    """A console that knows pipes, narrow terminals and NO_COLOR, and takes text as it is."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    plain = Plain(highlight=False, markup=False, emoji=False)
    if plain.width < 20:
        plain.width = 80
    return plain


def note(message: str) -> None:
    """A message for the reader, on standard error."""
    click.echo(message, err=True)


def bar(value: float, width: int, ascii_only: bool) -> str:
    """A bar of length value in [0, 1], to an eighth of a character where the terminal can show one."""
    if ascii_only:
        return "#" * round(value * width)
    eighths = round(value * width * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8].strip())


PATH = click.Path(path_type=Path, readable=False)  # what is wrong with a path is said where it is opened
