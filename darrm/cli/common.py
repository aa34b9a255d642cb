"""What the commands share: options and arguments, problems and priors from them, printing."""

from __future__ import annotations

import csv
import math
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from darrm._validation import path as check_path
from darrm.cli import endings
from darrm.cli.outputs import DESIGN, AnyPath
from darrm.cli.suggestions import darrm_line
from darrm.errors import ImpossiblePriorWarning, InputError, in_one_line
from darrm.show.figures import new_figure, picture_format, save, tables_of
from darrm.show.wording import NOT_RESTING as NOT_RESTING
from darrm.show.wording import at_least, exactly, number_of
from darrm.storage.atomic import check_place
from darrm.storage.sealed_json import parsed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from darrm.accounting.accounts import Labels, NoisyLabels
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import Noisy
    from darrm.priors import Prior
    from darrm.problem.majority import MajorityProblem


_TYPED = 16  # characters of a delta; a longer one was computed, and is rounded up


def tightness(design: Design) -> str:
    """Needed delta and tight epsilon of one release, the largest for any attendance if voters may be absent."""
    each = []
    for name, kind in design.problem.kinds.items():
        certificates = [part.certificate for part in tables_of(design.of_kind(name))]
        needed = max(certificate.needed_delta for certificate in certificates)
        tight = max(certificate.tight_epsilon for certificate in certificates)
        holds = all(certificate.holds for certificate in certificates)
        typed = short = given = exactly(kind.delta)
        for digits in range(6, 18):  # as few as show which is larger
            short = at_least(needed, digits)
            given = typed if len(typed) <= _TYPED else at_least(kind.delta, digits)
            if (float(short) <= float(given)) == holds:
                break
        each.append(
            f"needed delta {short} {'<=' if holds else '>'} delta {given}; tight epsilon "
            f"{at_least(tight)} at delta {given}{f' for a change in {name}' * bool(name)}"
            f"{', whoever is absent' * design.absent}"
        )
    return "; ".join(each)


class Number(click.ParamType[Any]):
    """A number, or whatever text came instead: the problem says what is wrong with it, in one place."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        return number_of(value)


class Numbers(Number):
    """A number, or several with commas between: one for each kind of change."""

    name = "number[,...]"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and "," in value:
            return [number_of(part.strip()) for part in value.split(",")]
        return super().convert(value, param, context)


class Picture(AnyPath):
    """Where to draw; a wrong ending, a missing folder or matplotlib is refused before the work, not after."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if context is None or not context.resilient_parsing:  # so a line is read that is being completed
            picture_format(value)
            new_figure()
            check_place(value)
        return super().convert(value, param, context)


