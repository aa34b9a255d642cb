"""The only import of dp-accounting."""

from __future__ import annotations

from darrm.errors import MissingExtraError

try:
    import attr
    from dp_accounting import NeighboringRelation
    from dp_accounting import dp_event as events
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, from_randomized_response
except ImportError:
    raise MissingExtraError(
        "Privacy loss distributions need dp-accounting of at least 0.6. Run: pip install 'darrm[interop]'"
    ) from None

__all__ = [
    "NeighboringRelation",
    "PLDAccountant",
    "PrivacyLossDistribution",
    "attr",
    "events",
    "from_randomized_response",
]
