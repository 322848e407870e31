"""Parse groups of documents on two cores, while somebody works on those before."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.parser import Parser

AHEAD = 4
"""Most groups that are read and not given yet."""
UNIT = 50
"""Documents that one thread parses together: so few that a caller who waits for some finds others to parse."""
_THREADS = 2
"""That speak with the child: one packs and unpacks while the other's documents are parsed."""


class ParsedGroup(NamedTuple):
    """Documents that came together, and the result of each."""

    documents: list[Document]
    results: list[ParsedDocument]


@dataclass(slots=True)
class _Unit:
    """Documents of a group that are parsed, or will be."""

    documents: list[Document]
    results: Future[list[ParsedDocument]]


class _Coming(NamedTuple):
    """A group in its units."""

    documents: list[Document]
    units: list[_Unit]

    @property
    def is_parsed(self) -> bool:
        return all(unit.results.done() for unit in self.units)

    def give(self) -> ParsedGroup:
        """Wait for the results."""
        return ParsedGroup(self.documents, [each for unit in self.units for each in unit.results.result()])


def parse_ahead(parser: Parser, groups: Iterable[list[Document]]) -> Generator[ParsedGroup, None, None]:
    """Yield each group with its results, in order.

    While the caller works on a group, the parser's child parses later ones; while the next one is not ready, the
    caller's thread parses units itself. A single group is parsed there (`Parser.parse_soon`). What `groups` raises is
    raised behind the groups before. An interrupt leaves the child its turn.
    """
    reader = _GroupReader(groups)
    first, second = next(reader, None), next(reader, None)
    if first is not None and second is None and reader.fault is None:
        yield ParsedGroup(first, parser.parse_soon(first))
        return
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="triplecast-parser-ahead")

    def begin(group: list[Document]) -> _Coming:
        units = [group[start : start + UNIT] for start in range(0, len(group), UNIT)]
        return _Coming(group, [_Unit(unit, threads.submit(parser.parse, unit)) for unit in units])

    try:
        coming = deque(begin(group) for group in (first, second) if group)
        while coming:
            coming.extend(begin(group) for group in reader.some(AHEAD - len(coming)))
            _help(parser, coming)
            yield coming.popleft().give()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    if reader.fault is not None:
        raise reader.fault


def _help(parser: Parser, coming: deque[_Coming]) -> None:
    """Parse units here that nobody has begun, until the first group is ready or nothing is left to do."""
    for unit in (unit for group in coming for unit in group.units):
        if coming[0].is_parsed:
            return
        if unit.results.cancel():
            unit.results = Future()
            unit.results.set_result(parser.parse_soon(unit.documents))


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
