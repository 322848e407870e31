"""One durable SQLite file: pragmas whose answers are checked, transactions, and faults told as what they are.

Source of the rules: a failed ``PRAGMA journal_mode=WAL`` raises nothing unless its row is read; a failed sync may have
dropped the pages that it was to write, so it is never tried again (Rebello et al., ATC 2020); only one connection of
one process ever writes or checkpoints, because SQLite before 3.51.3 can corrupt a file that two checkpoint at once.
"""

from __future__ import annotations

import ctypes
import operator
import os
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, SupportsIndex
from urllib.parse import quote
from weakref import WeakSet

from triplecast.errors import FolderLocked, InputError, StorageFault
from triplecast.storage_faults import HELD, LOST_WRITES, RESTORE, storage_faults, sync_folder, tell_fault

PAGE = 8192
"""Bytes: fastest of 4,096 to 32,768 for 4 KB rows, read and written (docs/storage.md)."""
CHECKPOINT = 4096
"""Pages in the write-ahead log (32 MB) before they are moved to the file."""
CACHE = -4 << 10
"""What a database without a path keeps in memory, in kilobytes and negative; the rest is in a temporary file. Each
commit goes through all pages that were never written: 90 µs for 32 MB."""
PATIENCE = 30_000
"""Milliseconds that a statement waits for a lock that another tool holds on the file."""

_IN_THE_MIDDLE = "it is in the middle of a write, which nobody else can end: end that process (kill -9)"
_START_AGAIN = "choose a new folder, subscribe and publish again there; the old one stays as it is"


class Format(NamedTuple):
    """What a file says it is: checked at every open."""

    application: int
    """The 32 bits of ``PRAGMA application_id``."""
    version: int
    """``PRAGMA user_version``: another number is another format."""
    schema: str
    """Statements that make an empty file of this format."""
    added: Mapping[str, str] = MappingProxyType({})
    """What files of this format made before may lack: statements by the name of what they add."""
    former: int = 0
    """The ``application_id`` of files made before formats counted from 1, which are refused by name."""
    repair: str = RESTORE
    """The hint of an error that finds the file damaged."""


