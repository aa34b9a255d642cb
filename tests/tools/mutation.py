"""Do the tests see a wrong guarantee? Small changes of the code, one at a time, each of which some test should refuse.

    python tests/tools/mutation.py [--sample 15] [--seed 1] [--module darrm/constraints/multisets.py ...] [--docs]

Takes: twenty minutes. --docs writes tests/tools/mutants.md.

Runs of other days stay on the page, below.

Changes ("mutants") are made by the syntax tree in a copy of the repository: arithmetic operators and comparisons
exchanged, constants moved by one, signs and ``not`` removed, ``and`` for ``or``, ``min`` for ``max``, returned values,
calls and refusals dropped. Each is judged by the tests of its module that run the changed line, shortest first, until
one fails. First all these tests run once with a trace, to learn which run what; that is kept in ``--trace``.
Verdicts are appended to ``--results`` as they come, and those that are there are not judged again.

A mutant that survives is a hole in the tests or changes nothing that is guaranteed: tests/tools/mutation_survivors.json
says which. Hand-written mutants, each with the test that must refuse it, are in tests/test_mutants.py.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import functools
import gc
import hashlib
import importlib
import json
import os
import platform
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ARGUED = Path(__file__).with_name("mutation_survivors.json")
PAGE = ROOT / "tests" / "tools" / "mutants.md"

ENGINE = ["tests/certificate/test_separation.py", "tests/certificate/test_verify.py"]
PROTOCOL = ["tests/certificate/test_protocol.py", *ENGINE]
LABELS = ["tests/labels/test_label_mechanisms.py", "tests/labels/test_audit.py", "tests/benchmarks/test_attack.py"]
COMPOSE = "tests/accounting/test_accounting_compose.py"
COMPOSED = [COMPOSE, "tests/accounting/test_accounting_fixed.py"]
MANY_ANSWERS = ["tests/accounting/test_many_answers.py", "tests/accounting/test_cover.py"]
LEDGER = ["tests/accounting/test_accounting_ledger.py"]
ENSEMBLE = ["tests/ensemble/test_ensemble.py"]
LEAKAGE = ["tests/measures/test_leakage.py", "tests/measures/test_noisy_max_leakage.py"]
ADVANTAGE = [
    "tests/labels/test_advantage.py",
    "tests/labels/test_over_bags.py",
    "tests/measures/test_misprints_of_leakage.py",
]
AGGREGATES = ["tests/labels/test_weighted_aggregates.py"]
CLASSES = ["tests/certificate/test_class_cases.py", "tests/certificate/test_class_certificates.py"]
GROUPS = ["tests/certificate/test_groups.py", "tests/certificate/test_kept_searches.py"]
DECISIONS = ["tests/design/test_decisions.py", "tests/constraints/test_usual_rows.py", *GROUPS]
EDGES = ["tests/test_edges_of_decisions.py", "tests/test_messages.py"]
PLANS = [
    "tests/planning/test_plans.py",
    "tests/planning/test_class_plans.py",
    "tests/planning/test_less_private_votes.py",
    "tests/baselines/test_families.py",
]
CLASS_VOTES = ["tests/mechanisms/test_class_votes.py", "tests/mechanisms/test_class_decisions.py"]
PAID_BY_CLASSES = ["tests/accounting/test_accounting_decisions.py", "tests/accounting/test_rows_of_classes.py"]
INDEPENDENT = ["tests/independent/test_independent_check.py", "tests/independent/test_sixty_lines.py"]
FORGED = ["tests/cli/test_forged_designs.py"]
LADDER = ["tests/accounting/test_ladder.py"]
KNOWN = ["tests/accounting/test_known_randomizers.py", "tests/design/test_gaps.py", "tests/problem/test_priors.py"]
ROWS_ONCE = ["tests/accounting/test_rows_once.py", "tests/accounting/test_leases.py"]
SHARED = ["tests/interop/test_shared.py", "tests/interop/test_shared_circuit.py"]
# Without tests/test_mutants.py: it reads the source, so a change would be refused for being one.
TESTS = {
    "darrm/constraints/multisets.py": ["tests/constraints/test_corners.py", *ENGINE],
    "darrm/certificate/smoothing.py": ["tests/certificate/test_corner_pass.py", *ENGINE],
    "darrm/certificate/separation.py": [*ENGINE, "tests/accounting/test_accounting_profile.py"],
    "darrm/certificate/corner_pass.py": ["tests/certificate/test_corner_pass.py", *ENGINE],
    "darrm/certificate/moves.py": ENGINE,
    "darrm/certificate/rounding.py": ENGINE,
    "darrm/certificate/scaling.py": ENGINE,
    "darrm/certificate/tight_epsilon.py": ENGINE,
    "darrm/certificate/protocol.py": PROTOCOL,
    "darrm/certificate/engines.py": PROTOCOL,
    "darrm/certificate/certificate.py": [*PROTOCOL, "tests/independent/test_independent_check.py"],
    "darrm/design/optimum.py": ["tests/design/test_gaps.py", "tests/design/test_solve.py"],
    "solvers/darrm_solvers/vertices.py": ["tests/design/test_gaps.py", "tests/design/test_solve.py"],
    "darrm/constraints/rows.py": ["tests/constraints/test_corners.py", "tests/design/test_solve.py"],
    "darrm/numerics/poisson_binomial.py": [
        "tests/constraints/test_corners.py",
        "tests/certificate/test_separation.py",
    ],
    "darrm/numerics/leave_one_out.py": ["tests/labels/test_label_mechanisms.py"],
    "darrm/mechanisms/decision.py": [
        "tests/mechanisms/test_darrm.py",
        "tests/mechanisms/test_darrm_blocks.py",
        "tests/labels/test_audit.py",
    ],
    "darrm/randomness/coins.py": ["tests/mechanisms/test_darrm.py"],
    "darrm/mechanisms/noisy_max.py": [
        "tests/mechanisms/test_noisy_max.py",
        "tests/accounting/test_accounting_pate.py",
        "tests/accounting/test_several_votes.py",
        "tests/benchmarks/test_attack.py",
    ],
    "darrm/mechanisms/noisy_max_chances.py": LEAKAGE,
    "darrm/randomness/digits.py": ["tests/randomness/test_digits.py"],
    "darrm/randomness/discrete.py": ["tests/randomness/test_discrete.py", *LABELS],
    "darrm/numerics/normal.py": ["tests/mechanisms/test_label_chances.py"],
    "darrm/mechanisms/randomized_response.py": LABELS,
    "darrm/labels/mechanisms/label_proportions.py": LABELS,
    "darrm/accounting/theorems.py": ["tests/accounting/test_accounting_theorems.py", COMPOSE],
    "darrm/accounting/adaptive.py": COMPOSED,
    "darrm/accounting/rows.py": MANY_ANSWERS,
    "darrm/accounting/cover.py": MANY_ANSWERS,
    "darrm/accounting/many_answers.py": MANY_ANSWERS,
    "darrm/accounting/noisy_max.py": MANY_ANSWERS,
    "darrm/mechanisms/label_chances.py": ["tests/mechanisms/test_label_chances.py"],
    "darrm/mechanisms/permute_and_flip.py": ["tests/mechanisms/test_label_chances.py"],
    "darrm/accounting/fresh.py": [COMPOSE],
    "darrm/accounting/fixed.py": COMPOSED,
    "darrm/accounting/composition.py": ["tests/accounting/test_accounting_theorems.py", COMPOSE],
    "darrm/accounting/pate.py": ["tests/accounting/test_accounting_pate.py"],
    "darrm/accounting/ledger.py": [*LEDGER, "tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/ledger_charging.py": [*LEDGER, "tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/ledger_making.py": [*LEDGER, "tests/accounting/test_ledger_fallback.py"],
    "darrm/accounting/ledger_reading.py": [*LEDGER, "tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/ledger_state.py": [
        *LEDGER,
        "tests/accounting/test_ledger_mixed.py",
        "tests/accounting/test_budgets_of_groups.py",
    ],
    "darrm/accounting/ledger_store.py": [*LEDGER, "tests/accounting/test_rows_once.py"],
    "darrm/storage/databases.py": [
        *LEDGER,
        "tests/accounting/test_rows_once.py",
        "tests/accounting/test_old_ledgers.py",
    ],
    "darrm/accounting/rules/exact.py": LEDGER,
    "darrm/accounting/rules/in_advance.py": ["tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/rules/renyi_filter.py": ["tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/rules/basic_filter.py": ["tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/rules/noise.py": ["tests/accounting/test_ledger_noisy_max.py"],
    "darrm/accounting/rules/second_budget.py": ["tests/accounting/test_ledger_fallback.py"],
    "darrm/accounting/rules/voters.py": ["tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/accounts.py": [*LEDGER, "tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/charges.py": ["tests/accounting/test_ledger_mixed.py"],
    "darrm/accounting/curves.py": ["tests/accounting/test_curves.py"],
    "darrm/accounting/mixed.py": ["tests/accounting/test_curves.py"],
    "darrm/accounting/filters.py": ["tests/accounting/test_curves.py"],
    "darrm/accounting/loss_distributions.py": ["tests/interop/test_loss_distributions.py"],
    "darrm/accounting/events.py": ["tests/interop/test_loss_distributions.py"],
    "darrm/accounting/budgets.py": ["tests/accounting/test_accounting_budgets.py", *ENSEMBLE],
    "darrm/accounting/profile.py": ["tests/accounting/test_accounting_profile.py", COMPOSE],
    "darrm/accounting/gaussian.py": ["tests/accounting/test_accounting_profile.py"],
    "darrm/labels/aggregates.py": AGGREGATES,
    "darrm/labels/centred_gaussians.py": AGGREGATES,
    "darrm/labels/noisy_aggregates.py": AGGREGATES,
    "darrm/labels/bags_at_random.py": ["tests/labels/test_bags_at_random.py"],
    "darrm/ensemble/dp_sgd.py": [*ENSEMBLE, "tests/benchmarks/test_attack.py"],
    "darrm/ensemble/releases.py": ENSEMBLE,
    "darrm/ensemble/fixed_voters.py": [*ENSEMBLE, "tests/ensemble/test_listed_voters.py"],
    "darrm/ensemble/sharding.py": ENSEMBLE,
    "darrm/measures/leakage.py": LEAKAGE,
    "darrm/measures/noisy_max_leakage.py": LEAKAGE,
    "darrm/labels/measures/bounds.py": ADVANTAGE,
    "darrm/labels/measures/bounds_over_bags.py": ADVANTAGE,
    "darrm/labels/measures/over_bags.py": ADVANTAGE,
    "darrm/labels/measures/kernels.py": [*ADVANTAGE, "tests/labels/test_change.py", "tests/labels/test_audit.py"],
    "darrm/measures/empirical.py": ["tests/measures/test_empirical.py", "tests/benchmarks/test_attack.py"],
    "darrm/problem/majority.py": [
        "tests/test_package.py",
        "tests/design/test_solve.py",
        "tests/accounting/test_accounting_profile.py",
        *ENGINE,
    ],
    "darrm/problem/limits.py": [*PROTOCOL, "tests/accounting/test_accounting_profile.py"],
    "darrm/problem/corners.py": ["tests/constraints/test_corners.py", *ENGINE],
    "darrm/problem/noise_function.py": ENGINE,
    "darrm/problem/counts.py": CLASSES,
    "darrm/problem/class_corners.py": CLASSES,
    "darrm/problem/class_votes.py": [*CLASSES, "tests/design/test_class_designs.py"],
    "darrm/certificate/class_cases.py": CLASSES,
    "darrm/certificate/classes.py": [*CLASSES, "tests/design/test_class_designs.py"],
    "darrm/problem/class_tables.py": [*CLASSES, *CLASS_VOTES, "tests/design/test_class_designs.py"],
    "darrm/problem/encodings.py": ENGINE,
    "darrm/constraints/classes.py": ["tests/constraints/test_class_rows.py", "tests/design/test_class_designs.py"],
    "darrm/_validation.py": [
        *EDGES,
        "tests/test_edges.py",
        "tests/problem/test_majority.py",
        "tests/mechanisms/test_private_decision.py",
    ],
    "darrm/problem/decision.py": ["tests/problem/test_decision.py", "tests/design/test_decisions.py", *EDGES],
    "darrm/problem/group_corners.py": DECISIONS,
    "darrm/certificate/groups.py": [*GROUPS, "tests/design/test_decisions.py"],
    "darrm/certificate/group_search.py": [*GROUPS, "tests/design/test_decisions.py"],
    "darrm/constraints/groups.py": DECISIONS,
    "darrm/constraints/usual.py": DECISIONS,
    "darrm/design/cuts.py": DECISIONS,
    "darrm/design/program.py": [*DECISIONS, "tests/design/test_class_designs.py", *EDGES],
    "darrm/design/answers.py": DECISIONS,
    "darrm/design/loading.py": ["tests/design/test_files.py", *FORGED],
    "darrm/design/design.py": [
        *DECISIONS,
        "tests/design/test_files.py",
        "tests/design/test_equal_designs.py",
        "tests/mechanisms/test_private_decision.py",
        *FORGED,
    ],
    "darrm/design/content.py": ["tests/design/test_files.py", "tests/design/test_equal_designs.py", *FORGED],
    "darrm/design/absent.py": ["tests/design/test_absent_sizes.py", "tests/design/test_decisions.py", *EDGES],
    "darrm/mechanisms/released_votes.py": [
        "tests/mechanisms/test_private_decision.py",
        "tests/randomness/test_randomness.py",
        *CLASS_VOTES,
    ],
    "darrm/mechanisms/class_votes.py": CLASS_VOTES,
    "darrm/randomness/choices.py": ["tests/randomness/test_choices.py", "tests/randomness/test_samplers.py"],
    "darrm/randomness/words.py": ["tests/randomness/test_choices.py", "tests/randomness/test_randomness.py"],
    "darrm/planning/asked.py": [*PLANS, "tests/planning/test_plan_words.py"],
    "darrm/planning/assumed.py": PLANS,
    "darrm/planning/at_one_total.py": PLANS,
    "darrm/planning/designs.py": PLANS,
    "darrm/planning/majority.py": PLANS,
    "darrm/planning/planner.py": PLANS,
    "darrm/baselines/baseline.py": PLANS,
    "darrm/baselines/flipped_votes.py": PLANS,
    "darrm/baselines/random_votes.py": PLANS,
    "darrm/planning/setting.py": PLANS,
    "darrm/accounting/search.py": ["tests/accounting/test_accounting_budgets.py", *LEDGER, *PLANS],
    "darrm/accounting/hulls.py": [
        *MANY_ANSWERS,
        "tests/accounting/test_accounting_fixed.py",
        *PAID_BY_CLASSES,
        COMPOSE,
        "tests/planning/test_less_private_votes.py",
    ],
    "darrm/accounting/voters.py": [
        "tests/accounting/test_accounting_fixed.py",
        *PAID_BY_CLASSES,
        "tests/planning/test_less_private_votes.py",
    ],
    "darrm/accounting/releases.py": [*PAID_BY_CLASSES, "tests/accounting/test_accounting_profile.py"],
    "darrm/storage/atomic.py": ["tests/storage/test_atomic.py"],
    "darrm/storage/locks.py": ["tests/storage/test_atomic.py", *LEDGER],
    "darrm/storage/sealed_json.py": ["tests/design/test_files.py", *LEDGER, *FORGED],
    "darrm/interop/opendp.py": ["tests/interop/test_opendp_measurement.py", "tests/interop/test_opendp_oracles.py"],
    "darrm/independent/content.py": [*INDEPENDENT, *FORGED],
    "darrm/independent/enclosures.py": INDEPENDENT,
    "darrm/independent/judging.py": [*INDEPENDENT, *FORGED],
    "darrm/independent/listing.py": [*INDEPENDENT, *FORGED],
    "darrm/numerics/exact.py": [*ENGINE, "tests/accounting/test_accounting_theorems.py"],
    "darrm/accounting/ladder.py": [*LADDER, "tests/accounting/test_checks.py"],
    "darrm/accounting/ladder_filter.py": [
        "tests/accounting/test_ladder_filter.py",
        "tests/accounting/test_ledger_noisy_max.py",
    ],
    "darrm/accounting/count_cells.py": LADDER,
    "darrm/accounting/counts.py": [*KNOWN, "tests/accounting/test_several_votes.py"],
    "darrm/accounting/bounded_range.py": ["tests/accounting/test_bounded_range.py"],
    "darrm/accounting/leases.py": ["tests/accounting/test_leases.py"],
    "darrm/accounting/ledger_ids.py": [*ROWS_ONCE, "tests/mechanisms/test_label_key.py"],
    "darrm/accounting/released_once.py": ROWS_ONCE,
    "darrm/accounting/streams.py": ROWS_ONCE,
    "darrm/accounting/old_ledgers.py": ["tests/accounting/test_old_ledgers.py"],
    "darrm/storage/postgres.py": ["tests/accounting/test_ledger_on_a_server.py"],
    "darrm/storage/kinds.py": ["tests/cli/test_wrong_files.py", "tests/cli/test_forged_designs.py"],
    "darrm/randomness/keyed.py": ["tests/mechanisms/test_label_key.py"],
    "darrm/mechanisms/label_key.py": ["tests/mechanisms/test_label_key.py"],
    "darrm/randomness/others.py": ["tests/randomness/test_others.py", "tests/mechanisms/test_sparse_counts.py"],
    "darrm/interop/shared.py": SHARED,
    "darrm/interop/shared_circuit.py": SHARED,
    "darrm/interop/shared_talk.py": SHARED,
    "darrm/problem/randomizers.py": [*KNOWN, "tests/problem/test_model.py"],
    "darrm/problem/truths.py": KNOWN,
    "darrm/certificate/truths.py": KNOWN,
    "darrm/constraints/truths.py": KNOWN,
    "darrm/mechanisms/confident_noisy_max.py": ["tests/mechanisms/test_confident_noisy_max.py"],
    "darrm/baselines/confident.py": ["tests/planning/test_none_plans.py", "tests/baselines/test_registry.py"],
    "darrm/planning/kinds.py": ["tests/planning/test_kinds_of_budgets.py"],
}
# Loaded once, before a process is forked for each mutant. None of them loads darrm.
PRELOAD = "numpy scipy.special scipy.stats scipy.signal scipy.optimize highspy cvxpy sklearn.linear_model joblib click \
rich.console hypothesis.strategies dp_accounting.pld.pld_privacy_accountant sklearn.utils.estimator_checks"

EXCHANGED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&"), ast.MatMult: ("@", "*"),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
PAIRS = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil")]
NAMES = {"rounded_up": "float", "expm1": "exp", "log1p": "log"}
NAMES |= dict(PAIRS) | {second: first for first, second in PAIRS}


class Mutant(NamedTuple):
    """One change: ``old`` in the place of a file becomes ``new``."""

    module: str
    line: int
    kind: str
    start: int  # offset in the text
    stop: int
    new: str
    lines: tuple[int, ...]  # whose tests judge it; none for what runs at import

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line}:{self.start}:{self.kind}:{self.new}"

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.stop :]

    def diff(self, text: str) -> str:
        lines = difflib.unified_diff(text.splitlines(), self.applied(text).splitlines(), n=0, lineterm="")
        return "\n".join(line for line in list(lines)[3:])


class _Finder(ast.NodeVisitor):
    """All mutants of one module."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text, self.found = module, text, list[Mutant]()
        self._offsets = [0]
        for line in text.splitlines(keepends=True):
            self._offsets.append(self._offsets[-1] + len(line))
        self._lines: tuple[int, ...] = ()
        self._depth = 0
        self.visit(ast.parse(text))

    def _at(self, line: int, column: int) -> int:
        begin = self._offsets[line - 1]
        return begin + len(self.text[begin : self._offsets[line]].encode()[:column].decode())

    def _span(self, node: Any) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _add(self, kind: str, start: int, stop: int, new: str) -> None:
        line = self.text.count("\n", 0, start) + 1
        lines = (line, *self._lines) if self._depth else ()
        self.found.append(Mutant(self.module, line, kind, start, stop, new, lines))

    def _between(self, kind: str, left: ast.AST, right: ast.AST, op: ast.AST) -> None:
        old, new = EXCHANGED[type(op)]
        start, stop = self._span(left)[1], self._span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), self.text[start:stop])
        place = re.search(rf"(?<![*/<>]){re.escape(old)}", gap)
        assert place is not None, (self.module, gap)
        self._add(kind, start + place.start(), start + place.end(), new)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            outer, self._lines = self._lines, (node.lineno,)
            self._statement(node)
            self._lines = outer
        else:
            super().visit(node)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._depth += 1
            for part in node.body:
                self.visit(part)
            self._depth -= 1
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                self.visit(part)
        elif isinstance(node, ast.Raise):
            self._add("refusal dropped", *self._span(node), "pass")
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.visit(node.value)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            pass
        elif isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call):
                self._add("call dropped", *self._span(node), "pass")
            if not isinstance(node.value, ast.Constant):
                self.generic_visit(node)
        elif isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                self._add("returned value dropped", *self._span(node.value), "None")
            self.generic_visit(node)
        elif isinstance(node, ast.AugAssign):
            if type(node.op) in EXCHANGED and not isinstance(node.op, ast.BitXor):
                old, new = EXCHANGED[type(node.op)]
                start, stop = self._span(node.target)[1], self._span(node.value)[0]
                at = start + self.text[start:stop].index(old + "=")
                self._add("operator", at, at + len(old), new)
            self.generic_visit(node)
        else:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nothing in texts."""

    def visit_BinOp(self, node: ast.BinOp) -> None:
        kinds = (ast.Constant, ast.JoinedStr)
        texts = any(isinstance(side, kinds) and not _number(side) for side in (node.left, node.right))
        if not texts and not _types(node):
            self._between("operator", node.left, node.right, node.op)
        if not _types(node):
            self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values[:-1], node.values[1:], strict=True):
            self._between("and / or", left, right, node.op)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right, op in zip([node.left, *node.comparators[:-1]], node.comparators, node.ops, strict=True):
            self._between("comparison", left, right, op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start = self._span(node)[0]
        kind = {ast.Not: "not removed", ast.USub: "sign", ast.Invert: "not removed"}.get(type(node.op))
        if kind is not None:
            inner = self._span(node.operand)[0]
            kept = re.sub(r"^(not\b\s*|[-~]\s*)", "", self.text[start:inner])
            self._add(kind, start, inner, kept)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add("constant", *self._span(node), str(not value))
        elif isinstance(value, int):
            self._add("constant", *self._span(node), str(value + 1))
            if value > 0:
                self._add("constant", *self._span(node), str(value - 1))
        elif isinstance(value, float):
            self._add(
                "constant", *self._span(node), repr(value + 1) if abs(value) >= 1e-3 or not value else f"-{value}"
            )
            self._add("constant", *self._span(node), repr(value / 2) if value else "1e-9")

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: a guard against ourselves
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        start, stop = self._span(node.func)
        name = re.search(r"\w+$", self.text[start:stop])
        if name is not None and name[0] in NAMES:
            self._add("min / max", start + name.start(), stop, NAMES[name[0]])
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        stop = self._span(node)[1]
        if node.attr in ("minimum", "maximum") and self.text[stop : stop + 1] in ",).":
            self._add("min / max", stop - len(node.attr), stop, NAMES[node.attr])
        self.generic_visit(node)


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)


def _types(node: ast.BinOp) -> bool:
    """int | float in isinstance."""
    if not isinstance(node.op, ast.BitOr):
        return False
    names = {part.id if isinstance(part, ast.Name) else part.attr for part in ast.walk(node)
             if isinstance(part, ast.Name | ast.Attribute)}  # fmt: skip
    return bool(names & {"int", "float", "str", "None", "floating", "integer", "VotesTable", "VotesBlock"})


def mutants(module: str, text: str, sample: int, rng: random.Random) -> list[Mutant]:
    """Some mutants of a module that are other programs, in random order; all for ``sample`` 0."""
    every = _Finder(module, text).found
    rng.shuffle(every)
    same, found = ast.dump(ast.parse(text)), list[Mutant]()
    for one in every:
        with contextlib.suppress(SyntaxError):
            if ast.dump(ast.parse(one.applied(text))) != same:
                found.append(one)
        if len(found) == sample > 0:
            break
    return found


class Tracer:
    """A pytest plugin: which lines of the mutated modules each test runs, and how long it takes."""

    def __init__(self, base: Path) -> None:
        self._files = {str(base / module): module for module in TESTS}
        self._now: set[tuple[str, int]] = set()
        self._caches: list[Any] = []
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: set[str] = set()

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        module = self._files.get(frame.f_code.co_filename)
        if module is None:
            return None

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            self._now.add((module, frame.f_lineno))
            return line

        self._now.add((module, frame.f_lineno))
        return line

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # What is kept from one test to the next would hide that the next one needs it; calibrations take too long.
        self._caches = [
            one
            for one in gc.get_objects()
            if isinstance(one, functools._lru_cache_wrapper)
            and str(one.__module__).startswith("darrm")
            and one.__name__ != "_calibrate"
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for cache in self._caches:
            cache.cache_clear()
        engines = sys.modules.get("darrm.certificate.engines")
        if engines is not None:
            engines.forget()
        self._now, started = set(), time.perf_counter()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            return (yield)  # type: ignore[misc]
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            lines: dict[str, list[int]] = {}
            for module, number in sorted(self._now):
                lines.setdefault(module, []).append(number)
            self.tests[item.nodeid] = {"lines": lines, "seconds": time.perf_counter() - started}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


class Chosen:
    """A pytest plugin: these tests only, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self._order = {test: at for at, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


OPTIONS = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "--assert=plain", "--tb=no"]


