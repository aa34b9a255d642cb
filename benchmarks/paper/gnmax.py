"""Gaussian noisy max: Figure 10 and Table 4 of the DaRRM paper, and its Algorithm 6 on some votes.

    python benchmarks/paper/gnmax.py [--docs] [--pictures DIRECTORY]

Takes: seconds. --docs writes docs/papers.md.

sigma^2 over the Renyi order lambda, for the paper's budgets of one label; the lambda and sigma that Table 4 prints
beside the minimum of the formula above it, on the paper's grid and in closed form. Less noise is enough by the exact
privacy of the noisy counts, and less still by that of the label of two classes, which is all that is released. Then the
Renyi privacy at the votes at hand (Papernot et al., ICLR 2018) and what Algorithm 6 gives as printed.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import DOCS, above, bullets, put, save, table

from darrm.accounting import gnmax_rdp, gnmax_sigma, gnmax_sigma_analytic
from darrm.show.figures import LOOKS, TEXT, WIDTH, legend_of_all, new_figure, tidy

Array = NDArray[np.float64]
DELTA = 3e-4
K = 11  # teachers
# Data: (m epsilon, the lambda printed, the sigma printed).
TABLE_4 = {"MNIST": (0.2676, 34.31, 21.46), "Fashion-MNIST": (0.2556, 35.74, 22.46)}
# Standard deviation, order, votes.
VOTES: list[tuple[float, float, tuple[int, ...]]] = [
    (40.0, 10.0, (220, 20, 5, 5, 0, 0, 0, 0, 0, 0)),
    (40.0, 10.0, (200, 30, 10, 10)),
    (40.0, 10.0, (90, 10)),
]


def variance(orders: Array, epsilon: float, delta: float = DELTA) -> Array:
    """sigma^2 = lambda / (epsilon - ln(1 / delta) / (lambda - 1)), as in Appendix D.2.1 of the paper."""
    return np.asarray(orders / (epsilon - math.log(1 / delta) / (orders - 1)))


def least_order(epsilon: float, delta: float = DELTA) -> float:
    """Above this order sigma^2 is positive: ln(1 / delta) / epsilon + 1."""
    return math.log(1 / delta) / epsilon + 1


def grid(epsilon: float) -> Array:
    """The paper's orders: steps of .5 from the least one, where sigma^2 is infinite, up to 500."""
    return np.arange(least_order(epsilon) + 0.5, 500, 0.5)


def label_sigma(epsilon: float, delta: float, K: int, max_affected: int = 1) -> float:
    """The least standard deviation with which GNMax's *label*, of two classes, is (epsilon, delta)-DP.

        max over l of  X(l + max_affected) - e^epsilon X(l)  <=  delta,     X(l) = Phi((2 l - K) / (sqrt(2) sigma))

    Parameters
    ----------
    epsilon : float > 0, nats
    delta : float in [0, 1)
    K : int
        Voters, without privacy of their own, of whom a record reaches ``max_affected``.

    Returns
    -------
    float
        To a relative 1e-9, from above. Never above the sigma with which the noisy counts are as private.

    Notes
    -----
    X increases, so no pair that is closer together is worse, and 1 - X(l) = X(K - l) makes the other label the same.
    """
    from scipy.special import log_ndtr

    def holds(sigma: float) -> bool:
        likely = log_ndtr((2 * np.arange(K + 1) - K) / (math.sqrt(2) * sigma))
        first, second = likely[max_affected:], likely[: K + 1 - max_affected]
        return bool(np.max(-np.exp(first) * np.expm1(np.minimum(epsilon + second - first, 700))) <= delta)

    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def rows() -> list[dict[str, Any]]:
    lines = []
    for data, (epsilon, order, sigma) in TABLE_4.items():
        orders = grid(epsilon)
        values = variance(orders, epsilon)
        lines.append(
            {
                "data": data,
                "m epsilon": epsilon,
                "least lambda": f"{least_order(epsilon):.2f}",
                "lambda printed": order,
                "lambda of the minimum": f"{orders[values.argmin()]:.2f}",
                "sigma at the printed lambda": above(math.sqrt(variance(np.array(order), epsilon)), 2),
                "sigma printed": sigma,
                "sigma on the grid": above(math.sqrt(values.min()), 4),
                "sigma, closed form": above(gnmax_sigma(epsilon, DELTA), 4),
                "sigma, exact for the counts": above(gnmax_sigma_analytic(epsilon, DELTA), 4),
                "sigma, exact for the label": above(label_sigma(epsilon, DELTA, K), 4),
            }
        )
    return lines


def as_printed(votes: tuple[int, ...], sigma: float, order: float) -> float:
    """Line 11 of Algorithm 6: the bound before its logarithm, over lambda - 1; the plain bound if it does not apply."""
    bound, plain = float(gnmax_rdp(votes, sigma, order)), order / sigma**2
    return math.exp((order - 1) * bound) / (order - 1) if bound < plain else plain


def line_9(votes: tuple[int, ...], sigma: float, order: float) -> float:
    """The bound with line 9 as printed, which has a power of e^epsilon_2 for one of q e^epsilon_2; line 11 is right."""
    bound, plain = float(gnmax_rdp(votes, sigma, order)), order / sigma**2
    if not bound < plain:
        return plain
    q = sum(math.erfc((max(votes) - n) / (2 * sigma)) for n in sorted(votes)[:-1]) / 2
    mu = sigma * math.sqrt(-math.log(q))
    first, second = (mu + 1) / sigma**2, mu / sigma**2
    A = (1 - q) / (1 - q * math.exp(second) ** ((mu - 1) / mu))
    B = math.exp(first) / q ** (1 / mu)
    return math.log((1 - q) * A ** (order - 1) + q * B ** (order - 1)) / (order - 1)


