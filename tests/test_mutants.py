"""Mistakes that would break a guarantee, made on purpose: the test that must refuse each does.

Each is a change of the source of darrm, put into the running code; the test of the suite that is named with it is then
run again and has to fail. `benchmarks/mutation.py` makes such changes by the thousand, without choosing them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import darrm
from darrm.accounting import Ledger
from darrm.certificate import engines

TESTS = Path(__file__).resolve().parent
Judge = Callable[[Any, Path], object]  # of the tests in one file, and of an empty folder


def functions(code: CodeType, within: str = "") -> Iterator[tuple[str, CodeType]]:
    """Functions and methods of a module's code, by qualified name."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and not inner.co_name.startswith("<"):
            if inner.co_flags & inspect.CO_NEWLOCALS:
                yield inner.co_qualname, inner
            else:
                yield from functions(inner)  # the body of a class


def live(module: ModuleType, name: str) -> FunctionType:
    """The function of that name, out of what properties and caches put around it."""
    found: Any = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    for inner in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, inner, found)
    assert isinstance(found, FunctionType), name
    return found


@functools.cache
def memories(modules: frozenset[str]) -> list[Any]:
    """What keeps answers in those modules, all that are loaded."""
    found = (one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper))
    return [one for one in found if one.__module__ in modules]


def forget() -> None:
    """Answers that are kept would outlive the mistake, or hide it."""
    for one in memories(frozenset(name for name in sys.modules if name.startswith("darrm"))):
        one.cache_clear()
    engines.forget()


def whole_name(module: str) -> str:
    """Modules are named without the package darrm, those of darrm_solvers with it."""
    return module if module.startswith("darrm_solvers.") else f"darrm.{module}"


@contextlib.contextmanager
def mistaken(module: str, old: str, new: str) -> Iterator[None]:
    """Wherever darrm is used, ``new`` in place of ``old`` in one function; whoever imported it before sees it too."""
    loaded = importlib.import_module(whole_name(module))
    path = inspect.getsourcefile(loaded)
    assert path is not None
    text = Path(path).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {path}"
    before, after = (
        dict(functions(compile(source, path, "exec", dont_inherit=True))) for source in (text, text.replace(old, new))
    )
    changed = {live(loaded, name): code for name, code in after.items() if code != before[name]}
    assert changed, f"{new!r} changes nothing in {path}"
    kept = {function: function.__code__ for function in changed}
    try:
        for function, code in changed.items():
            function.__code__ = code
        forget()
        yield
    finally:
        for function, code in kept.items():
            function.__code__ = code
        forget()


@functools.cache
def suite(file: str) -> Any:
    """The tests of one file, as functions."""
    path = TESTS / file
    name = f"judges_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Mistake(NamedTuple):
    """``old`` becomes ``new`` in a module of darrm or darrm_solvers, and a test in ``file`` has to refuse it."""

    what: str
    module: str
    old: str
    new: str
    file: str
    judge: Judge


SEPARATION, VERIFY = "certificate/test_separation.py", "certificate/test_verify.py"
CORNER_PASS = "certificate/test_corner_pass.py"
CORNERS, RELEASE = "constraints/test_corners.py", "mechanisms/test_darrm.py"
BLOCKS, IDENTICAL = "mechanisms/test_darrm_blocks.py", "certificate/test_identical_voters.py"
FIXED = "accounting/test_accounting_fixed.py"
FIXED_GROUPS = "accounting/test_accounting_decisions.py"
COMPOSE, THEOREMS = "accounting/test_accounting_compose.py", "accounting/test_accounting_theorems.py"
LEDGER, PROFILE = "accounting/test_accounting_ledger.py", "accounting/test_accounting_profile.py"
CURVES, MIXED = "accounting/test_curves.py", "accounting/test_ledger_mixed.py"
MAX, LABELS = "mechanisms/test_noisy_max.py", "mechanisms/test_label_mechanisms.py"
AGGREGATES, SEEN = "mechanisms/test_weighted_aggregates.py", "measures/test_empirical.py"
ENSEMBLE, LISTED = "ensemble/test_ensemble.py", "ensemble/test_listed_voters.py"
GROUPS, DECISIONS = "certificate/test_groups.py", "design/test_decisions.py"
CLASSES, CLASS_CASES = "certificate/test_class_certificates.py", "certificate/test_class_cases.py"
CLASS_ROWS, GAPS = "constraints/test_class_rows.py", "design/test_gaps.py"
LEAKAGE, NOISY_MAX = "measures/test_leakage.py", "measures/test_noisy_max_leakage.py"
ADVANTAGE, OVER_BAGS = "measures/test_advantage.py", "measures/test_over_bags.py"
MISPRINTS, RANDOM_BAGS, AUDIT = "measures/test_misprints.py", "labels/test_bags_at_random.py", "labels/test_audit.py"


def stream(tests: Any, folder: Path) -> Ledger:
    """The ledger of the tests of streams."""
    return Ledger.create(
        folder / "ledger.json", tests.DESIGN, total_epsilon=0.4, total_delta=0.0, voters="fresh", rule="basic"
    )


def to_the_last_label(tests: Any, folder: Path) -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.01)
    allowed = tests.max_queries(design, tests.EPSILON, tests.DELTA, voters="fresh")
    budget = {"total_epsilon": tests.EPSILON, "total_delta": tests.DELTA}
    book = Ledger.create(folder / "ledger.json", design, voters="fresh", **budget)
    tests.test_charges_up_to_exactly_the_budget(book, design, allowed, (4,))


