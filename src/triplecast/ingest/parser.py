"""Parse documents in killable child processes, and harmless ones that are waited for without."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from triplecast.errors import InputError
from triplecast.ingest.attachments import share_attachments
from triplecast.ingest.document import Document, ParsedDocument, cut_groups
from triplecast.ingest.gate import CHILD, MEGABYTE
from triplecast.ingest.harmless import may_be_harmless, parse_harmless
from triplecast.ingest.messages import pack_document, pack_packet, unpack_parsed
from triplecast.model.printable import printable_name, shortened
from triplecast.model.publication import Reject
from triplecast.sandbox import Limits, RequestFailure, Sandbox, is_child
from triplecast.sandbox.messages import unpack_parts

_TURN_BYTES = 8 * MEGABYTE
_TURN_DOCUMENTS = 128
"""Most documents that a child parses in one turn."""
_PACKET_DOCUMENTS, _PACKET_BYTES = 16, 1 << 17
"""Most documents and bytes of a request."""
_HERE = 500
"""Most documents that are parsed on the thread of their caller."""
_TURNS_A_CHILD = 4
"""Fewest turns of a batch for each child, so that children share the work evenly."""

_LONGEST_SOURCE = 10_000
"""Characters of a source that are kept; file names have fewer."""

_HINTS = {
    "timeout": "split it, or publish it again (`run` tries a file again by itself, a line that is added again)",
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
        self._most_here = 0 if is_child() else _HERE  # a worker that imports a script gets the sandbox's hint

    def __enter__(self) -> Parser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed.set()
        if self._threads:
            self._threads.shutdown()
        for sandbox in self._sandboxes:
            sandbox.close()

    def parse_soon(self, documents: Sequence[Document]) -> list[ParsedDocument]:
        """As `parse`, with the same results, for a caller who waits: harmless documents are parsed on its thread."""
        here = self.parse_here(documents)
        sent = [document for document, parsed in zip(documents, here, strict=True) if parsed is None]
        answers = iter(self.parse(sent) if sent else ())
        return [next(answers) if parsed is None else parsed for parsed in here]

    def parse_here(self, documents: Sequence[Document]) -> list[ParsedDocument | None]:
        """As `parse`, on the caller's thread; None for each document that belongs in a child."""
        if len(documents) > self._most_here or self._closed.is_set():
            return [None] * len(documents)
        return [None if _refused(document) else _parsed_here(document) for document in documents]

    def parse(self, documents: Sequence[Document]) -> list[ParsedDocument]:
        """Return one result per document, in order. A document that its child does not survive is a reject.

        Raises SandboxFailed if a child does not start.
        """
        longest = max(1, min(len(documents) // (_TURNS_A_CHILD * len(self._sandboxes)), _TURN_DOCUMENTS))
        groups = list(cut_groups(documents, longest, _TURN_BYTES))
        results: list[list[ParsedDocument]] = [[] for _ in groups]
        turns = deque(enumerate(groups))

        def work(sandbox: Sandbox) -> None:
            try:
                while turns and not self._closed.is_set():
                    try:
                        number, group = turns.popleft()
                    except IndexError:  # another thread took the last
                        break
                    results[number] = _parse_turn(sandbox, group)
            finally:
                if self._closed.is_set():  # `close` may have run before this turn started the child
                    sandbox.close()

        if self._threads is None or len(documents) <= 1:
            work(self._sandboxes[0])
        else:
            try:
                running = [self._threads.submit(work, sandbox) for sandbox in self._sandboxes]
            except RuntimeError:  # shut down
                raise _closed_parser() from None
            for each in running:
                each.result()
        if turns:
            raise _closed_parser()
        return [result for turn in results for result in turn]


def _parsed_here(document: Document) -> ParsedDocument | None:
    parsed = parse_harmless(document)
    return None if parsed is None else _finished(document, parsed)


def _parse_turn(sandbox: Sandbox, documents: Sequence[Document]) -> list[ParsedDocument]:
    rejects = [_refused(document) for document in documents]
    sent = [document for document, reject in zip(documents, rejects, strict=True) if reject is None]
    outcomes = iter(_parse_sent(sandbox, sent))
    return [
        _parsed(document, next(outcomes)) if reject is None else ParsedDocument((), (reject,))
        for document, reject in zip(documents, rejects, strict=True)
    ]


def _parse_sent(sandbox: Sandbox, documents: Sequence[Document]) -> list[bytes | RequestFailure]:
    """Return an outcome per document: harmless ones share requests, which cost more than a small document does."""
    packets = list(cut_groups([each for each in documents if may_be_harmless(each)], _PACKET_DOCUMENTS, _PACKET_BYTES))
    known: dict[int, bytes] = {}
    answers = sandbox.map([pack_packet(packet) for packet in packets], once=range(len(packets)))
    for packet, answer in zip(packets, answers, strict=True):
        if isinstance(answer, bytes):
            known |= {id(each): part for each, part in zip(packet, unpack_parts(answer), strict=True) if part}
    alone = [each for each in documents if id(each) not in known]
    outcomes = iter(sandbox.map([pack_document(each) for each in alone]))
    return [known.get(id(each)) or next(outcomes) for each in documents]


def _closed_parser() -> InputError:
    return InputError("the parser is closed, perhaps with its engine", "open another")


def _parsed(document: Document, outcome: bytes | RequestFailure) -> ParsedDocument:
    if isinstance(outcome, bytes):
        return _finished(document, unpack_parsed(outcome))
    reason = f"parsing it ended its child process ({outcome.kind}): {outcome.detail}"
    reject = Reject(document.source, "sandbox", reason, _HINTS[outcome.kind])
    return ParsedDocument((), (_storable(_named(reject, document)),), outcome.kind == "timeout")


def _finished(document: Document, parsed: ParsedDocument) -> ParsedDocument:
    """Return what a document was parsed to, with its attachments and the names that its publisher knows."""
    if not document.attachments and not parsed.rejects:
        return parsed
    drafts = share_attachments(parsed.drafts, document.attachments)
    rejects = tuple(_storable(_named(reject, document)) for reject in parsed.rejects)
    return parsed._replace(drafts=drafts, rejects=rejects)


def _named(reject: Reject, document: Document) -> Reject:
    """Name the document where its source, a line of a file, does not."""
    if document.graph in (None, document.source):
        return reject
    return replace(
        reject, reason=f"{document.graph and printable_name(shortened(document.graph, 200))}: {reject.reason}"
    )


def _refused(document: Document) -> Reject | None:
    """Reject what cannot be written to a child: half a character that is no byte of a file name."""
    for field, value, errors in (
        ("name", document.source, "surrogateescape"),
        ("media type", document.media_type or "", "strict"),
        ("graph", document.graph or "", "strict"),
        ("split", document.split or "", "strict"),
    ):
        if value.isascii():
            continue
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
