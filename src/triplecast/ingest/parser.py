"""Documents through killable children: the way in for everything untrusted."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from triplecast.ingest.document import Document, Parsed
from triplecast.ingest.frames import pack_document, unpack_parsed
from triplecast.ingest.limits import CHILD, MEGABYTE
from triplecast.model.publication import Reject
from triplecast.sandbox import Failure, Limits, Sandbox

_TURN_BYTES = 8 * MEGABYTE
_TURN_DOCUMENTS = 128
"""A child takes documents in turns of at most so many."""
_TURNS_A_CHILD = 4
"""Turns that a batch is cut into for each child at least, so that several share the work evenly."""

_MEND = {
    "timeout": "simplify or split it",
    "memory": "split it into smaller documents",
    "size": "split it into smaller documents",
    "crash": "simplify it, and report it to the authors of Triplecast",
    "error": "report it to the authors of Triplecast",
}


class Parser:
    """`n` children that gate and parse. Used by any thread; children start at the first document."""

    def __init__(self, n: int = 1, limits: Limits = CHILD, function: str = "triplecast.ingest.worker:answer") -> None:
        self._sandboxes = [Sandbox(function, limits) for _ in range(n)]
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="triplecast-parser") if n > 1 else None

    def __enter__(self) -> Parser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for sandbox in self._sandboxes:
            sandbox.close()
        if self._threads:
            self._threads.shutdown()

    def parse(self, documents: Sequence[Document]) -> list[Parsed]:
        """One result per document, in order. A document that its child does not survive is a reject, no more."""
        results: list[Parsed] = [Parsed(())] * len(documents)
        turns = _Turns(documents, len(documents) // (_TURNS_A_CHILD * len(self._sandboxes)))

        def work(sandbox: Sandbox) -> None:
            for start, end in turns:
                taken = documents[start:end]
                outcomes = sandbox.map([pack_document(document) for document in taken])
                results[start:end] = [
                    _parsed(document, outcome) for document, outcome in zip(taken, outcomes, strict=True)
                ]

        if self._threads is None or len(documents) <= 1:
            work(self._sandboxes[0])
        else:
            for done in [self._threads.submit(work, sandbox) for sandbox in self._sandboxes]:
                done.result()
        return results


class _Turns:
    """Hands out consecutive ranges of documents to whoever asks next."""

    def __init__(self, documents: Sequence[Document], longest: int) -> None:
        self._documents = documents
        self._longest = max(1, min(longest, _TURN_DOCUMENTS))
        self._next = 0
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while True:
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


def _parsed(document: Document, outcome: bytes | Failure) -> Parsed:
    if isinstance(outcome, bytes):
        return unpack_parsed(outcome)
    reason = f"its parser did not survive it ({outcome.kind}): {outcome.detail}"
    return Parsed((), (Reject(document.source, "sandbox", reason, _MEND[outcome.kind]),))