def overspent(tests: Any, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        try:
            tests.test_past_the_budget_nothing_is_released_or_charged(folder, patch)
        except TypeError:  # its coins cannot be drawn
            raise AssertionError("A coin was drawn.") from None


def dips(tests: Any, folder: Path) -> None:
    tests.test_the_last_changed_voter_counts_where_gamma_dips(1, 0.4, 0.2, [0.5, 0.5, 1.0, 0.0])


def bound(K: int, Delta: float, kind: str) -> Judge:
    return lambda tests, folder: tests.test_bound_is_true_and_tight(K, Delta, kind)


def made_of(intercept: bool, size: float) -> Judge:
    """What the delta of random bags is made of."""

    def judge(tests: Any, folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            tests.test_what_the_delta_of_random_bags_is_made_of(patch, intercept, size)

    return judge


def beside(noise: str) -> Judge:
    """Bounds on the leakage of Gaussian noise: their formulas in sixty digits, or the leakage."""
    if noise == "discrete":
        return lambda tests, _: tests.test_the_gaussian_bound_for_the_votes_at_hand_is_rounded_up(1.0)
    return lambda tests, _: tests.test_continuous_gaussian_leakage_is_below_its_bounds(1.0)


BLOCK = """                if budget is not None and len(cases):
                    budget.charge(len(cases))
                yield self._flip(cases, draw)
"""

PAID = """        self.budget.charge(len(votes))
        answers = votes if self.epsilon is None else RandomizedResponse(self.epsilon, classes).release(votes, rng)
"""
REFUSED = (AssertionError, pytest.fail.Exception, darrm.DarrmError)

MISTAKES = [
    # Corners
    Mistake(
        "the corner (hi,lo) is wrong",
        "problem.corners",
        "hi=float((1 + exact_Delta * s) / (1 + s))",
        "hi=float((1 + exact_Delta) / (1 + s))",
        VERIFY,
        bound(1, 1e-3, "random"),
    ),
    Mistake(
        "an eighth corner of the list is wrong",
        "constraints.multisets",
        "(E, 1.0), (1.0, E)]\n        q",
        "(E, 1.0), (1.0, 1.0)]\n        q",
        CORNERS,
        lambda tests, _: tests.test_corners_are_where_two_conditions_bind(1.0, 0.3),
    ),
    Mistake(
        "voters at (lo,hi) are forgotten",
        "certificate.smoothing",
        "growing = rises_from > 0 and n <= last",
        "growing = rises_from > 0 and n < 0 * last",
        VERIFY,
        dips,
    ),
    Mistake(
        "voters at the corners of Delta are forgotten",
        "certificate.moves",
        "above += stay.take(up) * V",
        "above = V.copy()",
        VERIFY,
        bound(3, 0.3, "rising"),
    ),
    Mistake(
        "together, a level looks at its last column only",
        "certificate.corner_pass",
        "bounds[z > K - n] = -np.inf",
        "bounds[z != K - n] = -np.inf",
        CORNER_PASS,
        lambda tests, _: at_once(tests),
    ),
    Mistake(
        "together, all move where few may",
        "certificate.corner_pass",
        "together = np.minimum(K, t) - n",
        "together = 0 * n",
        CORNER_PASS,
        lambda tests, _: at_once(tests),
    ),
    Mistake(
        "one voter fewer is changed",
        "certificate.corner_pass",
        "problem.max_affected if most_n is None else most_n",
        "problem.max_affected - 1 if most_n is None else most_n",
        VERIFY,
        dips,
    ),
    Mistake(
        "a search ends with the first numbers of voters that move",
        "certificate.corner_pass",
        "if bounds[moved] <= highest:",
        "if highest > -math.inf:",
        CORNER_PASS,
        lambda tests, _: tests.test_a_search_is_over_all_moves(5, 6.0),
    ),
    Mistake(
        "what voters do that do not move is forgotten in the bound of a search",
        "certificate.corner_pass",
        "np.minimum.accumulate(_least_by_sum(table, k_plus_l, budget))[::-1]",
        "np.minimum.accumulate(_least_by_sum(table, k_plus_l, budget))",
        CORNER_PASS,
        lambda tests, _: tests.test_a_search_is_over_all_moves(5, 6.0),
    ),
    Mistake(
        "what counts as rising is guessed",
        "certificate.smoothing",
        "(steps >= margin * sizes).all(axis=1)",
        "(steps >= margin * sizes).any(axis=1)",
        VERIFY,
        bound(3, 1e-3, "random"),
    ),
    Mistake(
        "tables in a gap are taken for as low as their neighbours",
        "certificate.smoothing",
        "high += above",
        "high += 0 * above",
        CORNER_PASS,
        lambda tests, _: tests.test_what_stands_for_tables_bounds_them(8, "dips", 3.0),
    ),
    Mistake(
        "the bend of a table is looked for in too few columns",
        "certificate.smoothing",
        "1, 2 * spacing - 2",
        "1, spacing // 2",
        CORNER_PASS,
        lambda tests, _: tests.test_what_stands_for_tables_bounds_them(8, "spike", 3.0),
    ),
    Mistake(
        "a multiple is dropped with its own gap",
        "certificate.smoothing",
        "np.minimum.accumulate(a)[:-1] + spacing - 1",
        "np.minimum.accumulate(a)[:-1] - spacing",
        CORNER_PASS,
        lambda tests, _: tests.test_what_stands_for_tables_bounds_them(8, "random", 0.1),
    ),
    Mistake(
        "gaps that bounds do not settle are forgotten",
        "certificate.corner_pass",
        "unsettled[b : b + SPACING + 1] = level.n",
        "unsettled[b : b + SPACING + 1] = -1",
        CORNER_PASS,
        lambda tests, _: left_open(tests),
    ),
    Mistake(
        "columns that are not settled are left out",
        "certificate.corner_pass",
        "first, last = max(0, start - reach), min(",
        "first, last = max(0, start - reach), 0 * min(",
        CORNER_PASS,
        lambda tests, _: spaced(tests, 12, 12, 1e-4),
    ),
    # The majority
    Mistake(
        "a tie is released as 1 by the certificate's reckoning",
        "problem.noise_function",
        "return (1 + side * gamma) / 2",
        "return (1 + np.where(side == 0, 1, side) * gamma) / 2",
        VERIFY,
        lambda tests, _: tests.test_a_tie_is_a_fair_coin_whatever_gamma_says(0.0),
    ),
    Mistake(
        "a tie is released as 1",
        "mechanisms.majority",
        "((2 * l > K) - (2 * l < K))",
        "((2 * l >= K) - (2 * l < K))",
        VERIFY,
        lambda tests, _: tests.test_a_tie_is_a_fair_coin_whatever_gamma_says(0.0),
    ),
    Mistake(
        "the majority is off by one in l",
        "mechanisms.majority",
        "((2 * l > K) - (2 * l < K))",
        "((2 * l > K + 2) - (2 * l < K + 2))",
        RELEASE,
        lambda tests, _: tests.test_labels_have_their_probabilities(11),
    ),
    Mistake(
        "the certificate is off by one in l",
        "problem.noise_function",
        "    side = np.sign(2 * np.arange(K + 1) - K)\n    return",
        "    side = np.sign(2 * np.arange(K + 1) - K - 2)\n    return",
        VERIFY,
        bound(3, 0.0, "random"),
    ),
    Mistake(
        "votes are counted off by one",
        "mechanisms.coin_votes",
        "np.count_nonzero(ones, axis=1)",
        "np.count_nonzero(ones[:, 1:], axis=1)",
        RELEASE,
        lambda tests, _: tests.test_release_counts_votes(),
    ),
    Mistake(
        "a gamma that is not symmetric passes",
        "problem.noise_function",
        "apart = abs(table - table[::-1])",
        "apart = abs(table - table)",
        VERIFY,
        lambda tests, _: tests.test_verify_refuses_what_is_no_noise_function(),
    ),
    Mistake(
        "the guarantee is that of m + 1",
        "problem.majority",
        "return Fraction(self.m) * Fraction(self.epsilon)",
        "return (Fraction(self.m) + 1) * Fraction(self.epsilon)",
        VERIFY,
        lambda tests, _: tests.test_the_worst_case_of_a_certificate_attains_the_needed_delta("solved", 1e-3, 9),
    ),
    Mistake(
        "rounding is not counted",
        "certificate.rounding",
        "relative = 1.01 * _U * (",
        "relative = 0.0 * _U * (",
        VERIFY,
        bound(4, 0.0, "nearly one"),
    ),
    Mistake(
        "moves that are not followed are not paid for",
        "certificate.moves",
        "self.pmf.shape[1], 2 * tail",
        "self.pmf.shape[1], 0 * tail",
        SEPARATION,
        lambda tests, _: paid_for(tests, 0.3, 0.1),
    ),
    Mistake(
        "bounds on polynomials are rounded down",
        "certificate.bernstein",
        "along = -(-along >> bits) if up else along >> bits",
        "along = along >> bits",
        IDENTICAL,
        lambda tests, _: tests.test_averages_are_rounded_to_the_safe_side(),
    ),
    Mistake(
        "identical voters are looked at in one direction",
        "certificate.identical",
        "(below, above) if self._turns else (below,)",
        "(below,)",
        IDENTICAL,
        lambda tests, _: tests.test_where_x_falls_pairs_above_the_diagonal_are_worst(
            [0.5, 0, 0, 0.5, 1, 1, 0.5, 0], "0"
        ),
    ),
    # Gaps
    Mistake(
        "multipliers of a degenerate basis are taken as they are",
        "darrm_solvers.vertices",
        "return min(best, made, key=program.dual_bound)",
        "return best",
        GAPS,
        lambda tests, _: tests.test_multipliers_are_made_where_the_basis_has_none(),
    ),
    Mistake(
        "the first multipliers are kept",
        "darrm_solvers.vertices",
        "best = min((np.maximum(one, 0.0) for one in known), key=program.dual_bound)",
        "best = np.maximum(next(iter(known)), 0.0)",
        GAPS,
        lambda tests, _: tests.test_multipliers_are_made_where_the_basis_has_none(),
    ),
    Mistake(
        "the vertex of the basis is not solved for",
        "darrm_solvers.vertices",
        "x[columns] += solved(",
        "x[columns] += 0 * solved(",
        GAPS,
        lambda tests, _: tests.test_the_vertex_of_a_basis_is_exact_to_rounding(),
    ),
    Mistake(
        "an answer counts as settled though rows that are paid for do not bind",
        "darrm_solvers.vertices",
        "if (limits - held @ x > _FINE",
        "if (0 * x[0] > _FINE",
        GAPS,
        lambda tests, _: tests.test_an_answer_is_settled_if_it_is_optimal_to_rounding((1.0 - 1e-12, 0.0), 1.0, False),
    ),
    Mistake(
        "an answer counts as settled though a column would gain",
        "darrm_solvers.vertices",
        "profit[x < 1].max(initial=0.0)",
        "profit[x > 1].max(initial=0.0)",
        GAPS,
        lambda tests, _: tests.test_an_answer_is_settled_if_it_is_optimal_to_rounding((1.0, 0.0), 0.5 - 1e-12, False),
    ),
    Mistake(
        "rows that are rounded do not pay for it",
        "design.optimum",
        "rounded = multipliers[exact:]",
        "rounded = multipliers[:exact]",
        GAPS,
        lambda tests, _: tests.test_rows_that_are_exact_pay_for_no_rounding(),
    ),
    # Coins
    Mistake(
        "coins are floats of 53 bits",
        "randomness.coins",
        "        word = draw(which.size)\n        out",
        "        word = draw(which.size) >> np.uint64(11) << np.uint64(11)\n        out",
        RELEASE,
        lambda tests, _: tests.test_coins_are_exact_over_all_inputs(3),
    ),
    Mistake(
        "coins are decided by their first word",
        "randomness.coins",
        "in self._words[1:]:",
        "in self._words[1:1]:",
        RELEASE,
        lambda tests, _: tests.test_coins_are_exact_over_all_inputs(3),
    ),
    Mistake(
        "a coin of real bias is decided by its first word",
        "randomness.discrete",
        "undecided[word == threshold], j + 1",
        "undecided[:0], j + 1",
        MAX,
        lambda tests, _: tests.test_a_coin_is_decided_at_the_first_digit_that_differs(),
    ),
    # Noise
    Mistake(
        "DP-SGD adds half of its noise",
        "ensemble.dp_sgd",
        "noise = noise_multiplier * clip *",
        "noise = 0.5 * noise_multiplier * clip *",
        ENSEMBLE,
        lambda tests, _: tests.test_every_step_adds_noise_of_its_own(),
    ),
    Mistake(
        "DP-SGD for replaced records has the noise for added ones",
        "ensemble.dp_sgd",
        "relations[RELATIONS[adjacency]]",
        'relations["ADD_OR_REMOVE_ONE"]',
        ENSEMBLE,
        lambda tests, _: tests.test_a_full_batch_of_one_step_is_the_gaussian_mechanism(),
    ),
    Mistake(
        "logistic regression does not clip",
        "ensemble.dp_sgd",
        "np.clip(residuals * size, -clip, clip)",
        "(residuals * size)",
        ENSEMBLE,
        lambda tests, _: tests.test_one_record_moves_a_step_by_the_clip_norm_at_most(1e6),
    ),
    Mistake(
        "gradients of records are not clipped",
        "ensemble.dp_sgd",
        "np.minimum(largest[:, 0], clip / lengths) @",
        "largest[:, 0] @",
        ENSEMBLE,
        lambda tests, _: tests.test_each_gradient_is_clipped_alone(1.0),
    ),
    Mistake(
        "discrete Gaussian noise has half its deviation",
        "randomness.discrete",
        "/ (2 * square)",
        "/ (square / 2)",
        MAX,
        lambda tests, _: tests.test_discrete_gaussian(Fraction(7, 2)),
    ),
    Mistake(
        "noise on label proportions is halved",
        "mechanisms.label_proportions",
        "DiscreteLaplace(Fraction(self.epsilon) / _GRID)",
        "DiscreteLaplace(2 * Fraction(self.epsilon) / _GRID)",
        LABELS,
        lambda tests, _: tests.test_laplace_on_the_grid_has_the_guaranteed_epsilon_exactly(1.0),
    ),
    Mistake(
        "geometric noise is halved",
        "mechanisms.label_proportions",
        "DiscreteLaplace(Fraction(self.epsilon))\n",
        "DiscreteLaplace(2 * Fraction(self.epsilon))\n",
        LABELS,
        lambda tests, _: tests.test_geometric_release_follows_its_kernel_and_loses_its_bias(),
    ),
    Mistake(
        "labels are flipped less often",
        "mechanisms.randomized_response",
        "others / (others + Decimal(self.epsilon).exp())",
        "others / (1 + others + Decimal(self.epsilon).exp())",
        LABELS,
        lambda tests, _: tests.test_randomized_response_flips_as_often_as_it_says(),
    ),
    Mistake(
        "noisy max is said to cost half",
        "mechanisms.noisy_max",
        "return 2 * self.gamma",
        "return 1 * self.gamma",
        MAX,
        lambda tests, _: tests.test_labels_come_as_often_as_they_should(),
    ),
    # Budgets
    Mistake(
        "D and D' are not exchanged in composition",
        "accounting.adaptive",
        "np.concatenate([rows.P, rows.Q]), np.concatenate([rows.Q, rows.P])",
        "np.concatenate([rows.P, rows.P]), np.concatenate([rows.Q, rows.Q])",
        COMPOSE,
        lambda tests, _: tests.test_bounds_hold_what_brute_force_finds(2, 3, 0.0, "one"),
    ),
    Mistake(
        "fixed voters have no privacy of their own",
        "accounting.fixed",
        "p = delta_of(voters, epsilon)",
        "p = 1.0",
        FIXED,
        lambda tests, _: tests.test_what_the_labels_may_cost(),
    ),
    Mistake(
        "what the voters fail with is forgotten where the coins pay",
        "accounting.voters",
        "return optimal_delta(who.kinds[0][0], who.Delta, who.voters, epsilon)",
        "return optimal_delta(who.kinds[0][0], 0.0, who.voters, epsilon)",
        FIXED,
        lambda tests, _: tests.test_the_search_finds_nothing_above_theorem_1_with_failures(0.05, 3),
    ),
    Mistake(
        "two voters that change move the count by one",
        "accounting.hulls",
        "lowest[x] = min(*X[max(0, i - max_affected) : i + max_affected + 1], lowest.get(x, x))",
        "lowest[x] = min(*X[max(0, i - 1) : i + 2], lowest.get(x, x))",
        FIXED,
        lambda tests, _: tests.test_no_fixed_voters_lose_more_than_theorem_1_says(3, 2, 2, False),
    ),
    Mistake(
        "one set of the voters that a change can reach stands for all",
        "accounting.voters",
        "for numbers in sets:",
        "for numbers in sets[:1]:",
        FIXED_GROUPS,
        lambda tests, _: tests.test_no_fixed_voters_are_above_the_bound(tests.MIXED),
    ),
    Mistake(
        "of all sets that a change can reach the last one says what the labels cost",
        "accounting.fixed",
        "together = max(together, price if least is None else least)",
        "together = price if least is None else least",
        FIXED_GROUPS,
        lambda tests, _: tests.test_the_order_of_groups_changes_no_bound_of_fixed_voters(
            tests.group(1, float("inf")), tests.group(2, 3.0), tests.EVEN_FOR_MANY
        ),
    ),
    Mistake(
        "of all sets that a change can reach the last one says how many labels fit",
        "accounting.fixed",
        "    for who in sets_reached(label.problem):\n        allowed",
        "    for who in sets_reached(label.problem)[-1:]:\n        allowed",
        FIXED_GROUPS,
        lambda tests, _: tests.test_the_order_of_groups_changes_no_bound_of_fixed_voters(
            tests.group(1, float("inf")), tests.group(2, 0.4), tests.STEEP
        ),
    ),
    Mistake(
        "a set of fixed voters never fails",
        "accounting.voters",
        "own = [VoterGroup(n, group.epsilon, group.delta) for",
        "own = [VoterGroup(n, group.epsilon, 0.0) for",
        FIXED_GROUPS,
        lambda tests, _: tests.test_a_set_of_fixed_voters_fails_as_often_as_its_own_voters(),
    ),
    Mistake(
        "in an attendance a set has the caps of other groups",
        "accounting.releases",
        "for n, most in zip(who, together, strict=True) if n]",
        "for n, most in zip([n for n in who if n], together)]",
        FIXED_GROUPS,
        lambda tests, _: tests.test_each_set_of_fixed_voters_moves_the_counts_of_any_attendance(),
    ),
    Mistake(
        "a set of several voters of a group moves its count by one",
        "accounting.hulls",
        "if together is None else together",
        "if together is None else [min(1, n) for n in together]",
        FIXED_GROUPS,
        lambda tests, _: tests.test_counts_of_a_region_without_privacy_are_all_that_a_change_can_do((0, 2)),
    ),
    Mistake(
        "the coins of two labels are counted as those of one",
        "accounting.fixed",
        "V = excess(counts, queries, grid, delta) if by_grid else None",
        "V = excess(counts, 1, grid, delta) if by_grid else None",
        FIXED,
        lambda tests, _: tests.test_no_fixed_voters_lose_more_than_theorem_1_says(2, 1, 2, False),
    ),
    Mistake(
        "a ledger of fixed voters never ends",
        "accounting.ledger_file",
        "return fixed_voters(account.problem, self.total_delta) <= float(self.total_epsilon)",
        "return True",
        FIXED,
        lambda tests, folder: tests.test_a_ledger_for_fixed_voters_below_their_own_price(folder),
    ),
    Mistake(
        "fixed voters are charged by the query",
        "accounting.composition",
        'if voters == "fixed":',
        'if voters == "":',
        COMPOSE,
        lambda tests, _: tests.test_fixed_voters_pay_once_whatever_is_asked(),
    ),
    Mistake(
        "delta of the voters is dropped",
        "accounting.voters",
        "optimal(who.kinds[0][0], who.Delta, who.voters, delta)",
        "optimal(who.kinds[0][0], 0.0, who.voters, delta)",
        COMPOSE,
        lambda tests, _: tests.test_fixed_voters_pay_once_whatever_is_asked(),
    ),
    Mistake(
        "failures are counted once for all mechanisms",
        "accounting.theorems",
        "return -math.expm1(k * math.log1p(-delta)",
        "return -math.expm1(1 * math.log1p(-delta)",
        THEOREMS,
        lambda tests, _: tests.test_general_gives_table_3(20, 9.8823, 0.1002),
    ),
    Mistake(
        "sums are rounded to the nearest",
        "numerics.exact",
        "return nearest if type(value).from_float(nearest) >= value else math.nextafter(nearest, math.inf)",
        "return nearest",
        THEOREMS,
        lambda tests, _: tests.test_sums_are_rounded_up_and_tiny_deltas_count(),
    ),
    Mistake(
        "teachers that a record reaches count as one",
        "ensemble.fixed_voters",
        "cost = optimal(epsilons[0], deltas[0], max_affected, total_delta)",
        "cost = optimal(epsilons[0], deltas[0], 1, total_delta)",
        ENSEMBLE,
        lambda tests, _: tests.test_fixed_voters_cost_the_composition_of_those_a_record_reaches(3, 1e-4),
    ),
    Mistake(
        "the least private of fixed voters are left out",
        "ensemble.fixed_voters",
        "epsilons = sorted((voter.epsilon for voter in voters), reverse=True)",
        "epsilons = sorted((voter.epsilon for voter in voters), reverse=False)",
        LISTED,
        lambda tests, _: tests.test_they_cost_the_composition_of_the_worst(2, 0.05),
    ),
    Mistake(
        "one of several fixed voters can fail",
        "ensemble.fixed_voters",
        "worst._replace(failure=failure)",
        "worst._replace(failure=deltas[0])",
        LISTED,
        lambda tests, _: tests.test_they_cost_the_composition_of_the_worst(3, 2e-3),
    ),
    Mistake(
        "a prefitted teacher votes twice",
        "ensemble.voters",
        "if id(inner) in seen:",
        "if id(inner) in ():",
        LISTED,
        lambda tests, _: tests.test_bad_lists_are_refused(*tests.case("the same twice, wrapped")),
    ),
    Mistake(
        "shares of votes under noise are given",
        "ensemble.shares",
        "if fixed and (release is None or isinstance(release, PlainMajority)):",
        "if fixed:",
        "ensemble/test_ensemble_in_sklearn.py",
        lambda tests, _: tests.test_votes_under_noise_have_no_shares(tests.fresh(), "predict_proba"),
    ),
    Mistake(
        "records reach one teacher more",
        "ensemble.sharding",
        "(voter - position) % K < overlap",
        "(voter - position) % K <= overlap",
        ENSEMBLE,
        lambda tests, _: tests.test_each_record_is_in_exactly_so_many_shards(10, 3, 1),
    ),
    Mistake(
        "a block is charged after it is given",
        "mechanisms.released_votes",
        BLOCK,
        "\n".join(BLOCK.splitlines()[2:] + BLOCK.splitlines()[:2]) + "\n",
        BLOCKS,
        lambda tests, folder: tests.test_each_block_is_charged_before_it_is_given(stream(tests, folder), [3, 0, 5, 2]),
    ),
    Mistake(
        "labels are drawn before they are paid for",
        "ensemble.releases",
        PAID,
        "\n".join(reversed(PAID.splitlines())) + "\n",
        ENSEMBLE,
        overspent,
    ),
    Mistake(
        "a ledger gives one label too many",
        "accounting.rules",
        "released + n > allowed:",
        "released + n > allowed + 1:",
        LEDGER,
        to_the_last_label,
    ),
    Mistake(
        "a charge is not written",
        "accounting.ledger",
        "            self._take(state, account, n, note)\n            write(self.path, state)\n",
        "            self._take(state, account, n, note)\n",
        LEDGER,
        lambda tests, folder: tests.test_what_is_spent_by_the_sum(folder),
    ),
    # One budget for everything
    Mistake(
        "a replaced record goes one way in all mechanisms",
        "accounting.events",
        "curve if adjacency in DIRECTED else curve.undirected",
        "curve",
        MIXED,
        lambda tests, folder: tests.test_a_replaced_record_may_go_either_way_in_every_mechanism(folder),
    ),
    Mistake(
        "another panel of fixed voters is paid for by the first",
        "accounting.rules",
        'state.voters != "fixed" or len({voters_of(problem) for problem in charged}) <= 1',
        "True",
        MIXED,
        lambda tests, folder: tests.test_another_panel_of_fixed_voters_is_refused(folder),
    ),
    Mistake(
        "one use too many is paid for by sums",
        "accounting.rules",
        "if epsilon > Fraction(state.total_epsilon) or delta > Fraction(state.total_delta):",
        "if epsilon > Fraction(state.total_epsilon):",
        MIXED,
        lambda tests, folder: tests.test_sums_are_exact(folder),
    ),
    Mistake(
        "distributions of unknown neighbours are charged",
        "accounting.events",
        "if known is None or said is not None:",
        "if said is not None:",
        MIXED,
        lambda tests, folder: tests.test_distributions_say_for_which_neighbours_they_hold(folder),
    ),
    Mistake(
        "what never fails and what always fails are one in a filter",
        "accounting.filters",
        "release.delta_infinity)",
        "0.0)",
        CURVES,
        lambda tests, _: tests.test_what_rows_of_fewer_answers_and_impossible_answers_spend(),
    ),
    Mistake(
        "both directions on a grid are the same",
        "accounting.curves",
        "of_bounds(both[row], grid, both[1 - row])",
        "of_bounds(both[row], grid, both[row])",
        CURVES,
        lambda tests, _: tests.test_directions_are_not_mixed_up(),
    ),
    Mistake(
        "labels beside a rest do without what it cannot hide",
        "accounting.mixed",
        "+ infinite for P, infinite in pairs)",
        "for P, infinite in pairs)",
        CURVES,
        lambda tests, _: tests.test_labels_beside_a_rest_are_within_the_budget(*tests.RESTS[3], 0.25, 2.0, 2e-3),
    ),
    # Measures
    Mistake(
        "bounds from below fail twice as often",
        "measures.empirical",
        'hint="Pass for instance 0.95.")) / 4',
        'hint="Pass for instance 0.95.")) / 2',
        SEEN,
        lambda tests, _: tests.test_which_bound_it_is(),
    ),
    Mistake(
        "the event is judged by the runs that chose it",
        "measures.empirical",
        "chosen = _best_event(choosing, choosing_there, delta, tail)",
        "chosen = _best_event(on, off, delta, tail)",
        SEEN,
        lambda tests, _: tests.test_a_chosen_event_is_judged_by_other_runs(),
    ),
    Mistake(
        "delta of aggregates is that of one direction",
        "labels.aggregates",
        "bound(False, True), bound(True, True)",
        "bound(False, True), bound(False, True)",
        AGGREGATES,
        lambda tests, _: tests.test_directions_differ(),
    ),
    Mistake(
        "the least of the worst cases is certified",
        "certificate.protocol",
        "return max(worst_cases",
        "return min(worst_cases",
        VERIFY,
        bound(3, 1e-3, "random"),
    ),
    # Decisions between several classes
    Mistake(
        "voters name classes on D' as they do on D",
        "certificate.classes",
        "        W *= q\n",
        "        W *= p\n",
        CLASSES,
        lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(3, 0.0),
    ),
    Mistake(
        "differences shrink where they grow",
        "certificate.classes",
        "D += gap * W",
        "D -= gap * W",
        CLASSES,
        lambda tests, _: tests.test_every_number_of_affected_voters(3, 2, False),
    ),
    Mistake(
        "a kind is forgotten",
        "problem.class_corners",
        "return tuple(kind for kind in every if kind != kind[::-1])",
        "return tuple(kind for kind in every if kind != kind[::-1])[1:]",
        CLASSES,
        lambda tests, _: tests.test_relabelling_classes_changes_nothing(),
    ),
    Mistake(
        "only kinds of two classes are looked at",
        "problem.class_corners",
        "return tuple(kind for kind in every if kind != kind[::-1])",
        "return tuple(kind for kind in every if kind != kind[::-1] and len(set(kind)) == 2)",
        CLASS_CASES,
        lambda tests, _: tests.test_every_case_is_there_up_to_names(3, 4, 2),
    ),
    Mistake(
        "kinds that name two new classes at once are left out",
        "certificate.class_cases",
        "            if name > named:\n                break",
        "            if name > min(named, max(1, touched)):\n                break",
        CLASS_CASES,
        lambda tests, _: tests.test_every_case_is_there_up_to_names(4, 2, 3),
    ),
    Mistake(
        "multisets of several kinds are forgotten",
        "certificate.class_cases",
        "parents = np.flatnonzero(last <= place)",
        "parents = np.flatnonzero(last < place)",
        CLASS_CASES,
        lambda tests, _: tests.test_every_case_is_there_up_to_names(3, 2, 3),
    ),
    Mistake(
        "different multisets of one hash are taken for one",
        "certificate.class_cases",
        "return np.union1d(first, other)",
        "return np.sort(first)",
        CLASS_CASES,
        lambda tests, _: without_hashes(tests),
    ),
    Mistake(
        "multisets are sorted by their names alone",
        "certificate.class_cases",
        "return np.sort(places[tuple(renamed)], axis=1)",
        "return np.sort(places[tuple(renamed)], axis=1) // 2",
        CLASS_CASES,
        lambda tests, _: tests.test_every_case_is_there_up_to_names(3, 4, 2),
    ),
    Mistake(
        "multisets of one sum of digits are taken for one",
        "certificate.class_cases",
        "= (n + 1) ** own[",
        "= 1 ** own[",
        CLASS_CASES,
        lambda tests, _: tests.test_every_case_is_there_up_to_names(3, 2, 3),
    ),
    Mistake(
        "sure votes for classes that a kind names are sorted",
        "certificate.class_cases",
        "if touched == 0:\n        return sorted_counts(total, classes)",
        "if touched < classes:\n        return sorted_counts(total, classes)",
        CLASS_CASES,
        lambda tests, _: tests.test_every_case_is_there_up_to_names(4, 2, 3),
    ),
    Mistake(
        "an answer is looked up under its old name",
        "certificate.class_cases",
        "return np.asarray((found[:, None] * answers + places).ravel())",
        "return np.asarray((found[:, None] * answers + np.arange(answers)).ravel())",
        CLASS_CASES,
        lambda tests, _: tests.test_one_more_sure_vote_is_found_under_its_new_name(2),
    ),
    Mistake(
        "votes are looked up for the class before",
        "certificate.class_cases",
        "votes[:, voted] += 1\n    if not alike",
        "votes[:, voted - 1] += 1\n    if not alike",
        CLASSES,
        lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(3, 0.0),
    ),
    Mistake(
        "multisets that name few classes are dropped",
        "certificate.classes",
        "for touched, block in blocks.items():\n                sets",
        "for touched, block in list(blocks.items())[-1:]:\n                sets",
        CLASSES,
        lambda tests, _: tests.test_a_symmetric_table_is_the_full_one(),
    ),
    Mistake(
        "one voter less of a group is reached than it says",
        "certificate.classes",
        "range(min(group.max_affected, left) + 1):\n            if n:",
        "range(max(1, min(group.max_affected, left))):\n            if n:",
        CLASSES,
        lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says(),
    ),
    Mistake(
        "voters of the second group are not reached beside those of the first",
        "certificate.classes",
        "(*states, *sizes), left - n)",
        "(*states, *sizes), 0 if n else left)",
        CLASSES,
        lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says(),
    ),
    Mistake(
        "single answers only are looked at",
        "certificate.classes",
        "above = np.flatnonzero(own[at] > 0)\n        if above.size:",
        "above = np.flatnonzero(own[at] > 0)[:1]\n        if above.size:",
        CLASSES,
        lambda tests, _: tests.test_every_number_of_affected_voters(3, 2, False),
    ),
    Mistake(
        "rounding of sums over outcomes is not counted",
        "certificate.classes",
        "relative = _relative(self._outcomes, reached, self._answers) + 8 * _U",
        "relative = 0.0",
        CLASSES,
        lambda tests, _: tests.test_rounding_is_counted(False),
    ),
    Mistake(
        "rounding of differences is not counted in the votes for classes",
        "certificate.classes",
        "absolute = 1.1 * gaps * errors",
        "absolute = 0.0 * gaps * errors",
        CLASSES,
        lambda tests, _: tests.test_rounding_of_differences_is_counted(),
    ),
    Mistake(
        "numbers beyond float64 are taken as they come",
        "certificate.classes",
        "* min(group.max_affected, self._problem.max_affected)\n",
        "* 1\n",
        CLASSES,
        lambda tests, _: tests.test_products_of_many_weights_are_not_rounded_away(),
    ),
    Mistake(
        "sums over answers are rounded as the caller's decimals are",
        "certificate.classes",
        "with decimals(epsilon):  # sums over answers may be of decimals",
        "if True:",
        CLASSES,
        lambda tests, _: callers_decimals_beyond_float64(tests),
    ),
    Mistake(
        "failures of voters are left out where they are taken together",
        "certificate.classes",
        "return rounded_up(self._fails + (1 - self._fails) * Decimal(bound) + _EXACT)",
        "return rounded_up((1 - self._fails) * Decimal(bound) + _EXACT)",
        CLASSES,
        lambda tests, _: failures_together(tests),
    ),
    Mistake(
        "a voter with a delta has the outcomes of one without",
        "problem.class_corners",
        "exact_Delta = Decimal(Delta) if epsilon < math.inf else Decimal(0)",
        "exact_Delta = Decimal(0)",
        CLASSES,
        lambda tests, _: tests.test_voters_with_a_delta(3, 1, 1, False),
    ),
    Mistake(
        "a row that does not sum to 1 is taken for a table",
        "certificate.stored",
        "if np.abs(sums - 1).max() > _GIVEN:",
        "if np.abs(sums - 1).max() > 1:",
        CLASSES,
        lambda tests, _: tests.test_what_is_no_table_is_refused(np.full((2, 3), 0.3), "must sum to 1"),
    ),
    Mistake(
        "classes with as many votes may have other probabilities",
        "certificate.stored",
        "table[tied, j] = table[tied, j - 1]",
        "pass",
        CLASSES,
        lambda tests, _: tests.test_ties_within_rounding_are_made_equal(),
    ),
    Mistake(
        "rows of classes say what holds on the other side",
        "constraints.classes",
        "np.concatenate(difference) - grow",
        "np.concatenate(difference) + grow",
        CLASS_ROWS,
        lambda tests, _: tests.test_a_row_says_what_the_certificate_says(*tests.PROBLEMS[0]),
    ),
    Mistake(
        "the mass of a part is counted for each of its classes",
        "constraints.classes",
        "return parts, self._size[parts]",
        "return parts, 0 * parts + 1.0",
        CLASS_ROWS,
        lambda tests, _: tests.test_a_row_says_what_the_certificate_says(*tests.PROBLEMS[0]),
    ),
    Mistake(
        "probabilities of all answers may sum to more than 1",
        "constraints.classes",
        "self.first = self._sums() if not ordered",
        "self.first = Rows(self._sums().rows, self._sums().limits + 1) if not ordered",
        CLASS_ROWS,
        lambda tests, _: tests.test_masses_that_are_variables_sum_to_1_at_most(),
    ),
    # Decisions by groups
    Mistake(
        "voters vote on D' as they do on D",
        "certificate.groups",
        "self.not_q * W0 + self.q * W1",
        "self.not_p * W0 + self.p * W1",
        GROUPS,
        lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(0.0),
    ),
    Mistake(
        "answer 0 is not looked at",
        "certificate.groups",
        "both = np.stack([1 - X, X])",
        "both = np.stack([X, X])",
        GROUPS,
        lambda tests, _: tests.test_no_false_guarantee(0),
    ),
    Mistake(
        "multisets of several corners are forgotten",
        "certificate.group_search",
        "[math.comb(n - 1 + kind, kind) for kind in range(kinds)]",
        "[1 for kind in range(kinds)]",
        GROUPS,
        lambda tests, _: tests.test_no_false_guarantee(0),
    ),
    Mistake(
        "a group is reached by one voter less than it says",
        "certificate.groups",
        "range(min(group.max_affected, left) + 1):\n            if n:",
        "range(max(1, min(group.max_affected, left))):\n            if n:",
        GROUPS,
        lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says(),
    ),
    Mistake(
        "voters of the second group cannot be reached beside those of the first",
        "certificate.groups",
        "(*states, sets * sure), left - n)",
        "(*states, sets * sure), 0 if n else left)",
        GROUPS,
        lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says(),
    ),
    Mistake(
        "rounding of sums of products is not counted",
        "certificate.groups",
        "relative = 1.01 * _U * (3 * reached + 12)\n",
        "relative = 0.0 * _U * (3 * reached + 12)\n",
        GROUPS,
        lambda tests, _: tests.test_rounding_is_counted(0),
    ),
    Mistake(
        "rounding of differences is not counted",
        "certificate.groups",
        "absolute = 1.1 * _U * gaps",
        "absolute = 0.0 * _U * gaps",
        GROUPS,
        lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says(),
    ),
    Mistake(
        "subnormal numbers are taken as they come",
        "certificate.groups",
        "return math.log(least) + farthest < math.log(_SAFE)",
        "return False",
        GROUPS,
        lambda tests, _: tests.test_subnormal_numbers_are_not_rounded_away(),
    ),
    Mistake(
        "the weight of one voter only is looked at for what float64 loses",
        "certificate.groups",
        "* min(group.max_affected, self._problem.max_affected)\n",
        "* 1\n",
        GROUPS,
        lambda tests, _: tests.test_products_of_many_weights_are_not_rounded_away(),
    ),
    Mistake(
        "the caller's decimals round how far corners are apart",
        "problem.corners",
        "with decimals(Decimal(1)):\n            return self.p - self.q",
        "if True:\n            return self.p - self.q",
        GROUPS,
        lambda tests, _: callers_decimals(tests),
    ),
    Mistake(
        "a voter with a delta has the corners of one without",
        "problem.corners",
        "hi, lo = (1 + exact_Delta * s) / (1 + s), (1 - exact_Delta) * s / (1 + s)\n        nothing",
        "hi, lo = 1 / (1 + s), s / (1 + s)\n        nothing",
        GROUPS,
        lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(0.2),
    ),
    Mistake(
        "ties are put into an order",
        "constraints.groups",
        "np.where(ordered & (value != 0), 0.5, 1.0)",
        "np.where(ordered & (value == value), 0.5, 1.0)",
        DECISIONS,
        lambda tests, _: tests.test_a_tie_is_in_no_order(),
    ),
    Mistake(
        "the gap is that of an optimum, whatever the solver left",
        "design.solve_decision",
        "- most + bound) + rounding_of_costs",
        "- most + 0 * bound) + rounding_of_costs",
        DECISIONS,
        lambda tests, _: tests.test_the_gap_of_a_design_that_is_not_the_best(),
    ),
    # Leakage
    Mistake(
        "rare inputs are left out of the leakage",
        "measures.leakage",
        "possible = support > 0",
        "possible = support > 0.05",
        LEAKAGE,
        lambda tests, _: tests.test_maximal_leakage_is_the_gain_of_the_best_guess(),
    ),
    Mistake(
        "a vote leaks less than nothing where one more makes the label rarer",
        "measures.leakage",
        "np.log1p(np.abs(np.diff(X)))",
        "np.log1p(np.diff(X))",
        LEAKAGE,
        lambda tests, _: tests.test_a_vote_leaks_as_much_where_one_more_makes_the_label_rarer(),
    ),
    Mistake(
        "several outputs leak as the largest of them",
        "measures.leakage",
        "math.fsum(values)",
        "values.max()",
        LEAKAGE,
        lambda tests, _: tests.test_composition_and_processing_of_random_channels(),
    ),
    Mistake(
        "the sum of leakages is rounded down",
        "measures.leakage",
        "* (1 + 1e-15)",
        "* (1 - 1e-15)",
        LEAKAGE,
        lambda tests, _: tests.test_the_sum_of_leakages_is_rounded_up(),
    ),
    Mistake(
        "noisy max has one class fewer",
        "measures.noisy_max_leakage",
        "(m - 1) * math.log1p(math.exp(-rate))",
        "(m - 2) * math.log1p(math.exp(-rate))",
        NOISY_MAX,
        lambda tests, _: tests.test_discrete_leakage_by_its_definition_and_below_its_bounds({"gamma": 1.0}),
    ),
    Mistake(
        "the largest leakage of Laplace noise is rounded down",
        "measures.noisy_max_leakage",
        "largest * (1 + 1e-12)",
        "largest * (1 - 1e-12)",
        NOISY_MAX,
        lambda tests, _: tests.test_discrete_leakage_by_its_definition_and_below_its_bounds({"gamma": 1.0}),
    ),
    Mistake(
        "the rounding of tables of Gaussian noise is not counted",
        "mechanisms.integer_noise",
        "1e-12 + (sigma + 2) * 2.0**-52",
        "0.0",
        NOISY_MAX,
        lambda tests, _: tests.test_the_gaussian_bound_is_rounded_up(0.1),
    ),
    Mistake(
        "the quadrature of continuous noise is taken as exact from above",
        "measures.noisy_max_leakage",
        "noise=noise) + m * 1e-12",
        "noise=noise) - m * 1e-12",
        NOISY_MAX,
        beside("continuous"),
    ),
    Mistake(
        "a class behind is one more vote behind",
        "measures.noisy_max_leakage",
        "votes[0] - votes[r:] - 1",
        "votes[0] - votes[r:]",
        NOISY_MAX,
        beside("discrete"),
    ),
    Mistake(
        "the leader loses as if the last vote were not its own",
        "measures.noisy_max_leakage",
        "votes[:1] - votes[1] + 1",
        "votes[:1] - votes[1]",
        NOISY_MAX,
        beside("discrete"),
    ),
    Mistake(
        "classes that share the lead count as one",
        "measures.noisy_max_leakage",
        "r = int((votes == votes[0]).sum())",
        "r = 1",
        NOISY_MAX,
        beside("discrete"),
    ),
    Mistake(
        "the difference of two Gaussian noises is as narrow as one",
        "measures.noisy_max_leakage",
        'scale = check_positive("sigma", sigma) * math.sqrt(2)',
        'scale = check_positive("sigma", sigma)',
        NOISY_MAX,
        beside("continuous"),
    ),
    Mistake(
        "a class behind never wins a tie",
        "mechanisms.integer_noise",
        "at_least - equal / 2",
        "at_least - equal",
        NOISY_MAX,
        lambda tests, _: tests.test_kernels_are_those_of_the_release(),
    ),
    Mistake(
        "a tie goes to the class that is looked at",
        "mechanisms.integer_noise",
        "log_at_most(at - 1)",
        "log_at_most(at)",
        NOISY_MAX,
        lambda tests, _: tests.test_theorem_10_fails_for_every_noise({"gamma": 1.0}, "discrete"),
    ),
    Mistake(
        "Laplace noise of two classes is that of one",
        "mechanisms.noisy_max_chances",
        "(2 + x) * math.exp(-x) / 4",
        "2 * math.exp(-x) / 4",
        LEAKAGE,
        lambda tests, _: tests.test_laplace_probabilities_against_sixty_digits([1, 0], Fraction(1)),
    ),
    # Advantage
    Mistake(
        "label DP keeps twice what it does",
        "measures.bounds",
        "small / (1 + small)",
        "2 * small / (1 + small)",
        OVER_BAGS,
        lambda tests, _: tests.test_randomized_response_does_not_see_the_others(),
    ),
    Mistake(
        "a label is noise for itself",
        "measures.bounds",
        "own.sum(axis=1, keepdims=True) - own,",
        "own.sum(axis=1, keepdims=True),",
        ADVANTAGE,
        lambda tests, _: tests.test_a_label_is_no_noise_for_itself(),
    ),
    Mistake(
        "Bernstein's variance is halved",
        "measures.bounds",
        "(2 * p * (1 - p) + 2 * far / 3)",
        "(p * (1 - p) + 2 * far / 3)",
        ADVANTAGE,
        lambda tests, _: tests.test_the_tail_of_large_bags_of_like_labels(0.45),
    ),
    Mistake(
        "the bound for Laplace noise has lost its factor 2",
        "measures.bounds",
        "-2 * math.expm1(",
        "-1 * math.expm1(",
        MISPRINTS,
        lambda tests, _: tests.test_how_loose_theorem_6_4_is(1.0, 1.607),
    ),
    Mistake(
        "a thousand bags are as rarely extreme as one",
        "measures.extremes",
        "math.expm1(n * math.log1p(-chance)",
        "math.expm1(1 * math.log1p(-chance)",
        ADVANTAGE,
        lambda tests, _: tests.test_like_bags_give_labels_away(),
    ),
    Mistake(
        "the label counts among the others of its bag",
        "measures.bounds_over_bags",
        "mass = (k - 1) * spread",
        "mass = k * spread",
        OVER_BAGS,
        lambda tests, _: tests.test_the_formula_of_proposition_1(),
    ),
    Mistake(
        "min(eta, 1 - eta) is taken for eta (1 - eta)",
        "measures.bounds_over_bags",
        "min(2 * spread, p, 1 - p)",
        "min(spread, p, 1 - p)",
        OVER_BAGS,
        lambda tests, _: tests.test_the_formula_of_proposition_1(),
    ),
    Mistake(
        "one tail of Bernstein is left out",
        "measures.spread",
        "math.log(4 * n)",
        "math.log(2 * n)",
        OVER_BAGS,
        lambda tests, _: tests.test_the_formula_of_proposition_2(),
    ),
    Mistake(
        "the squares of Proposition 2 are halved",
        "measures.bounds_over_bags",
        "squares = 2 * float(",
        "squares = 1 * float(",
        OVER_BAGS,
        lambda tests, _: tests.test_the_formula_of_proposition_2(),
    ),
    Mistake(
        "what is outside of Bernstein's interval counts nothing",
        "measures.bounds_over_bags",
        "(1 / n + math.sqrt(",
        "(0 / n + math.sqrt(",
        OVER_BAGS,
        lambda tests, _: tests.test_the_formula_of_proposition_2(),
    ),
    Mistake(
        "random bags hold one label more",
        "measures.over_bags",
        "others = size - 1",
        "others = size",
        OVER_BAGS,
        lambda tests, _: tests.test_every_bag_one_after_the_other(True),
    ),
    Mistake(
        "records drawn without replacement come twice",
        "measures.over_bags",
        "    if replacement:\n        logs",
        "    if True:\n        logs",
        OVER_BAGS,
        lambda tests, _: tests.test_every_bag_one_after_the_other(False),
    ),
    Mistake(
        "a label does not count in its own bag",
        "measures.kernels",
        "np.ascontiguousarray(kernel[1:].T)",
        "np.ascontiguousarray(kernel[:-1].T)",
        ADVANTAGE,
        lambda tests, _: tests.test_majorities_by_the_definition(
            darrm.mechanisms.DaRRM(darrm.solve(K=5, m=2, epsilon=0.5))
        ),
    ),
    Mistake(
        "several releases cost as much as the dearest",
        "measures.joint_releases",
        "return math.fsum(float(getattr(mechanism",
        "return max(float(getattr(mechanism",
        AUDIT,
        lambda tests, _: tests.test_releases_seen_together_are_those_of_all_labellings(
            [darrm.mechanisms.RandomizedResponse(1.0), darrm.mechanisms.RandomizedResponse(0.4)], True
        ),
    ),
    # Aggregates of random bags
    Mistake(
        "the record is among its own companions",
        "labels.bags_at_random",
        "exponent = log_failure - (k - 1) * logs",
        "exponent = log_failure - k * logs",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_floor_is_that_of_its_formula(150, 1e-6),
    ),
    Mistake(
        "one eigenvalue stands for all in the trace",
        "labels.bags_at_random",
        "failure / (rank + 1)",
        "failure / 1",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_floor_is_that_of_its_formula(150, 1e-6),
    ),
    Mistake(
        "floors are rounded up",
        "labels.bags_at_random",
        "((exponent - slack) / thetas)",
        "((exponent + slack) / thetas)",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_floor_is_that_of_its_formula(150, 1e-6),
    ),
    Mistake(
        "the leverage is that of the data set with the record",
        "labels.bags_at_random",
        "(len(U) - 1) * h / (1 - h)",
        "(len(U) - 1) * h",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_floor_is_that_of_its_formula(150, 1e-6),
    ),
    Mistake(
        "residuals and features are taken for uncorrelated",
        "labels.bags_at_random",
        "math.hypot((p - s) / 2, q)",
        "abs(p - s) / 2",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_tails_are_those_of_their_formula(),
    ),
    Mistake(
        "the residual sits where it is seen best",
        "labels.bags_at_random",
        "U[np.argsort(-(U * U).sum(axis=1))]",
        "U[np.argsort((U * U).sum(axis=1))]",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_tails_are_those_of_their_formula(),
    ),
    Mistake(
        "tails are rounded down",
        "labels.bags_at_random",
        "- (n * 2.0**-48 + off) * (abs(p)",
        "+ (n * 2.0**-48 + off) * (abs(p)",
        RANDOM_BAGS,
        lambda tests, _: tests.test_the_tails_of_an_intercept_are_rounded_up(16),
    ),
    Mistake(
        "bags below the floor are forgotten",
        "labels.bags_at_random",
        "(failure + worst.upper) * ties",
        "worst.upper * ties",
        RANDOM_BAGS,
        made_of(True, 0.5),
    ),
    Mistake(
        "labels are taken from the middle though X has no constant column",
        "labels.bags_at_random",
        "(high / 2 - low / 2) + abs(middle) * beside",
        "(high / 2 - low / 2)",
        RANDOM_BAGS,
        made_of(False, 3.0),
    ),
    Mistake(
        "leverages above one half allow less than one half",
        "labels.bags_at_random",
        "h = min(floor.leverage, 0.5)",
        "h = floor.leverage",
        RANDOM_BAGS,
        made_of(True, 0.5),
    ),
    Mistake(
        "a label may not change by more than the residual",
        "labels.aggregates",
        "farthest = np.divide((2 + end) ** 2",
        "farthest = np.divide((1 + end) ** 2",
        AGGREGATES,
        lambda tests, _: tests.test_a_residual_that_only_changes_its_sign(0.5),
    ),
    Mistake(
        "a residual changes the residual sum of squares half as much",
        "labels.aggregates",
        "best * (2 * reach - best * free)",
        "best * (reach - best * free)",
        RANDOM_BAGS,
        lambda tests, _: tests.test_no_bag_is_worse_than_the_worst_of_its_residual(),
    ),
    Mistake(
        "the rounding of the exchanged divergence is taken off",
        "labels.centred_gaussians",
        "rounding = 1e-12 if upper else -1e-12",
        "rounding = -1e-12",
        AGGREGATES,
        lambda tests, _: tests.test_one_larger_variance_is_bounded_from_both_sides(4.0),
    ),
    Mistake(
        "noise counts twice in noisy aggregates",
        "labels.noisy_aggregates",
        "(high - low) / sigma",
        "(high - low) / (2 * sigma)",
        AGGREGATES,
        lambda tests, _: tests.test_released_weights_against_a_plain_integral(),
    ),
    Mistake(
        "one degree of freedom more in noisy aggregates",
        "labels.noisy_aggregates",
        "q - 2, outside=False",
        "q - 1, outside=False",
        AGGREGATES,
        lambda tests, _: tests.test_released_weights_against_a_plain_integral(),
    ),
    Mistake(
        "labels without noise are forgotten",
        "labels.noisy_aggregates",
        "+ (k - q) * outside",
        "+ 0 * outside",
        AGGREGATES,
        lambda tests, _: tests.test_noisy_delta_where_one_weight_is_much_larger((1, 10, 0.1, 100), 3.484e-3),
    ),
    Mistake(
        "what the quadrature leaves out is left out",
        "labels.noisy_aggregates",
        "near_0 + near_end + at_least + end * at_most",
        "near_0 + near_end",
        AGGREGATES,
        lambda tests, _: tests.test_noise_beyond_the_panels_of_the_quadrature_counts(),
    ),
    Mistake(
        "the error of the quadrature is taken off",
        "labels.noisy_aggregates",
        "/ k * (1 + 1e-6)",
        "/ k * (1 - 1e-6)",
        AGGREGATES,
        lambda tests, _: tests.test_released_weights_against_a_plain_integral(),
    ),
    Mistake(
        "delta of secret weights is that of one event",
        "labels.noisy_aggregates",
        "for event in (erfc, erf):",
        "for event in (erfc,):",
        AGGREGATES,
        lambda tests, _: tests.test_secret_weights_with_hardly_any_noise(),
    ),
]


def callers_decimals(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_decimals_of_the_caller_change_nothing(patch, 0, 0.4)


def callers_decimals_beyond_float64(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_decimals_of_the_caller_change_nothing(patch, 10**6, 1e-300)


def without_hashes(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_different_multisets_of_one_hash_are_all_kept(patch)


def failures_together(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_failures_of_too_many_voters_are_taken_together(patch)


def at_once(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for seed in range(3):
            tests.test_all_levels_at_once_say_what_each_says(seed, patch)


def left_open(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.space(patch)
        tests.test_gaps_that_bounds_leave_are_looked_into(None, 0.0, "random")


def spaced(tests: Any, K: int, max_affected: int, Delta: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.space(patch)
        for m in (1, 9):
            for kind in tests.KINDS:
                tests.test_the_spaced_pass_is_the_maximum(None, K, max_affected, Delta, kind, m)


def paid_for(tests: Any, Delta: float, lost: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_moves_that_are_left_out_are_paid_for(patch, Delta, lost)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_is_refused(mistake: Mistake, tmp_path: Path) -> None:
    tests = suite(mistake.file)
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir()
    wrong.mkdir()
    forget()
    mistake.judge(tests, right)
    with mistaken(mistake.module, mistake.old, mistake.new), pytest.raises(REFUSED):
        mistake.judge(tests, wrong)


def test_what_is_mistaken_is_put_right() -> None:
    from darrm.certificate import tight_epsilon
    from darrm.numerics import exact

    problem = darrm.MajorityProblem(2, 1, 1.0)
    before = problem.exact_epsilon
    with mistaken("problem.majority", "Fraction(self.m) *", "5 *"):
        assert problem.exact_epsilon == 5 * before
    assert problem.exact_epsilon == before
    with mistaken("numerics.exact", "return nearest if", "return -nearest if"):
        assert tight_epsilon.rounded_up(before) == -1.0
    assert tight_epsilon.rounded_up(before) == exact.rounded_up(before) == 1.0
    with pytest.raises(AssertionError, match="occurs 0 times"), mistaken("numerics.exact", "no such text", ""):
        pass
