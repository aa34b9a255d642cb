"""Private labels from an ensemble: Tables 1, 6, 8, 10 of the DaRRM paper in its own way, then what is true of it.

    python benchmarks/paper/private_ensembles.py [--docs] [--data digits,hard,cancer,drawn] [--mnist FOLDER]
        [--fashion FOLDER] [--seed 0] [--pictures DIRECTORY]

Takes: minutes. --docs writes docs/papers.md.

The paper's way: K = 11 teachers, trained with differential privacy on disjoint shards; each label is (m epsilon,
m Delta)-DP; ten draws of Q queries from the held-out set. GNMax has teachers without privacy. The paper charges
gamma_opt as if a record reached all 11 teachers and GNMax as if it reached one, so both are shown for both. Logistic
regressions stand for the paper's networks, so figures are not the paper's, but what can win is.

Equal totals: these teachers are FIXED voters. A record reaches t of them (1 for disjoint shards), so any number of
labels costs at most t teachers. Here t teachers cost the whole total, so their plain majority keeps it; noise at the
labels would help if the total were below what they cost. Single labels of fixed voters must not be composed. FRESH
voters randomize every answer, and their labels do compose. The epsilon of an answer is chosen by public numbers, and
the raw answers, which the aggregator sees, cost more than the labels: both totals are in every table. GNMax is gauged
by the paper's formula, exactly for the noisy counts, and exactly for the label, which is all that is released.
Accuracies from the second table on are expected over the randomness of the release, on all held-out queries. Same seed,
same teachers and votes. --docs puts the rows of `SHOWN` into the page, and all rows into docs/papers/*.csv.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ensemble_methods as methods
import numpy as np
from ensemble_data import DELTA, TEACHERS, Array, Data, hardest_pairs, load
from ensemble_methods import dp_model, partial_model, plain_model, share_right, votes
from ensemble_reading import findings
from pages import DOCS, bounds, bullets, choose, put, save, table, whole

from darrm.accounting import compose, general, optimal
from darrm.baselines.noise_functions import subsampling
from darrm.design.solve import solve
from darrm.ensemble import PrivateMajorityClassifier
from darrm.ensemble.dp_sgd import calibrated_noise
from darrm.errors import DarrmError
from darrm.problem.majority import MajorityProblem
from darrm.randomness.words import NotPrivateWarning
from darrm.show.figures import LOOKS, REST, TEXT, WIDTH, legend_of_all, new_figure, tidy

K = 11
ALLOWANCES = (1, 3, 5, 7)
QUERIES = (20, 50, 100)
DRAWS = 10
PROVED = ("delta", "optimal", "exact, fresh voters", "fixed, t = 1", "fixed, t = 3", f"fixed, t = {K}")
PRIME = 1e-4  # delta' of Theorem 2.3, as in the paper
TOTALS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
SPLITS = 5
QUERIES_PRICED = (20, 100)
# Fresh voters: (t, Q); columns without DaRRM, and with answers of at most so much.
FRESH = ((1, 20), (1, 100), (3, 20), (3, 100), (11, 20))
LESS = "no DaRRM"
MOST = {f"at most {methods.CAP:g}": methods.CAP, "any": max(methods.ANSWERS)}
CAPPED, ANY = MOST
LABEL = methods.GAUGES[-1]
PAGE = DOCS / "papers.md"
_ALL_LABELS = "total epsilon of the labels"
# For a block of the page its columns (all if none are named), and for a column the values whose rows are shown.
SHOWN: dict[str, tuple[Sequence[str], dict[str, Sequence[Any]]]] = {
    "ensembles-paper": ((), {"m": (3,), "Q": (100,)}),
    "ensembles-allowances": ((), {"m": (3,), "epsilon": (0.5, 0.0892)}),
    "ensembles-totals": ((), {"Q": (100,)}),
    "ensembles-budgets": (
        (
            *("data", "total epsilon", "larger class", "one DP model", "fixed, t = 1"),
            *(f"GNMax, {LABEL}, Q = {q}" for q in QUERIES_PRICED),
        ),
        {"total_epsilon": (1.0, 4.0, 16.0)},
    ),
    "ensembles-one": (
        ("data", _ALL_LABELS, *(f"t = 1, Q = {q}, {said}" for q in QUERIES_PRICED for said in (LESS, CAPPED))),
        {"total_epsilon_of_the_labels": (1.0, 4.0, 16.0)},
    ),
    "ensembles-several": (
        ("data", _ALL_LABELS, *(f"t = {t}, Q = 20, {said}" for t in (3, K) for said in (LESS, *MOST))),
        {"total_epsilon_of_the_labels": (4.0,)},
    ),
    "ensembles-answers": ((), {"total_epsilon_of_the_labels": (4.0,)}),
    "ensembles-fresh": ((), {"Q": (20,)}),
    "ensembles-estimator": (
        (
            *("data", "t", "m", "Q", "gamma_opt, total", "gamma_opt", "subsampling, total", "subsampling"),
            *("the aggregator", "estimator", "estimator spent"),
        ),
        {},
    ),
    "ensembles-sizes": (
        (
            *("data", "total epsilon", "K", "records each", "fixed, t = 1", "fixed, t = 3"),
            *(f"GNMax, {LABEL}, Q = 20", "fresh, t = 1, Q = 20", "the aggregator, t = 1"),
        ),
        {},
    ),
}
NAMES = ("digits", "hard", "cancer", "drawn", "mnist", "fashion")
Row = dict[str, Any]


def generator(seed: int, name: str, run: int) -> np.random.Generator:
    return np.random.default_rng([seed, NAMES.index(name), run])


def main_epsilon(name: str) -> float:
    """Of one teacher, in the tables that show one."""
    return 0.5 if 0.5 in TEACHERS[name] else TEACHERS[name][0]


def draws_of(
    data: Data,
    epsilon: float,
    rng: np.random.Generator,
    allowances: Sequence[int] = ALLOWANCES,
    queries: Sequence[int] = QUERIES,
    draws: int = DRAWS,
) -> dict[tuple[int, int], dict[str, Array]]:
    """The paper's way: for each (m, Q) the share of right labels in each draw, by method, with labels drawn."""
    cast = {
        "private": votes(dp_model(epsilon, DELTA), data, K, 1, rng),
        "plain": votes(plain_model(), data, K, 1, rng),
    }
    chosen = {q: [rng.choice(len(data.truth), q, replace=False) for _ in range(draws)] for q in queries}
    found = {}
    for m in allowances:
        ways = methods.per_query(m, epsilon, K)
        for q in queries:
            right: dict[str, Array] = {}
            for name, way in ways.items():
                labels = [way.release(cast[way.teachers][some], rng) for some in chosen[q]]
                right[name] = np.array(
                    [(made == data.truth[some]).mean() for made, some in zip(labels, chosen[q], strict=True)]
                )
            ones = 2 * cast["plain"].sum(axis=1) > K
            right["no privacy"] = np.array([(ones[some] == data.truth[some]).mean() for some in chosen[q]])
            found[m, q] = right
    return found


