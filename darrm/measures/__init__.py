"""Numbers that put mechanisms on one scale."""

from darrm.measures.error import expected_error

__all__ = ["expected_error"]
