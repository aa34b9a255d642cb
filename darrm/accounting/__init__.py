"""From one release to many: composition, profiles, planning a budget, a ledger.

Everything that speaks of several labels asks whether voters are fresh or fixed (docs/theory.md, "Many releases").
"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.accounting.composition import compose as compose
    from darrm.accounting.fresh import Total as Total
    from darrm.accounting.gaussian import gdp as gdp
    from darrm.accounting.ledger import Ledger as Ledger
    from darrm.accounting.noisy_max import noisy_max_parameter as noisy_max_parameter
    from darrm.accounting.pate import gnmax_rdp as gnmax_rdp
    from darrm.accounting.pate import gnmax_sigma as gnmax_sigma
    from darrm.accounting.pate import gnmax_sigma_analytic as gnmax_sigma_analytic
    from darrm.accounting.pate import rdp_epsilon as rdp_epsilon
    from darrm.accounting.planning import max_queries as max_queries
    from darrm.accounting.planning import plan as plan
    from darrm.accounting.profile import privacy_profile as privacy_profile
    from darrm.accounting.profile import profile_bounds as profile_bounds
    from darrm.accounting.rows import OutcomeRows as OutcomeRows
    from darrm.accounting.theorems import Privacy as Privacy
    from darrm.accounting.theorems import general as general
    from darrm.accounting.theorems import optimal as optimal
    from darrm.accounting.theorems import simple as simple

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.accounting.fresh": "Total",
        "darrm.accounting.composition": "compose",
        "darrm.accounting.gaussian": "gdp",
        "darrm.accounting.ledger": "Ledger",
        "darrm.accounting.noisy_max": "noisy_max_parameter",
        "darrm.accounting.pate": "gnmax_rdp gnmax_sigma gnmax_sigma_analytic rdp_epsilon",
        "darrm.accounting.planning": "max_queries plan",
        "darrm.accounting.profile": "privacy_profile profile_bounds",
        "darrm.accounting.rows": "OutcomeRows",
        "darrm.accounting.theorems": "Privacy general optimal simple",
    },
)
