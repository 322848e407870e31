"""An index that grows step by step and is asked after each: milliseconds, bytes and counted work.

Milliseconds are those that the process had a core, so that others on the machine count little; nothing here waits.
The tries and lists are kept away from Python's collector while they are timed: it would walk millions of nodes and none
of them is garbage.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from experiments.engine import METERED, Engine
from experiments.figures import ENGINE, ENGINE_BATCH, Point
from experiments.measuring import deep_size
from experiments.metered import count_work
from experiments.rtf.corrections import CORRECTED, KIND, Form, Work
from experiments.rtf.forest import TrieForest
from experiments.rtf.ibroker import InvertedIndex
from experiments.rtf.publications import Publication, read_publication
from experiments.rtf.queries import ContinuousQuery
from triplecast.index import Snapshot
from triplecast.match import Matcher
from triplecast.match.pairs import Scratch, match_ids
from triplecast.match.readings import Readings
from triplecast.match.views import scan_views
from triplecast.model import publication as product
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import NO_TAXONOMY

ENGINE_IDS = "Triplecast, ids in batches"
"""Subscriptions without their bindings, which is what the paper's algorithms give; many publications a call."""
REPEATS = 3
"""Runs over a whole batch."""

Index = TrieForest | InvertedIndex


@dataclass(frozen=True, slots=True)
class Stream:
    """The publications."""

    contents: Sequence[bytes]
    """For the engine's batches; the first of them are filtered one by one."""
    publications: Sequence[Publication]
    """Those, for the paper's algorithms."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One line's filtering at one size."""

    milliseconds: tuple[float, ...]
    """By publication, in the order of the stream."""
    work: Mapping[str, float]
    """Per publication."""

    def point(self, x: float) -> Point:
        each = self.milliseconds
        return Point(x, sum(each) / len(each), min(each), max(each), self.work)


@dataclass(frozen=True, slots=True)
class Reading:
    """An index at one size."""

    subscriptions: int
    insertion: float
    """Milliseconds that the last step's subscriptions took."""
    megabytes: float
    filtering: Mapping[str, Timed]
    """By the name of the line."""


Answers = Sequence[Sequence[int]]
"""By publication: the subscriptions that match, ascending."""


def read_stream(contents: Sequence[bytes], batch: Sequence[bytes] | None = None) -> Stream:
    """`batch` begins with `contents`."""
    return Stream(batch or contents, [read_publication(content) for content in contents])


def grow_algorithm(
    name: str,
    index: Index,
    steps: Sequence[Sequence[ContinuousQuery]],
    stream: Stream,
    answers: Sequence[Answers],
    seconds: float,
) -> Iterator[Reading]:
    """Lines `name` and, in the kind form, ``name, hashed``. `answers` are the engine's after each step.

    No publication is begun after `seconds`. Raises ValueError where an answer is not the engine's.
    """
    size = 0
    for queries, expected in zip(steps, answers, strict=True):
        size += len(queries)
        with _without_collector():
            start = time.process_time()
            for query in queries:
                index.insert(query)
            insertion = (time.process_time() - start) * 1e3
            megabytes = deep_size(index) / 1e6
            filtering = {
                line: _filter(line, index, form, stream.publications, expected, seconds)
                for line, form in ((name, CORRECTED), (f"{name}, hashed", KIND))
            }
        yield Reading(size, insertion, megabytes, filtering)


@contextmanager
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _filter(
    line: str, index: Index, form: Form, publications: Sequence[Publication], expected: Answers, seconds: float
) -> Timed:
    index.form, index.work = form, Work()
    taken: list[float] = []
    for publication, answer in zip(publications, expected, strict=True):
        if sum(taken) > seconds * 1e3:
            break
        start = time.process_time()
        found = index.filter(publication)
        taken.append((time.process_time() - start) * 1e3)
        if found != answer:
            wrong = sorted(set(found) ^ set(answer))[:5]
            raise ValueError(f"{line} and the engine differ on publication {len(taken) - 1} in subscriptions {wrong}")
    return Timed(tuple(taken), index.work.kinds(len(taken)))


@dataclass(frozen=True, slots=True)
class EngineReading:
    reading: Reading
    answers: Answers


def grow_engine(steps: Sequence[Sequence[str]], stream: Stream) -> Iterator[EngineReading]:
    """The engine over the same subscriptions as SPARQL: N-Triples bytes in; its index's bytes are those of its file."""
    engine: Engine | None = None
    for step in steps:
        added = [Subscription(f"s{number}", text) for number, text in enumerate(step, engine.size if engine else 0)]
        start = time.process_time()
        engine = Engine(added, before=engine)
        insertion = (time.process_time() - start) * 1e3
        yield _ask_engine(engine, insertion, engine.take(stream.contents), len(stream.publications))
        engine.close()


def _ask_engine(
    engine: Engine, insertion: float, publications: Sequence[product.Publication], single: int
) -> EngineReading:
    """Asks of all publications in batches, and of the first `single` one by one."""
    snapshot = engine.snapshot
    work = count_work(snapshot.segments, publications[: min(METERED, single)])
    with Matcher() as matcher:
        matched = matcher.match(snapshot, publications)
        alone = [_milliseconds(partial(matcher.match, snapshot, [one])) for one in publications[:single]]
        together = [_milliseconds(partial(matcher.match, snapshot, publications)) for _ in range(REPEATS)]
    if matched.undecided:
        raise ValueError(f"the engine left a pair undecided: {matched.undecided[0]}")
    ends = np.searchsorted(matched.publication, range(single + 1))
    answers = [(matched.registration[start:end] - 1).tolist() for start, end in pairwise(ends)]
    scratches = [Scratch(segment) for segment in snapshot.segments]
    ids = [_milliseconds(partial(_match_ids, snapshot, publications, scratches)) for _ in range(1 + REPEATS)][1:]
    filtering = {
        ENGINE: Timed(tuple(alone), work),
        ENGINE_BATCH: Timed(tuple(each / len(publications) for each in together), work),
        ENGINE_IDS: Timed(tuple(each / len(publications) for each in ids), {}),
    }
    return EngineReading(Reading(engine.size, insertion, engine.file_size() / 1e6, filtering), answers)


def _milliseconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3


def _match_ids(snapshot: Snapshot, publications: Sequence[product.Publication], scratches: Sequence[Scratch]) -> None:
    batch = Readings().of(snapshot.segments, NO_TAXONOMY, scan_views(publications))
    for read, scratch in zip(batch.read(snapshot.segments), scratches, strict=True):
        match_ids(read.segment, read.views, read.encoded, scratch)