def settle() -> None:
    """The same examples every time, and no deadlines: the machine may be slow, a tracer is."""
    import hypothesis

    hypothesis.settings.register_profile(
        "mutation", deadline=None, derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    hypothesis.settings.load_profile("mutation")


def in_child(base: Path, work: Any, seconds: float) -> tuple[str, Any]:
    """What ``work()`` returns in a forked process, as JSON; ("timeout", None) or ("crash", None)."""
    answer = base / ".answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        try:
            os.setsid()
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            os.chdir(base)
            sys.path[:0] = [str(base), str(base / "solvers")]
            settle()
            answer.write_text(json.dumps(work()))
        finally:
            os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            done = answer.exists()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            return ("done", json.loads(answer.read_text())) if done else ("crash", None)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout", None


def traced(base: Path, files: list[str], kept: Path) -> dict[str, dict[str, Any]]:
    """Tests by name: the lines they run, seconds. Of files that did not change the last trace is taken."""
    code = hashlib.sha256(b"".join((base / module).read_bytes() for module in sorted(TESTS))).hexdigest()
    known = json.loads(kept.read_text()) if kept.exists() else {}
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        key = hashlib.sha256(code.encode() + (base / file).read_bytes()).hexdigest()
        if known.get(file, {}).get("key") != key:

            def work(file: str = file) -> dict[str, Any]:
                tracer = Tracer(base)
                pytest.main([*OPTIONS, file], plugins=[tracer])
                # A test that fails as it is (some measure memory, or time) says nothing of mutants.
                return {name: one for name, one in tracer.tests.items() if name not in tracer.failed}

            state, tests = in_child(base, work, 1800)
            if state != "done":
                raise SystemExit(f"{file} could not be traced: {state}.")
            known[file] = {"key": key, "tests": tests}
            kept.write_text(json.dumps(known))
            print(f"traced {file}: {len(tests)} tests", flush=True)
        found |= known[file]["tests"]
    return found


def judges(mutant: Mutant, tests: dict[str, dict[str, Any]], patience: float) -> list[str]:
    """Tests of the module that run the changed line, shortest first, up to so many seconds of them.

    If none does, all of them may: those that start processes run lines that the trace does not see.
    """
    files = tuple(TESTS[mutant.module])
    wanted = set(mutant.lines)
    own = [(one["seconds"], name, one["lines"]) for name, one in tests.items() if name.split("::")[0] in files]
    runs = [(seconds, name) for seconds, name, lines in own if wanted.intersection(lines.get(mutant.module, []))]
    if not wanted:
        runs = [(seconds, name) for seconds, name, lines in own if lines.get(mutant.module)]
    able = sorted(runs or [(seconds, name) for seconds, name, _ in own])
    chosen, total = [], 0.0
    for seconds, name in able:
        total += seconds
        if chosen and total > patience:
            break
        chosen.append(name)
    return chosen


def judged(base: Path, mutant: Mutant, chosen: list[str], limit: float) -> tuple[str, str]:
    """("killed", by which test), ("survived", "") or ("timeout", "")."""
    if not chosen:
        return "survived", "no test runs it"
    path = base / mutant.module
    text = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(text), encoding="utf-8")
    try:

        def work() -> tuple[int, str]:
            plugin = Chosen(chosen)
            files = list(dict.fromkeys(name.split("::")[0] for name in chosen))
            return int(pytest.main([*OPTIONS, "-x", *files], plugins=[plugin])), plugin.failed

        state, answer = in_child(base, work, limit)
    finally:
        path.write_text(text, encoding="utf-8")
    if state != "done":
        return ("timeout", "") if state == "timeout" else ("killed", "the process died")
    code, failed = answer
    return ("survived", "") if code == 0 else ("killed", failed or "it cannot be loaded")