def p_values(first: Array, second: Array) -> tuple[float, float]:
    """Two-sided paired t and Wilcoxon tests; 1 where no draw differs."""
    from scipy.stats import ttest_rel, wilcoxon

    difference = first - second
    if not difference.any():
        return 1.0, 1.0
    # Equal differences have no variance to test against.
    by_t = 0.0 if np.ptp(difference) < 1e-12 else float(ttest_rel(first, second).pvalue)
    return by_t, float(wilcoxon(np.round(difference, 9)).pvalue)


def paper_rows(name: str, found: dict[tuple[int, int], dict[str, Array]], epsilon: float) -> list[Row]:
    return [
        {"data": name, "m": m, "Q": q, "each label": f"({m * epsilon:.4g}, {m * DELTA:.4g})"}
        | {way: f"{one.mean():.2f} ({one.std(ddof=1):.2f})" for way, one in right.items()}
        for (m, q), right in found.items()
    ]


# Pairs of ways to compare: with the votes that the paper charges to one record, and with equally many of them.
AS_CHARGED = tuple((methods.OPTIMAL_ALL, other) for other in ("GNMax", methods.COUNTS, methods.SUBSAMPLING_ALL))
EQUAL_T = ((methods.PLAIN, methods.LABEL), (methods.OPTIMAL_ALL, methods.LABEL_ALL))