PATH = AnyPath(path_type=Path, readable=False)  # errors of a path are reported where it is opened
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def known(*values: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """``shell_complete`` of an option that takes any text, of which these are known."""
    return lambda context, option, begun: [value for value in values if value.startswith(begun)]


def files(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem[str]]:
    """``shell_complete`` of an option that takes a text or the path of a file."""
    return [CompletionItem(begun, type="file")]


def number(name: str, help: str, *others: str, **settings: Any) -> Option:
    """An option that takes a number, by its last name in Python: click alone would make Delta delta."""
    parameter = (name, *others)[-1].removeprefix("--").replace("-", "_")
    return click.option(name, *others, parameter, type=Number(), help=help, **settings)


class Choice(click.Choice[str]):
    """One of some values, some of which had another name before, which is still taken."""

    def __init__(self, values: Sequence[str], former: Mapping[str, str]) -> None:
        super().__init__(values)
        self._former = former

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(self._former.get(value, value), param, ctx)


def choice(name: str, help: str, *values: str, former: Mapping[str, str] | None = None) -> Option:
    """An option that takes one of ``values``, of which the first stands if none is given; ``former`` names too."""
    return click.option(name, type=Choice(values, former or {}), default=values[0], show_default=True, help=help)


def plot_option(what: str) -> Option:
    """The option --plot."""
    kind = Picture(path_type=Path, readable=False)
    return click.option("--plot", type=kind, help=f"Draw {what} here (PNG, SVG or PDF; needs matplotlib).")


def options(*several: Option) -> Option:
    """Several options as one decorator."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(several):
            function = option(function)
        return function

    return decorate


K_option = number("--K", "Number of voters.", required=True)


def _privacy_options(required: bool) -> Option:
    return options(
        number("--epsilon", "Epsilon of one voter, in nats.", required=required),
        number("--voter-delta", "Delta of one voter: each voter is (epsilon, Delta)-DP [0].", "--Delta", default=0.0),
    )


privacy_options = _privacy_options(required=True)
max_affected_option = number(
    "--max-affected", "Largest number of voters affected by a change to a neighbouring data set [K]."
)


def majority_options(
    required: bool, release_epsilon: str = "In place of --m: the epsilon of one label, in nats.", *others: str
) -> Option:
    """The options of a problem of equal voters; not ``required`` where others may stand in their place.

    ``others`` are what --release-epsilon is called too.
    """
    return options(
        number("--K", "Number of voters.", required=required),
        number(
            "--m",
            "Privacy allowance in (0, K]: one label is (m epsilon, delta)-DP. If Delta = 0, no noise is needed from "
            "m = K/2, rounded up, on." + " With --group: only if all voters have the same epsilon." * (not required),
        ),
        click.option("--release-epsilon", *others, "release_epsilon", type=Numbers(), help=release_epsilon),
        _privacy_options(required),
        click.option(
            "--delta",
            type=Numbers(),
            help="Delta of one label [1 - (1 - Delta)^max(m, 1)"
            f"{'' if required else '; --group: 0 if no group has one'}].",
        ),
        max_affected_option,
        click.option(
            "--adjacency",
            default="replace-one",
            show_default=True,
            help="Which data sets are neighbours, for voters and labels alike. The design stores the name; the noise "
            "does not depend on it. Most DP-SGD libraries state epsilon for add-remove.",
        ),
    )


problem_options = majority_options(True, "In place of --m: the epsilon of one label, in nats.", "--total-epsilon")
objective_option = click.option(
    "--objective", type=click.Choice(["tv", "disagreement"]), help="Error to minimise [chosen by the prior]."
)
PRIORS = (
    "uniform (on [1/2, 1]), independent:LOW,HIGH, common:A,B, correlated:P,RHO, fixed:P1,...,PK, votes:C0,...,CK or "
    "votes:FILE.csv (public). Or confusion:P0,P1:C00,C01,C10,C11 (truth and votes) or randomized-response:EPSILON:BASE "
    "(BASE: accuracy or prior)."
)
_RANDOMIZED = "darrm.randomized_response"
randomized_option = click.option(
    "--randomized-response",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, given: context.meta.update({_RANDOMIZED: given}),
    help="Voters use randomized response of --epsilon: warn if it cannot produce the --prior. No guarantee "
    "rests on it: --randomizer response is for guarantees that do.",
)
UNLESS_BARE = "'--voters' (unless all voters are non-private)"
voters_option = click.option(
    "--voters",
    shell_complete=known("fresh", "fixed"),
    help="Required, unless all voters are non-private. fresh: the fresh randomness of every answer alone makes that "
    "answer private, whatever else the voter keeps. fixed: a voter was trained with DP once, such as a DP-SGD model, "
    "and is private over all its answers together.",
)
budget_options = options(
    click.option(
        "--total-epsilon",
        type=Numbers(),
        required=True,
        help="Privacy budget: epsilon of all labels together, in nats. E1,E2,...: a budget for each group.",
    ),
    click.option("--total-delta", type=Numbers(), required=True, help="Privacy budget: delta of all labels together."),
    voters_option,
)


def _asks_for_json(context: click.Context, option: click.Parameter, given: bool) -> bool:
    if isinstance(context.obj, endings.Run):
        context.obj.as_json = given
    return given


def _asks_for_log(context: click.Context, option: click.Parameter, given: bool) -> None:
    if isinstance(context.obj, endings.Run):
        context.obj.log_json = given


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=_asks_for_json,
    help="Print one JSON object and nothing else, whatever happens.",
)
log_json_option = click.option(
    "--log-json",
    is_flag=True,
    expose_value=False,
    callback=_asks_for_log,
    help="Write standard error as JSON, one object a line, with time, event and message.",
)
profile_option = click.option(
    "--profile",
    "profile_text",
    metavar="EPS:DELTA,...",
    shell_complete=files,
    help="Further (epsilon, delta) guarantees of one label, which it has all at once: rising epsilons (inf may be the "
    "last), falling deltas. Or a file: .csv with columns epsilon and delta, or .json as darrm profile --json prints "
    "it.",
)
kind_option = click.option(
    "--kind",
    default="",
    metavar="NAME",
    help='For a design with a limit for each group: the kind of change, "group 1" and so on, or "several groups".',
)
design_option = click.option("--out", type=DESIGN, help="Write the design file (JSON) here.")
file_argument = click.argument("file", type=PATH)


def take_problem(values: dict[str, Any]) -> MajorityProblem:
    """The problem from the options, which are taken out of ``values``."""
    from darrm.problem.majority import MajorityProblem

    names = ("K", "m", "release_epsilon", "epsilon", "Delta", "delta", "max_affected", "adjacency")
    return MajorityProblem(**{name: values.pop(name) for name in names})


def take_prior(text: str) -> Prior:
    """A prior from its text, where votes: may also name a votes file; with --randomized-response it is checked."""
    from darrm import priors, votes
    from darrm.priors.randomized import Randomized, why_impossible

    context = click.get_current_context(silent=True)
    K = None if context is None else context.params.get("K")

    def take(text: str) -> Prior:
        kind, _, rest = text.partition(":")
        if kind == "votes" and rest.lower().endswith((".csv", ".parquet")):
            counted = votes.read(rest).histogram
            if K in (None, len(counted) - 1):  # else it is refused, and that message stands alone
                note(
                    f"The prior is the distribution of votes in the {counted.sum():,} rows of {rest}. It shapes the "
                    "noise, and a design file stores it exactly: read it from public votes, and release other votes "
                    "than these."
                )
            return priors.votes(counted)
        epsilon, _, base = rest.partition(":")
        if kind == "randomized-response" and base.startswith("votes:"):
            return priors.randomized_response(take(base), number_of(epsilon))
        return priors.parse(text)

    taken = take(text)
    if (
        context is not None and context.meta.get(_RANDOMIZED) and not isinstance(taken, Randomized)
    ):  # of those solve warns by itself
        reason = why_impossible(taken, context.params["epsilon"], context.params["Delta"])
        if reason is not None:
            warnings.warn(reason, ImpossiblePriorWarning, stacklevel=2)
    return taken


def load_release(file: Path) -> Design | Noisy:
    """What releases labels by ``file``: a design, or noisy max with or without a check before each label."""
    from darrm.storage.kinds import kind_of

    if kind_of(file) == "mechanism":
        from darrm.mechanisms.confident_noisy_max import load_noisy_max

        return load_noisy_max(file)
    from darrm.design.loading import load

    return load(file)


def account_of(made: Design | Noisy) -> Labels | NoisyLabels:
    """What a ledger knows a design or noise by: a digest as its name."""
    from darrm.accounting.accounts import Labels, NoisyLabels
    from darrm.design.design import Design

    if isinstance(made, Design):
        return Labels.of(made)
    return NoisyLabels.of(made.sigma, made.max_affected, getattr(made, "sigma_check", None))


def refuse_swapped(first: object, second: object, wanted: str, right: Sequence[object]) -> None:
    """`InputError` if what releases labels stands in the place ``first`` of another file, and not at ``second``.

    ``right`` is how the command begins with both in their places.
    """
    from darrm.storage.kinds import RELEASES, kind_of

    if not isinstance(first, Path) or (kind := kind_of(first)) not in RELEASES:
        return
    if not isinstance(second, Path) or kind_of(second) not in RELEASES:
        raise InputError(
            f"{first} is {RELEASES[kind]}, in the place of {wanted}. Exchange the two: {darrm_line(*right)}, with the "
            "other options as they are."
        )


def load_majority(file: Path, what: str) -> Design:
    """The design of a majority in ``file``; `InputError` for a decision, which ``what`` does not take."""
    from darrm.design.loading import load

    design = load(file)
    if design.encoding.name != "gamma":
        raise InputError(
            f"{file} holds a decision by groups of voters. {what} is for majorities. Run: {darrm_line('verify', file)}"
        )
    return design


def print_json(values: Mapping[str, object]) -> None:
    """The one JSON object on standard output; infinities are null."""
    endings.current().print(values)


def console() -> Console:
    """A console that knows pipes, narrow terminals and NO_COLOR, and takes text as it is."""
    from rich.console import Console

    plain = Console(highlight=False, markup=False, emoji=False)
    if plain.width < 20:
        plain.width = 80
    return plain


def note(message: str) -> None:
    """A message for the reader, in one line on standard error."""
    endings.current().say(in_one_line(message))


def wrote(*paths: Path | str | None) -> None:
    """Say what was written."""
    for path in filter(None, paths):
        note(f"Wrote {path}.")


def draw(path: Path | None, picture: Callable[[], Any]) -> None:
    """Write a picture, if a path was given."""
    if path is not None:
        save(path, picture())


def table(*figures: str, name: str = "", **settings: Any) -> Table:
    """A table without lines: columns of figures, beside a column of names if that has a ``name``."""
    from rich.table import Table

    made = Table(box=None, **settings)
    if name:
        made.add_column(name, overflow="fold")
    for figure in figures:
        made.add_column(figure, justify="right", overflow="fold")
    return made


def narrow(head: str) -> str:
    """The head of a column of figures on several short lines, which leaves room for names beside it."""
    return textwrap.fill(head, 13)


def profile(text: str) -> list[tuple[float, float]]:
    """Points (epsilon, delta): EPS:DELTA with commas between, or a file of them.

    A file ends in .csv (columns epsilon and delta, others are left out) or in .json (what ``darrm profile --json``
    prints, or a list of pairs; null is infinite).
    """
    if not text.endswith((".csv", ".json")):
        try:
            return [(float(epsilon), float(delta)) for epsilon, delta in (item.split(":") for item in text.split(","))]
        except ValueError:
            raise InputError(
                f"--profile must be EPS:DELTA,EPS:DELTA,... or a file that ends in .csv or .json. Got {text!r}. Pass "
                "e.g. .5:1e-3,1:1e-5."
            ) from None
    try:
        content = check_path("--profile", text).read_text(encoding="utf-8-sig")
        points = _points_of_json(content) if text.endswith(".json") else _points_of_csv(content)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{text} could not be read: {error.strerror}. Pass the path of a profile.") from error
    except (ValueError, KeyError, TypeError, OverflowError, csv.Error):
        raise InputError(
            f"{text} holds no profile: a CSV file must have the columns epsilon and delta, a JSON file what darrm "
            "profile --json prints, or a list of pairs [epsilon, delta]."
        ) from None
    if not points:
        raise InputError(f"{text} holds no profile: it has no point. Write at least one pair of epsilon and delta.")
    return points


def _points_of_csv(content: str) -> list[tuple[float, float]]:
    rows = csv.DictReader(content.splitlines(), strict=True, skipinitialspace=True)
    return [(float(row["epsilon"]), float(row["delta"])) for row in rows]


def _points_of_json(content: str) -> list[tuple[float, float]]:
    values = parsed(content)
    if isinstance(values, dict):
        values = [(point["epsilon"], point["delta"]) for point in values["profile"]]
    return [(math.inf if epsilon is None else float(epsilon), float(delta)) for epsilon, delta in values]


def bar(value: float, width: int, ascii_only: bool) -> str:
    """A bar of length value in [0, 1], to an eighth of a character where the terminal can show one."""
    if ascii_only:
        return "#" * round(value * width)
    eighths = round(value * width * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8].strip())