def drop_broken(base: Path, module: str, tests: dict[str, dict[str, Any]], patience: float) -> None:
    """Leave out tests that fail without a change, here and in this order: they would refuse every mutant."""
    patience /= 4
    unchanged = Mutant(module, 0, "none", 0, 0, "", ())
    while True:
        verdict, by = judged(base, unchanged, judges(unchanged, tests, patience), 30 + 5 * patience)
        if verdict == "survived":
            return
        if by not in tests:
            raise SystemExit(f"The tests of {module} do not run without a change: {verdict} {by}.")
        print(f"left out: {by}", flush=True)
        del tests[by]


def copied(into: Path) -> Path:
    """The parts of the repository that tests need, without compiled files."""
    base = into / "copy"
    skip = shutil.ignore_patterns("__pycache__", "_build", "jupyter_execute", ".*", "*.svg", "*.png")
    base.mkdir()
    for part in ("darrm", "solvers", "tests", "benchmarks", "docs", "notebooks"):
        shutil.copytree(ROOT / part, base / part, ignore=skip)
    for part in ("README.md", "CHANGELOG.md", "pyproject.toml", "LICENSE", "CITATION.cff", "Makefile"):
        shutil.copy(ROOT / part, base / part)
    return base


def known(results: Path) -> dict[str, dict[str, Any]]:
    """Verdicts by name, the last of each; those that survived before are marked as ``late``."""
    found: dict[str, dict[str, Any]] = {}
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else []:
        one = json.loads(line)
        found[one["name"]] = one | {"late": one["name"] in found}
    return found


