"""Parse documents in killable child processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from triplecast.errors import InputError
from triplecast.ingest.attachments import share_attachments
from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.gate import CHILD, MEGABYTE
from triplecast.ingest.messages import pack_document, unpack_parsed
from triplecast.model.publication import Reject
from triplecast.sandbox import Limits, RequestFailure, Sandbox

_TURN_BYTES = 8 * MEGABYTE
_TURN_DOCUMENTS = 128
"""Most documents that a child parses in one turn."""
_TURNS_A_CHILD = 4
"""Fewest turns of a batch for each child, so that children share the work evenly."""

_LONGEST_SOURCE = 10_000
"""Characters of a source that are kept; file names have fewer."""

_HINTS = {
    "timeout": "simplify or split it",
    "memory": "split it into smaller documents",
    "size": "split it into smaller documents",
    "crash": "simplify it, and report it to the authors of Triplecast",
    "error": "report it to the authors of Triplecast",
}


class Parser:
    """`n` children that check and parse documents, for any thread; they start at the first document.

    `close` leaves no child; a `parse` in another thread raises InputError after its current turn, and so does a later
    one.
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
        """Return one result per document, in order. A document that its child does not survive is a reject.

        Raises SandboxFailed if a child does not start.
        """
        results: list[ParsedDocument] = [ParsedDocument(())] * len(documents)
        turns = _Turns(documents, len(documents) // (_TURNS_A_CHILD * len(self._sandboxes)), self._closed)

        def work(sandbox: Sandbox) -> None:
            try:
                for start, end in turns:
                    refused = {place: _refused(documents[place]) for place in range(start, end)}
                    sent = [place for place in range(start, end) if refused[place] is None]
                    outcomes = sandbox.map([pack_document(documents[place]) for place in sent])
                    for place, reject in refused.items():
                        if reject is not None:
                            results[place] = ParsedDocument((), (reject,))
                    for place, outcome in zip(sent, outcomes, strict=True):
                        results[place] = _parsed(documents[place], outcome)
            finally:
                if self._closed.is_set():  # `close` may have run before this turn started the child
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
    """Gives consecutive ranges of documents to the threads that ask, until `stop` is set."""

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
    return InputError("the parser is closed, perhaps with its engine", "open another")


def _parsed(document: Document, outcome: bytes | RequestFailure) -> ParsedDocument:
    if isinstance(outcome, bytes):
        parsed = unpack_parsed(outcome)
        drafts = share_attachments(parsed.drafts, document.attachments)
        return ParsedDocument(drafts, tuple(_storable(reject) for reject in parsed.rejects))
    reason = f"parsing it ended its child process ({outcome.kind}): {outcome.detail}"
    return ParsedDocument((), (_storable(Reject(document.source, "sandbox", reason, _HINTS[outcome.kind])),))


def _refused(document: Document) -> Reject | None:
    """Reject what cannot be written to a child: half a character that is no byte of a file name."""
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
    """Escape a source that is no Unicode, and cut one that is too long."""
    source = reject.source[:_LONGEST_SOURCE].encode("utf-8", "backslashreplace").decode()
    if len(reject.source) > _LONGEST_SOURCE:
        source += "…"
    return reject if source == reject.source else replace(reject, source=source)
