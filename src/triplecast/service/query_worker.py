"""The process that answers queries: it follows the folder as any reader, and ends where a query takes too much."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import InputError, QueryTooLarge, StorageFault
from triplecast.journal import JournalFile, read_clock, system_clock, time_text
from triplecast.local.descriptions import describe
from triplecast.repository import EntailedCopies, QueryAnswer, Repository, query_store
from triplecast.repository.answer_text import WRITERS
from triplecast.repository.store import Store

DESCRIPTION = "description"
"""The form of a resource's description."""
_OPENED: dict[str, Repository] = {}
"""The one folder of this process."""
_COPIES = EntailedCopies()


class Question(NamedTuple):
    folder: str
    text: str
    """Of the query, or a resource to be described."""
    form: str
    """One of `WRITERS`, or `DESCRIPTION`."""
    steps: int
    rows: int
    """Most rows, or triples, of the answer."""
    seconds: float
    """CPU time for the answer, once the documents are read; so a busy machine changes no answer."""


def answer(message: bytes) -> bytes:
    """``+`` and the answer as text, or ``-`` and JSON: what was found, and the mend."""
    asked = Question(*json.loads(message))
    try:
        if asked.folder not in _OPENED:
            _OPENED[asked.folder] = Repository(JournalFile.read_only(asked.folder), Path(asked.folder))
        repository = _OPENED[asked.folder]
        store, now = repository.follow(), time_text(read_clock(system_clock))
        with _limited(asked.seconds):
            if asked.form == DESCRIPTION:
                return b"+" + describe_iri(store, asked.text)
            found = query_store(store, asked.text, "sparql", asked.steps, now, None, repository.taxonomy, _COPIES)
            return b"+" + write_answer(found, asked.form, asked.rows)
    except (QueryTooLarge, StorageFault) as error:
        kind = "too large" if isinstance(error, QueryTooLarge) else "fault"
        return b"-" + json.dumps([kind, error.found, error.hint]).encode()
    except InputError as error:
        return b"-" + json.dumps(["form", error.what, error.hint]).encode()


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises `QueryTooLarge` in the block after so many seconds of CPU time."""

    def over(*_: object) -> None:
        raise QueryTooLarge(0, f"it took {seconds} seconds of CPU time, as many as it may", "ask for less")

    signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def describe_iri(store: Store, iri: str) -> bytes:
    """What the store says of an IRI, with the blank nodes that this leads to, as N-Triples."""
    return b"".join(describe(store, f"<{iri}>").lines)


def write_answer(found: QueryAnswer, form: str, rows: int) -> bytes:
    """Raises `QueryTooLarge` for an answer of more than `rows`."""
    count = max(len(found.rows), len(found.graph))
    if count > rows:
        raise QueryTooLarge(rows, f"its answer has {count} rows, {rows} are allowed", "add LIMIT")
    return WRITERS[form](found).encode()
