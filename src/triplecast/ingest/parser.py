"""Documents through killable children: the way in for everything untrusted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from triplecast.errors import InputError
from triplecast.ingest.attachments import share_attachments
from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.frames import pack_document, unpack_parsed
from triplecast.ingest.limits import CHILD, MEGABYTE
from triplecast.model.publication import Reject
from triplecast.sandbox import Limits, RequestFailure, Sandbox

_TURN_BYTES = 8 * MEGABYTE
_TURN_DOCUMENTS = 128
"""A child takes documents in turns of at most so many."""
_TURNS_A_CHILD = 4
"""Turns that a batch is cut into for each child at least, so that several share the work evenly."""

_LONGEST_SOURCE = 10_000
"""Characters; the longest name of a file has fewer."""

_MEND = {
    "timeout": "simplify or split it",
    "memory": "split it into smaller documents",
    "size": "split it into smaller documents",
    "crash": "simplify it, and report it to the authors of Triplecast",
    "error": "report it to the authors of Triplecast",
}


class Parser:
    """`n` children that gate and parse. Used by any thread; children start at the first document.

    `close` ends a `parse` that is under way in another thread: it raises InputError once its turn is over, and so does
    one that comes later. No child is left.
    """

    def __init__(self, n: int = 1, limits: Limits = CHILD, function: str = "triplecast.ingest.worker:answer") -> None:
        self._sandboxes = [Sandbox(function, limits) for _ in range(n)]
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="triplecast-parser") if n > 1 else None
        self._closed = threading.Event()

    def __enter__(self) -> Parser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._closed.set()
        if self._threads:
            self._threads.shutdown()
        for sandbox in self._sandboxes:
            sandbox.close()

    def parse(self, documents: Sequence[Document]) -> list[ParsedDocument]:
        """One result per document, in order. A document that its child does not survive is a reject, no more.

        Raises SandboxFailed when a child cannot be started.
        """
        results: list[ParsedDocument] = [ParsedDocument(())] * len(documents)
        turns = _Turns(documents, len(documents) // (_TURNS_A_CHILD * len(self._sandboxes)), self._closed)

        def work(sandbox: Sandbox) -> None:
            try:
                for start, end in turns:
                    refused = {place: _refused(documents[place]) for place in range(start, end)}
                    asked = [place for place in range(start, end) if refused[place] is None]
                    outcomes = sandbox.map([pack_document(documents[place]) for place in asked])
                    for place, reject in refused.items():
                        if reject is not None:
                            results[place] = ParsedDocument((), (reject,))
                    for place, outcome in zip(asked, outcomes, strict=True):
                        results[place] = _parsed(documents[place], outcome)
            finally:
                if self._closed.is_set():  # `close` may have passed before this turn started the child
                    sandbox.close()

        if self._threads is None or len(documents) <= 1:
            work(self._sandboxes[0])
        else:
            for done in [self._submit(work, sandbox) for sandbox in self._sandboxes]:
                done.result()
        if not turns.all_taken:
            raise _closed_parser()
        return results

    def _submit(self, work: Callable[[Sandbox], None], sandbox: Sandbox) -> Future[None]:
        assert self._threads is not None
        try:
            return self._threads.submit(work, sandbox)
        except RuntimeError:  # shut down
            raise _closed_parser() from None


class _Turns:
    """Hands out consecutive ranges of documents to whoever asks next, until `stop` is set."""

    def __init__(self, documents: Sequence[Document], longest: int, stop: threading.Event) -> None:
        self._documents = documents
        self._longest = max(1, min(longest, _TURN_DOCUMENTS))
        self._next = 0
        self._stop = stop
        self._lock = threading.Lock()

    @property
    def all_taken(self) -> bool:
        return self._next == len(self._documents)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while not self._stop.is_set():
            with self._lock:
                start = end = self._next
                room = _TURN_BYTES
                while end < len(self._documents) and end - start < self._longest and (room > 0 or end == start):
                    room -= len(self._documents[end].data)
                    end += 1
                self._next = end
            if start == end:
                return
            yield start, end


def _closed_parser() -> InputError:
    return InputError("the parser is closed, as the engine that holds it may be", "open another")


def _parsed(document: Document, outcome: bytes | RequestFailure) -> ParsedDocument:
    if isinstance(outcome, bytes):
        parsed = unpack_parsed(outcome)
        drafts = share_attachments(parsed.drafts, document.attachments)
        return ParsedDocument(drafts, tuple(_storable(reject) for reject in parsed.rejects))
    reason = f"its parser did not survive it ({outcome.kind}): {outcome.detail}"
    return ParsedDocument((), (_storable(Reject(document.source, "sandbox", reason, _MEND[outcome.kind])),))


def _refused(document: Document) -> Reject | None:
    """What cannot even be written to a child: half a character, other than for a byte of a file's name."""
    for field, value, errors in (
        ("name", document.source, "surrogateescape"),
        ("media type", document.media_type or "", "strict"),
        ("graph", document.graph or "", "strict"),
    ):
        try:
            value.encode("utf-8", errors)
        except UnicodeEncodeError:
            reason = f"its {field} holds half a character: {value[:80]!a}"
            return _storable(Reject(document.source, "gate", reason, "give text that can be written as UTF-8"))
    return None


def _storable(reject: Reject) -> Reject:
    """Its source is escaped where it is no Unicode, and cut where it is no name that anybody reads."""
    source = reject.source[:_LONGEST_SOURCE].encode("utf-8", "backslashreplace").decode()
    if len(reject.source) > _LONGEST_SOURCE:
        source += "…"
    return reject if source == reject.source else replace(reject, source=source)
