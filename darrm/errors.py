"""The errors that darrm raises on purpose.

Every message names the fault, the value that came, the values allowed, and what to do.
"""

from __future__ import annotations

from typing import Any


def in_one_line(message: str) -> str:
    r"""A message in one line, in which nothing that stands in a file or a name can write on the terminal.

    Examples
    --------
    >>> from darrm.errors import in_one_line
    >>> print(in_one_line("two\nlines and a bell: \a"))
    two lines and a bell: \x07
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(message.split()))


class DarrmError(Exception):
    """Base of every error that darrm raises on purpose; catch it to catch them all. Its message is one line."""

    def __str__(self) -> str:
        return in_one_line(super().__str__())


class InputError(DarrmError, ValueError):
    """A value, an array or a file cannot be used as given. A retry with the same input fails again."""


class ExistsError(InputError):
    """A file exists already, and what it holds must not be lost. Nothing was changed."""


class RepeatedIdError(InputError):
    """An id was charged before, so its row has a label. Nothing was released or charged."""


class SolverError(DarrmError, RuntimeError):
    """The linear-program solver ended without an optimum.

    A retry helps only with another limit or a smaller problem; the message says which.
    """


class CertificateError(DarrmError, RuntimeError):
    """A noise function does not satisfy the guarantee, so it is not released. A retry does not help.

    Attributes
    ----------
    problem, certificate : object or None
        The problem and the certificate of the design that is refused, if it is one of a design.
    """

    def __init__(self, message: str = "", *, problem: Any = None, certificate: Any = None) -> None:
        super().__init__(message)
        self.problem, self.certificate = problem, certificate


class BudgetError(DarrmError, RuntimeError):
    """The privacy budget does not allow the release; nothing was released or charged. A retry does not help."""


class PartyError(DarrmError, RuntimeError):
    """Another party of a computation over shares stopped, was late or has something else; the message says which.

    The block of labels ended for all parties. A retry helps once the cause is gone.
    """


class OutputError(DarrmError, OSError):
    """A result could not be written; the file that stood there before, if any, is untouched.

    A retry helps once the cause (a full disk, a missing folder, no permission) is gone.
    """


class ImpossiblePriorWarning(UserWarning):
    """No voters that answer by randomized response can have this prior. No guarantee depends on it."""


class CopiedBudgetWarning(UserWarning):
    """A budget counted in memory was copied. The copy cannot be spent, so that it is not spent twice."""


class ResumedStreamWarning(UserWarning):
    """A stream of votes began with rows that the ledger charged before; these rows are skipped."""


class LabelsEndedWarning(UserWarning):
    """Noisy max with a cap gave its last label within a call; later rows of that call have "none"."""


class RecoveredLabelsWarning(UserWarning):
    """Labels that an interrupted release had charged got their name now, or are gone."""


class MissingExtraError(DarrmError, ImportError):
    """An optional library is not installed. The message holds the command that installs it."""
