"""darrm audit"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm._validation import whole
from darrm.cli import common
from darrm.cli.long_run import progress
from darrm.cli.needed import Command, Given
from darrm.errors import InputError
from darrm.numerics.printed import counted
from darrm.show import typed, wording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from darrm.labels.audit_row import AuditRow

_NAMES = ("rr", "llp", "llp-laplace", "llp-geometric")


def _missing(given: Given) -> list[str]:
    names = [name for name in given.get("names", ()) if {*name.split("+")} <= {*_NAMES}]  # others have an own error
    eta = str(given.get("eta", ""))
    return [
        *["'--mechanism' (or '--design')"] * (not {"names", "designs"} & given.keys()),
        *["'--epsilon'"] * ("epsilons" not in given and _of(names, "llp")),
        *["'--bag-size'"] * ("sizes" not in given and _of(names, "rr")),
        *["'--n'"] * ("n" not in given and eta.startswith("beta:")),
    ]


def _of(names: Sequence[str], other: str) -> bool:
    """Whether a mechanism is, or has in it, another than this one."""
    return any(set(name.split("+")) != {other} for name in names)


@click.command(
    "audit", cls=Command, also=_missing, short_help="Measure how much a release reveals about each private label."
)
@click.option(
    "--mechanism",
    "names",
    multiple=True,
    shell_complete=common.known(*_NAMES),
    help=f"{', '.join(_NAMES)}; may be repeated. A+B: an attacker who sees both releases.",
)
@click.option(
    "--design", "designs", type=common.PATH, multiple=True, help="Audit this design too, with bags of its K labels."
)
@click.option("--epsilon", "epsilons", help="Epsilons of label privacy, in nats: E1,E2,... (llp has none).")
@click.option("--bag-size", "sizes", help="Numbers of labels in a bag: K1,K2,... (not for rr and designs).")
@click.option(
    "--eta",
    required=True,
    shell_complete=common.files,
    help="CSV file of Pr[label = 1] for each label, or of the probabilities of C > 2 classes (rr); or beta:A,B.",
)
@common.number("--n", "Number of labels to draw for beta:A,B.")
@common.number("--seed", "Seed for the bags and for beta:A,B [fresh randomness].")
@common.number("--jobs", "Number of threads; -1 for all processors.", default=1, show_default=True)
@click.option("--out", type=common.PATH, help="Write all measures here: .csv, .json, .tex or .parquet (needs pyarrow).")
@common.plot_option("the advantages")
@common.json_option
def command(
    names: tuple[str, ...],
    designs: tuple[Path, ...],
    epsilons: str | None,
    sizes: str | None,
    eta: str,
    n: Any,
    seed: Any,
    jobs: Any,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Measure how much a release reveals about private labels to an attacker who knows the probability of every label.

    All combinations of mechanisms, epsilons and bag sizes are audited. llp+llp-geometric is an attacker who sees both
    releases, of the same bags. The figures are exact (Laplace: for continuous noise) if the given probabilities are
    right. For a fitted classifier compute them in Python with darrm.labels.eta_from_model: reading a model from a file
    would run code in it.
    """
    import numpy as np

    from darrm.labels import audit_files
    from darrm.show.plots_audit import plot_audit
    from darrm.storage.atomic import check_place
    from darrm.storage.frames import table_format

    if out is not None:
        table_format(out)  # a wrong ending or folder is refused before the work, not after
        check_place(out)
    rng = None if seed is None else np.random.default_rng(whole("--seed", seed, 0, math.inf))
    _check_names(names, designs)
    chances = _take_eta(eta, n, rng)
    tasks = _tasks(names, designs, epsilons, sizes, 2 if chances.ndim == 1 else chances.shape[1])
    rows = _audit(tasks, chances, rng, jobs)
    if out is not None:
        audit_files.save_rows(out, rows)
    common.draw(plot, lambda: plot_audit(rows))
    common.wrote(out, plot)
    if as_json:
        common.print_json({"labels": len(chances), "rows": audit_files.as_json(rows)})
    else:
        _print(rows, len(chances))


def _check_names(names: Sequence[str], designs: Sequence[Path]) -> None:
    for name in names:
        for part in name.split("+"):
            if part not in _NAMES:
                hint = " Pass a design with --design FILE." if part == "darrm" else ""
                raise InputError(
                    f"--mechanism must be one of {', '.join(_NAMES)}, or several with +. Got {name!r}.{hint}"
                )
    if not names and not designs:
        raise InputError(f"Pass --mechanism ({', '.join(_NAMES)}) or --design FILE, at least one.")


