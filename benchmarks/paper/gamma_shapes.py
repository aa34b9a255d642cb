"""Shapes and errors of noise functions: Figures 2, 6, 7, 8, 9 and Table 3 of the DaRRM paper.

    python benchmarks/paper/gamma_shapes.py [--figure 2 7 ...] [--docs] [--pictures DIRECTORY]

Takes: a minute. --docs writes docs/papers.md.

For each panel: gamma_opt (the free optimum of the paper's linear program for its prior), the monotone optimum, and the
paper's baselines, each verified at the (m epsilon, delta) of the panel. Errors are exact for the prior, and means over
seeded draws of p with their 95 % intervals, the same draws for all noise functions, for the distributions that the
paper calls actual: there |TV| of Definition 2.4 has no closed form. --docs draws the first picture of the tutorial too.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import DOCS, bullets, choose, put, save, table, whole

import darrm
from darrm import baselines, compare, priors
from darrm.accounting import general
from darrm.measures import sampled_error
from darrm.priors.chances import Independent
from darrm.show.figures import LOOKS, MECHANISMS, TEXT, WIDTH, legend_of_all, looks, new_figure, tidy
from darrm.show.plots import plot_comparison

Array = NDArray[np.float64]
EPSILON, PRIME, DRAWS, SEED = 0.1, 0.1, 100_000, 20241
FIGURES = (2, 6, 7, 8, 9)
UNIFORM = priors.independent()
# What the paper evaluates errors under; drawn from only, so p below 1/2 is no harm.
ACTUAL: dict[str, priors.Prior] = {
    "U[0, 1]": Independent(0.0, 1.0),
    "p = .5": Independent(0.5, 0.5),
    "U[0, .1]": Independent(0.0, 0.1),
}
STYLES = {
    **looks(["gamma_opt", "subsampling", "double subsampling"]),
    "opt under T_U": LOOKS[0],
    "opt under T_P": LOOKS[5],
    "constant (RR)": LOOKS[MECHANISMS["RR"]],
    "monotone": (LOOKS[MECHANISMS["monotone"]][0], "", "-"),
}


@dataclass(frozen=True)
class Panel:
    """One setting of a figure: noise functions by name, and errors by name of the distribution and of the function."""

    title: str
    problem: darrm.MajorityProblem
    gammas: dict[str, Array]
    errors: dict[str, dict[str, Any]]


def panel(
    title: str,
    problem: darrm.MajorityProblem,
    *,
    drawn: int,
    double: bool = False,
    constant: Array | None = None,
    actual: tuple[str, ...] = ("U[0, 1]",),
    pointed: priors.Prior | None = None,
    draws: int = DRAWS,
) -> Panel:
    """Solve and evaluate one panel; ``drawn`` votes for subsampling, ``pointed`` for a second prior."""
    optimum = darrm.solve(problem).gamma
    gammas = {"gamma_opt": optimum}
    if pointed is not None:
        gammas = {"opt under T_U": optimum, "opt under T_P": darrm.solve(problem, prior=pointed).gamma}
    gammas["monotone"] = darrm.solve(problem, shape="monotone").gamma
    gammas["subsampling"] = baselines.subsampling(problem.K, drawn)
    if double:
        gammas["double subsampling"] = baselines.double_subsampling(problem.K, drawn)
    gammas["constant (RR)"] = baselines.constant(problem) if constant is None else constant
    rng = np.random.default_rng(SEED)
    errors = {name: sampled_error(gammas, ACTUAL[name], draws=draws, rng=rng) for name in actual}
    return Panel(title, problem, gammas, errors)


def composed(M: int) -> tuple[darrm.MajorityProblem, float, float]:
    """A column of Table 3: the problem whose (m epsilon, delta) is general composition of M, and tau and lambda."""
    total, everything = general(EPSILON, 1e-5, M, PRIME), general(EPSILON, 1e-5, 35, PRIME)
    problem = darrm.MajorityProblem(35, total.epsilon / EPSILON, EPSILON, 1e-5, delta=total.delta)
    return problem, everything.epsilon / EPSILON, everything.delta


def table_3() -> list[dict[str, Any]]:
    """Table 3, computed, to the digits that it is printed with."""
    lines = []
    for M in (10, 13, 15, 20):
        problem, tau, lam = composed(M)
        total, delta = problem.release_epsilon, problem.delta
        values = {"m": problem.m, "tau": tau, "lambda": lam, "m epsilon": total, "delta": delta}
        lines.append({"M": M, **{name: f"{value:.4f}" for name, value in values.items()}})
    return lines


def panels(figure: int, draws: int = DRAWS) -> list[Panel]:
    """All panels of a figure of the paper."""
    if figure == 2:
        return [
            panel(f"m = {m}", darrm.MajorityProblem(11, m, EPSILON, 1e-5), drawn=m, draws=draws) for m in (1, 3, 5, 7)
        ]
    if figure == 6:
        found = []
        for M in (10, 13, 15, 20):
            problem, tau, lam = composed(M)
            constant = baselines.constant(problem, tau, lam)
            found.append(panel(f"M = {M}, m = {problem.m:.4f}", problem, drawn=M, constant=constant, draws=draws))
        return found
    if figure in (7, 8):
        K, ms = (11, (1, 3, 5, 7, 9, 11)) if figure == 7 else (101, (10, 20, 30, 40, 60, 80))
        problems = [darrm.MajorityProblem(K, m, EPSILON) for m in ms]
        return [panel(f"m = {m}", p, drawn=m, double=True, draws=draws) for m, p in zip(ms, problems, strict=True)]
    if figure == 9:
        T_P = priors.independent(0.7, 1.0)
        return [
            panel(
                f"m = {m}",
                darrm.MajorityProblem(11, m, EPSILON),
                drawn=m,
                actual=tuple(ACTUAL),
                pointed=T_P,
                draws=draws,
            )
            for m in (3, 5)
        ]
    raise SystemExit(f"figure must be one of {FIGURES}. Got {figure}.")


def half(gamma: Array) -> Array:
    return gamma[gamma.size // 2 :]  # K is odd in all figures


def exact(gamma: Array, objective: str, prior: priors.Prior = UNIFORM) -> float:
    """1/2 sum of the weights of the prior times 1 - gamma: the error ("tv") or the disagreement, exact."""
    return float(priors.weights(prior, gamma.size - 1, objective) @ (1 - half(gamma))) / 2


def proof(gamma: Array, problem: darrm.MajorityProblem) -> tuple[str, float]:
    """Whether it is verified as it is, or after scaling (`darrm.repair`) and by how much; and the tight epsilon.

    The latter to float64: what rounding puts above m epsilon, or to infinity, is m epsilon.
    """
    certificate = darrm.verify(gamma, problem)
    if certificate.holds:
        return "yes", certificate.tight_epsilon
    scaled = darrm.repair(gamma, problem)
    loss = float(np.max(1 - scaled[gamma > 0] / gamma[gamma > 0]))
    tight = min(certificate.tight_epsilon, problem.release_epsilon)
    return f"times 1 - {loss:.0e}", tight


def rows(found: list[Panel]) -> list[dict[str, Any]]:
    lines = []
    for one in found:
        for name, gamma in one.gammas.items():
            verified, tight = proof(gamma, one.problem)
            line: dict[str, Any] = {"panel": one.title, "noise function": name}
            if gamma.size == 12:
                line["gamma(6), ..., gamma(11)"] = ", ".join(f"{value:.4f}" for value in half(gamma))
            line |= {"error": exact(gamma, "tv"), "disagreement": exact(gamma, "disagreement")}
            for where, means in one.errors.items():
                mean, low, high = means[name]
                line[f"error, {where}"] = f"{mean:.4g} +- {(high - low) / 2:.1g}" if high > low else f"{mean:.4g}"
            line["verified"] = verified
            line["tight epsilon"] = tight
            line["of m epsilon"] = one.problem.release_epsilon
            lines.append(line)
    return lines


def brief(figure: int, found: list[Panel]) -> list[dict[str, Any]]:
    """The errors alone: a row for each panel, or for each noise function where a panel has several distributions."""
    if figure == 9:
        return choose(rows(found), ("panel", "noise function", "error", *(f"error, {where}" for where in ACTUAL)))
    return [{"panel": one.title} | {name: exact(gamma, "tv") for name, gamma in one.gammas.items()} for one in found]


def findings(figure: int, found: list[Panel]) -> list[str]:
    """What the panels show beside what the paper says of them; every number is computed here."""
    optima = [(one, name) for one in found for name in _OPTIMA if name in one.gammas]
    said = [
        f"{claim}: {'; '.join(parts)}."
        for claim, parts in (
            ("The free optimum is not monotone. Its largest falls", [part for one in optima for part in _falls(*one)]),
            ("The free optimum is not the highest everywhere", [part for one in optima for part in _above(*one)]),
        )
        if parts
    ]
    full = [one.title for one in found if all(np.all(g == 1) for n, g in one.gammas.items() if n in _OPTIMA)]
    if full:
        said.append(f"No noise at all (gamma = 1, error 0) at: {'; '.join(full)}.")
    checked = [(one, name, *proof(g, one.problem)) for one in found for name, g in one.gammas.items()]
    scaled = [f"{one.title}, {name}" for one, name, how, _ in checked if how != "yes"]
    said.append("Every noise function here is verified as it is." if not scaled else _scaled(scaled))
    tight = [
        one.title
        for one, name, _, tight in checked
        if name == "double subsampling" and tight > (1 - 1e-9) * one.problem.release_epsilon
    ]
    if tight:
        said.append(
            "Double subsampling spends all of m epsilon, against any voters and not only identically distributed ones "
            f"(the paper's theorem is for those), at: {'; '.join(tight)}."
        )
    if less := [part for one in found for part in _of_prior(one)]:
        said.append(
            "The free optimum does not have the least error under U[0, 1]. The optimum for p on [.5, .6] has less "
            f"there: {'; '.join(less)}."
        )
    if figure == 6:
        plain = [darrm.verify(np.ones(36), one.problem).tight_epsilon for one in found]
        said.append(
            "The plain majority of all 35 satisfies the guarantee by itself. At the delta of each panel it is "
            "(epsilon, delta)-DP at epsilon "
            + ", ".join(f"{one:.4f}" for one in plain)
            + ". Allowed is "
            + ", ".join(f"{one.problem.release_epsilon:.4f}" for one in found)
            + "."
        )
    if figure == 9:
        flat = max(interval.mean for one in found for interval in one.errors["p = .5"].values())
        said.append(
            "At p = .5 votes for 1 and for 0 balance, so |TV| of Definition 2.4 is 0 for every symmetric gamma "
            f"(largest found: {flat:g}); the paper's panels have error axes marked up to .075 (m = 3) and .06 (m = 5)."
        )
    return said


def _scaled(names: list[str]) -> str:
    return (
        f"Tight: {'; '.join(names)}. As float64 tables these spend their limit to the last digit. They are verified "
        "when scaled down by the factor in the table, which is rounding."
    )


def _of_prior(one: Panel) -> list[str]:
    """The error under U[0, 1] of an optimum for voters who lean less."""
    name = next(iter(one.gammas))
    close = darrm.solve(one.problem, prior=priors.independent(0.5, 0.6)).gamma
    both = {name: one.gammas[name], "close": close}
    found = sampled_error(both, ACTUAL["U[0, 1]"], draws=DRAWS, rng=np.random.default_rng(SEED))
    if found["close"].high >= found[name].low:
        return []
    return [
        f"at {one.title} {found['close'].mean:.3g} (at most {found['close'].high:.3g}) where {name} has "
        f"{found[name].mean:.3g} (at least {found[name].low:.3g})"
    ]


_OPTIMA = ("gamma_opt", "opt under T_U", "opt under T_P")


def _falls(one: Panel, name: str) -> list[str]:
    """Where an optimum falls most, and what the monotone optimum costs instead."""
    upper, first = half(one.gammas[name]), one.gammas[name].size // 2
    at = int(np.argmax(upper[:-1] - upper[1:]))
    if upper[at] - upper[at + 1] <= 1e-9:
        return []
    costs = exact(one.gammas["monotone"], "tv") - exact(one.gammas[name], "tv")
    text = (
        f"at {one.title} {name} from gamma({first + at}) = {upper[at]:.10g} to gamma({first + at + 1}) = "
        f"{upper[at + 1]:.10g}"
    )
    return [text + (f" (the monotone optimum has {costs:.3g} more error)" if name != "opt under T_P" else "")]


def _above(one: Panel, name: str) -> list[str]:
    """Where a verified baseline is above an optimum."""
    said = []
    upper, first = half(one.gammas[name]), one.gammas[name].size // 2
    for other in ("subsampling", "double subsampling"):
        if other in one.gammas and darrm.verify(one.gammas[other], one.problem).holds:
            excess = half(one.gammas[other]) - upper
            if excess.max() > 1e-6:
                at = int(excess.argmax())
                said.append(
                    f"at {one.title} {other} has gamma({first + at}) = {half(one.gammas[other])[at]:.4f}, {name} "
                    f"{upper[at]:.4f}"
                )
    return said


def draw(figure: int, found: list[Panel]) -> Any:
    """The panels in a grid, the errors of each beside its shapes."""
    K, names = found[0].problem.K, list(found[0].gammas)
    bars = list(found[0].errors)
    columns = 1 if len(bars) > 1 else 2
    height = -(-len(found) // columns)
    picture = new_figure((WIDTH, 1.8 * height + 1.0))
    widths = [1.5, *[1.0] * len(bars)] * columns
    axes = picture.subplots(height, len(widths), squeeze=False, width_ratios=widths)
    for i, one in enumerate(found):
        row, column = divmod(i, columns)
        start = column * (1 + len(bars))
        shapes(axes[row, start], one, first=column == 0, last=row == height - 1)
        for j, where in enumerate(bars):
            error_bars(axes[row, start + 1 + j], one, where, titled=len(bars) > 1 or row == 0)
    legend_of_all(axes[0, 0], columns=min(5, len(names)))
    kind = "epsilon = 0.1, Delta = 1e-5" if figure in (2, 6) else "epsilon = 0.1, Delta = delta = 0"
    picture.suptitle(f"K = {K}, {kind} (the setting of Figure {figure})", fontsize=TEXT)
    return picture


def shapes(ax: Any, one: Panel, *, first: bool, last: bool) -> None:
    K = one.problem.K
    for name, gamma in one.gammas.items():
        colour, marker, line = STYLES[name]
        thin = name == "monotone"
        l = np.arange(K + 1)
        if K > 11:  # only the ends of what is flat
            l = l[[i in (0, K) or gamma[i - 1] != gamma[i] or gamma[i] != gamma[i + 1] for i in l]]
        ax.plot(
            l,
            gamma[l],
            color=colour,
            marker=marker if K == 11 else "",
            linestyle=line,
            markersize=3,
            linewidth=1 if thin else 1.3,
            zorder=3 if thin or name in _OPTIMA else 2,
            label=name,
        )
    ax.set(ylim=(-0.04, 1.06), xticks=[0, K // 2 + 1, K], yticks=[0, 0.5, 1])
    ax.set_title(one.title, fontsize=TEXT)
    ax.set_ylabel("gamma(l)" if first else "", fontsize=TEXT)
    if last:
        ax.set_xlabel("votes for 1, l", fontsize=TEXT)
    ax.tick_params(labelsize=TEXT)
    tidy(ax)


def error_bars(ax: Any, one: Panel, where: str, *, titled: bool) -> None:
    means = one.errors[where]
    for i, (name, (mean, low, high)) in enumerate(means.items()):
        ax.bar(
            i, mean, color=STYLES[name][0], yerr=[[mean - low], [high - mean]], error_kw={"elinewidth": 1}, width=0.7
        )
        if mean == 0:
            ax.annotate("0", (i, 0), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=TEXT)
    top = max(interval.high for interval in means.values())
    ax.set(xticks=[], ylim=(0, 1.1 * top if top > 1e-12 else 0.01))
    ax.set_title(f"error, {where}" if titled else "", fontsize=TEXT)
    ax.tick_params(labelsize=TEXT)
    ax.locator_params(axis="y", nbins=3)
    ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3))
    ax.yaxis.get_offset_text().set_fontsize(TEXT)
    if top <= 1e-12:
        ax.set(yticks=[0])
    tidy(ax, along="y")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=int, nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--docs", action="store_true", help="also put tables and pictures into docs/")
    parser.add_argument("--pictures", type=Path, metavar="DIRECTORY", help="also write the pictures there, as PNG")
    options = parser.parse_args()
    for figure in options.figure:
        found = panels(figure)
        lines, said = rows(found), bullets(findings(figure, found))
        print(f"Figure {figure}", table(lines), said, sep="\n\n", end="\n\n")
        if options.pictures:
            save(draw(figure, found), options.pictures / f"figure_{figure}.png")
        if options.docs:
            parts = ["Exact error of each noise function:", table(brief(figure, found))]
            if figure == 6:
                parts = ["Table 3, all columns:", table(table_3()), *parts]
            put(f"figure-{figure}", "\n\n".join([*parts, whole(f"figure-{figure}", lines), said]))
            save(draw(figure, found), DOCS / f"paper_figure_{figure}.svg")
    if options.docs:
        first = darrm.MajorityProblem(11, m=3, epsilon=0.1)
        save(plot_comparison(first, compare(first))[0].figure, DOCS / "first_picture.svg")


if __name__ == "__main__":
    main()
