"""One durable SQLite file: pragmas whose answers are checked, transactions, and faults told as what they are.

Source of the rules: a failed ``PRAGMA journal_mode=WAL`` raises nothing unless its row is read; a failed sync may have
dropped the pages that it was to write, so it is never tried again (Rebello et al., ATC 2020); only one connection of one
process ever writes or checkpoints, because SQLite before 3.51.3 can corrupt a file that two checkpoint at once.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from triplecast.errors import StorageFault, StorageFull

PAGE = 8192
"""Bytes: fastest of 4,096 to 32,768 for 4 KB rows, read and written (docs/journal.md)."""
CHECKPOINT = 4096
"""Pages in the write-ahead log (32 MB) before they are moved to the file."""
PATIENCE = 30_000
"""Milliseconds that a statement waits for a lock that another tool holds on the file."""

_LOST_WRITES = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})
_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH})

_MAKE_SPACE = "free disk space and try again"
_CHECK_DISK = "check the disk and the rights on the folder"


class Format(NamedTuple):
    """What a file says it is: checked at every open."""

    application: int
    """The 32 bits of ``PRAGMA application_id``."""
    version: int
    """``PRAGMA user_version``: another number is another format."""
    schema: str
    """Statements that make an empty file of this format."""


def open_database(path: Path | None, form: Format) -> sqlite3.Connection:
    """A connection that may write; makes the file where there is none. Without a path the database is in memory.

    Raises `StorageFault` where the file is of another format or damaged, or cannot be opened or made.
    """
    with storage_faults(path):
        connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    try:
        with storage_faults(path):
            _demand(connection, path, "busy_timeout", PATIENCE)
            fresh = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
            if fresh:
                connection.execute(f"PRAGMA page_size={PAGE}")
            _demand(connection, path, "journal_mode", "wal" if path else "memory")
            _demand(connection, path, "synchronous", 2, "FULL")
            _demand(connection, path, "wal_autocheckpoint", CHECKPOINT)
            _demand(connection, path, "journal_size_limit", 4 * CHECKPOINT * PAGE)
            _demand(connection, path, "cell_size_check", 1)
            _demand(connection, path, "trusted_schema", 0)
            if fresh:
                with transaction(connection, path):
                    for statement in form.schema.split(";\n"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id={form.application}")
                    connection.execute(f"PRAGMA user_version={form.version}")
                if path:
                    sync_folder(path.parent)
            _check_format(connection, path, form)
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path, form: Format) -> sqlite3.Connection | None:
    """A connection that can only read and never checkpoints; None while its writer has not yet made the file."""
    if not path.exists():
        return None
    with storage_faults(path):
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    try:
        with storage_faults(path):
            _demand(connection, path, "busy_timeout", PATIENCE)
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                connection.close()
                return None
            _check_format(connection, path, form)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path | None) -> Iterator[None]:
    """Everything inside is written and synced when the block ends, or nothing is."""
    with storage_faults(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def storage_faults(path: Path | None) -> Iterator[None]:
    """Tells SQLite's and the operating system's errors as a `StorageFault` that says how to mend it."""
    where = str(path or "memory")
    try:
        yield
    except sqlite3.Error as error:
        raise _fault(where, error) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(where, f"there is no space to write ({error.strerror})", _MAKE_SPACE) from error
        raise StorageFault(where, f"cannot be read or written ({error.strerror})", _CHECK_DISK) from error


def writes_lost(fault: StorageFault) -> bool:
    """True when the fault is a failed sync, after which the file's state in memory and on disk may differ for ever."""
    return (
        isinstance(fault.__cause__, sqlite3.Error) and getattr(fault.__cause__, "sqlite_errorcode", 0) in _LOST_WRITES
    )


def check_pages(connection: sqlite3.Connection, path: Path | None) -> None:
    """Reads every page and raises `StorageFault` for the first that is malformed."""
    with storage_faults(path):
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise StorageFault(str(path or "memory"), f"SQLite finds it malformed: {answer}", "restore it from a copy")


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _demand(connection: sqlite3.Connection, path: Path | None, pragma: str, value: object, written: str = "") -> None:
    connection.execute(f"PRAGMA {pragma}={written or value}").fetchall()
    answer = connection.execute(f"PRAGMA {pragma}").fetchone()
    if answer != (value,):
        found = f"SQLite answers {answer} where {pragma}={value} was asked for"
        raise StorageFault(str(path or "memory"), found, "use a local file system that locks and maps files")


def _check_format(connection: sqlite3.Connection, path: Path | None, form: Format) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != form.application:
        raise StorageFault(str(path or "memory"), "this is another program's database", "choose another folder")
    if version != form.version:
        found = f"its format is {version} and this Triplecast reads {form.version}"
        raise StorageFault(str(path or "memory"), found, "use the Triplecast that wrote it")


def _fault(where: str, error: sqlite3.Error) -> StorageFault:
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _NO_SPACE:
        return StorageFull(where, f"there is no space to write ({error})", _MAKE_SPACE)
    if code in _LOST_WRITES:
        return StorageFault(where, f"the disk refused to sync ({error})", "check the disk, then start again")
    if code & 0xFF in _DAMAGE or "decode" in str(error):
        return StorageFault(where, f"the file is damaged ({error})", "restore it from a copy")
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageFault(where, f"another program holds it locked ({error})", "close that program and try again")
    return StorageFault(where, f"SQLite cannot use it ({error})", _CHECK_DISK)
