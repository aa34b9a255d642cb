"""From one release to many: composition, profiles, planning a budget, a ledger.

Everything that speaks of several labels asks whether voters are fresh or fixed (docs/theory.md, "Many releases").
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from darrm.accounting.aggregates import PrivateFigure, WorstDelta, local_delta, worst_delta
    from darrm.accounting.budget import Total
    from darrm.accounting.composition import compose
    from darrm.accounting.gaussian import gdp
    from darrm.accounting.ledger import Ledger
    from darrm.accounting.noisy_aggregates import noisy_delta, noisy_local_delta
    from darrm.accounting.pate import gnmax_rdp, gnmax_sigma, gnmax_sigma_analytic, rdp_epsilon
    from darrm.accounting.planning import max_queries, plan
    from darrm.accounting.profile import privacy_profile, profile_bounds
    from darrm.accounting.theorems import Privacy, general, optimal, simple

_HOME = {
    "Ledger": "ledger",
    "Privacy": "theorems",
    "PrivateFigure": "aggregates",
    "Total": "budget",
    "WorstDelta": "aggregates",
    "compose": "composition",
    "gdp": "gaussian",
    "general": "theorems",
    "gnmax_rdp": "pate",
    "gnmax_sigma": "pate",
    "gnmax_sigma_analytic": "pate",
    "local_delta": "aggregates",
    "max_queries": "planning",
    "noisy_delta": "noisy_aggregates",
    "noisy_local_delta": "noisy_aggregates",
    "optimal": "theorems",
    "plan": "planning",
    "privacy_profile": "profile",
    "profile_bounds": "profile",
    "rdp_epsilon": "pate",
    "simple": "theorems",
    "worst_delta": "aggregates",
}
__all__ = [
    "Ledger",
    "Privacy",
    "PrivateFigure",
    "Total",
    "WorstDelta",
    "compose",
    "gdp",
    "general",
    "gnmax_rdp",
    "gnmax_sigma",
    "gnmax_sigma_analytic",
    "local_delta",
    "max_queries",
    "noisy_delta",
    "noisy_local_delta",
    "optimal",
    "plan",
    "privacy_profile",
    "profile_bounds",
    "rdp_epsilon",
    "simple",
    "worst_delta",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"darrm.accounting.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
