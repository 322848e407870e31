"""Parse groups of documents on two cores, while somebody works on those before."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.parser import Parser

AHEAD = 4
"""Most groups that are read and not given yet."""


class ParsedGroup(NamedTuple):
    """Documents that came together, and the result of each."""

    documents: list[Document]
    results: list[ParsedDocument]


class _Coming(NamedTuple):
    """A group that is parsed, or will be."""

    documents: list[Document]
    results: Future[list[ParsedDocument]]


def parse_ahead(parser: Parser, groups: Iterable[list[Document]]) -> Generator[ParsedGroup, None, None]:
    """Yield each group with its results, in order.

    While the caller works on a group, the parser's child parses later ones; where the next one is not ready, the
    caller's thread parses one itself. A single group is parsed there (`Parser.parse_soon`). What `groups` raises is
    raised behind the groups before. An interrupt leaves the child its turn.
    """
    reader = _GroupReader(groups)
    first, second = next(reader, None), next(reader, None)
    if first is not None and second is None and reader.fault is None:
        yield ParsedGroup(first, parser.parse_soon(first))
        return
    thread = ThreadPoolExecutor(1, thread_name_prefix="triplecast-parser-ahead")
    try:
        coming = deque(_Coming(group, thread.submit(parser.parse, group)) for group in (first, second) if group)
        while coming:
            coming.extend(
                _Coming(group, thread.submit(parser.parse, group)) for group in reader.some(AHEAD - len(coming))
            )
            _help(parser, coming)
            group, results = coming.popleft()
            yield ParsedGroup(group, results.result())
    finally:
        thread.shutdown(wait=False, cancel_futures=True)
    if reader.fault is not None:
        raise reader.fault


def _help(parser: Parser, coming: deque[_Coming]) -> None:
    """Parse groups here that nobody has begun, until the first one is ready or nothing is left to do."""
    for place, (group, results) in enumerate(coming):
        if coming[0].results.done():
            return
        if results.cancel():
            parsed: Future[list[ParsedDocument]] = Future()
            parsed.set_result(parser.parse_soon(group))
            coming[place] = _Coming(group, parsed)


class _GroupReader(Iterator[list[Document]]):
    """Groups as they are read; what reading them raises is kept for later."""

    def __init__(self, groups: Iterable[list[Document]]) -> None:
        self._groups = iter(groups)
        self.fault: BaseException | None = None

    def __next__(self) -> list[Document]:
        if self.fault is not None:
            raise StopIteration
        try:
            return next(self._groups)
        except StopIteration:
            raise
        except BaseException as error:
            self.fault = error
            raise StopIteration from None

    def some(self, most: int) -> Iterator[list[Document]]:
        """The next groups, `most` of them or fewer."""
        for _ in range(most):
            group = next(self, None)
            if group is None:
                return
            yield group