def key(one: dict[str, Any]) -> str:
    """What a verdict is about, whatever stands above it in the file."""
    return f"{one['module']} {one['diff']}"


def tables(found: list[dict[str, Any]], argued: dict[str, list[str]]) -> tuple[str, str]:
    """Markdown: verdicts by module, where there are some, and why survivors survive."""
    names = ["mutants", "tested", "killed", "of these late", "timed out", "survived", "of these explained"]
    rows = ["| module | " + " | ".join(names) + " |", "|---|" + " --: |" * len(names)]
    totals = [0] * len(names)
    for module in TESTS:
        here = [one for one in found if one["module"] == module]
        if not here:
            continue
        counted = Counter(one["verdict"] for one in here)
        survivors = [one for one in here if one["verdict"] == "survived"]
        late = sum(one["late"] for one in here if one["verdict"] == "killed")
        right = sum(key(one) in argued for one in survivors)
        every = len(_Finder(module, (ROOT / module).read_text(encoding="utf-8")).found)
        row = [every, len(here), counted["killed"], late, counted["timeout"], len(survivors), right]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        rows.append(f"| {module} | " + " | ".join(map(str, row)) + " |")
    rows.append("| all | " + " | ".join(map(str, totals)) + " |")
    reasons = ["| survivor | kind | reason |", "|---|---|---|"]
    for one in sorted(found, key=lambda one: (list(TESTS).index(one["module"]), one["line"])):
        if one["verdict"] == "survived":
            kind, why = argued.get(key(one), ["open", "not argued yet"])
            before, after = ("\n".join(line[1:].strip() for line in one["diff"].splitlines() if line[0] == side)
                             for side in "-+")  # fmt: skip
            change = f"`{before}` → `{after}`".replace("|", "\\|").replace("\n", " ")
            reasons.append(f"| {one['module'].removeprefix('darrm/')}: {change} | {kind} | {why} |")
    return "\n".join(rows), "\n".join(reasons)


