"""What failed while files were read or written, told as a `StorageFault` that says how to fix it; and durable folders.

A failed sync may have dropped the pages that it was to write, so it is never tried again (Rebello et al., ATC 2020).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

from triplecast.errors import InputError, StorageFault, StorageFull

LOST_WRITES = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})
HELD = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH)
_DAMAGE = frozenset({*_CORRUPT, sqlite3.SQLITE_ERROR})
"""The last one says that a table or column is not there, as a damaged schema does: no statement names another."""
_UNWRITTEN = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_PROBE = 64 << 10
"""Bytes: SQLite extends its shared memory by half as much at once."""
_NO_SPACE_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""Of the disk, of the user's quota, of the size that a process may give a file."""

RESTORE = "restore the folder from a copy (docs/back-up.md)"
_MAKE_SPACE = "free disk space and try again"
_NAME_FOLDER = "name a folder, new or of this engine"
_CHECK_DISK = "check the disk and the rights on the folder"


def storage_faults(where: str | Path, repair: str = RESTORE) -> AbstractContextManager[None]:
    """Tells SQLite's and the operating system's errors as a `StorageFault` that says how to fix it; `repair` says it of
    damage.

    Text that cannot be written (a lone surrogate) is the caller's `InputError`.
    """
    return _Told(where, repair)


class _Told(AbstractContextManager[None]):
    __slots__ = ("_repair", "_where")

    def __init__(self, where: str | Path, repair: str) -> None:
        self._where, self._repair = where, repair

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            tell_fault(self._where, error, self._repair)


def tell_fault(where: str | Path, error: BaseException, repair: str = RESTORE) -> None:
    """Raises what `storage_faults` makes of an error, if anything: for statements that are too many for a context."""
    where = str(where)
    if isinstance(error, sqlite3.Error):
        raise _fault(where, error, repair) from error
    if isinstance(error, OSError):
        if error.errno in _NO_SPACE_ERRORS:
            raise StorageFull(where, f"there is no space to write ({error.strerror})", _MAKE_SPACE) from error
        raise StorageFault(where, f"cannot be read or written ({error.strerror})", _CHECK_DISK) from error
    if isinstance(error, UnicodeDecodeError):  # of the schema: of a row SQLite's error says so
        raise StorageFault(where, f"the file is damaged ({error})", repair) from error
    if isinstance(error, UnicodeEncodeError):
        hint = "give text that can be written as UTF-8"
        raise InputError(f"{error.object!r} holds half a character", hint) from error


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Makes `folder` and those above it where they are missing, each with its name synced. Raises `StorageFault`."""
    with storage_faults(folder):
        missing = [each for each in (folder.absolute(), *folder.absolute().parents) if not each.is_dir()]
        for each in reversed(missing):
            if os.path.lexists(each) and not each.is_dir():
                what = "a link that leads nowhere" if each.is_symlink() else "a file"
                found = f"it is {what}, and a folder is needed"
                raise StorageFault(str(folder if each == missing[0] else each), found, _NAME_FOLDER)
            each.mkdir(exist_ok=True)
            sync_folder(each.parent)


def _fault(where: str, error: sqlite3.Error, repair: str) -> StorageFault:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL or (code in _UNWRITTEN and _no_more_can_be_written(where)):
        return StorageFull(where, f"there is no space to write ({error})", _MAKE_SPACE)
    if code in LOST_WRITES:
        return StorageFault(where, f"the disk refused to sync ({error})", "check the disk, then start again")
    if code & 0xFF in _DAMAGE or "decode" in str(error):
        return StorageFault(where, f"the file is damaged ({error})", repair)
    if code & 0xFF in HELD:
        return StorageFault(where, f"another program holds it locked ({error})", "close that program and try again")
    copy = ", or copy the folder to where it can be written" * (code & 0xFF == sqlite3.SQLITE_CANTOPEN)
    return StorageFault(where, f"SQLite cannot use it ({error})", f"{_CHECK_DISK}{copy}")


def _no_more_can_be_written(where: str) -> bool:
    """Whether the last write failed for space. SQLite tells a full disk only, and not for its shared memory; a quota
    and a limit of file sizes look like a broken disk, until somebody else tries to write as much as far behind the
    start of a file."""
    path = Path(where)
    try:
        files = [path, path.with_name(f"{path.name}-wal")]
        end = max((file.stat().st_size for file in files if file.exists()), default=0)
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            written = os.pwrite(probe.fileno(), bytes(_PROBE), end)
            os.fsync(probe.fileno())
    except OSError as error:
        return error.errno in _NO_SPACE_ERRORS
    return written < _PROBE
