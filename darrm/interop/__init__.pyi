from darrm.accounting.events import PLDAccountant as PLDAccountant
from darrm.accounting.events import dp_event as dp_event
from darrm.accounting.loss_distributions import NeighboringPLD as NeighboringPLD
from darrm.accounting.loss_distributions import privacy_loss_distribution as privacy_loss_distribution
from darrm.interop.opendp import opendp_measurement as opendp_measurement
