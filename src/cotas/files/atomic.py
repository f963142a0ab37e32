"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from cotas.files.errors import ModelFileError


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[Any]) -> None:
    """Write the chunks of bytes to a new file beside `path`, then put it in its place."""
    with replacing(path) as file:
        for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file to write to, beside `path`, which takes its place when it is complete.

    The new file is on the disk before it gets its name, so whatever happens, `path` is the old
    file or the new one. An existing file keeps its permissions. A symbolic link is refused: who
    put it there would decide where the file is written.
    """
    target = Path(path)
    mode = _mode_of(target)
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    # O_EXCL: nobody can have put a link where the temporary file goes.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _keep_name(target.parent)


_BINARY = getattr(os, "O_BINARY", 0)  # Windows


def _mode_of(target: Path) -> int | None:
    """The permissions of the file that is there; only plain files are replaced."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} in.")
    try:
        found = target.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise ModelFileError(
            f"{target} is a symbolic link. Give the path of the file that it points to."
        )
    if not stat.S_ISREG(found.st_mode):
        raise IsADirectoryError(f"{target} is there and is no file.")
    return stat.S_IMODE(found.st_mode)


def _keep_name(folder: Path) -> None:
    """Ask that the new name itself be on the disk, where the system can do so."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
