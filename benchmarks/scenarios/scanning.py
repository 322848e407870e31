"""N-Triples bytes to local term numbers, hashes and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.figures import Figure, at_least, make_rate, time_runs
from benchmarks.scenarios.indexes import BATCH
from benchmarks.workloads import WORKLOADS
from triplecast.kernels.scan import scan

_MOST_MICROSECONDS = {"real": 12.0, "gtopss": 30.0}


def measure_scan(publications: int) -> Iterator[Figure]:
    for name, most in _MOST_MICROSECONDS.items():
        texts = WORKLOADS[name](2_000, publications).publications
        timing = time_runs(partial(_scan_all, texts))
        scanned = scan(texts)
        work = {
            "triples": len(scanned.triples) / len(texts),
            "terms": len(scanned.term_hash) / len(texts),
            "bytes": len(scanned.text) / len(texts),
            "µs": timing.median / len(texts) * 1e6,
        }
        yield make_rate("scan", (name, 0), timing, len(texts), work=work, target=at_least(1e6 / most))


def _scan_all(texts: Sequence[bytes]) -> None:
    for start in range(0, len(texts), BATCH):
        scan(texts[start : start + BATCH])