def _tasks(
    names: Sequence[str], designs: Sequence[Path], epsilons: str | None, sizes: str | None, classes: int
) -> list[tuple[list[tuple[str, Any]], Any]]:
    """(Mechanisms, bag sizes) that go together."""
    from darrm import labels, mechanisms

    binary = [name for name in names if set(name.split("+")) != {"rr"}] + ["--design"] * bool(designs)
    if classes > 2 and binary:
        raise InputError(f"{binary[0]} has two classes. Got --eta with {classes} columns. Pass --mechanism rr alone.")
    values = None if epsilons is None else typed.numbers("--epsilon", epsilons)
    if values is None and _of(names, "llp"):
        raise InputError("--epsilon is needed for every mechanism but llp. Pass it in nats, for instance 1.")
    if sizes is None and _of(names, "rr"):
        raise InputError("--bag-size is needed for every mechanism but rr. Pass it, for instance 8.")
    kinds: dict[str, Callable[[float], Any]] = {
        "rr": partial(mechanisms.RandomizedResponse, classes=classes),
        "llp-laplace": labels.LaplaceLabelProportions,
        "llp-geometric": labels.GeometricLabelProportions,
    }
    grid: list[tuple[str, Any]] = []
    exact = labels.LabelProportions()
    for name in dict.fromkeys(names):
        parts = name.split("+")
        for e in (values or []) if kinds.keys() & parts else [math.inf]:
            made = [kinds[part](e) if part in kinds else exact for part in parts]
            grid.append((name, made if len(made) > 1 else made[0]))
    tasks: list[tuple[list[tuple[str, Any]], Any]] = []
    if grid:
        tasks.append((grid, None if sizes is None else typed.numbers("--bag-size", sizes, int)))
    for path in designs:
        design = common.load_majority(path, "An audit")
        name = "darrm" if len(designs) == 1 else f"darrm {path.name}"
        tasks.append(([(name, mechanisms.DaRRM(design))], None))  # in bags of its K
    return tasks


def _audit(
    tasks: Sequence[tuple[list[tuple[str, Any]], Any]],
    chances: NDArray[np.float64],
    rng: np.random.Generator | None,
    jobs: int,
) -> list[AuditRow]:
    from darrm.labels import audit

    rows: list[AuditRow] = []
    with progress(lambda done, total: (done, total, f"{done}/{total} audited")) as report:
        for mechanisms, size in tasks:
            rows += audit(mechanisms, chances, bag_size=size, rng=rng, jobs=jobs, progress=report)
    return rows


def _take_eta(text: str, n: Any, rng: np.random.Generator | None) -> NDArray[np.float64]:
    """Probabilities from a file, or drawn from a beta distribution."""
    import numpy as np

    from darrm.labels.audit_files import read_eta

    kind, colon, rest = text.partition(":")
    if colon and kind == "model":
        raise InputError("A fitted model cannot be read from a file safely. Use darrm.labels.eta_from_model.")
    if not colon or kind != "beta":
        if n is not None:
            raise InputError("--n goes with --eta beta:A,B only; a file is read as a whole.")
        return read_eta(text)
    parameters = typed.numbers("--eta beta:", rest)
    if len(parameters) != 2 or not all(0 < value < float("inf") for value in parameters):
        raise InputError(f"--eta beta:A,B needs two finite numbers above 0. Got {rest!r}.")
    a, b = parameters
    many = whole("--n", n, 1, 10**9, hint="Pass how many labels to draw.")
    drawn: NDArray[np.float64] = (np.random.default_rng() if rng is None else rng).beta(a, b, size=many)
    return drawn


def _print(rows: Sequence[AuditRow], n: int) -> None:
    figures = ("k", "label-DP epsilon", "log odds", "additive", "largest", "98 %", "infinite", "leakage")
    title = f"Leakage about {n} private labels"
    table = common.table(*figures, name="mechanism", title=title, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(
            row.mechanism,
            str(row.bag_size),
            wording.at_least(row.guaranteed_epsilon),
            f"{row.largest_log_odds_change:.4g}",
            f"{row.additive_advantage:.3g}",
            f"{row.max_individual_advantage:.3g}",
            f"{row.multiplicative_98:.4g}",
            f"{row.infinite_mass:.2g}",
            f"{row.max_leakage:.4f}",
        )
    console = common.console()
    console.print(table)
    console.print(
        "k: labels in a bag. Label-DP epsilon: guarantee for one label, in nats, also against an attacker who knows "
        "all other labels; n labels that may depend on each other are protected by n times epsilon. Log odds: largest "
        "change of the attacker's log odds by an output, in nats. Additive and largest: mean and largest increase, "
        "over the labels, of the probability that the best attacker guesses a label right. 98 %: 98th percentile of "
        "the change of the log odds, in nats. Infinite: probability that the log odds become infinite. Leakage: "
        "largest maximal leakage of a label, in nats. If eta comes from a model that was trained on these labels, keep "
        "these figures secret: no noise protects them."
    )
    for size, left in sorted({(row.bag_size, row.remainder) for row in rows if row.remainder}):
        console.print(
            f"k = {size}: {counted(left, 'label')} {'is' if left == 1 else 'are'} in no bag, and not audited."
        )
