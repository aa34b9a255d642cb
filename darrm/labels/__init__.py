"""Label privacy: accounting of weighted aggregates, learners from private labels, and audits."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
