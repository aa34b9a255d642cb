"""Keys from which the randomness of labels is computed: a row that is released again has the same label."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from darrm._validation import path as check_path
from darrm.errors import ExistsError, InputError
from darrm.numerics.printed import counted
from darrm.randomness.keyed import SIZE, KeyedRows, KeyedWords
from darrm.storage.atomic import keep_names, output_error, part_of
from darrm.storage.sealed_json import finite
from darrm.votes.ids import SeenIds, as_compared
from darrm.votes.rows import Texts

_MAKE = "Make a key file. Run: darrm key labels.key"
NO_IDS = (
    "A key needs an id for each row (ids=, or a column id), because randomness is computed from both. Got rows without "
    "ids."
)


class LabelKey:
    """A secret of 32 bytes from which the randomness of labels is computed.

    Without a key every call draws new labels. With a key the randomness of a row is a function (keyed BLAKE2b) of the
    key, the design, the id of the row, and its numbers of votes. So the same row has the same label in a retry, in a
    restarted stream, in another order or process.

    **The guarantee then rests on the key.** It is computational: in feasible time and without the key, no one can tell
    the labels from labels that are drawn once for each row with independent randomness. The key must be random, used
    for nothing else, and as secret as the votes: with it anyone can test which votes a label, or the tag of a row in a
    ledger, agrees with.

    **With one key, an id stands for one row of votes.** If an id comes again with other votes, two labels that differ
    show that the votes differ, and no total of two labels covers that. Give other votes other ids, and each ledger a
    key of its own. A ledger refuses an id that comes with other votes.

    Parameters
    ----------
    secret : bytes, 32
        Uniformly random, such as from ``os.urandom`` or a vault. `create` and `load` are for files.

    Raises
    ------
    InputError
        If it is not 32 bytes.

    Notes
    -----
    Neither ``repr`` nor an error shows the secret, and a key cannot be pickled, so that it is in no task of Spark or
    Dask: pass the path of its file. About 2 microseconds a row.

    Examples
    --------
    >>> import darrm
    >>> key = darrm.mechanisms.LabelKey.create("labels.key")
    >>> mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=5, m=1, epsilon=0.5))
    >>> votes, ids = [[1, 1, 1, 0, 1], [0, 0, 1, 0, 0]], ["a", "b"]
    >>> first = mechanism.release(votes, key=key, ids=ids)
    >>> again = mechanism.release(votes[::-1], key="labels.key", ids=ids[::-1])
    >>> first.tolist() == again[::-1].tolist()
    True
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != SIZE:
            came = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__
            raise InputError(f"A key must be {SIZE} random bytes. Got {came}. {_MAKE}")
        self._secret = secret

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> LabelKey:
        """A new key from the operating system's generator, in a new file that only its owner can read (mode 600).

        Raises
        ------
        ExistsError
            If there is a file already: labels that were drawn with its key could not be drawn again.
        OutputError
            If the file cannot be written; no part of it is left.

        Examples
        --------
        >>> import darrm
        >>> darrm.mechanisms.LabelKey.create("tonight.key")
        LabelKey(...)
        """
        target, key = check_path("path", path), cls(os.urandom(SIZE))
        exists = ExistsError(
            f"{target} exists already. Labels of its key could not be drawn again without it. Pass another path, or "
            "use this key."
        )
        if os.path.lexists(target):
            raise exists
        with part_of(target) as part:
            part.file.write(key._secret)
            part.finish()
            os.chmod(part.path, 0o600)  # whatever the umask is
            try:
                os.link(part.path, target)  # which, unlike a move, replaces no file
            except FileExistsError:
                raise exists from None
            except OSError as error:
                raise output_error(target, error) from error
        keep_names(target.parent)
        return key

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LabelKey:
        """The key in a file of `create`.

        Raises
        ------
        InputError
            If there is no such file, it is not 32 bytes long, or others than its owner may read or write it.

        Examples
        --------
        >>> import darrm
        >>> key = darrm.mechanisms.LabelKey.create("kept.key")
        >>> darrm.mechanisms.LabelKey.load("kept.key")
        LabelKey(...)
        """
        name = check_path("path", path)
        if os.path.isdir(name):
            raise InputError(f"The key {name} must be a file. Got a folder. {_MAKE}")
        try:
            with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                about = os.fstat(file.fileno())
                if not stat.S_ISREG(about.st_mode):
                    raise InputError(f"The key {name} must be a file. Got a device or a pipe. {_MAKE}")
                if os.name == "posix" and about.st_mode & 0o077:
                    raise InputError(
                        f"The key {name} must be for its owner alone. Got mode {about.st_mode & 0o777:o}. Run: chmod "
                        "600 on it; if others may have read it, make a new one."
                    )
                secret = file.read(SIZE + 1)
        except OSError as error:
            raise InputError(f"The key {name} could not be read: {error.strerror}. {_MAKE}") from error
        if len(secret) != SIZE:
            much = f"{len(secret)} bytes" if len(secret) <= SIZE else "more"
            del secret  # so that no traceback that prints values has it
            raise InputError(f"The key {name} must be a file of {SIZE} bytes. Got {much}. {_MAKE}")
        return cls(secret)

    def __repr__(self) -> str:
        return "LabelKey(...)"

    def __reduce__(self) -> NoReturn:
        raise InputError("A key cannot be pickled or copied, so that no task or log has it. Pass the path of its file.")

    def _rows(self, law: bytes, counts: NDArray[np.int64], ids: Texts) -> KeyedRows:
        """The words of rows; ``ids`` are compared as a ledger compares them."""
        normal = as_compared(ids)
        return KeyedRows(self._secret, law, counts, normal.data, normal.ends.tolist())