def test_rows(
    name: str, found: dict[tuple[int, int], dict[str, Array]], compared: Sequence[tuple[str, str]]
) -> list[Row]:
    rows = []
    for (m, q), right in found.items():
        row: Row = {"data": name, "m": m, "Q": q}
        for one, other in compared:
            t, w = p_values(right[one], right[other])
            difference = float((right[one] - right[other]).mean())
            row[f"{one} less {other}"] = f"{difference:+.3f} (t {t:.2g}, W {w:.2g})"
            row[f"_{one} less {other}"] = (difference, t, w)
        rows.append(row)
    return rows


def allowance_rows(name: str, seed: int, folder: Path | None, splits: int = SPLITS) -> list[Row]:
    """The same methods at every epsilon of a teacher, all held-out queries, averaged over splits and trainings."""
    rows = []
    for epsilon in TEACHERS[name]:
        right: dict[tuple[int, str], list[float]] = {}
        single = []
        for run in range(splits):
            rng = generator(seed, name, run)
            data = load(name, rng, folder)
            cast = {
                "private": votes(dp_model(epsilon, DELTA), data, K, 1, rng),
                "plain": votes(plain_model(), data, K, 1, rng),
            }
            single.append(float((cast["private"] == data.truth[:, None]).mean()))
            for m in ALLOWANCES:
                for way, one in methods.per_query(m, epsilon, K).items():
                    right.setdefault((m, way), []).append(share_right(one.chances, cast[one.teachers], data.truth))
        for m in ALLOWANCES:
            row: Row = {"data": name, "epsilon": epsilon, "m": m, "one teacher": float(np.mean(single))}
            rows.append(row | {way: float(np.mean(values)) for (at, way), values in right.items() if at == m})
    return rows


def total_rows(epsilon: float) -> list[Row]:
    """What Q labels of gamma_opt are said to cost together, and what labels of fixed teachers cost with its noise."""
    rows = []
    for m in ALLOWANCES:
        design = solve(MajorityProblem(K, m, epsilon, DELTA, delta=m * DELTA))
        for q in QUERIES:
            paper = general(m * epsilon, m * DELTA, q, PRIME)
            row: Row = {"epsilon": epsilon, "m": m, "Q": q, "delta": paper.delta, "Theorem 2.3": paper.epsilon}
            row["optimal"] = optimal(m * epsilon, m * DELTA, q, paper.delta).epsilon
            row["exact, fresh voters"] = compose(design, q, delta=paper.delta, voters="fresh").upper
            for t in (1, 3, K):
                # At t = 1 the teacher as it is: its own Delta, far below the delta of the row.
                row[f"fixed, t = {t}"] = epsilon if t == 1 else optimal(epsilon, DELTA, t, paper.delta).epsilon
            with_noise = compose(design, q, delta=paper.delta, voters="fixed").upper
            rows.append(row | {"_with noise": with_noise})
    return rows


def budget(data: Data, total: float, rng: np.random.Generator) -> dict[str, float]:
    """Accuracy of everything that is (total, DELTA)-DP in all, on one split."""
    truth = data.truth
    plain, shared = votes(plain_model(), data, K, 1, rng), votes(plain_model(), data, K, 3, rng)
    parts = votes(partial_model(), data, K, K, rng)
    found = {
        "larger class": float(max(truth.mean(), 1 - truth.mean())),
        "one model, no privacy": float(plain_model().fit(data.X, data.y).score(data.asked, truth)),
        "one DP model": share_right(methods.majority(1), votes(dp_model(total, DELTA), data, 1, 1, rng), truth),
    }
    for t in (1, 3, K):
        cast = votes(dp_model(*methods.teacher_budget(total, t)), data, K, t, rng)
        found[f"fixed, t = {t}"] = share_right(methods.majority(K), cast, truth)
    for q in QUERIES_PRICED:
        for gauge in methods.GAUGES:
            found[gnmax_column(gauge, q)] = share_right(methods.many_noisy_max(total, q, K, gauge), plain, truth)
    cast_by = {1: plain, 3: shared, K: parts}
    for t, q in FRESH:
        found[fresh_column(t, q, LESS)] = share_right(methods.without_darrm(total, t, q, K), cast_by[t], truth)
        for said, most in MOST.items():
            released = methods.fresh(methods.planned(total, t, q, K, most))
            found[fresh_column(t, q, said)] = share_right(released, cast_by[t], truth)
    return found


