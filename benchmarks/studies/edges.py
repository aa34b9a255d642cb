"""Edges, faults and randomness: run their tests and count what they tried.

    python benchmarks/studies/edges.py [--docs] [--slow]

Takes: some minutes, with --slow some more. --docs writes docs/trust.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put

ROOT = Path(__file__).resolve().parents[2]


class Row(NamedTuple):
    """What was tried, what happened to all of it, and the tests that say so."""

    what: str
    happened: str
    file: str
    tests: tuple[str, ...]


ROWS = (
    Row(
        "Few voters (K = 1, 2, 5, 6) at the ends of the ranges: m epsilon 50 to 711, epsilon from 1e-3 to 1e-300, "
        "Delta from 5e-324 to 0.999, delta at Delta, at the next float64, and from 0 to 1e-12, m = 1 and K, "
        "max_affected = 1 and K, priors with zeros and with single points",
        "certified; a second program, from the definitions and in integers that round against the claim, agrees "
        "with bound, worst case and tight epsilon",
        "test_edges",
        ("test_at_the_edge_all_is_certified_and_the_independent_check_agrees",),
    ),
    Row(
        "The same where delta is met by rounding alone or is near 1",
        "certified and sound by the second program; the tight epsilon or the worst case named are true bounds, not "
        "the least",
        "test_edges",
        ("test_where_delta_is_met_by_rounding_alone_bounds_are_true_but_loose",),
    ),
    Row(
        "m epsilon of 5,000 to 6,000,000, where e^(m epsilon) overflows float64",
        "certified, without noise",
        "test_edges",
        ("test_a_guarantee_beyond_float64_needs_no_noise",),
    ),
    Row(
        "Many voters, K = 31 to 2001, at such ends",
        "certified",
        "test_edges",
        ("test_many_voters_at_the_edge", "test_thousands_of_voters_at_the_edge"),
    ),
    Row(
        "Noise functions of subnormal numbers",
        "verified correctly; a broken guarantee is found",
        "test_edges",
        (
            "test_a_subnormal_gamma_is_verified",
            "test_one_subnormal_entry_between_ones_does_not_hide_a_broken_guarantee",
        ),
    ),
    Row(
        "Problems beyond the ranges, by one float64 where there is one",
        "refused in one line with the reason",
        "test_edges",
        ("test_what_cannot_be_is_refused_with_its_reason",),
    ),
    Row(
        "Decisions with one voter, with groups of one, non-private (epsilon infinite), with accuracies 0, 1/2 and "
        "1, priors with zeros, classes that cannot be; a profile and a release of one point",
        "the answer of a closed formula",
        "test_edges_of_decisions",
        (
            "test_a_single_voter_is_flipped_until_the_label_is_as_private_as_asked",
            "test_of_groups_of_one_voter_the_best_decides",
            "test_accuracies_and_priors_at_their_ends",
            "test_classes_that_cannot_be_or_tell_nothing",
            "test_a_profile_of_one_point_is_a_guarantee",
            "test_a_release_of_one_answer_costs_nothing",
            "test_the_command_solves_a_voter_without_privacy",
        ),
    ),
    Row(
        "Totals of 689 to 1,000,000; one label and a million in a composition and in ledgers of every rule",
        "within the total; a million labels cost what the normal law says; what is beyond a budget is refused",
        "test_edges_of_decisions",
        (
            "test_totals_whose_exponential_overflows",
            "test_a_million_labels_cost_what_the_normal_law_says",
            "test_a_ledger_of_one_label_and_of_a_million",
        ),
    ),
    Row(
        "Nobody affected, an infinite epsilon of a label, 255 and 256 classes, a prior of zeros, no label and more "
        "than 10,000,000; in Python and on the command line",
        "refused in one line with the reason",
        "test_edges_of_decisions",
        ("test_what_is_refused_says_why_in_one_line", "test_the_command_refuses_in_one_line"),
    ),
    Row(
        "A solver that throws, or returns NaN or infinity",
        "one error, or a certified design that says what it may miss",
        "test_faults",
        (
            "test_a_solver_that_throws_is_one_error",
            "test_a_solver_that_throws_while_refining_costs_digits_only",
            "test_numbers_that_are_none_from_the_solver",
            "test_cvxpy_stopped_at_once_is_one_error",
        ),
    ),
    Row(
        "Worker processes killed",
        "replaced; the third time one error",
        "test_faults",
        (
            "test_a_worker_that_is_killed_is_replaced",
            "test_workers_that_are_killed_again_and_again_are_one_error",
        ),
    ),
    Row(
        "A disk that is full, or takes only the first bytes of a file: design, decision, plan, labels, table, ledger, "
        "charge to a mixed ledger, report, picture, audit",
        "one line; what stood there is unchanged, nothing is half-written, nothing is charged",
        "test_faults",
        (
            "test_a_write_that_stops_leaves_what_was_there",
            "test_a_full_disk_leaves_what_was_there",
            "test_a_disk_that_is_full_half_way",
        ),
    ),
    Row(
        "A folder on a disk that is read-only, for the same files",
        "one line; nothing changes",
        "test_faults",
        ("test_a_folder_that_cannot_be_written_to",),
    ),
    Row(
        "Ctrl-C before a plan has its design, and after it",
        "one line and status 130; written, and said not to be complete",
        "test_faults",
        (
            "test_a_plan_that_is_interrupted_before_its_design",
            "test_a_plan_that_is_interrupted_after_its_design",
        ),
    ),
    Row(
        "kill -9 at the first fsync, before a file gets its name, and after: decision, plan, mixed ledger",
        "the old file or the new one, whole; the next command works",
        "test_faults",
        ("test_kills_in_the_middle_leave_the_old_file_or_the_new_one",),
    ),
    Row(
        "Two processes at once that write one decision, or charge the last of a mixed budget",
        "one whole file; one charge, one refusal",
        "test_faults",
        (
            "test_two_processes_that_write_one_decision",
            "test_two_commands_that_charge_the_last_of_a_mixed_budget",
        ),
    ),
    Row(
        "Ten clients of the explorer at once, on every page, some with wrong questions",
        "each gets, to the byte, what it gets alone",
        "web/test_explore",
        ("test_ten_clients_at_once", "test_ten_clients_at_once_get_what_each_gets_alone"),
    ),
    Row(
        "Clocks that run backwards, for solving, planning, tables and ledgers",
        "no count and no answer changes",
        "test_faults",
        ("test_clocks_that_run_back_change_no_count_and_no_answer",),
    ),
    Row(
        "No home, no place for caches",
        "works, and prints no more than usual",
        "test_faults",
        ("test_no_home_and_nothing_but_the_folder_to_write_to",),
    ),
    Row(
        "Optional libraries missing, one by one and all together",
        "one line that names the extra; the rest works",
        "test_faults",
        (
            "test_a_missing_library_is_one_line_that_names_the_extra",
            "test_all_but_the_extras_works_without_them",
        ),
    ),
    Row(
        "A locale with decimal commas",
        "the same bytes",
        "test_faults",
        ("test_decimal_commas_of_a_locale_change_nothing",),
    ),
    Row(
        "python -O and -OO, 15 refusals each",
        "refused as usual: no guarantee rests on an assert",
        "test_faults",
        ("test_refusals_do_not_rest_on_asserts",),
    ),
    Row(
        "Files of other versions of darrm",
        "refused, and left as they are; what a design file has besides is ignored and guarantees nothing",
        "test_faults",
        (
            "test_another_version_of_a_ledger_is_refused",
            "test_a_ledger_with_an_entry_of_a_later_version_is_refused",
            "test_a_design_with_a_further_entry_is_verified_like_any",
            "test_a_table_with_a_further_column_is_refused",
            "test_a_journal_of_another_version_is_neither_used_nor_lost",
        ),
    ),
    Row(
        "Windows line ends and byte-order marks in every text that is read",
        "mean the same",
        "test_faults",
        (
            "test_texts_of_other_systems_mean_the_same",
            "test_a_ledger_that_was_edited_on_another_system_is_still_charged",
        ),
    ),
    Row(
        "Random bits over all sequences of words of 1 to 8 bits",
        "each bias exact, as a fraction; two bits exactly independent",
        "randomness/test_randomness",
        ("test_the_law_of_two_coins_flipped_together_is_exact", "test_every_bias_of_eight_digits_is_exact"),
    ),
    Row(
        "Draws among several answers over all words of 1 to 5 bits; two of them wrong by a little",
        "each law exact, as fractions; both wrong ones are found",
        "randomness/test_choices",
        (
            "test_every_law_is_exact",
            "test_two_drawn_together_are_independent",
            "test_all_remainders_are_equally_likely",
            "test_a_draw_that_is_a_little_wrong_is_not_exact",
        ),
    ),
    Row(
        "Every sampler with words of the operating system, 20,000 to 100,000 draws, a false alarm once in 1e9 each; "
        "again with words whose first bit is 1 with probability 0.6",
        "as its law says; the biased words are found",
        "randomness/test_samplers",
        (
            "test_draws_follow_the_law",
            "test_equally_likely_numbers",
            "test_biased_words_are_found",
            "test_an_order_that_is_not_random_is_found",
            "test_the_alarm_is_as_rare_as_said",
        ),
    ),
    Row(
        "Forks and threads in the midst of releases",
        "words of their own: no labels are shared",
        "randomness/test_randomness",
        (
            "test_parent_and_children_draw_words_of_their_own",
            "test_threads_draw_words_of_their_own",
            "test_words_come_from_the_operating_system_as_they_are_asked_for",
        ),
    ),
    Row(
        "Every public function that takes a seed",
        "releases warn that they are not private; without a seed none asks a generator that could have one",
        "randomness/test_randomness",
        (
            "test_all_that_takes_a_seed_is_known",
            "test_a_release_from_a_seed_says_that_it_is_not_private",
            "test_no_words_come_from_a_seedable_generator_by_default",
        ),
    ),
)


def outcomes(slow: bool) -> Mapping[tuple[str, str], Counter[str]]:
    """How the cases of each test ended: passed, skipped or failed."""
    found: dict[tuple[str, str], Counter[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        chosen = [f"tests/{file}.py" for file in dict.fromkeys(row.file for row in ROWS)]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", f"--junitxml={report}", *chosen]
        subprocess.run([*command, *(() if slow else ("-m", "not slow"))], cwd=ROOT, stdout=subprocess.DEVNULL)
        for case in ET.parse(report).iter("testcase"):
            key = case.attrib["classname"].rpartition(".")[2], case.attrib["name"].partition("[")[0]
            ended = {"skipped": "skipped", "failure": "failed", "error": "failed"}
            outcome = next((ended[part.tag] for part in case if part.tag in ended), "passed")
            found.setdefault(key, Counter())[outcome] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="with the tests that take minutes")
    parser.add_argument("--docs", action="store_true", help="also write docs/trust.md")
    options = parser.parse_args()
    found = outcomes(options.slow)
    lines, failed = ["| trial | count | outcome | command |", "| :-- | --: | :-- | :-- |"], 0
    for row in ROWS:
        ended = sum((found.get((Path(row.file).name, test), Counter()) for test in row.tests), Counter[str]())
        failed += ended["failed"] + (not ended["passed"])
        happened = row.happened if not ended["failed"] else f"{ended['failed']} FAILED"
        if ended["skipped"]:
            happened += f" ({ended['skipped']} more could not be tried on this machine)"
        lines.append(f"| {row.what} | {ended['passed']} | {happened} | `pytest tests/{row.file}.py` |")
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores."
    content = "\n".join([*lines, "", machine])
    print(content)
    if failed:
        raise SystemExit(f"{failed} of these did not end as they should; docs are left as they are.")
    if options.docs:
        put("edges", content, DOCS / "trust.md")


if __name__ == "__main__":
    main()
