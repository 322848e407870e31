"""All documents of a store at once: the last of each graph, sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.kernels.layout import I32, I64
from triplecast.kernels.termbank import TermBank, compact_terms, number_lines, terms_of
from triplecast.kernels.triples import SortedTriples, sort_triples
from triplecast.model.events import Removal
from triplecast.model.publication import Publication
from triplecast.repository.document_lines import document_lines

REMOVED = -1
"""The length of a document that was removed."""
_FEW_TERMS = 1_000
"""Terms that are kept though nothing uses them."""


class DocumentIndex(NamedTuple):
    """The triples of each document, by rows of the sorted triples."""

    graphs: I32
    """[D] ids of their identities, ascending."""
    offsets: I64
    """[D + 1] where each one's rows start."""
    rows: I32


class DocumentRun(NamedTuple):
    """What documents came to, in order; of one graph the last counts."""

    graphs: I32
    lengths: I64
    """Triples of each; `REMOVED`: the graph has no document."""
    triples: I32
    """[n, 3] of all of them, in order."""


class Assembled(NamedTuple):
    """What a store is made of."""

    bank: TermBank
    stored: SortedTriples
    documents: DocumentIndex
    ids: I32 | None = None
    """By the ids of before, those that terms have now; None where they are the same."""


def number_documents(bank: TermBank, events: Sequence[Publication | Removal]) -> tuple[TermBank, DocumentRun]:
    """Number the triples of events in one pass: (the bank with their terms, the run)."""
    texts = [document_lines(event) if isinstance(event, Publication) else None for event in events]
    names = [b"<%b>" % event.graph.encode() for event in events]
    bank, triples, graphs = number_lines(bank, b"".join(text for text in texts if text), names)
    lengths = [REMOVED if text is None else text.count(b"\n") for text in texts]
    return bank, DocumentRun(graphs, np.array(lengths, np.int64), triples)


def assemble(bank: TermBank, runs: Sequence[DocumentRun], held: Sequence[I32] = ()) -> Assembled:
    """Sort the last document of each graph; terms that nothing uses, nor what is `held`, go where they are more than
    half."""
    graphs = np.concatenate([run.graphs for run in runs])
    lengths = np.concatenate([run.lengths for run in runs])
    triples = np.concatenate([run.triples for run in runs])
    graphs, lengths, triples = _last_of_each(graphs, lengths, triples)
    bank, ids = _without_unused(bank, triples, [graphs, *held])
    if ids is not None:
        graphs, triples = ids[graphs], ids[triples]
    stored, rows = sort_triples(triples, bank.size)
    offsets = np.zeros(len(graphs) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Assembled(bank, stored, DocumentIndex(graphs, offsets, rows), ids)


def _last_of_each(graphs: I32, lengths: I64, triples: I32) -> tuple[I32, I64, I32]:
    """The last document of each graph that has one, by graph."""
    starts = np.zeros(len(graphs) + 1, np.int64)
    np.cumsum(np.maximum(lengths, 0), out=starts[1:])
    _, from_end = np.unique(graphs[::-1], return_index=True)
    last = len(graphs) - 1 - from_end
    last = last[lengths[last] != REMOVED]
    kept = lengths[last]
    if not np.array_equal(last, np.arange(len(graphs))):
        ends = np.cumsum(kept)
        triples = triples[np.arange(int(kept.sum())) + np.repeat(starts[last] - (ends - kept), kept)]
    return np.ascontiguousarray(graphs[last]), kept, triples


def _without_unused(bank: TermBank, triples: I32, used: Sequence[I32]) -> tuple[TermBank, I32 | None]:
    kept = terms_of(triples, bank.size)
    for ids in used:
        kept[ids] = 1
    if bank.size < _FEW_TERMS + 2 * np.count_nonzero(kept):
        return bank, None
    return compact_terms(bank, kept)