def gnmax_column(gauge: str, q: int) -> str:
    return f"GNMax, {gauge}, Q = {q}"


def fresh_column(t: int, q: int, said: str) -> str:
    return f"t = {t}, Q = {q}, {said}"


def learned(total: float, t: int, q: int, said: str, voters: int) -> tuple[float, float]:
    """The epsilon of an answer, and that of all raw answers together, in a column of fresh voters."""
    if said == LESS:
        epsilon = methods.unaided(total, t, q, voters)
    else:
        epsilon = methods.planned(total, t, q, voters, MOST[said]).problem.epsilon
    return epsilon, methods.collected(epsilon, t, q)


def budgets(
    name: str, seed: int, folder: Path | None = None, totals: Sequence[float] = TOTALS, splits: int = SPLITS
) -> dict[float, dict[str, Array]]:
    """For each total epsilon and method the accuracy on each split."""
    found: dict[float, dict[str, Array]] = {}
    for total in totals:
        runs = []
        for run in range(splits):
            rng = generator(seed, name, run)
            runs.append(budget(load(name, rng, folder), total, rng))
        found[total] = {method: np.array([one[method] for one in runs]) for method in runs[0]}
    return found


def told(share: str, aggregator: float) -> str:
    """A share of right labels, and in brackets the total of the aggregator."""
    return f"{share} ({aggregator:.0f})" if aggregator >= 100 else f"{share} ({aggregator:.3g})"


def budget_rows(name: str, found: dict[float, dict[str, Array]]) -> list[Row]:
    """Models, fixed voters and GNMax."""
    columns = {fresh_column(t, q, said) for t, q in FRESH for said in (LESS, *MOST)}
    return [
        {"data": name, "total epsilon": total}
        | {method: f"{one.mean():.3f}" for method, one in right.items() if method not in columns}
        for total, right in found.items()
    ]


def fresh_budget_rows(name: str, found: dict[float, dict[str, Array]], reached: Sequence[int]) -> list[Row]:
    """Fresh voters: the share of right labels, and in brackets the epsilon of all raw answers."""
    rows = []
    for total, right in found.items():
        row: Row = {"data": name, "total epsilon of the labels": total}
        for t, q in FRESH:
            for said in (LESS, *MOST) if t in reached else ():
                column = fresh_column(t, q, said)
                row[column] = told(f"{right[column].mean():.3f}", learned(total, t, q, said, K)[1])
        rows.append(row)
    return rows


def answer_rows(totals: Sequence[float] = TOTALS) -> list[Row]:
    """The epsilons of an answer that public numbers choose: the same for all data."""
    rows = []
    for t, q in FRESH:
        for total in totals:
            row: Row = {"t": t, "Q": q, "total epsilon of the labels": total}
            for said in (LESS, *MOST):
                epsilon, all_answers = learned(total, t, q, said, K)
                row |= {f"an answer, {said}": epsilon, f"the aggregator, {said}": all_answers}
            rows.append(row)
    return rows


def fresh_rows(name: str, seed: int, folder: Path | None, totals: Sequence[float] = (4.0, 16.0)) -> list[Row]:
    """Fresh voters at equal totals of the labels, from answers that carry all the noise to answers of little noise."""
    rows = []
    for t in (1, 3, K):
        for q in QUERIES_PRICED:
            for total in totals:
                least = methods.unaided(total, t, q, K)
                ways = {LESS: (least, methods.without_darrm(total, t, q, K))}
                for epsilon in methods.ANSWERS:
                    design = methods.planned_at(total, t, q, K, epsilon)
                    ways[f"answers of {epsilon:g}"] = (epsilon, methods.fresh(design))
                right: dict[str, list[float]] = {}
                for run in range(SPLITS):
                    rng = generator(seed, name, run)
                    data = load(name, rng, folder)
                    cast = votes(partial_model() if t == K else plain_model(), data, K, t, rng)
                    fixed = votes(dp_model(*methods.teacher_budget(total, t)), data, K, t, rng)
                    for way, (_, released) in ways.items():
                        right.setdefault(way, []).append(share_right(released, cast, data.truth))
                    right.setdefault("fixed voters", []).append(share_right(methods.majority(K), fixed, data.truth))
                means = {way: float(np.mean(values)) for way, values in right.items()}
                row: Row = {"data": name, "t": t, "Q": q, "total epsilon of the labels": total}
                row[f"epsilon of an answer, {LESS}"] = least
                for way, (epsilon, _) in ways.items():
                    row[way] = told(f"{means[way]:.4f}", methods.collected(epsilon, t, q))
                rows.append(row | {"fixed voters": means["fixed voters"], "_right": means})
    return rows


