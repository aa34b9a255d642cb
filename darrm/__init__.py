"""darrm designs the noise of private votes: certified noise functions for private majority voting.

>>> import darrm
>>> design = darrm.solve(K=11, m=3, epsilon=0.1)
>>> design.gamma[6:].round(4).tolist()
[0.9397, 0.5421, 1.0, 1.0, 0.9773, 1.0]
>>> design.certificate.holds
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from darrm import accounting, baselines, columns, ensemble, learning, measures, mechanisms, priors, tables, votes
    from darrm.accounting.profile import privacy_profile
    from darrm.design.certificate import Certificate, repair, verify
    from darrm.design.design import Design
    from darrm.design.files import load
    from darrm.design.solve import solve
    from darrm.errors import (
        BudgetError,
        CertificateError,
        DarrmError,
        InputError,
        MissingExtraError,
        OutputError,
        SolverError,
    )
    from darrm.measures.error import expected_error
    from darrm.problem import MajorityProblem

__version__ = "0.1.0"

# Every public name and the module it comes from. They load when first used, so that `import darrm` stays light.
_HOME = {
    "BudgetError": "darrm.errors",
    "Certificate": "darrm.design.certificate",
    "CertificateError": "darrm.errors",
    "DarrmError": "darrm.errors",
    "Design": "darrm.design.design",
    "InputError": "darrm.errors",
    "MajorityProblem": "darrm.problem",
    "MissingExtraError": "darrm.errors",
    "OutputError": "darrm.errors",
    "SolverError": "darrm.errors",
    "expected_error": "darrm.measures.error",
    "load": "darrm.design.files",
    "privacy_profile": "darrm.accounting.profile",
    "repair": "darrm.design.certificate",
    "solve": "darrm.design.solve",
    "verify": "darrm.design.certificate",
}
_MODULES = (
    "accounting",
    "baselines",
    "columns",
    "ensemble",
    "learning",
    "measures",
    "mechanisms",
    "priors",
    "tables",
    "votes",
)

__all__ = [
    "BudgetError",
    "Certificate",
    "CertificateError",
    "DarrmError",
    "Design",
    "InputError",
    "MajorityProblem",
    "MissingExtraError",
    "OutputError",
    "SolverError",
    "accounting",
    "baselines",
    "columns",
    "ensemble",
    "expected_error",
    "learning",
    "load",
    "measures",
    "mechanisms",
    "priors",
    "privacy_profile",
    "repair",
    "solve",
    "tables",
    "verify",
    "votes",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"darrm.{name}")
    raise AttributeError(f"module 'darrm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__})
