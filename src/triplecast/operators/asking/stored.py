"""Open rows that were stored, resolved with the answers of their operators: nothing is matched twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from triplecast.evaluate.unknown import Answers
from triplecast.index import Snapshot
from triplecast.match import Matcher
from triplecast.match.matcher import merge_batches, only_pairs
from triplecast.model.open_rows import OpenRows
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import read_open_rows
from triplecast.operators.asking.asker import Asker
from triplecast.operators.asking.rounds import Settled, settle
from triplecast.taxonomy import Taxonomies


def settle_stored(
    asker: Asker,
    matcher: Matcher,
    snapshot: Snapshot,
    stored: Iterable[bytes],
    pairs: Collection[tuple[int, int]],
    publications: Sequence[Publication],
    taxonomies: Taxonomies,
    known: Mapping[int, Answers],
) -> Iterator[tuple[Sequence[Publication], Settled]]:
    """Call the operators of open `pairs` (position, registration), of which some are `stored`; yield what becomes of
    them by groups of publications, in order. Where some are not stored, are damaged or of another format, all are
    matched again."""
    wanted = set(pairs)
    read = [rows for rows in (read_open_rows(body, matcher.operators.grammar) for body in stored) if rows is not None]
    found = [rows for rows in (_among(rows, wanted) for rows in read) if rows.pairs]
    if wanted == {pair for rows in found for pair in _pairs(rows)}:
        for rows in found:
            of = _published(publications, rows.position.tolist())
            yield of, settle(asker, matcher, rows, of, taxonomies, known)
        return
    matched = matcher.match(snapshot, publications, taxonomies)
    settled = settle(asker, matcher, _among(matched.open, wanted), publications, taxonomies, known)
    places: dict[int, int] = {each.position: place for place, each in enumerate(publications)}
    decided = only_pairs(matched, {(places[position], registration) for position, registration in wanted})
    yield publications, settled._replace(matched=merge_batches(decided, settled.matched))


def _published(publications: Sequence[Publication], positions: Iterable[int]) -> list[Publication]:
    wanted = set(positions)
    return [each for each in publications if each.position in wanted]


def _pairs(rows: OpenRows) -> list[tuple[int, int]]:
    return list(zip(rows.position.tolist(), rows.registration.tolist(), strict=True))


def _among(rows: OpenRows, pairs: Collection[tuple[int, int]]) -> OpenRows:
    return rows.only(np.flatnonzero([pair in pairs for pair in _pairs(rows)]))