def estimator_rows(name: str, seed: int, folder: Path | None, epsilon: float = 1.0, q: int = 20) -> list[Row]:
    """Fresh voters at equal cost of one label, and `PrivateMajorityClassifier` answering q queries."""
    rows = []
    for t, allowances in ((3, (1, 2)), (K, (1, 3, 5, 7))):
        model = partial_model() if t == K else plain_model()
        rng = generator(seed, name, 0)
        data = load(name, rng, folder)
        cast = votes(model, data, K, t, rng)
        for m in allowances:
            problem = MajorityProblem(K, m, epsilon, max_affected=t)
            designs = {"gamma_opt": solve(problem), "subsampling": methods.design_of(subsampling(K, m), problem)}
            row: Row = {"data": name, "t": t, "m": m, "epsilon": epsilon, "Q": q}
            for way, design in designs.items():
                row[f"{way}, total"] = compose(design, q, delta=DELTA, voters="fresh").upper
                row[way] = share_right(methods.fresh(design), cast, data.truth)
            none = methods.after_randomized_response(methods.majority(K), epsilon)
            plain = methods.design_of(np.ones(K + 1), MajorityProblem(K, t, epsilon, max_affected=t))
            row["no noise, total"] = compose(plain, q, delta=DELTA, voters="fresh").upper
            row["no noise"] = share_right(none, cast, data.truth)
            row["the aggregator"] = methods.collected(epsilon, t, q)
            ensemble = PrivateMajorityClassifier(
                model,
                voters="fresh",
                K=K,
                overlap=t,
                epsilon=epsilon,
                m=m,
                total_epsilon=1.02 * row["gamma_opt, total"],  # the meter counts labels a little more coarsely
                total_delta=DELTA,
                random_state=seed,
            ).fit(data.X, data.y)
            some = rng.choice(len(data.truth), q, replace=False)
            row["estimator"] = float((ensemble.predict(data.asked[some]) == data.truth[some]).mean())
            row["estimator spent"] = ensemble.spent_.epsilon
            rows.append(row)
    return rows