class SqliteFile:
    """A file of one format, held by its only writer, or followed by a reader that never locks it and never checkpoints.

    May be used from any thread; `lock` is held for each statement, and by callers over several. A follower sees no rows
    while the writer has not yet made the file, and reads the new file where another has taken its place. All methods
    raise `StorageFault`.
    """

    def __init__(self, path: Path | None, form: Format, connection: sqlite3.Connection | None) -> None:
        self.lock = threading.RLock()
        self.where = str(path or "memory")
        self._path = path
        self._form = form
        self._connection = connection
        self._broken: StorageFault | None = None
        self._syncs = True
        """Whether a commit is synced, with those before it."""
        self._closed = False
        self._process = os.getpid()
        self._is_forked = False
        """Whether this is a child's copy of what its parent opened: two writers by one connection damage the file."""
        self._follows = path is not None and connection is None
        self._followed: tuple[int, int] | None = None
        """The file that a follower has open."""
        self._immutable = False
        """Whether a follower reads without the shared memory that it may not make: nobody writes."""
        _OPEN.add(self)

    @classmethod
    def writer(cls, path: Path | None, form: Format, former: str | None = None) -> SqliteFile:
        """Makes the file where there is none. Without a path the database ends with the process (`CACHE`).

        `former` had the file before, and lives: raises `FolderLocked` where it stays in the middle of a write or a
        checkpoint for `PATIENCE`, even of the one that makes the file. Neither can be taken from it.
        """
        if former is None:
            return cls(path, form, _open_writer(path, form))
        try:
            with ExitStack() as opened:
                file = opened.enter_context(closing(cls(path, form, _open_writer(path, form))))
                file._settle(former)
                opened.pop_all()
        except StorageFault as fault:
            cause = fault.__cause__
            if isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", 0) & 0xFF in HELD:
                raise FolderLocked(str(path), former, _IN_THE_MIDDLE) from fault
            raise
        return file

    @classmethod
    def follower(cls, path: Path, form: Format) -> SqliteFile:
        return cls(path, form, None)

    def close(self) -> None:
        with self.lock:
            self._closed = True
            if self._connection is not None and not self._is_forked:
                self._connection.close()
                self._connection = None

    def is_in_memory(self) -> bool:
        """Whether there is no file. Raises what `ask` does where it is closed, or of the process before a fork."""
        self._connected()
        return self._path is None

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a statement that reads."""
        with self.lock:
            try:
                connection = self._connected()
                return [] if connection is None else connection.execute(statement, values).fetchall()
            except Exception as error:
                tell_fault(self.where, error, self._form.repair)
                raise

    def ask_one(self, statement: str, values: Sequence[object] = ()) -> Any:
        """The row of a statement that finds one in every sound file; `StorageFault` where it does not."""
        rows = self.ask(statement, values)
        if len(rows) != 1:
            raise StorageFault(
                self.where, f"the file is damaged ({len(rows)} rows where one belongs)", self._form.repair
            )
        return rows[0]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All statements inside see one state of the file, whatever another process commits meanwhile; inside `write`
        they do so anyway."""
        with self.lock, storage_faults(self.where, self._form.repair):
            connection = self._connected()
            if connection is None or connection.in_transaction:
                yield
                return
            connection.execute("BEGIN")
            try:
                yield
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def each(self, statement: str, values: Sequence[object] = ()) -> Generator[tuple[Any, ...], None, None]:
        """The rows of a statement one by one; the caller holds `lock` meanwhile."""
        with storage_faults(self.where, self._form.repair):
            connection = self._connected()
            if connection is not None:
                yield from connection.execute(statement, tuple(values))

    def run(self, statement: str, rows: Iterable[Sequence[object]] = ((),)) -> int:
        """Executes a statement that writes, once for each of `rows`, inside `write`; how many rows it changed."""
        try:
            connection = self._connected()
            if connection is None or not connection.in_transaction:
                raise StorageFault(self.where, "it is not being written", "open it for writing")
            return connection.executemany(statement, rows).rowcount
        except Exception as error:
            tell_fault(self.where, error, self._form.repair)
            raise

    @contextmanager
    def write(self, synced: bool = True) -> Iterator[None]:
        """Everything inside is written and synced when the block ends, or nothing is. Not `synced`, it is lost if the
        machine fails before the next block that is; then nothing later is kept either.

        After `StorageFull` the same block works once there is space. After a failed sync nobody knows what the disk
        holds: every further write raises that fault, until the file is opened again.
        """
        with self.lock:
            if self._broken is not None:
                raise StorageFault(self.where, self._broken.found, self._broken.hint) from self._broken
            connection = self._connected()
            if connection is None:
                raise StorageFault(self.where, "it is open for reading only", "open it for writing")
            try:
                with storage_faults(self.where, self._form.repair):
                    if synced != self._syncs and self._path is not None:
                        connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
                        self._syncs = synced
                    connection.execute("BEGIN IMMEDIATE")
                    try:
                        yield
                        connection.execute("COMMIT")
                    except BaseException:
                        if connection.in_transaction:
                            connection.execute("ROLLBACK")
                        raise
            except StorageFault as fault:
                cause = fault.__cause__
                if isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", 0) in LOST_WRITES:
                    self._broken = fault
                raise

    def _settle(self, holder: str) -> None:
        """Waits until `holder` neither writes the file nor checkpoints it."""
        ends = time.monotonic() + PATIENCE / 1000
        while self.ask_one("PRAGMA wal_checkpoint(PASSIVE)")[0]:
            if time.monotonic() > ends:
                raise FolderLocked(self.where, holder, _IN_THE_MIDDLE)
            time.sleep(0.01)
        with self.write():
            pass

    def check_pages(self) -> None:
        """Reads every page and raises `StorageFault` for the first that is malformed."""
        for (answer,) in self.ask("PRAGMA quick_check(1)"):
            if answer != "ok":
                raise StorageFault(self.where, f"SQLite finds it malformed: {answer}", self._form.repair)

    def _connected(self) -> sqlite3.Connection | None:
        if self._closed:
            hint = "open it again" if self._path is not None else "what it held is gone; begin with a new one"
            raise StorageFault(self.where, "it has been closed", hint)
        if self._is_forked:
            holder = f"process {self._process}, from which this one was forked"
            raise FolderLocked(self.where, holder, "open it in one of the two, after the fork")
        if self._follows and self._path is not None:
            self._follow(self._path)
        return self._connection

    def _follow(self, path: Path) -> None:
        """Open the file that is there now, unless it is open, or a transaction still reads the one before."""
        there = file_identity(path)
        is_sound = there == self._followed and not (self._immutable and _log(path).exists())
        if self._connection is not None and (is_sound or self._connection.in_transaction):
            return
        if self._connection is not None:
            self._connection.close()
        self._immutable = not os.access(path.parent, os.W_OK) and not _log(path).exists()
        self._connection, self._followed = _open_follower(path, self._form, self._immutable), there