def section(name: str) -> str:
    """What stands on the page between the markers of that name."""
    return PAGE.read_text(encoding="utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()


def written(found: list[dict[str, Any]], argued: dict[str, list[str]], day: str) -> None:
    """The page for the documentation. What it said of a run of another day is kept as an earlier one."""
    from pages import put

    counts, reasons = tables(found, argued)
    minutes = sum(one["seconds"] for one in found) / 60
    machine = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    begins = f"On {day}: "
    before = section("mutants")
    if before and not before.startswith(begins):
        put("earlier mutants", f"{before}\n\n{section('earlier mutants')}".strip(), PAGE)
    what = f"{len(found)} mutants drawn at random, tested in {minutes:.0f} minutes by one process ({machine})."
    put("mutants", "\n\n".join([begins + what, counts, "Survivors:", reasons]), PAGE)


def mistakes() -> None:
    """The list of mistakes made on purpose, for the documentation."""
    from pages import put
    from test_mutants import MISTAKES

    made = ["| mistake | place | test |", "|---|---|---|"]
    made += [f"| {one.what} | darrm.{one.place} | tests/{one.refused[0]} |" for one in MISTAKES]
    put("mistakes", f"{len(MISTAKES)} mistakes made on purpose, all killed:\n\n" + "\n".join(made), PAGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=15, help="mutants of each module; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--module", action="append", choices=sorted(TESTS), help="these only")
    parser.add_argument("--patience", type=float, default=30, help="seconds of tests for one mutant")
    parser.add_argument("--minutes", type=float, default=600, help="start no mutant after so many")
    parser.add_argument("--trace", type=Path, default=Path("mutation-trace.json"))
    parser.add_argument("--results", type=Path, default=Path("mutation-results.jsonl"))
    parser.add_argument("--again", action="store_true", help="judge those that survived once more, and no others")
    parser.add_argument(
        "--docs", action="store_true", help="judge nothing; write the list of mistakes, and what is known, into docs"
    )
    parser.add_argument("--quick", action="store_true", help="without thorough tests; give it a --trace of its own")
    options = parser.parse_args()
    if options.quick:
        OPTIONS[OPTIONS.index("not slow")] = "not slow and not thorough"
    kept, results = options.trace.resolve(), options.results.resolve()
    modules = options.module or list(TESTS)
    began = time.monotonic()
    os.environ.update(PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    sys.dont_write_bytecode = True
    sys.path[:] = [part for part in sys.path if not (Path(part or ".") / "darrm").is_dir()]
    for name in PRELOAD.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "darrm" in sys.modules:
        raise SystemExit("darrm is loaded already, so changes of it would not be seen.")
    before = known(results)
    if options.docs:
        sys.path[:0] = [
            str(ROOT),
            str(ROOT / "tests"),
            str(Path(__file__).resolve().parents[2] / "benchmarks" / "paper"),
        ]
        mistakes()
        if not results.exists():
            return
        day = time.strftime("%Y-%m-%d", time.gmtime(results.stat().st_mtime))
        written(list(before.values()), json.loads(ARGUED.read_text(encoding="utf-8")), day)
        return
    with tempfile.TemporaryDirectory() as folder:
        base = copied(Path(folder).resolve())
        os.environ["PYTHONPATH"] = f"{base}{os.pathsep}{base / 'solvers'}"
        files = list(dict.fromkeys(file for module in modules for file in TESTS[module]))
        tests = traced(base, [file for file in files if (base / file).exists()], kept)
        picked = []
        for module in modules:
            if options.again:
                every = _Finder(module, (base / module).read_text(encoding="utf-8")).found
                picked += [one for one in every if before.get(one.name, {}).get("verdict") == "survived"]
                continue
            rng = random.Random(f"{options.seed} {module}")
            picked += mutants(module, (base / module).read_text(encoding="utf-8"), options.sample, rng)
        random.Random(options.seed).shuffle(picked)
        tried: set[str] = set()
        for mutant in picked:
            if mutant.name in before and not options.again:
                continue
            if time.monotonic() - began > 60 * options.minutes:
                break
            if mutant.module not in tried:
                drop_broken(base, mutant.module, tests, options.patience)
                tried.add(mutant.module)
            chosen = judges(mutant, tests, options.patience)
            limit = 30 + 5 * options.patience
            started = time.monotonic()
            verdict, by = judged(base, mutant, chosen, limit)
            one = {
                "name": mutant.name, "module": mutant.module, "line": mutant.line, "kind": mutant.kind,
                "verdict": verdict, "by": by, "tests": len(chosen), "seconds": round(time.monotonic() - started, 1),
                "diff": mutant.diff((base / mutant.module).read_text(encoding="utf-8")),
            }  # fmt: skip
            with results.open("a") as file:
                file.write(json.dumps(one) + "\n")
            print(f"{verdict:>8} {mutant.module}:{mutant.line} {mutant.kind} ({one['seconds']} s) {by}", flush=True)
            if verdict != "killed":
                print("         " + one["diff"].replace("\n", "\n         "), flush=True)


if __name__ == "__main__":
    main()