def size_rows(name: str, seed: int, folder: Path | None, totals: Sequence[float] = (1.0, 4.0)) -> list[Row]:
    """More voters of fewer records each."""
    rows = []
    for total in totals:
        for voters in (5, 11, 21):
            right: dict[str, list[float]] = {}
            for run in range(SPLITS):
                rng = generator(seed, name, run)
                data = load(name, rng, folder)
                plain, shared = (votes(plain_model(), data, voters, t, rng) for t in (1, 3))
                fixed = [votes(dp_model(*methods.teacher_budget(total, t)), data, voters, t, rng) for t in (1, 3)]
                ways = [
                    ("fixed, t = 1", methods.majority(voters), fixed[0]),
                    ("fixed, t = 3", methods.majority(voters), fixed[1]),
                ]
                ways += [
                    (gnmax_column(LABEL, q), methods.many_noisy_max(total, q, voters, LABEL), plain) for q in (20, 100)
                ]
                for t, cast in ((1, plain), (3, shared)):
                    ways.append((f"fresh, t = {t}, Q = 20", methods.fresh(methods.planned(total, t, 20, voters)), cast))
                for way, released, cast in ways:
                    right.setdefault(way, []).append(share_right(released, cast, data.truth))
            row: Row = {"data": name, "total epsilon": total, "K": voters, "records each": len(data.y) // voters}
            row |= {way: float(np.mean(values)) for way, values in right.items()}
            row |= {f"the aggregator, t = {t}": learned(total, t, 20, CAPPED, voters)[1] for t in (1, 3)}
            rows.append(row)
    return rows


def noise_rows(totals: Sequence[float] = (1.0, 4.0)) -> list[Row]:
    """What is lost by composing t teachers as (epsilon, Delta) and no more: noise multipliers of training."""
    model = dp_model(1.0, DELTA)
    rows = []
    for total in totals:
        for t in (3, K):
            epsilon, delta = methods.teacher_budget(total, t)
            by_pair = calibrated_noise(epsilon, delta, model.sampling_rate, model.steps, "replace-one")[0]
            by_steps = calibrated_noise(total, DELTA, model.sampling_rate, t * model.steps, "replace-one")[0]
            row = {"total epsilon": total, "t": t, "epsilon of a teacher": epsilon, "Delta of a teacher": delta}
            rows.append(row | {"noise": by_pair, "noise, all steps composed": by_steps, "ratio": by_pair / by_steps})
    return rows


def draw(found: dict[str, dict[float, dict[str, Array]]]) -> Any:
    """Accuracy over the total epsilon, one panel for each data set; bands are one standard deviation over splits."""
    black = LOOKS[6][0]
    less, capped = (fresh_column(1, 20, said) for said in (LESS, CAPPED))
    lines = [
        ("one DP model", black, "x", "-"),
        ("fixed, t = 1", LOOKS[2][0], "o", "-"),
        ("fixed, t = 3", LOOKS[2][0], "P", "--"),
        (gnmax_column(LABEL, 20), LOOKS[1][0], "^", "-"),
        (gnmax_column(LABEL, 100), LOOKS[1][0], "v", ":"),
        (capped, LOOKS[0][0], "s", "--"),
        (fresh_column(1, 100, CAPPED), LOOKS[0][0], "D", ":"),
        (less, REST, "+", "-"),
    ]
    names = {"one DP model": "one DP model on all records, any Q"}
    names |= {f"fixed, t = {t}": f"fixed voters, t = {t}, plain majority, any Q" for t in (1, 3)}
    names |= {gnmax_column(LABEL, q): f"GNMax, {LABEL}, Q = {q} (sees raw votes)" for q in QUERIES_PRICED}
    for q in QUERIES_PRICED:
        most = methods.collected(methods.CAP, 1, q)
        names[fresh_column(1, q, CAPPED)] = (
            f"DaRRM, fresh, t = 1, answers {CAPPED}, Q = {q} (all raw answers: up to {most:.0f})"
        )
    names[less] = "fresh, t = 1, no DaRRM, Q = 20 (all raw answers: the total)"
    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    picture = new_figure((WIDTH, 2.5 * rows + 1.9))
    axes = np.atleast_1d(picture.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    for ax, (data, by_total) in zip(axes, found.items(), strict=False):
        totals = np.array(list(by_total))
        for method, colour, marker, style in lines:
            means = np.array([right[method].mean() for right in by_total.values()])
            spread = np.array([right[method].std(ddof=1) for right in by_total.values()])
            ax.plot(totals, means, style, color=colour, marker=marker, markersize=4, label=names.get(method, method))
            ax.fill_between(totals, means - spread, means + spread, color=colour, alpha=0.12, linewidth=0)
        first = next(iter(by_total.values()))
        ax.axhline(first["one model, no privacy"].mean(), color=black, ls="-.", lw=1, label="one model, no privacy")
        ax.axhline(first["larger class"].mean(), color=REST, ls=":", lw=1, label="always the larger class")
        ax.set_xscale("log", base=2)
        ax.set_xticks(totals, [f"{one:g}" for one in totals])
        ax.set(ylim=(0.4, 1.0))
        ax.set_title(data, fontsize=TEXT)
        tidy(ax)
    for ax in axes[max(0, len(found) - columns) : len(found)]:
        ax.set_xlabel(f"total epsilon, nats (delta = {DELTA:g})", fontsize=TEXT)
        ax.tick_params(labelbottom=True)
    for ax in axes[::columns]:
        ax.set_ylabel("labels right")
    legend_of_all(axes[0], columns=1)
    return picture


def processor() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put tables and picture into docs/")
    parser.add_argument("--data", default="digits,hard,cancer,drawn", metavar="NAMES", help="of digits, hard, ...")
    parser.add_argument("--mnist", type=Path, metavar="FOLDER", help="also MNIST, classes 5 and 8, from its IDX files")
    parser.add_argument("--fashion", type=Path, metavar="FOLDER", help="also Fashion-MNIST, likewise")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, metavar="DIRECTORY", help="also write the picture there, as PNG")
    options = parser.parse_args()
    folders = {"mnist": options.mnist, "fashion": options.fashion}
    chosen = [name for name in options.data.split(",") if name]
    chosen += [name for name, folder in folders.items() if folder is not None and name not in chosen]
    for name in chosen:
        if name not in NAMES:
            parser.error(f"--data must name some of {', '.join(NAMES)}. Got {name}.")
        if name in folders and folders[name] is None:
            parser.error(f"{name} needs a folder: --{name} FOLDER.")
    if not chosen or options.seed < 0:
        parser.error("--data must name a data set, and --seed be at least 0.")
    with warnings.catch_warnings():
        # Everything is seeded, so that it can be made again: nothing that this experiment releases is private.
        warnings.simplefilter("ignore", NotPrivateWarning)
        try:
            _run(chosen, folders, options)
        except DarrmError as error:
            parser.exit(2, f"{error}\n")


def _run(chosen: list[str], folders: dict[str, Path | None], options: argparse.Namespace) -> None:
    began, busy = time.perf_counter(), time.process_time()
    paper, tests, equal, allowances, sums, accuracy = [], [], [], [], {}, {}
    for name in chosen:
        folder, epsilon = folders.get(name), main_epsilon(name)
        rng = generator(options.seed, name, 0)
        found = draws_of(load(name, rng, folder), epsilon, rng)
        paper += paper_rows(name, found, epsilon)
        tests += test_rows(name, found, AS_CHARGED)
        equal += test_rows(name, found, EQUAL_T)
        allowances += allowance_rows(name, options.seed, folder)
        if epsilon not in sums:
            sums[epsilon] = total_rows(epsilon)
        accuracy[name] = budgets(name, options.seed, folder)
        print(f"{name}: {time.perf_counter() - began:.0f} s so far", flush=True)
    totals = [row for rows in sums.values() for row in rows]
    spent = [row for name in chosen for row in budget_rows(name, accuracy[name])]
    first = chosen[0], options.seed, folders.get(chosen[0])
    curve, estimator, sizes = fresh_rows(*first), estimator_rows(*first), size_rows(*first)

    def by_reach(reached: Sequence[int]) -> list[Row]:
        return [row for name in chosen for row in fresh_budget_rows(name, accuracy[name], reached)]

    tables = {
        "ensembles-paper": paper,
        "ensembles-tests": tests,
        "ensembles-equal": equal,
        "ensembles-allowances": allowances,
        "ensembles-totals": bounds(totals, PROVED),
        "ensembles-budgets": spent,
        "ensembles-one": by_reach((1,)),
        "ensembles-several": by_reach((3, K)),
        "ensembles-answers": answer_rows(),
        "ensembles-fresh": curve,
        "ensembles-estimator": estimator,
        "ensembles-sizes": sizes,
    }
    for marker, rows in tables.items():
        print(f"\n{marker}\n\n{table(choose(rows))}")
        if options.docs:
            put(marker, on_the_page(marker, rows), PAGE)
    contents = {
        "ensembles-noise": table(noise_rows()),
        "ensembles-reading": bullets(findings(tests, equal, allowances, totals, accuracy, curve, sizes)),
        "ensembles-pairs": pairs(options.seed),
    }
    seconds = f"{time.process_time() - busy:.0f} s of one core ({time.perf_counter() - began:.0f} s by the clock)"
    contents["ensembles-time"] = f"Seed {options.seed}; {seconds} on {processor()}."
    for marker, content in contents.items():
        print(f"\n{marker}\n\n{content}")
        if options.docs:
            put(marker, content, PAGE)
    picture = draw(accuracy)
    if options.pictures:
        save(picture, options.pictures / "private_ensembles.png")
    if options.docs:
        save(picture, DOCS / "paper_ensembles.svg")


def on_the_page(marker: str, rows: Sequence[Row]) -> str:
    """The rows and columns that a reader compares, and the link to all of them, which are written beside the page."""
    link = whole(marker, rows)
    if marker not in SHOWN:
        return link
    columns, values = SHOWN[marker]
    return f"{table(choose(rows, columns, **values))}\n\n{link}"


def pairs(seed: int) -> str:
    found = [f"{one} and {other} ({right:.3f})" for right, one, other in hardest_pairs(np.random.default_rng(seed))[:4]]
    return (
        f"Pairs of digits that logistic regressions on 30 images tell apart least: {', '.join(found)} of the held-out "
        "images right, over 10 draws."
    )


if __name__ == "__main__":
    main()