Key = LabelKey | str | os.PathLike[str]


def key_of(key: object) -> LabelKey:
    """A key, or that of a file."""
    if isinstance(key, LabelKey):
        return key
    if isinstance(key, str | os.PathLike):
        return LabelKey.load(key)
    if isinstance(key, bytes):
        raise InputError("key must be a LabelKey or the path of a key file. Got bytes: pass LabelKey(secret).")
    raise InputError(f"key must be a LabelKey or the path of a key file. Got {type(key).__name__}. {_MAKE}")


def keyed(key: object, rng: np.random.Generator | None, again: bool = False) -> LabelKey:
    """The key of a release that has one source of randomness, and no second label of a row."""
    if rng is not None:
        raise InputError("key and rng exclude each other: a key gives all randomness. Pass one of them.")
    if again:
        raise InputError(
            "again goes without a key: with one, the same votes have the same label again, at no charge. Give rows of "
            "other votes other ids."
        )
    return key_of(key)


def law_of(content: object) -> bytes:
    """The bytes that stand for a mechanism, from what it is as plain values."""
    text = json.dumps(finite(content), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=SIZE, person=b"darrm law v1").digest()


def checked_ids(ids: object, n: int) -> Texts:
    """Ids of n rows of one call, each once and none blank."""
    if ids is None:
        raise InputError(NO_IDS)
    if not isinstance(ids, Texts):
        ids = Texts.of(ids)  # type: ignore[arg-type]  # it refuses what is no list
    if len(ids) != n:
        raise InputError(f"There must be one id for each row. Got {counted(len(ids), 'id')} for {counted(n, 'row')}.")
    SeenIds("ids", 0).add(ids)
    return ids


def keyed_words(
    key: Any,
    ids: Any,
    rng: np.random.Generator | None,
    law: bytes,
    counts: NDArray[np.int64],
) -> KeyedWords:
    """The words of a release of rows whose probabilities depend on these counts; both key and ids are needed."""
    if key is None:
        raise InputError("ids go with a key: without one each call draws new labels. Pass key=, or leave ids out.")
    return KeyedWords(keyed(key, rng)._rows(law, counts, checked_ids(ids, len(counts))))
