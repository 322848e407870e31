"""Figures 5 to 7 of the RTF paper with the engine's lines, from one workload."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.workloads.abstracts import draw_interests, write_interest
from experiments.figures import ENGINE, ENGINE_BATCH, Figure, Line, Point
from experiments.rtf.filtering import ENGINE_IDS, Reading, Stream, grow_algorithm, grow_engine, read_stream
from experiments.rtf.forest import TrieForest, Variant
from experiments.rtf.ibroker import InvertedIndex
from experiments.rtf.workload import NamedCorpus, find_corpus, to_query
from experiments.run import ROOT

SHARES = (0.0, 0.5, 1.0)
"""FT_pr."""
RTFM, RTFS, IBROKER = Variant.MANY.value, Variant.SINGLE.value, "iBroker"
_FILTERING = "ms a publication"
_DATABASE = "subscriptions"
_CHUNKS = 5
"""Points of figure 5b."""


@dataclass(frozen=True, slots=True)
class Sizes:
    steps: int
    step: int
    """Queries inserted before each point (I_p)."""
    publications: int
    """Filtered one by one."""
    batch: int
    """Given to the engine at once; begins with those."""
    seconds: float
    """Of filtering a line and point, beyond which no publication is begun."""


FULL = Sizes(5, 20_000, 100, 500, 12.0)
QUICK = Sizes(5, 1_000, 20, 100, 1.0)

Readings = Mapping[str, Sequence[Reading]]
"""By algorithm, by size."""


def measure(quick: bool) -> Iterator[Figure]:
    sizes = QUICK if quick else FULL
    found = find_corpus(ROOT)
    publications = found.corpus.publications
    stream = read_stream(publications[: sizes.publications], publications[: sizes.batch])
    by_share = {0.5: _grow(found, stream, sizes, 0.5, with_ibroker=True)}
    half = by_share[0.5]
    note = f"FT_pr 50 %; {sizes.publications} of {found.name} (batches: {sizes.batch}), iBroker as many as fit into "
    note += f"{sizes.seconds:g} s"
    yield _filtering_figure(half, note)
    yield _throughput_figure(half, stream, f"{note}; {sizes.steps * sizes.step:,} subscriptions")
    yield _memory_figure(half, note)
    yield _insertion_figure(half, note)
    for share in (0.0, 1.0):
        by_share[share] = _grow(found, stream, sizes, share, with_ibroker=False)
    note = f"{sizes.publications} of {found.name}"
    yield _share_filtering_figure(by_share, note)
    yield _share_insertion_figure(by_share, note)
    yield _share_memory_figure(by_share, f"{sizes.steps * sizes.step:,} subscriptions")


def _grow(found: NamedCorpus, stream: Stream, sizes: Sizes, share: float, with_ibroker: bool) -> Readings:
    """All algorithms over the same queries. Words are drawn from the multi-set of all words (line 165)."""
    interests = draw_interests(found.corpus, sizes.steps * sizes.step, share, from_tokens=True)
    cuts = [slice(at, at + sizes.step) for at in range(0, len(interests), sizes.step)]
    engine = list(grow_engine([list(map(write_interest, interests[cut])) for cut in cuts], stream))
    answers = [each.answers for each in engine]
    steps = [[to_query(number, interests[number]) for number in range(cut.start, cut.stop)] for cut in cuts]
    readings: dict[str, Sequence[Reading]] = {}
    for name in (RTFM, RTFS, *([IBROKER] if with_ibroker else [])):
        index = InvertedIndex() if name == IBROKER else TrieForest(Variant(name))
        readings[name] = list(grow_algorithm(name, index, steps, stream, answers, sizes.seconds))
        print(f"          rtf: {name}, FT_pr {share:.0%}", file=sys.stderr, flush=True)
    readings[ENGINE] = [each.reading for each in engine]
    return readings


def _filtering_lines(readings: Sequence[Reading]) -> Iterator[Line]:
    for name in readings[0].filtering:
        yield Line(name, tuple(each.filtering[name].point(each.subscriptions) for each in readings))


def _filtering_figure(half: Readings, note: str) -> Figure:
    lines = [line for readings in half.values() for line in _filtering_lines(readings)]
    return Figure("5a", "filtering time", _DATABASE, _FILTERING, tuple(lines), True, note)


def _throughput_figure(half: Readings, stream: Stream, note: str) -> Figure:
    """KB/s over the stream, in chunks; a line ends where its publications do."""
    kilobytes = [publication.size / 1e3 for publication in stream.publications]
    lines = []
    for readings in half.values():
        for name, timed in readings[-1].filtering.items():
            if name in (ENGINE_BATCH, ENGINE_IDS):
                continue
            each = timed.milliseconds
            chunk = max(1, len(each) // _CHUNKS)
            ends = range(chunk, len(each) + 1, chunk)
            points = [
                Point(end, sum(kilobytes[end - chunk : end]) / sum(each[end - chunk : end]) * 1e3) for end in ends
            ]
            lines.append(Line(name, tuple(points)))
    return Figure("5b", "filtering throughput", "publications so far", "KB/s", tuple(lines), True, note)


def _memory_figure(half: Readings, note: str) -> Figure:
    lines = [
        Line(name, tuple(Point(each.subscriptions, each.megabytes) for each in readings))
        for name, readings in half.items()
    ]
    return Figure("6a", "memory", _DATABASE, "MB", tuple(lines), sizes=note)


def _insertion_figure(half: Readings, note: str) -> Figure:
    return Figure("6b", "insertion time", _DATABASE, "ms a step", tuple(_insertion_lines(half)), True, note)


def _insertion_lines(readings: Readings, suffix: str = "") -> Iterator[Line]:
    for name, each in readings.items():
        yield Line(f"{name}{suffix}", tuple(Point(one.subscriptions, one.insertion) for one in each))


def _share_filtering_figure(by_share: Mapping[float, Readings], note: str) -> Figure:
    lines = []
    for share in SHARES:
        for name in (RTFM, RTFS, ENGINE):
            readings = by_share[share][name]
            points = tuple(each.filtering[name].point(each.subscriptions) for each in readings)
            lines.append(Line(f"{name}, {share:.0%}", points))
    return Figure("7a", "filtering time by FT_pr", _DATABASE, _FILTERING, tuple(lines), True, note)


def _share_insertion_figure(by_share: Mapping[float, Readings], note: str) -> Figure:
    lines = [
        line
        for share in SHARES
        for line in _insertion_lines({name: by_share[share][name] for name in (RTFM, RTFS, ENGINE)}, f", {share:.0%}")
    ]
    return Figure("7b", "insertion time by FT_pr", _DATABASE, "ms a step", tuple(lines), True, note)


def _share_memory_figure(by_share: Mapping[float, Readings], note: str) -> Figure:
    """Section 4.2 gives memory by FT_pr in words only (line 208)."""
    lines = [
        Line(name, tuple(Point(100 * share, by_share[share][name][-1].megabytes) for share in SHARES))
        for name in (RTFM, RTFS, ENGINE)
    ]
    return Figure("memory", "memory by FT_pr", "FT_pr in %", "MB", tuple(lines), sizes=note)
