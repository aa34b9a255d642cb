"""Privacy of labels beyond the mechanisms: accounting of weighted aggregates, learners, audits."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
