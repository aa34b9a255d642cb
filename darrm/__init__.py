"""darrm designs the noise of private votes: certified noise functions for private majority voting.

>>> import darrm
>>> design = darrm.solve(K=11, m=3, epsilon=0.1)
>>> design.gamma[6:].round(4).tolist()
[0.9397, 0.5421, 1.0, 1.0, 0.9773, 1.0]
>>> design.certificate.holds
True
"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm import accounting as accounting
    from darrm import columns as columns
    from darrm import ensemble as ensemble
    from darrm import independent as independent
    from darrm import interop as interop
    from darrm import labels as labels
    from darrm import measures as measures
    from darrm import mechanisms as mechanisms
    from darrm import objectives as objectives
    from darrm import planning as planning
    from darrm import priors as priors
    from darrm import show as show
    from darrm import tables as tables
    from darrm import votes as votes
    from darrm.accounting.profile import privacy_profile as privacy_profile
    from darrm.certificate.certificate import Certificate as Certificate
    from darrm.certificate.certificate import verify as verify
    from darrm.certificate.scaling import repair as repair
    from darrm.design.decision import DecisionDesign as DecisionDesign
    from darrm.design.design import Design as Design
    from darrm.design.design import load as load
    from darrm.design.solve import solve as solve
    from darrm.errors import BudgetError as BudgetError
    from darrm.errors import CertificateError as CertificateError
    from darrm.errors import DarrmError as DarrmError
    from darrm.errors import InputError as InputError
    from darrm.errors import MissingExtraError as MissingExtraError
    from darrm.errors import OutputError as OutputError
    from darrm.errors import SolverError as SolverError
    from darrm.measures.comparison import compare as compare
    from darrm.measures.error import expected_error as expected_error
    from darrm.mechanisms import baselines as baselines
    from darrm.planning.planner import plan as plan
    from darrm.problem.decision import DecisionProblem as DecisionProblem
    from darrm.problem.decision import VoterGroup as VoterGroup
    from darrm.problem.majority import MajorityProblem as MajorityProblem

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm": "accounting columns ensemble independent interop labels measures mechanisms objectives planning "
        "priors show tables votes",
        "darrm.accounting.profile": "privacy_profile",
        "darrm.certificate.certificate": "Certificate verify",
        "darrm.certificate.scaling": "repair",
        "darrm.design.decision": "DecisionDesign",
        "darrm.design.design": "Design load",
        "darrm.design.solve": "solve",
        "darrm.errors": "BudgetError CertificateError DarrmError InputError MissingExtraError OutputError SolverError",
        "darrm.measures.comparison": "compare",
        "darrm.measures.error": "expected_error",
        "darrm.mechanisms": "baselines",
        "darrm.planning.planner": "plan",
        "darrm.problem.decision": "DecisionProblem VoterGroup",
        "darrm.problem.majority": "MajorityProblem",
    },
)
