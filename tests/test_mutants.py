"""Mistakes that would break a guarantee, made on purpose: the test that must refuse each does.

Each is a change of the source of darrm, put into the running code; the test of the suite that is named with it is then
run again and has to fail. What is changed is found by its syntax, in the function that has it, wherever it stands and
however it is laid out. `tests/tools/mutation.py` makes such changes by the thousand, without choosing them.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import gc
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from cases import slow

import darrm
from darrm.accounting import Ledger
from darrm.certificate import engines

TESTS = Path(__file__).resolve().parent
Judge = Callable[[Any, Path], object]  # of the tests in one file, and of an empty folder
ANYTHING = re.compile(r"_[1-9]")  # in a pattern: any expression or, alone on a line, any statement


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
    gc.unfreeze()  # what is frozen is not listed
    found = (one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper))
    return [one for one in found if one.__module__ in modules]


def forget() -> None:
    """Answers that are kept would outlive the mistake, or hide it."""
    for one in memories(frozenset(name for name in sys.modules if name.startswith("darrm"))):
        one.cache_clear()
    engines.forget()


def same(pattern: Any, node: Any, held: dict[str, ast.AST]) -> bool:
    """Whether code is that of a pattern; what stands for `ANYTHING` is put into ``held``, the same wherever it is."""
    alone = isinstance(pattern, ast.Expr) and isinstance(node, ast.stmt)
    name = pattern.value if alone else pattern
    if isinstance(name, ast.Name) and ANYTHING.fullmatch(name.id):
        fits = isinstance(node, ast.stmt if alone else ast.expr)
        return fits and ast.dump(held.setdefault(name.id, node)) == ast.dump(node)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(
            same(one, other, held) for one, other in zip(pattern, node, strict=True)
        )
    if not isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and bool(pattern == node)
    fields = [field for field in pattern._fields if field != "ctx"]
    return type(pattern) is type(node) and all(same(getattr(pattern, f), getattr(node, f), held) for f in fields)


class Filled(ast.NodeTransformer):
    """Code in the places of `ANYTHING`."""

    def __init__(self, held: dict[str, ast.AST]) -> None:
        self.held = held

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        found = self.visit(node.value)
        return found if isinstance(found, ast.stmt) else ast.Expr(found)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.held.get(node.id, node))


def parsed(text: str) -> list[Any]:
    """Statements, or one expression."""
    code: list[Any] = ast.parse(text).body
    return [code[0].value] if len(code) == 1 and isinstance(code[0], ast.Expr) else code


def replace(function: ast.AST, change: str) -> None:
    """Change ``old => new``: put new code in the place of the only code of a function that is the old."""
    old, new = map(parsed, change.split(" => "))
    found = []
    for node in ast.walk(function):
        for field, value in ast.iter_fields(node):
            inner = value if isinstance(value, list) else [value]
            for at in range(len(inner) - len(old) + 1):
                held: dict[str, ast.AST] = {}
                if same(old, inner[at : at + len(old)], held):
                    made = [Filled(held).visit(copy.deepcopy(one)) for one in new]
                    found.append((node, field, [*inner[:at], *made, *inner[at + len(old) :]]))
    assert len(found) == 1, f"{change!r} has {len(found)} places in {getattr(function, 'name', function)}"
    ((node, field, inner),) = found
    setattr(node, field, inner if isinstance(getattr(node, field), list) else inner[0])


@functools.cache
def source(module: str) -> tuple[ModuleType, str, ast.Module]:
    """A module, its path and its syntax tree."""
    loaded = importlib.import_module(f"darrm.{module}")
    path = inspect.getsourcefile(loaded)
    assert path is not None
    return loaded, path, ast.parse(Path(path).read_text(encoding="utf-8"))


def function_of(tree: ast.Module, name: str) -> ast.AST:
    """A function or method in a module, by qualified name."""
    found: Any = tree
    for part in name.split("."):
        (found,) = (one for one in found.body if getattr(one, "name", "") == part)
    assert isinstance(found, ast.FunctionDef), name
    return found


def mistaken_code(place: str, change: str) -> CodeType:
    """The code of a function with the mistake in it."""
    module, name = place.split(":")
    _, path, right = source(module)
    tree = copy.deepcopy(right)
    replace(function_of(tree, name), change)
    return dict(functions(compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)))[name]


@contextlib.contextmanager
def mistaken(place: str, change: str) -> Iterator[None]:
    """A mistake in one function, wherever darrm is used: whoever imported it before sees it too."""
    wrong = mistaken_code(place, change)
    module, name = place.split(":")
    function = live(source(module)[0], name)
    right = function.__code__
    try:
        function.__code__ = wrong
        forget()
        yield
    finally:
        function.__code__ = right
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
    """A change ``old => new`` of a function ``module:name``, and a test that has to refuse it.

    Modules are those of darrm. ``_1``, ``_2`` on both sides stand for `ANYTHING`.
    """

    what: str
    place: str
    change: str
    refused: tuple[str, Judge]  # in this file, by this test


SEPARATION, VERIFY = "certificate/test_separation.py", "certificate/test_verify.py"
CORNER_PASS, RELEASE = "certificate/test_corner_pass.py", "mechanisms/test_darrm.py"
BLOCKS, FIXED = "mechanisms/test_darrm_blocks.py", "accounting/test_accounting_fixed.py"
COMPOSE, THEOREMS = "accounting/test_accounting_compose.py", "accounting/test_accounting_theorems.py"
LEDGER, CURVES = "accounting/test_accounting_ledger.py", "accounting/test_curves.py"
NOISY = "accounting/test_ledger_noisy_max.py"
MIXED, MAX = "accounting/test_ledger_mixed.py", "mechanisms/test_noisy_max.py"
ENSEMBLE, GROUPS = "ensemble/test_ensemble.py", "certificate/test_groups.py"
CLASSES, CLASS_CASES = "certificate/test_class_certificates.py", "certificate/test_class_cases.py"
GAPS, KINDS = "design/test_gaps.py", "problem/test_kinds.py"
KNOWN, FALLBACK = "accounting/test_known_randomizers.py", "accounting/test_ledger_fallback.py"
DIGITS, DISCRETE = "randomness/test_digits.py", "randomness/test_discrete.py"
OTHERS, RANGED, SEVERAL = (
    "randomness/test_others.py",
    "accounting/test_bounded_range.py",
    "accounting/test_several_votes.py",
)
KEY, KEYED = "mechanisms/test_label_key.py", "ensemble/test_keyed.py"
REFUSED = (AssertionError, pytest.fail.Exception, darrm.DarrmError)


def stream(tests: Any, folder: Path) -> Ledger:
    """The ledger of the tests of streams."""
    return Ledger.create(
        folder / "ledger.json", tests.DESIGN, total_epsilon=0.4, total_delta=0.0, voters="fresh", rule="basic-filter"
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


def beside(noise: str) -> Judge:
    """Bounds on the leakage of Gaussian noise: their formulas in sixty digits, or the leakage."""
    if noise == "discrete":
        return lambda tests, _: tests.test_the_gaussian_bound_for_the_votes_at_hand_is_rounded_up(1.0)
    return lambda tests, _: tests.test_continuous_gaussian_leakage_is_below_its_bounds(1.0)


def callers_decimals(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_decimals_of_the_caller_change_nothing(patch, 0, 0.4)


def callers_decimals_beyond_float64(tests: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_decimals_of_the_caller_change_nothing(patch, 10**6, 1e-300)


def drawn_under_small_limits(tests: Any) -> None:
    tests.test_what_is_drawn_counts_under_a_limit_far_below_the_rounding_of_float64()


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


def paid_for(tests: Any, Delta: float, lost: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tests.test_moves_that_are_left_out_are_paid_for(patch, Delta, lost)


MISTAKES = [
    # Corners
    Mistake(
        "the corner (hi,lo) is wrong",
        "problem.corners:weights",
        "exact_Delta * s => exact_Delta",
        (VERIFY, bound(1, 1e-3, "random")),
    ),
    Mistake(
        "voters at (lo,hi) are forgotten", "certificate.smoothing:levels", "n <= last => n < 0 * last", (VERIFY, dips)
    ),
    Mistake(
        "voters at the corners of Delta are forgotten",
        "certificate.moves:Moves.all_move",
        "above += stay.take(up) * V => above = V.copy()",
        (VERIFY, bound(3, 0.3, "rising")),
    ),
    Mistake(
        "together, a level looks at its last column only",
        "certificate.corner_pass:CornerPass._together",
        "z > K - n => z != K - n",
        (CORNER_PASS, lambda tests, _: at_once(tests)),
    ),
    Mistake(
        "together, all move where few may",
        "certificate.corner_pass:CornerPass._together",
        "np.minimum(K, t) - n => 0 * n",
        (CORNER_PASS, lambda tests, _: at_once(tests)),
    ),
    Mistake(
        "one voter fewer is changed",
        "certificate.corner_pass:CornerPass.scan",
        "self._problem.max_affected => self._problem.max_affected - 1",
        (VERIFY, dips),
    ),
    Mistake(
        "a search ends with the first numbers of voters that move",
        "certificate.corner_pass:CornerPass._search",
        "bounds[moved] <= highest => highest > -math.inf",
        (CORNER_PASS, lambda tests, _: tests.test_a_search_is_over_all_moves(5, 6.0)),
    ),
    Mistake(
        "what counts as rising is guessed",
        "certificate.smoothing:_Chains.rise",
        "(_1 >= _2).all(axis=1) => (_1 >= _2).any(axis=1)",
        (VERIFY, bound(3, 1e-3, "random")),
    ),
    Mistake(
        "gaps that bounds do not settle are forgotten",
        "certificate.corner_pass:CornerPass._note",
        "level.n => -1",
        (CORNER_PASS, lambda tests, _: left_open(tests)),
    ),
    # The majority
    Mistake(
        "a tie is released as 1 by the certificate's reckoning",
        "problem.noise_function:acceptance",
        "(1 + side * gamma) / 2 => (1 + np.where(side == 0, 1, side) * gamma) / 2",
        (VERIFY, lambda tests, _: tests.test_a_tie_is_a_fair_coin_whatever_gamma_says(0.0)),
    ),
    Mistake(
        "a tie is released as 1",
        "problem.encodings:_exact_gamma",
        "2 * l > problem.K => 2 * l >= problem.K",
        (VERIFY, lambda tests, _: tests.test_a_tie_is_a_fair_coin_whatever_gamma_says(0.0)),
    ),
    Mistake(
        "the majority is off by one in l",
        "problem.encodings:_exact_gamma",
        "(2 * l > problem.K) - (2 * l < problem.K) => (2 * l > problem.K + 2) - (2 * l < problem.K + 2)",
        (RELEASE, lambda tests, _: tests.test_labels_have_their_probabilities(11)),
    ),
    Mistake(
        "the certificate is off by one in l",
        "problem.noise_function:acceptance",
        "sides(K) => np.sign(2 * np.arange(K + 1) - K - 2)",
        (VERIFY, bound(3, 0.0, "random")),
    ),
    Mistake(
        "votes are counted off by one",
        "mechanisms.coin_votes:CoinVotes.cases",
        "np.count_nonzero(ones, axis=1) => np.count_nonzero(ones[:, 1:], axis=1)",
        (RELEASE, lambda tests, _: tests.test_release_counts_votes()),
    ),
    Mistake(
        "a gamma that is not symmetric passes",
        "problem.noise_function:noise_function",
        "abs(table - table[::-1]) => abs(table - table)",
        (VERIFY, lambda tests, _: tests.test_verify_refuses_what_is_no_noise_function()),
    ),
    Mistake(
        "the guarantee is that of m + 1",
        "problem.majority:MajorityProblem.exact_epsilon",
        "Fraction(self.m) => Fraction(self.m) + 1",
        (
            VERIFY,
            lambda tests, _: tests.test_the_worst_case_of_a_certificate_attains_the_needed_delta("solved", 1e-3, 9),
        ),
    ),
    Mistake(
        "rounding is not counted",
        "certificate.rounding:scale",
        "1.01 * _U * (7 * steps + 4 * terms + 40) => 0.0 * _U * (7 * steps + 4 * terms + 40)",
        (VERIFY, bound(4, 0.0, "nearly one")),
    ),
    Mistake(
        "moves that are not followed are not paid for",
        "certificate.moves:Moves.__init__",
        "2 * tail => 0 * tail",
        (SEPARATION, lambda tests, _: paid_for(tests, 0.3, 0.1)),
    ),
    Mistake(
        "rows that are rounded do not pay for it",
        "design.optimum:upper_bound",
        "multipliers[exact:] => multipliers[:exact]",
        (GAPS, lambda tests, _: tests.test_rows_that_are_exact_pay_for_no_rounding()),
    ),
    # Coins
    Mistake(
        "coins are floats of 53 bits",
        "randomness.coins:Coins.flip",
        "draw(which.size) => draw(which.size) >> np.uint64(11) << np.uint64(11)",
        (RELEASE, lambda tests, _: tests.test_coins_are_exact_over_all_inputs(3)),
    ),
    Mistake(
        "coins are decided by their first word",
        "randomness.coins:Coins.flip",
        "self._words[1:] => self._words[1:1]",
        (RELEASE, lambda tests, _: tests.test_coins_are_exact_over_all_inputs(3)),
    ),
    Mistake(
        "a coin of real bias is decided by its first word",
        "randomness.discrete:RealCoins.flip",
        "undecided[word == threshold] => undecided[:0]",
        (DISCRETE, lambda tests, _: tests.test_a_coin_is_decided_at_the_first_digit_that_differs()),
    ),
    # Noise
    Mistake(
        "a normal deviate is kept too often",
        "randomness.digits:gaussian",
        "left[fine] -= 1 => left[fine] = 0",
        (DIGITS, lambda tests, _: tests.test_a_deviate_has_its_law(tests.gaussian, 64)),
    ),
    Mistake(
        "of two rivals only one is refined",
        "randomness.digits:_largest",
        "(best, *rivals) => rivals",
        (DIGITS, lambda tests, _: tests.test_the_closest_rivals_are_told_apart()),
    ),
    Mistake(
        "floats decide what they cannot tell",
        "randomness.digits:winners",
        "value + off => value - off",
        (DIGITS, lambda tests, _: tests.test_ties_refine_both_for_good(tests.gaussian)),
    ),
    # Budgets
    Mistake(
        "D and D' are not exchanged in composition",
        "accounting.adaptive:_choices",
        "np.concatenate([_1, _2]), np.concatenate([_2, _1]) => np.concatenate([_1, _1]), np.concatenate([_2, _2])",
        (COMPOSE, lambda tests, _: tests.test_bounds_hold_what_brute_force_finds(2, 3, 0.0, "one")),
    ),
    Mistake(
        "a ledger of fixed voters never ends",
        "accounting.ledger_state:State.endless",
        "_1 <= float(kind.total_epsilon) => True",
        (FIXED, lambda tests, folder: tests.test_a_ledger_for_fixed_voters_below_their_own_price(folder)),
    ),
    Mistake(
        "fixed voters are charged by the query",
        "accounting.composition:of_label",
        'voters == "fixed" => voters == ""',
        (COMPOSE, lambda tests, _: tests.test_fixed_voters_pay_once_whatever_is_asked()),
    ),
    Mistake(
        "delta of the voters is dropped",
        "accounting.voters:epsilon_of",
        "optimal(_1, who.Delta, _2, delta) => optimal(_1, 0.0, _2, delta)",
        (COMPOSE, lambda tests, _: tests.test_fixed_voters_pay_once_whatever_is_asked()),
    ),
    Mistake(
        "failures are counted once for all mechanisms",
        "accounting.theorems:general",
        "(1 - Decimal(delta)) ** k => (1 - Decimal(delta)) ** 1",
        (THEOREMS, lambda tests, _: tests.test_general_gives_table_3(20, 9.8823, 0.1002)),
    ),
    Mistake(
        "sums are rounded to the nearest",
        "numerics.exact:rounded_up",
        "nearest if _1 else math.nextafter(nearest, math.inf) => nearest",
        (THEOREMS, lambda tests, _: tests.test_sums_are_rounded_up_and_tiny_deltas_count()),
    ),
    Mistake(
        "a block is charged after it is given",
        "mechanisms.released_votes:ReleasedVotes._charged",
        "left_out = charge(_1, _2) if _1 else 0\n_3 => left_out = 0\n_3\nif _1:\n    charge(_1, _2)",
        (
            BLOCKS,
            lambda tests, folder: tests.test_each_block_is_charged_before_it_is_given(
                stream(tests, folder), [3, 0, 5, 2]
            ),
        ),
    ),
    # Randomness by key
    Mistake(
        "rows of other votes have the same words",
        "randomness.keyed:KeyedRows._digests",
        "counts[row * size : (row + 1) * size] + data[ends[row] : ends[row + 1]] => data[ends[row] : ends[row + 1]]",
        (KEY, lambda tests, _: tests.test_words_are_as_defined()),
    ),
    Mistake(
        "each call begins the words of a row anew",
        "randomness.keyed:KeyedRows.next",
        "self._used[each] += many => self._used[each] += 0",
        (KEY, lambda tests, _: tests.test_words_are_as_defined()),
    ),
    Mistake(
        "draws of a row have the same word",
        "randomness.keyed:KeyedRows.next",
        "np.arange(rows.size) + np.repeat(self._used[each] - first, many) => np.repeat(self._used[each], many)",
        (KEY, lambda tests, _: tests.test_words_are_as_defined()),
    ),
    Mistake(
        "designs have the same words",
        "mechanisms.released_votes:ReleasedVotes._law_bytes",
        'law_of(["design", *_1, _2]) => law_of(["design"])',
        (KEY, lambda tests, _: tests.test_whatever_differs_gives_independent_labels("design")),
    ),
    Mistake(
        "an id with other votes passes for a retry",
        "accounting.ledger_ids:enter",
        "_rows_before(run, batch, new, number, tags=True) => _rows_before(run, batch, new, number)",
        (KEY, lambda tests, folder: tests.test_an_id_that_was_charged_otherwise_is_refused("votes", folder)),
    ),
    Mistake(
        "others may read a key",
        "mechanisms.label_key:LabelKey.load",
        "about.st_mode & 63 => about.st_mode & 0",
        (KEY, lambda tests, folder: tests.test_a_key_that_others_may_read_or_write_is_refused(0o640, folder)),
    ),
    Mistake(
        "labels are drawn before they are paid for",
        "ensemble.releases:charged",
        "budget.charge(n)\nreturn draw(_1) => labels = draw(_1)\nbudget.charge(n)\nreturn labels",
        (ENSEMBLE, overspent),
    ),
    Mistake(
        "a row that an ensemble knows has another label",
        "accounting.budgets:LedgerBudget.once",
        "np.flatnonzero(labels < 0) => np.arange(labels.size)",
        (
            KEYED,
            lambda tests, folder: tests.test_a_row_has_one_label_whatever_the_voters_say_next_time(
                tests.of_ledger, folder
            ),
        ),
    ),
    Mistake(
        "new rows of an ensemble that knows rows are not charged",
        "accounting.budgets:LedgerBudget.once",
        "charge(_1, account, new.size, _2, None, again=False) => charge(_1, account, 1, _2, None, again=False)",
        (
            KEYED,
            lambda tests, folder: tests.test_a_row_has_one_label_whatever_the_voters_say_next_time(
                tests.of_ledger, folder
            ),
        ),
    ),
    Mistake(
        "a ledger gives one label too many",
        "accounting.rules.common:check_left",
        "released + n > allowed => released + n > allowed + 1",
        (LEDGER, to_the_last_label),
    ),
    Mistake(
        "a charge is not written",
        "accounting.ledger_store:Store.changing",
        "_write(run, change.state) => None",
        (LEDGER, lambda tests, folder: tests.test_what_is_spent_by_the_sum(folder)),
    ),
    # One budget for everything
    Mistake(
        "a replaced record goes one way in all mechanisms",
        "accounting.events:_account",
        "curve if _1 else curve.undirected => curve",
        (MIXED, lambda tests, folder: tests.test_a_replaced_record_may_go_either_way_in_every_mechanism(folder)),
    ),
    Mistake(
        "another panel of fixed voters is paid for by the first",
        "accounting.rules.voters:are_the_same",
        'state.voters != "fixed" or _1 => True',
        (MIXED, lambda tests, folder: tests.test_another_panel_of_fixed_voters_is_refused(folder)),
    ),
    Mistake(
        "one use too many is paid for by sums",
        "accounting.rules.basic_filter:_exceed",
        "_1 or delta > Fraction(state.total_delta) => _1",
        (MIXED, lambda tests, folder: tests.test_sums_are_exact(folder)),
    ),
    Mistake(
        "distributions of unknown neighbours are charged",
        "accounting.events:account_of_foreign",
        "known is None or said is not None => said is not None",
        (MIXED, lambda tests, folder: tests.test_distributions_say_for_which_neighbours_they_hold(folder)),
    ),
    Mistake(
        "what never fails and what always fails are one in a filter",
        "accounting.filters:of_release",
        "release.delta_infinity => 0.0",
        (CURVES, lambda tests, _: tests.test_what_rows_of_fewer_answers_and_impossible_answers_spend()),
    ),
    Mistake(
        "a label of noisy max spends as if one count moved",
        "accounting.filters:of_noisy_max",
        "order / sigma / sigma => order / sigma / sigma / 2",
        (NOISY, lambda tests, _: tests.test_no_label_has_a_larger_divergence_than_it_is_charged()),
    ),
    Mistake(
        "a ledger believes its file how many labels of noisy max are allowed",
        "accounting.rules.noise:_within",
        "upper_of_any_votes(noisy, most, delta) <= epsilon => True",
        (NOISY, lambda tests, folder: tests.test_a_file_that_allows_too_much_is_not_believed(folder)),
    ),
    Mistake(
        "classes without votes are compared as if one of them were left",
        "randomness.others:beyond",
        "others * (log + side * _EACH) => log + side * _EACH",
        (OTHERS, lambda tests, _: tests.test_one_draw_stands_for_many(tests.gaussian, 64)),
    ),
    Mistake(
        "digits of the largest of many deviates are decided by the wrong end",
        "randomness.others:_above",
        "_power(high + lead, others, below, digits) + off => _power(low + lead, others, below, digits) + off",
        (OTHERS, lambda tests, _: tests.test_what_was_decided_holds_for_the_digits_that_are_known(tests.gaussian)),
    ),
    Mistake(
        "cells of bounded range have the losses of their middle",
        "accounting.bounded_range:rows_of_range",
        "ends[1:] => ends[:-1] + ends[1] / 2",
        (RANGED, lambda tests, _: tests.test_rows_are_worse_than_any_of_bounded_range(0.3)),
    ),
    Mistake(
        "votes that two voters change are counted as those of one",
        "accounting.noisy_max:_affected",
        "getattr(mechanism, 'max_affected', 1) => 1",
        (SEVERAL, lambda tests, _: tests.test_no_change_of_so_many_votes_costs_more(4.0, 3, 3, 2, 1)),
    ),
    Mistake(
        "a label after a check is charged as if there was none",
        "accounting.charges:noise_of",
        'getattr(release, "sigma_check", None) is not None => False',
        (
            NOISY,
            lambda tests, folder: tests.test_labels_after_a_check_are_not_charged_as_labels_alone(
                folder, "renyi-filter"
            ),
        ),
    ),
    Mistake(
        "noisy max is charged beside votes whose randomness protects others",
        "accounting.rules.voters:check_known",
        "isinstance(account, NoisyLabels) or _1 => False",
        (NOISY, lambda tests, folder: tests.test_what_a_ledger_does_not_take(folder)),
    ),
    Mistake(
        "both directions on a grid are the same",
        "accounting.curves:Curve.on",
        "1 - row => row",
        (CURVES, lambda tests, _: tests.test_directions_are_not_mixed_up()),
    ),
    Mistake(
        "the least of the worst cases is certified",
        "certificate.protocol:largest",
        "max => min",
        (VERIFY, bound(3, 1e-3, "random")),
    ),
    # Decisions between several classes
    Mistake(
        "voters name classes on D' as they do on D",
        "certificate.classes:_taken",
        "W *= q => W *= p",
        (CLASSES, lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(3, 0.0)),
    ),
    Mistake(
        "differences shrink where they grow",
        "certificate.classes:_taken",
        "D += gap * W => D -= gap * W",
        (CLASSES, lambda tests, _: tests.test_every_number_of_affected_voters(3, 2, False)),
    ),
    Mistake(
        "a kind is forgotten",
        "problem.class_corners:kinds_of",
        "tuple(_1) => tuple(_1)[1:]",
        (CLASSES, lambda tests, _: tests.test_relabelling_classes_changes_nothing()),
    ),
    Mistake(
        "only kinds of two classes are looked at",
        "problem.class_corners:kinds_of",
        "kind != kind[::-1] => kind != kind[::-1] and len(set(kind)) == 2",
        (CLASS_CASES, lambda tests, _: tests.test_every_case_is_there_up_to_names(3, 4, 2)),
    ),
    Mistake(
        "multisets of several kinds are forgotten",
        "certificate.class_cases:_ordered",
        "last <= place => last < place",
        (CLASS_CASES, lambda tests, _: tests.test_every_case_is_there_up_to_names(3, 2, 3)),
    ),
    Mistake(
        "one voter less of a group is reached than it says",
        "certificate.classes:ClassSeparation._reached",
        "min(group.max_affected, left) + 1 => max(1, min(group.max_affected, left))",
        (CLASSES, lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says()),
    ),
    Mistake(
        "voters of the second group are not reached beside those of the first",
        "certificate.classes:ClassSeparation._reached",
        "left - n => 0 if n else left",
        (CLASSES, lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says()),
    ),
    Mistake(
        "single answers only are looked at",
        "certificate.classes:ClassSeparation._worst",
        "np.flatnonzero(own[at] > 0) => np.flatnonzero(own[at] > 0)[:1]",
        (CLASSES, lambda tests, _: tests.test_every_number_of_affected_voters(3, 2, False)),
    ),
    Mistake(
        "rounding of sums over outcomes is not counted",
        "certificate.classes:_Bounds.of",
        "_relative(_1, _2, _3) + 8 * _U => 0.0",
        (CLASSES, lambda tests, _: tests.test_rounding_is_counted(False)),
    ),
    Mistake(
        "rounding of differences is not counted in the votes for classes",
        "certificate.classes:_rounding_of_differences",
        "1.1 * _1 * _2 => 0.0 * _1 * _2",
        (CLASSES, lambda tests, _: tests.test_rounding_of_differences_is_counted()),
    ),
    Mistake(
        "numbers beyond float64 are taken as they come",
        "certificate.classes:ClassSeparation._leaves_float64",
        "min(group.max_affected, self._problem.max_affected) => 1",
        (CLASSES, lambda tests, _: tests.test_products_of_many_weights_are_not_rounded_away()),
    ),
    Mistake(
        "sums over answers are rounded as the caller's decimals are",
        "certificate.classes:ClassSeparation.worst_cases",
        "with decimals(epsilon):\n    _1 => _1",
        (CLASSES, lambda tests, _: callers_decimals_beyond_float64(tests)),
    ),
    Mistake(
        "small limits are certified for stored numbers, where others are drawn",
        "certificate.classes:ClassSeparation._in_decimals",
        "sampled(_1, _2) => in_decimals(_1)",
        (CLASSES, lambda tests, _: drawn_under_small_limits(tests)),
    ),
    Mistake(
        "failures of voters are left out where they are taken together",
        "certificate.classes:ClassSeparation._with_failures",
        "self._fails + (1 - self._fails) * _1 => (1 - self._fails) * _1",
        (CLASSES, lambda tests, _: failures_together(tests)),
    ),
    Mistake(
        "a voter with a delta has the outcomes of one without",
        "problem.class_corners:private_bit",
        "Decimal(Delta) if _1 else Decimal(0) => Decimal(0)",
        (CLASSES, lambda tests, _: tests.test_voters_with_a_delta(3, 1, 1, False)),
    ),
    Mistake(
        "a row that does not sum to 1 is taken for a table",
        "problem.class_tables:class_table",
        "np.abs(sums - 1).max() > _GIVEN => False",
        (CLASSES, lambda tests, _: tests.test_what_is_no_table_is_refused([[0.3] * 3] * 2, "must sum to 1")),
    ),
    Mistake(
        "classes with as many votes may have other probabilities",
        "problem.class_tables:class_table",
        "table[tied, j] = table[tied, j - 1] => pass",
        (CLASSES, lambda tests, _: tests.test_ties_within_rounding_are_made_equal()),
    ),
    # Decisions by groups
    Mistake(
        "voters vote on D' as they do on D",
        "certificate.groups:_Step.taken",
        "self.not_q * W0 + self.q * W1 => self.not_p * W0 + self.p * W1",
        (GROUPS, lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(0.0)),
    ),
    Mistake(
        "answer 0 is not looked at",
        "certificate.groups:GroupSeparation.__init__",
        "np.stack([1 - X, X]) => np.stack([X, X])",
        (GROUPS, lambda tests, _: tests.test_no_false_guarantee(0)),
    ),
    Mistake(
        "multisets of several corners are forgotten",
        "certificate.group_search:prefixes",
        "math.comb(n - 1 + kind, kind) => 1",
        (GROUPS, lambda tests, _: tests.test_no_false_guarantee(0)),
    ),
    Mistake(
        "a group is reached by one voter less than it says",
        "certificate.groups:GroupSeparation._reached",
        "min(group.max_affected, left) + 1 => max(1, min(group.max_affected, left))",
        (GROUPS, lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says()),
    ),
    Mistake(
        "voters of the second group cannot be reached beside those of the first",
        "certificate.groups:GroupSeparation._reached",
        "left - n => 0 if n else left",
        (GROUPS, lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says()),
    ),
    Mistake(
        "rounding of sums of products is not counted",
        "certificate.groups:_Bounds.of",
        "1.01 * _1 * _2 => 0.0 * _1",
        (GROUPS, lambda tests, _: tests.test_rounding_is_counted(0)),
    ),
    Mistake(
        "rounding of differences is not counted",
        "certificate.groups:_rounding_of_differences",
        "1.1 * _1 * _2 => 0.0 * _1",
        (GROUPS, lambda tests, _: tests.test_a_group_is_reached_as_far_as_it_says()),
    ),
    Mistake(
        "subnormal numbers are taken as they come",
        "certificate.groups:GroupSeparation._leaves_float64",
        "_1 < math.log(_SAFE) => False",
        (GROUPS, lambda tests, _: tests.test_subnormal_numbers_are_not_rounded_away()),
    ),
    Mistake(
        "the weight of one voter only is looked at for what float64 loses",
        "certificate.groups:GroupSeparation._leaves_float64",
        "min(group.max_affected, self._problem.max_affected) => 1",
        (GROUPS, lambda tests, _: tests.test_products_of_many_weights_are_not_rounded_away()),
    ),
    Mistake(
        "the caller's decimals round how far corners are apart",
        "problem.corners:MovingCorner.gap",
        "with decimals(_1):\n    _2 => _2",
        (GROUPS, lambda tests, _: callers_decimals(tests)),
    ),
    Mistake(
        "a voter with a delta has the corners of one without",
        "problem.corners:moving_corners",
        "((1 + exact_Delta * s) / (1 + s), (1 - exact_Delta) * s / (1 + s)) => (1 / (1 + s), s / (1 + s))",
        (GROUPS, lambda tests, _: tests.test_the_worst_case_attains_what_is_needed(0.2)),
    ),
    # A limit for each group, and known randomizers
    Mistake(
        "several limits hold if one of them does",
        "certificate.certificate:verify",
        "all(_1) => any(_1)",
        (KINDS, lambda tests, _: tests.test_the_certificate_of_a_kind_is_that_of_its_own_rows(*tests.CASES[0])),
    ),
    Mistake(
        "a change in a group affects none of its voters",
        "problem.decision:DecisionProblem.kinds",
        "group.max_affected if k in (g, G) else 0 => 0",
        (KINDS, lambda tests, _: tests.test_the_certificate_of_a_kind_is_that_of_its_own_rows(*tests.CASES[0])),
    ),
    Mistake(
        "known randomizers are certified for stored numbers, where others are drawn",
        "problem.truths:Truths.seen",
        "sampled(_1, _2) => in_decimals(_1)",
        (KNOWN, lambda tests, _: drawn_under_small_limits(tests)),
    ),
    Mistake(
        "one vector of votes of the colluders is looked at",
        "problem.truths:Truths.colluding",
        "product(*_1) => list(product(*_1))[:1]",
        (KNOWN, lambda tests, _: tests.test_certificates("colluders", 0)),
    ),
    Mistake(
        "a ledger does not look at its second budget",
        "accounting.rules.second_budget:_otherwise",
        "state.fallback_epsilon is None => True",
        (FALLBACK, lambda tests, folder: tests.test_other_mechanisms_count_in_both_budgets(folder)),
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_has_one_place(mistake: Mistake) -> None:
    module, name = mistake.place.split(":")
    replace(copy.deepcopy(function_of(source(module)[2], name)), mistake.change)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
@pytest.mark.parametrize("mistake", [*slow(*zip(MISTAKES[::2])), *MISTAKES[1::2]], ids=lambda mistake: mistake.what)
def test_a_mistake_is_refused(mistake: Mistake, tmp_path: Path) -> None:
    file, judge = mistake.refused
    tests = suite(file)
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir()
    wrong.mkdir()
    forget()
    judge(tests, right)
    with mistaken(mistake.place, mistake.change), pytest.raises(REFUSED):
        judge(tests, wrong)


def test_pages_count_the_mistakes() -> None:
    root = Path(__file__).resolve().parents[1]
    for page in ("README.md", "docs/trust.md", "tests/tools/mutants.md"):
        counts = re.findall(r"(\d+) mistakes", (root / page).read_text(encoding="utf-8"))
        assert counts
        assert set(counts) == {str(len(MISTAKES))}, page


@pytest.mark.thorough
def test_what_is_mistaken_is_put_right() -> None:
    from darrm.certificate import tight_epsilon
    from darrm.numerics import exact

    problem = darrm.MajorityProblem(2, 1, 1.0)
    before = problem.exact_epsilon
    with mistaken("problem.majority:MajorityProblem.exact_epsilon", "Fraction(self.m) * _1 => 5 * _1"):
        assert problem.exact_epsilon == 5 * before
    assert problem.exact_epsilon == before
    with mistaken("numerics.exact:rounded_up", "nearest if _1 else _2 => -nearest if _1 else _2"):
        assert tight_epsilon.rounded_up(before) == -1.0
    assert tight_epsilon.rounded_up(before) == exact.rounded_up(before) == 1.0


G = "def g(x):\n    if x:\n        return (f(\n            x*2)\n            + 1)\n    h()\n    return f(x)"


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ("f(_1) + 1 => _1", "def g(x):\n    if x:\n        return x * 2\n    h()\n    return f(x)"),
        ("h() => k()", "def g(x):\n    if x:\n        return f(x * 2) + 1\n    k()\n    return f(x)"),
        ("h()\n_1 => _1\nh()", "def g(x):\n    if x:\n        return f(x * 2) + 1\n    return f(x)\n    h()"),
        ("if x:\n    _1 => _1", "def g(x):\n    return f(x * 2) + 1\n    h()\n    return f(x)"),
    ],
)
def test_a_mistake_is_found_by_its_syntax(change: str, made: str) -> None:
    tree = ast.parse(G)
    replace(tree, change)
    assert ast.unparse(tree) == made


@pytest.mark.parametrize(("old", "times"), [("f(_1)", 2), ("f(_1) + _1", 0), ("f(x)\nh()", 0)])
def test_code_that_is_not_there_once_is_no_place(old: str, times: int) -> None:
    with pytest.raises(AssertionError, match=f"has {times} places in g"):
        replace(ast.parse(G).body[0], f"{old} => 1")
