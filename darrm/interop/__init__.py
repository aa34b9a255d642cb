"""darrm inside other libraries of differential privacy. Each needs an extra, and loads when it is first used."""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.accounting.events import PLDAccountant as PLDAccountant
    from darrm.accounting.events import dp_event as dp_event
    from darrm.accounting.loss_distributions import NeighboringPLD as NeighboringPLD
    from darrm.accounting.loss_distributions import privacy_loss_distribution as privacy_loss_distribution
    from darrm.interop.opendp import opendp_measurement as opendp_measurement

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.accounting.events": "PLDAccountant dp_event",
        "darrm.accounting.loss_distributions": "NeighboringPLD privacy_loss_distribution",
        "darrm.interop.opendp": "opendp_measurement",
    },
)
