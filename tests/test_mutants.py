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

import pytest

import darrm
from darrm.accounting import Ledger

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


def forget() -> None:
    """Answers that are kept would outlive the mistake, or hide it."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith("darrm"):
            one.cache_clear()


@contextlib.contextmanager
def mistaken(module: str, old: str, new: str) -> Iterator[None]:
    """Wherever darrm is used, ``new`` in place of ``old`` in one function; whoever imported it before sees it too."""
    loaded = importlib.import_module(f"darrm.{module}")
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
    """``old`` becomes ``new`` in a module of darrm, and a test in ``file`` has to refuse it."""

    what: str
    module: str
    old: str
    new: str
    file: str
    judge: Judge


SEPARATION, VERIFY = "certificate/test_separation.py", "certificate/test_verify.py"
CORNERS, RELEASE = "constraints/test_corners.py", "mechanisms/test_darrm.py"
BLOCKS, IDENTICAL = "mechanisms/test_darrm_blocks.py", "certificate/test_identical_voters.py"
FIXED = "accounting/test_accounting_fixed.py"
COMPOSE, THEOREMS = "accounting/test_accounting_compose.py", "accounting/test_accounting_theorems.py"
LEDGER, PROFILE = "accounting/test_accounting_ledger.py", "accounting/test_accounting_profile.py"
MAX, LABELS = "mechanisms/test_noisy_max.py", "mechanisms/test_label_mechanisms.py"
AGGREGATES, SEEN = "mechanisms/test_weighted_aggregates.py", "measures/test_empirical.py"
ENSEMBLE = "ensemble/test_ensemble.py"


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


BLOCK = """                if budget is not None and counts.size:
                    budget.charge(counts.size)
                yield self._flip(counts, draw)
"""

PAID = """        self.budget.charge(len(votes))
        answers = RandomizedResponse(self.design.problem.epsilon).release(votes, rng)
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
        "down = np.flatnonzero(~rises if most_b is None else",
        "down = np.flatnonzero(rises & ~rises if most_b is None else",
        VERIFY,
        dips,
    ),
    Mistake(
        "voters at the corners of Delta are forgotten",
        "certificate.moves",
        "self.pmf[up, 0] * V + above,",
        "V,",
        VERIFY,
        bound(3, 0.3, "rising"),
    ),
    Mistake(
        "one voter fewer is changed",
        "certificate.separation",
        "problem.max_affected if most_n is None else most_n",
        "problem.max_affected - 1 if most_n is None else most_n",
        VERIFY,
        dips,
    ),
    Mistake(
        "what counts as rising is guessed",
        "certificate.smoothing",
        "np.all(steps >= margin * sizes, axis=1)",
        "np.any(steps >= margin * sizes, axis=1)",
        VERIFY,
        bound(3, 1e-3, "random"),
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
        "mechanisms.majority",
        "= np.count_nonzero(chunk, axis=1)",
        "= np.count_nonzero(chunk[:, 1:], axis=1)",
        RELEASE,
        lambda tests, _: tests.test_release_counts_votes(),
    ),
    Mistake(
        "a gamma that is not symmetric passes",
        "problem.noise_function",
        "unequal = table != table[::-1]",
        "unequal = table != table",
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
        "choices.append((_term(y, x, grid), _term(not_y, not_x, grid)))",
        "pass",
        COMPOSE,
        lambda tests, _: tests.test_bounds_hold_what_brute_force_finds(2, 3, 0.0, "one"),
    ),
    Mistake(
        "fixed voters have no privacy of their own",
        "accounting.fixed",
        "p = delta_of(reached(problem), epsilon)",
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
        "the coins of two labels are counted as those of one",
        "accounting.fixed",
        "V = excess(counts, queries, grid) if delta > UNDERFLOW else None",
        "V = excess(counts, 1, grid) if delta > UNDERFLOW else None",
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
        "return nearest if type(value)(nearest) >= value else math.nextafter(nearest, math.inf)",
        "return nearest",
        THEOREMS,
        lambda tests, _: tests.test_sums_are_rounded_up_and_tiny_deltas_count(),
    ),
    Mistake(
        "teachers that a record reaches count as one",
        "ensemble.releases",
        "cost = optimal(epsilon, Delta, max_affected, total_delta)",
        "cost = optimal(epsilon, Delta, 1, total_delta)",
        ENSEMBLE,
        lambda tests, _: tests.test_fixed_voters_cost_the_composition_of_those_a_record_reaches(3, 1e-4),
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
        "mechanisms.majority",
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
        "accounting.ledger",
        "released + n > allowed:",
        "released + n > allowed + 1:",
        LEDGER,
        to_the_last_label,
    ),
    Mistake(
        "a charge is not written",
        "accounting.ledger",
        "            self._take(state, design, n)\n            write(self.path, state)\n",
        "            self._take(state, design, n)\n",
        LEDGER,
        lambda tests, folder: tests.test_what_is_spent_by_the_sum(folder),
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
]


def paid_for(tests: Any, Delta: float, lost: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_moves_that_are_left_out_are_paid_for(patch, Delta, lost)


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
