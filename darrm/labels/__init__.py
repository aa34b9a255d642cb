"""Privacy of labels beyond the mechanisms: accounting of weighted aggregates, learners, audits."""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.labels import learners as learners
    from darrm.labels.aggregates import LabelDependentValue as LabelDependentValue
    from darrm.labels.aggregates import WorstDelta as WorstDelta
    from darrm.labels.aggregates import local_delta as local_delta
    from darrm.labels.aggregates import worst_delta as worst_delta
    from darrm.labels.audit_row import AuditRow as AuditRow
    from darrm.labels.audits import audit as audit
    from darrm.labels.audits import eta_from_model as eta_from_model
    from darrm.labels.bags_at_random import BagFloor as BagFloor
    from darrm.labels.bags_at_random import RandomBagDelta as RandomBagDelta
    from darrm.labels.bags_at_random import bag_floor as bag_floor
    from darrm.labels.bags_at_random import random_bag_delta as random_bag_delta
    from darrm.labels.noisy_aggregates import noisy_delta as noisy_delta
    from darrm.labels.noisy_aggregates import noisy_local_delta as noisy_local_delta

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.labels": "learners",
        "darrm.labels.aggregates": "LabelDependentValue WorstDelta local_delta worst_delta",
        "darrm.labels.audit_row": "AuditRow",
        "darrm.labels.audits": "audit eta_from_model",
        "darrm.labels.bags_at_random": "BagFloor RandomBagDelta bag_floor random_bag_delta",
        "darrm.labels.noisy_aggregates": "noisy_delta noisy_local_delta",
    },
)
