"""An index that grows part by part and is asked after each: milliseconds, bytes and counted steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from experiments.engine import BATCH, Engine
from experiments.figures import ENGINE, ENGINE_BATCH, Point
from experiments.measuring import deep_size, time_each, time_once, without_collector
from experiments.rtf.corrections import CORRECTED, SPARED
from experiments.rtf.forest import TrieForest
from experiments.rtf.ibroker import InvertedIndex
from experiments.rtf.publications import Publication, read_publication
from experiments.rtf.queries import ContinuousQuery
from triplecast.model.subscription import Subscription

ENGINE_IDS = "Triplecast, ids alone"
"""Subscriptions without their bindings, which is what the paper's algorithms give, one publication a call."""
ENGINE_IDS_BATCH = "Triplecast, ids in batches"

Index = TrieForest | InvertedIndex


@dataclass(frozen=True, slots=True)
class Stream:
    """The publications."""

    contents: Sequence[bytes]
    """As N-Triples, for the engine; the first are its batch."""
    publications: Sequence[Publication]
    """The same, for the paper's algorithms."""
    alone: int
    """The first of them are filtered one by one, after each part, by all."""


@dataclass(frozen=True, slots=True)
class Stage:
    """An index when one more part of the subscriptions is in it."""

    subscriptions: int
    insertion: float
    """Milliseconds that this part took."""
    megabytes: float
    filtering: Mapping[str, Point]
    """By the name of the line."""


Answers = Sequence[Sequence[int]]
"""By publication: the subscriptions that match, ascending."""


def read_stream(contents: Sequence[bytes], alone: int) -> Stream:
    return Stream(contents, [read_publication(content) for content in contents], alone)


def grow_algorithm(
    name: str, index: Index, parts: Sequence[Sequence[ContinuousQuery]], stream: Stream, answers: Sequence[Answers]
) -> Iterator[Stage]:
    """Lines `name` and, in the spared form, ``name, hashed``. `answers` are the engine's after each part.

    Raises ValueError where an answer is not the engine's.
    """
    size = 0
    for queries, expected in zip(parts, answers, strict=True):
        size += len(queries)
        with without_collector():
            insertion = time_once(partial(_insert, index, queries))
            megabytes = measure_index(index)
            filtering = {}
            for line, form in ((f"{name}, hashed", SPARED), (name, CORRECTED)):
                index.form = form
                filtering[line] = time_filtering(line, index, stream.publications[: stream.alone], expected, size)
        yield Stage(size, insertion, megabytes, filtering)


def _insert(index: Index, queries: Sequence[ContinuousQuery]) -> None:
    for query in queries:
        index.insert(query)


def measure_index(index: Index) -> float:
    """Megabytes, without what the last publication left."""
    index.steps.clear()
    if isinstance(index, TrieForest):
        index.forget()
    return deep_size(index) / 1e6


def time_filtering(line: str, index: Index, publications: Sequence[Publication], expected: Answers, x: float) -> Point:
    """Raises ValueError where an answer is not the expected one."""

    def check(number: int, found: list[int]) -> None:
        if found != expected[number]:
            wrong = sorted(set(found) ^ set(expected[number]))[:5]
            raise ValueError(f"{line} and the engine differ on publication {number} in subscriptions {wrong}")

    filter_one: Callable[[Publication], list[int]] = index.filter
    return time_each(filter_one, publications, x, index.steps, check=check)


@dataclass(frozen=True, slots=True)
class EngineStage:
    stage: Stage
    answers: Answers
    """To the whole stream."""
    engine: Engine
    """Open until the next stage is asked for."""


def grow_engine(parts: Sequence[Sequence[str]], stream: Stream) -> Iterator[EngineStage]:
    """The engine over the same subscriptions as SPARQL: N-Triples bytes in; its index's bytes are those of its file."""
    before: Engine | None = None
    for part in parts:
        held = before.size if before else 0
        added = [Subscription(f"s{number}", text) for number, text in enumerate(part, held)]
        engines: list[Engine] = []
        with without_collector():
            insertion = time_once(lambda: engines.append(Engine(added, before=before)))  # noqa: B023 called here
        with engines[0] as before:
            answers = before.match_numbers(before.take(stream.contents))
            with without_collector():
                stage = _ask_engine(before, insertion, stream)
            yield EngineStage(stage, answers, before)


def _ask_engine(engine: Engine, insertion: float, stream: Stream) -> Stage:
    first, batch, size = stream.contents[: stream.alone], stream.contents[:BATCH], engine.size
    alone = engine.time_alone(first, size)
    filtering = {
        ENGINE: alone,
        ENGINE_BATCH: engine.time_batch(batch, alone),
        ENGINE_IDS: engine.time_numbers_alone(first, size),
        ENGINE_IDS_BATCH: engine.time_numbers(batch, size),
    }
    return Stage(size, insertion, engine.file_size() / 1e6, filtering)
