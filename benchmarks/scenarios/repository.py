"""The store of a folder's current documents: built from the journal, opened from its file, changed and queried."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, Timing, at_least, at_most, make_rate, time_runs
from benchmarks.workloads.records import TRIPLES, make_records
from benchmarks.workloads.texts import NAMESPACE
from triplecast.journal import Journal
from triplecast.repository import QUERY_STEPS, Repository, Store, query_store
from triplecast.repository.cache import CACHE

AT_ONCE = 5_000
"""Records of one commit."""
LEAST_BUILT = 300_000.0
"""Triples a second."""
MOST_BYTES = 60.0
"""Bytes a triple, the dictionary apart."""
MOST_OPENING = 100.0
"""Milliseconds, of `LARGE_STORE` triples."""
LARGE_STORE = 10_000_000
CHANGED = 2_000
"""Records whose new versions are taken one by one."""
_IT, _TITLE, _NEXT = f"<{NAMESPACE}record/7#it>", f"<{NAMESPACE}title>", f"<{NAMESPACE}next>"
QUERIES = {
    "of a record by its links": f"SELECT * {{ {_IT} {_NEXT} ?next . ?next {_TITLE} ?title }}",
    "of a record by its title": f'SELECT * {{ ?it {_TITLE} "Record 7 of a catalogue" ; {_NEXT} ?next }}',
}
Size = tuple[str, int]


def measure_repository(triples: int) -> Iterator[Figure]:
    size = (f"records, {triples:,} triples", 0)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as place, Journal.open(Path(place)) as journal:
        _fill(journal, triples // TRIPLES)
        repository = Repository(journal, Path(place))
        yield _measure_building(repository, triples, size)
        store = repository.follow()
        yield _measure_bytes(store, size)
        repository.save()
        yield _measure_opening(journal, Path(place), triples, size)
        yield _measure_changes(journal, repository, size)
        for name, text in QUERIES.items():
            timing = time_runs(partial(query_store, store, text, "sparql", QUERY_STEPS, ""))
            spread = (1e6 * each for each in (timing.median, timing.shortest, timing.longest))
            value, low, high = spread
            yield Figure(f"query {name}", *size, value, "µs", low, high, {"core µs": 1e6 * timing.processor})


def _fill(journal: Journal, records: int) -> None:
    for first in range(0, records, AT_ONCE):
        journal.accept([*make_records(first, min(AT_ONCE, records - first))])


def _measure_building(repository: Repository, triples: int, size: Size) -> Figure:
    """Once: it reads all documents."""
    timing = _time_once(repository.follow)
    return make_rate("store built from the journal", size, timing, triples, "triples/s", target=at_least(LEAST_BUILT))


def _measure_bytes(store: Store, size: Size) -> Figure:
    bank, stored, documents, _ = store.merge()
    terms = bank.offsets[bank.size] + 8 * bank.size + bank.table.nbytes
    work = {
        "triples, counts and orders": sum(each.nbytes for each in stored) / store.size,
        "documents": sum(each.nbytes for each in documents) / store.size,
        "dictionary": float(terms) / store.size,
    }
    value = work["triples, counts and orders"] + work["documents"]
    return Figure("store", *size, value, "bytes/triple", work=work, target=at_most(MOST_BYTES))


def _measure_opening(journal: Journal, folder: Path, triples: int, size: Size) -> Figure:
    timing = time_runs(lambda: Repository(journal, folder))
    work = {"core ms": 1000 * timing.processor, "MB": (folder / CACHE).stat().st_size / 1e6}
    target = at_most(MOST_OPENING) if triples == LARGE_STORE else None
    value, low, high = (1000 * each for each in (timing.median, timing.shortest, timing.longest))
    return Figure("store opened from its file", *size, value, "ms", low, high, work, target)


def _measure_changes(journal: Journal, repository: Repository, size: Size) -> Figure:
    """New versions of records, by another seed: the title, the text and a few more triples stay. The
    first one gives the dictionary room."""
    journal.accept([*make_records(0, 1, seed=13)])
    first = _time_once(repository.follow)
    journal.accept([*make_records(0, CHANGED, seed=12)])
    timing = _time_once(repository.follow)
    work = {"ms of the first": 1000 * first.median}
    return make_rate("new versions one by one", size, timing, CHANGED, "documents/s", work)


def _time_once(run: Callable[[], object]) -> Timing:
    start, core = time.perf_counter(), time.process_time()
    run()
    seconds, processor = time.perf_counter() - start, time.process_time() - core
    return Timing(seconds, seconds, seconds, processor)
