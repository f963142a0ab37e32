"""Compiled code on disk: each file carries its checksum, so damage is told and healed."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

DIGEST_BYTES = 32


class DamagedError(OSError):
    """A file of compiled code that is not what was written; Numba takes it for one that is gone."""


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the code of one function, sealed with checksums.

    Numba itself believes what it finds: a file cut off ends every fit with an error about pickles,
    and one changed byte of machine code may do anything. Here a file whose checksum does not fit
    counts as absent: that function is compiled again, and the file written anew.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, known = _opened(Path(self._index_path))
        except OSError:
            return {}
        fresh = version == self._version and stamp == self._source_stamp
        return known if fresh else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        content = self._version, self._source_stamp, overloads
        with self._open_for_write(self._index_path) as file:
            file.write(_sealed(self._dump(content)))

    def _load_data(self, name: str) -> Any:
        return _opened(Path(self._data_path(name)))

    def _save_data(self, name: str, data: object) -> None:
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_sealed(self._dump(data)))


class SealedCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, in sealed files of its own."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = SealedFiles(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}.sealed",
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def save_overload(self, sig: Any, data: object) -> None:
        """Keep the code if the disk has room; who cannot keep it compiles it again."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


def _sealed(content: bytes) -> bytes:
    return _digest(content) + content


def _opened(path: Path) -> Any:
    data = path.read_bytes()
    content = data[DIGEST_BYTES:]
    if data[:DIGEST_BYTES] != _digest(content):
        raise DamagedError(f"{path} is damaged")
    return pickle.loads(content)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