_OPEN: WeakSet[SqliteFile] = WeakSet()


def _abandon_in_child() -> None:
    """Never use a forked child's copy of a connection, nor close it: SQLite would delete the write-ahead log that has
    the name by then, with what a later writer committed to it."""
    for file in _OPEN:
        file._is_forked = True
        if file._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(file._connection))


os.register_at_fork(after_in_child=_abandon_in_child)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what tells the file at `path` from one that takes its place; None where there is none."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


def row_number(value: SupportsIndex, what: str) -> int:
    """A position, sequence or count that a caller gave. Raises TypeError for what is no whole number (SQLite orders
    text after every number), `InputError` for one that no row can have."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {type(value).__name__}") from None
    if not 0 <= number < 1 << 63:
        raise InputError(f"{what} cannot be {number}", "give a number from 0 to 2^63 - 1")
    return number


def _open_writer(path: Path | None, form: Format) -> sqlite3.Connection:
    where = str(path or "memory")
    with storage_faults(where, form.repair):
        name = path.absolute() if path else ""  # a relative one that begins with file: would be a URI
        connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        try:
            _demand(connection, where, "busy_timeout", PATIENCE)
            fresh = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
            if fresh:
                connection.execute(f"PRAGMA page_size={PAGE}")
            _demand(connection, where, "journal_mode", "wal" if path else "memory")
            if not path:
                _demand(connection, where, "cache_size", CACHE)
            _demand(connection, where, "synchronous", 2, "FULL")
            _demand(connection, where, "fullfsync", 1)
            _demand(connection, where, "checkpoint_fullfsync", 1)
            _demand(connection, where, "wal_autocheckpoint", CHECKPOINT)
            _demand(connection, where, "journal_size_limit", 4 * CHECKPOINT * PAGE)
            _demand(connection, where, "cell_size_check", 1)
            _demand(connection, where, "trusted_schema", 0)
            if fresh:
                connection.execute("BEGIN IMMEDIATE")  # closed below where it fails, which takes it back
                for statement in (*form.schema.split(";\n"), *form.added.values()):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={form.application}")
                connection.execute(f"PRAGMA user_version={form.version}")
                connection.execute("COMMIT")
                if path:
                    sync_folder(path.parent)
            _check_format(connection, where, form)
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            lacking = [statement for name, statement in form.added.items() if name not in there]
            if lacking:  # else nothing is locked
                connection.execute("BEGIN IMMEDIATE")
                for statement in lacking:
                    connection.execute(statement)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
    return connection


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _open_follower(path: Path, form: Format, immutable: bool) -> sqlite3.Connection | None:
    """None while the writer has not yet made the file or its tables."""
    if not os.path.exists(path):
        return None
    with storage_faults(path, form.repair):
        address = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro{'&immutable=1' * immutable}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        try:
            _demand(connection, str(path), "busy_timeout", PATIENCE)
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                connection.close()
                return None
            _check_format(connection, str(path), form)
        except BaseException:
            connection.close()
            raise
    return connection


def _demand(connection: sqlite3.Connection, where: str, pragma: str, value: object, written: str = "") -> None:
    connection.execute(f"PRAGMA {pragma}={written or value}").fetchall()
    answer = connection.execute(f"PRAGMA {pragma}").fetchone()
    if answer != (value,):
        found = f"SQLite answers {answer} where {pragma}={value} was asked for"
        raise StorageFault(where, found, "use a local file system that locks and maps files")


def _check_format(connection: sqlite3.Connection, where: str, form: Format) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == form.former != 0:
        raise StorageFault(
            where, f"its format is older than {form.version}, the first that is still read", _START_AGAIN
        )
    if application != form.application:
        raise StorageFault(where, "this is another program's database", "choose another folder")
    if version != form.version:
        found = f"its format is {version}, and this Triplecast reads {form.version}"
        raise StorageFault(where, found, "use the Triplecast that wrote it")
