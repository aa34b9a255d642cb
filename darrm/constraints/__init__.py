"""The paper's full list of constraints: corners, multisets, rows. A reference that the certificate never imports."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