def renyi_rows() -> list[dict[str, Any]]:
    cases = list(VOTES)
    for epsilon, order, sigma in TABLE_4.values():
        best = float(grid(epsilon)[variance(grid(epsilon), epsilon).argmin()])
        cases += [(sigma, order, (11, 0)), (sigma, best, (11, 0))]
    return [
        {
            "sigma": sigma,
            "lambda": f"{order:.2f}",
            "votes": ", ".join(map(str, votes)),
            "plain bound": f"{order / sigma**2:.7g}",
            "at the votes": f"{float(gnmax_rdp(votes, sigma, order)):.8g}",
            "line 11 of Algorithm 6 as printed": f"{as_printed(votes, sigma, order):.4g}",
            "line 9 as printed": f"{line_9(votes, sigma, order):.4g}",
        }
        for sigma, order, votes in cases
    ]


def findings() -> list[str]:
    said = []
    for data, (epsilon, order, sigma) in TABLE_4.items():
        orders = grid(epsilon)
        best = float(orders[variance(orders, epsilon).argmin()])
        there = math.sqrt(float(variance(np.array(order), epsilon)))
        less = 1 - gnmax_sigma_analytic(epsilon, DELTA) / gnmax_sigma(epsilon, DELTA)
        label = 1 - label_sigma(epsilon, DELTA, K) / gnmax_sigma(epsilon, DELTA)
        said.append(
            f"{data}: the lambda printed, {order}, is the least lambda plus {order - least_order(epsilon):.2f}, and "
            f"sigma would be {there:.2f} there. The minimum is at {best:.2f}, where sigma is as printed, {sigma}. "
            f"By the exact privacy of the noisy counts {less:.1%} less noise is enough, by that of the label alone "
            f"({K} voters, two classes) {label:.1%} less."
        )
    sigma, order, votes = VOTES[0]
    printed, plain = as_printed(votes, sigma, order), order / sigma**2
    said.append(
        f"Line 11 of Algorithm 6 lacks a logarithm: for the first votes it gives {printed:.4g}, "
        f"{printed / plain:.0f} times the plain bound {plain:g}; with the logarithm it is "
        f"{float(gnmax_rdp(votes, sigma, order)):.8g}."
    )
    said.append(_all_agree())
    return said


def _all_agree() -> str:
    """Whether eleven voters who all agree ever gain by the data-dependent bound, at the paper's sigma and any order."""
    orders, parts = np.linspace(1.001, 500, 20_000), []
    for data, (_, order, sigma) in TABLE_4.items():
        q = math.erfc(11 / (2 * sigma)) / 2
        mu = sigma * math.sqrt(-math.log(q)) + 1
        gains = np.any(gnmax_rdp((11, 0), sigma, orders) < orders / sigma**2 * (1 - 1e-12))
        parts.append(
            f"{data}: mu_1 = {mu:.1f}, lambda {order}, {'a gain at some order' if gains else 'no gain at any order'}"
        )
    return (
        "Votes 11 to 0 do not meet the condition of Algorithm 6 (mu_1 >= lambda), as the paper says, nor would another "
        f"order up to 500 help: {'; '.join(parts)}."
    )


def draw() -> Any:
    picture = new_figure((WIDTH, 3.3))
    axes = picture.subplots(1, 2, sharey=True)
    for ax, (data, (epsilon, order, _)) in zip(axes, TABLE_4.items(), strict=True):
        orders = grid(epsilon)
        values = variance(orders, epsilon)
        shown = values <= 2200
        ax.plot(orders[shown][::4], values[shown][::4], color=LOOKS[0][0], label="sigma^2 of the formula")
        at = values.argmin()
        ax.plot(orders[at], values[at], LOOKS[2][1], color=LOOKS[2][0], label="its minimum")
        there = float(variance(np.array(order), epsilon))
        ax.plot(order, there, LOOKS[1][1], color=LOOKS[1][0], label="at the lambda of Table 4")
        for sigma, line, label in (
            (gnmax_sigma_analytic(epsilon, DELTA), ":", "exact for the counts"),
            (label_sigma(epsilon, DELTA, K), "-.", "exact for the label"),
        ):
            ax.axhline(sigma**2, color="#000000", linestyle=line, label=label)
        ax.set(xlim=(0, 510), xticks=range(0, 500, 100), ylim=(0, 2200), xlabel="Renyi order lambda")
        ax.set_title(f"{data}: epsilon = {epsilon}, delta = {DELTA:g}", fontsize=TEXT)
        tidy(ax)
    axes[0].set_ylabel("sigma^2, votes squared")
    legend_of_all(axes[0])
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put tables and picture into docs/")
    parser.add_argument("--pictures", type=Path, metavar="DIRECTORY", help="also write the picture there, as PNG")
    options = parser.parse_args()
    content = "\n\n".join([table(rows()), table(renyi_rows()), bullets(findings())])
    print(content)
    if options.pictures:
        save(draw(), options.pictures / "gnmax.png")
    if options.docs:
        put("gnmax", content)
        save(draw(), DOCS / "paper_figure_10.svg")


if __name__ == "__main__":
    main()
