"""Pictures of tables: error against m, where no noise is needed, and what the optimum gains over subsampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from darrm import baselines, priors
from darrm.errors import InputError
from darrm.show.figures import LOOKS, TEXT, WIDTH, curve, new_figure, tidy
from darrm.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = 6
_NOTHING = 1e-12  # errors that are rounding; so a gamma this close to 1 is 1


def plot_table(table: Table, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw a table: four panels for its first prior, shape, epsilon, Delta and ``max_affected`` rule.

    The first panel has, for some K, the error against m. The second has, against K, the smallest m of the table at
    which no noise is needed. The others have, over K and m, the error of the optimum divided by that of subsampling and
    by that of double subsampling.

    Parameters
    ----------
    table : Table
    axes : four matplotlib axes, optional

    Returns
    -------
    list of four matplotlib axes

    Raises
    ------
    InputError
        If the table holds no design.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import darrm
    >>> table = darrm.tables.solve_grid(K=[3, 5, 7], m=[1, 2, 3], epsilon=0.1)
    >>> panels = darrm.show.plots_table.plot_table(table)
    >>> panels[0].figure.savefig("table.png")
    """
    rows = [row for row in table if row["failure"] is None]
    if not rows:
        raise InputError("The table holds no design, so there is nothing to draw.")
    if "groups" in rows[0]:
        raise InputError("A picture shows a table of majorities. Got one of decisions by groups of voters.")
    same = ("prior", "shape", "objective", "epsilon", "Delta")
    drawn = [*(rows[0][name] for name in same), rows[0]["max_affected"] == rows[0]["K"]]
    rows = [row for row in rows if [*(row[name] for name in same), row["max_affected"] == row["K"]] == drawn]
    if axes is None:
        axes = new_figure((WIDTH, 6.4)).subplots(2, 2).ravel().tolist()
    sizes = sorted({row["K"] for row in rows})
    chosen = [sizes[i] for i in np.unique(np.linspace(0, len(sizes) - 1, min(_CURVES, len(sizes))).astype(int))]
    for look, K in zip(LOOKS, chosen, strict=False):
        points = sorted((row["m"], row["error"]) for row in rows if row["K"] == K)
        m, error = (np.array(values) for values in zip(*points, strict=True))
        shown = error > _NOTHING
        curve(axes[0], m[shown], error[shown], look, f"K = {K}", markersize=3)
    axes[0].set(xlabel="allowance m", ylabel="expected TV error (0 left out)", yscale="log")
    free = {row["K"]: math.inf for row in rows}
    for row in rows:
        if all(value > 1 - _NOTHING or 2 * l == row["K"] for l, value in enumerate(row["gamma"])):
            free[row["K"]] = min(free[row["K"]], row["m"])
    known = [K for K in sizes if math.isfinite(free[K])]
    axes[1].plot(known, [free[K] for K in known], color=LOOKS[0][0], marker="o", markersize=3, linestyle="none")
    axes[1].plot(sizes, [(K + 1) / 2 for K in sizes], color=LOOKS[1][0], linestyle="--", label="(K + 1) / 2")
    axes[1].set(xlabel="number of voters K", ylabel="smallest m that needs no noise")
    for ax, name, make in (
        (axes[2], "subsampling", baselines.subsampling),
        (axes[3], "double subsampling", baselines.double_subsampling),
    ):
        _heat(ax, name, rows, make)
    for ax in axes[:2]:
        tidy(ax)
        ax.legend(fontsize=TEXT)
    figure: Any = axes[0].figure
    figure.suptitle(", ".join(f"{name} = {rows[0][name]}" for name in same), fontsize=TEXT)
    return list(axes)


def _heat(ax: Axes, name: str, rows: list[dict[str, Any]], make: Any) -> None:
    """The error of the optimum as a share of a baseline's, whether or not that satisfies the guarantee."""
    allowances = sorted({row["m"] for row in rows})
    sizes = sorted({row["K"] for row in rows})
    share: NDArray[np.float64] = np.full((len(allowances), len(sizes)), np.nan)
    for row in rows:
        K = row["K"]
        weights = priors.weights(priors.parse(row["prior"]), K, row["objective"])
        gamma = np.array(row["gamma"])
        ours, theirs = (float(weights @ (1 - table[K // 2 + 1 :])) for table in (gamma, make(K, int(row["m"]))))
        share[allowances.index(row["m"]), sizes.index(K)] = ours / theirs if theirs > _NOTHING else np.nan
    image = ax.pcolormesh(sizes, allowances, share, cmap="cividis", vmin=0, vmax=1, shading="nearest")
    ax.set(xlabel="number of voters K", ylabel="allowance m")
    ax.set_title(f"error / error of {name}\n(blank: no error)", fontsize=TEXT)
    ax.figure.colorbar(image, ax=ax)
