"""Requests to a folder: to its live run through the control socket, or to the folder where nobody has it open."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from triplecast.driver import open_outbox
from triplecast.errors import FolderLocked, InputError
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.journal import Journal, JournalFile, read_address
from triplecast.model.subscription import BROAD_PER_OWNER
from triplecast.operators.operator_set import declared_operators
from triplecast.outbox import OutboxReader
from triplecast.registry.registry import Registry
from triplecast.registry.requests import ReadingRequests, Requests, answer_by
from triplecast.registry.upkeep import IndexUpkeep, settle_operators

WAIT_SECONDS = 120.0
"""How long a live run may take to answer: it may be busy with a large change."""

Ask = Callable[[Mapping[str, object]], dict[str, object]]


@contextmanager
def open_requests(folder: Path, broad_per_owner: int = BROAD_PER_OWNER) -> Iterator[Ask]:
    """A function that answers requests (`registry.requests`) for `folder`, which is made if it is missing.

    Raises `FolderLocked` where something that is no run has it open, and `StorageFault`. An answer that says `error` is
    raised as `InputError`.
    """
    with ExitStack() as opened:
        ask = connect(folder, opened)
        if ask is None:
            try:
                ask = _open(folder, broad_per_owner, opened)
            except FolderLocked:
                ask = connect(folder, opened)  # a run may have started in between
                if ask is None:
                    raise
        yield raising(ask)


@contextmanager
def open_reading(folder: Path) -> Iterator[Ask]:
    """As `open_requests`, for requests that change nothing: where no run is live, the folder is read and not locked, so
    it may be another process's, or one that cannot be written."""
    with ExitStack() as opened:
        ask = connect(folder, opened)
        if ask is None:
            journal = opened.enter_context(JournalFile.read_only(folder))
            outbox = opened.enter_context(OutboxReader.read_only(folder))
            operators = declared_operators().with_recorded(journal.operators())
            known = ReadingRequests(journal, outbox, lambda: operators).known
            ask = partial(answer_by, known)
        yield raising(ask)


def _open(folder: Path, broad_per_owner: int, opened: ExitStack) -> Ask:
    journal = opened.enter_context(Journal.open(folder))
    outbox = opened.enter_context(open_outbox(folder, journal))
    called = settle_operators(journal, declared_operators())
    upkeep = IndexUpkeep(
        IndexWriter(SegmentFolder(folder / INDEX, journal.sole)), journal, lambda: outbox.progress, None, lambda: called
    )
    opened.callback(upkeep.close)
    return Requests(Registry(journal, upkeep, broad_per_owner), journal, outbox).answer


def connect(folder: Path, opened: ExitStack) -> Ask | None:
    """A function that asks who has `folder`; None where nobody listens. The socket of a killed process refuses."""
    address = read_address(folder)
    if address is None:
        return None
    connection = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    connection.settimeout(WAIT_SECONDS)
    try:
        _connect_in_turn(connection, address)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except OSError as error:
        raise InputError(f"the run's control socket {address} cannot be used: {error}", "run as its user") from error
    stream = opened.enter_context(connection.makefile("rb"))

    def ask(request: Mapping[str, object]) -> dict[str, object]:
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = stream.readline()
        except OSError as error:
            raise InputError(f"the run gave no answer: {error}", "see whether it is stopped, and ask again") from error
        if not line.endswith(b"\n"):
            raise InputError("the run ended before it answered", "`triplecast subscriptions` shows what was registered")
        answer: dict[str, object] = json.loads(line)
        return answer

    return ask


def _connect_in_turn(connection: socket.socket, address: str) -> None:
    """Connect, also while many others do: a socket with a timeout is refused at once where a queue is full."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return connection.connect(address)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def raising(ask: Ask) -> Ask:
    """Raises an answer that says ``error`` as `InputError`."""

    def asked(request: Mapping[str, object]) -> dict[str, object]:
        answer = ask(request)
        if "error" in answer:
            raise InputError(str(answer["error"]), str(answer.get("hint", "")))
        return answer

    return asked
