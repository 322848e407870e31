"""The RTF paper's experiment: abstracts against subscriptions, from N-Triples bytes to ids, and the index's size."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most, make_rate, time_runs
from benchmarks.scenarios.indexes import Indexed, in_batches, to_publications, to_registrations
from benchmarks.steps import encode, match_ids
from benchmarks.workloads.abstracts import FOLDER, make_abstracts
from triplecast.index import build_segment
from triplecast.match.segment import Scratch
from triplecast.match.views import scan_views

SUBSCRIPTIONS = 100_000
SHARES = (0.0, 0.5, 1.0)
"""FT_pr of the paper."""
_TARGETS = {(SUBSCRIPTIONS, 0.5, False): (10_000, 20.0)}
"""(subscriptions, share, words as tokens) → publications/s, and MB of index."""


def measure_fulltext(root: Path, subscriptions: int, publications: int) -> Iterator[Figure]:
    folder = root / FOLDER
    if not folder.is_dir():
        print("fulltext is left out: the abstracts of ../shared/data are not on this machine", file=sys.stderr)
        return
    for from_tokens in (False, True):
        for share in SHARES[1:] if from_tokens else SHARES:
            yield from _measure(folder, subscriptions, publications, share, from_tokens)


def _measure(folder: Path, subscriptions: int, publications: int, share: float, from_tokens: bool) -> Iterator[Figure]:
    workload = make_abstracts(folder, subscriptions, publications, share, from_tokens)
    rate, megabytes = _TARGETS.get((subscriptions, share, from_tokens), (None, None))
    size = (workload.name, subscriptions)
    start = time.perf_counter()
    segment = build_segment(to_registrations(workload.subscriptions))
    seconds = time.perf_counter() - start
    indexed = Indexed(workload, to_publications(workload), segment, Scratch(segment))
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as place:
        path = Path(place) / "segment"
        segment.write(path)
        file_size = path.stat().st_size / 1e6
    yield Figure("index of texts", *size, file_size, "MB", target=at_most(megabytes))
    yield Figure("build", *size, subscriptions / seconds, "subscriptions/s")
    matches = sum(match_batches(indexed))
    timing = time_runs(lambda: match_batches(indexed))
    work = {"matches": matches / len(indexed.publications)}
    count = len(indexed.publications)
    yield make_rate("N-Triples bytes in, ids out", size, timing, count, work=work, target=at_least(rate))


def match_batches(indexed: Indexed) -> list[int]:
    """Matches of each batch."""
    found = []
    for batch in in_batches(indexed.publications):
        views = scan_views(batch)
        publication, _ = match_ids(indexed.segment, views, encode(indexed.segment, views), indexed.scratch)
        found.append(len(publication))
    return found
