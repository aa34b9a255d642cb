"""Files of mechanisms for counts: what `darrm plan` writes where no table fits, and `darrm release` reads."""

from __future__ import annotations

import os
from typing import Any, Self

from darrm._validation import path as check_path
from darrm.design.content import check_ending, headed
from darrm.errors import InputError
from darrm.mechanisms.counted_votes import OfCounts
from darrm.storage import sealed_json

FORMAT, VERSION = "darrm-mechanism", 1
_AGAIN = "Write it again with save (darrm plan --out)."
_HEADS = ("format", "version", "made_with", "sha256")


class Filed(OfCounts):
    """A mechanism for counts that has a file."""

    def as_dict(self) -> dict[str, object]:
        """The mechanism as plain JSON values: those of its file."""
        model = self.problem
        given: dict[str, object] = {name: getattr(self, name) for name in self._parameters}
        given |= {} if model is None else {"K": model.K, "classes": model.classes, "voters": model.voters}
        given |= {"max_affected": self.max_affected} if self.max_affected > 1 else {}
        return {"mechanism": type(self).__name__, **given}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism, its voters and classes to a file that `load` and `darrm release` read.

        Raises
        ------
        InputError
            If it has no K and classes, or a cap on its labels, or the name ends as that of a table.
        OutputError
            If the path cannot be written.
        """
        if self.problem is None:
            raise InputError(
                "A file of noisy max holds the numbers of voters and classes. Got a mechanism for any. Make it with K "
                "and classes."
            )
        if "answers" in self.as_dict():
            raise InputError(
                "A file cannot count the labels that were given, and each object that is made from it would give as "
                f"many as its cap. Got {self!r}. Make it without answers: then all queries are charged."
            )
        check_ending(path)
        sealed_json.write(path, headed(self.as_dict(), FORMAT, VERSION))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file of `save`.

        Raises
        ------
        InputError
            If the file is missing, foreign, truncated or edited.

        Examples
        --------
        >>> import darrm
        >>> darrm.mechanisms.GaussianNoisyMax(sigma=4.0, K=10, classes=["cat", "dog"]).save("noisy.json")
        >>> darrm.mechanisms.GaussianNoisyMax.load("noisy.json")
        GaussianNoisyMax(sigma=4.0, K=10, classes=('cat', 'dog'))
        """
        name = check_path("path", path)
        content = sealed_json.read(name, FORMAT, VERSION, "mechanism", _AGAIN)
        given: dict[str, Any] = {key: value for key, value in content.items() if key not in _HEADS}
        kinds = {kind.__name__: kind for kind in (cls, *cls.__subclasses__()) if kind is not Filed}
        try:
            called = given.pop("mechanism")
            if called not in kinds:
                raise InputError(f"its mechanism is {called}, not {' or '.join(kinds)}: read it by that class")
            made = kinds[called](**given)
            if "answers" in given:
                raise InputError("it has a cap on labels, which every object made from it would have again")
            if made.problem is None:
                raise InputError("K and classes are missing")
            return made
        except (KeyError, TypeError, InputError) as error:
            raise InputError(f"{name} is not a valid file of noisy max ({error}). {_AGAIN}") from error
