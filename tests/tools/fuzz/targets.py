"""What is fuzzed: for each target how a case is drawn, and what must hold when it is run.

A case is a dict of plain values and bytes, so that it can be kept and run again without Hypothesis. To run one returns
a word for what became of it ("accepted", "refused", ...); what is wrong is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from commands import commands, run_command
from hypothesis import strategies as st
from judging import Case
from mutate import signed
from of_charges import charges, run_charges
from of_decisions import decisions, run_decision
from of_designs import certificates, design_files, run_certificate, run_design
from of_ledgers import ledgers, run_ledger
from of_pages import pages, run_page
from of_places import keys, old_ledgers, parties_files, places, run_key, run_old, run_parties, run_place
from of_plans import plans, run_plan
from of_tables import journals, run_journal, run_table, tables
from of_texts import idx_files, raw_text, run_idx, run_text, texts
from of_votes import run_votes, votes_files


class Target(NamedTuple):
    """A thing to be fuzzed.

    Attributes
    ----------
    strategy : callable
        Makes the Hypothesis strategy of its cases.
    run : callable
        Takes a case, in an empty working folder.
    raw : callable, optional
        Makes a case of any bytes.
    """

    strategy: Callable[[], st.SearchStrategy[Case]]
    run: Callable[[Case], str]
    raw: Callable[[bytes], Case] | None = None


def targets() -> dict[str, Target]:
    """All targets by name."""
    return {
        "command": Target(commands, run_command),
        "design": Target(design_files, run_design, lambda data: {"content": signed(data.decode("latin-1")).encode()}),
        "certificate": Target(certificates, run_certificate),
        "decision": Target(decisions, run_decision),
        "votes": Target(
            votes_files, run_votes, lambda data: {"content": data, "K": None, "block": 7, "name": "votes.csv"}
        ),
        "table": Target(tables, run_table, lambda data: {"name": "table.jsonl", "content": data}),
        "journal": Target(journals, run_journal),
        "ledger": Target(ledgers, run_ledger),
        "charges": Target(charges, run_charges),
        "plan": Target(plans, run_plan),
        "page": Target(pages, run_page),
        "idx": Target(idx_files, run_idx, lambda data: {"content": data, "axes": 3}),
        "text": Target(texts, run_text, raw_text),
        "place": Target(places, run_place),
        "parties": Target(parties_files, run_parties, lambda data: {"content": data}),
        "key": Target(keys, run_key),
        "old": Target(old_ledgers, run_old),
    }
