"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

_locks: Any = None if sys.platform == "win32" else importlib.import_module("fcntl")


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[Any]) -> None:
    """Write the chunks of bytes to a new file beside `path`, then put it in its place."""
    with replacing(path) as file:
        for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, for_good: bool = True) -> Iterator[BinaryIO]:
    """Open a new file to write to, beside `path`, which takes its place when it is complete.

    The new file is on the disk before it gets its name, so whatever happens, `path` is the old
    file or the new one. An existing file keeps its permissions; if they do not allow writing, it
    is not replaced. Of a symbolic link the file that it points to is replaced. Of a file with
    several names (hard links) only this name gets the new one. What a process that was killed
    left of an earlier attempt is removed.

    With `for_good=False`, for one of many files that can be made again and are checked when they
    are read, nothing waits for the disk, and nobody looks for what was left.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    if for_good:
        _collect(target)
    handle, temporary = _create(target)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if for_good:
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            if _locks is not None:  # while it is locked nobody takes it for a leftover
                os.replace(temporary, target)
        if _locks is None:  # Windows: an open file cannot be renamed
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if for_good:
        _keep_name(target.parent)


_BINARY = getattr(os, "O_BINARY", 0)  # Windows
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def _mode_of(target: Path) -> int | None:
    """Return the permissions of the file that is there; only plain files are replaced."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} in.")
    try:
        found = target.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise IsADirectoryError(f"{target} is there and is no file.")
    # Who may do everything is not asked by the system, but meant all the same.
    if not (found.st_mode & 0o222 and os.access(target, os.W_OK)):
        raise PermissionError(
            f"{target} is read-only, so it is not replaced: give another path, or allow writing."
        )
    return stat.S_IMODE(found.st_mode)


def _create(target: Path) -> tuple[int, Path]:
    """Return a new file beside the target, locked while it is written to."""
    while True:
        temporary = target.with_name(f"{_beginning(target)}{secrets.token_hex(8)}.tmp")
        # O_EXCL: nobody can have put a link where the temporary file goes.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        lock(handle, wait=True)
        # Between the two, another process may have taken it for a leftover and removed it.
        if os.path.lexists(temporary):
            return handle, temporary
        os.close(handle)


def _beginning(target: Path) -> str:
    return f".{target.name[:64]}."


def _collect(target: Path) -> None:
    """Remove what killed processes left; what another one is writing to is locked, and stays."""
    pattern = re.compile(re.escape(_beginning(target)) + r"[0-9a-f]{16}\.tmp")
    with contextlib.suppress(OSError):
        for entry in os.scandir(target.parent):
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                remove_unless_locked(entry.path)


def remove_unless_locked(path: str | os.PathLike[str]) -> None:
    """Remove a file, unless another process is writing to it."""
    with contextlib.suppress(OSError):  # of another user, or gone
        handle = os.open(path, os.O_RDWR | _BINARY | _NO_LINK)
        try:
            if _locks is None:
                os.close(handle)
                handle = -1
                os.unlink(path)  # refused by Windows while another process has it open
            elif lock(handle, wait=False):
                os.unlink(path)
        finally:
            if handle >= 0:
                os.close(handle)


def lock(handle: int, wait: bool) -> bool:
    """Tell whether the file is ours alone from now on; False where somebody has it, or none can."""
    if _locks is None:
        return False
    try:
        _locks.flock(handle, _locks.LOCK_EX | (0 if wait else _locks.LOCK_NB))
    except OSError:
        return False
    return True


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
