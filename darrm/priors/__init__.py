"""Where votes come from: the distribution that the error of a noise function is averaged over.

Each prior is a distribution of the vote probabilities p_1, ..., p_K, and all that the objective needs of it is
E[alpha_l], the mean probability of l ones. It is exact here for every prior: alpha_l is affine in each p_i.
"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.errors import ImpossiblePriorWarning as ImpossiblePriorWarning
    from darrm.priors.chances import common as common
    from darrm.priors.chances import fixed as fixed
    from darrm.priors.chances import independent as independent
    from darrm.priors.chances import votes as votes
    from darrm.priors.prior import OBJECTIVES as OBJECTIVES
    from darrm.priors.prior import Prior as Prior
    from darrm.priors.prior import combine as combine
    from darrm.priors.prior import weights as weights
    from darrm.priors.randomized import check_possible as check_possible
    from darrm.priors.randomized import randomized_response as randomized_response
    from darrm.priors.texts import from_dict as from_dict
    from darrm.priors.texts import parse as parse
    from darrm.priors.truths import confusion as confusion

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.errors": "ImpossiblePriorWarning",
        "darrm.priors.chances": "common fixed independent votes",
        "darrm.priors.prior": "OBJECTIVES Prior combine weights",
        "darrm.priors.randomized": "check_possible randomized_response",
        "darrm.priors.texts": "from_dict parse",
        "darrm.priors.truths": "confusion",
    },
)
