"""Figures 5 to 7 of the RTF paper with the engine's lines, from one workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.workloads.abstracts import draw_interests, write_interest
from experiments.figures import ENGINE, Figure, Line, Point
from experiments.progress import tell
from experiments.rtf.filtering import Growing, Index, Stage, Stream, read_stream
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
    parts: int
    part: int
    """Queries inserted before each point (I_p)."""
    alone: int
    """Publications filtered one by one after each part, the same for all lines."""
    stream: int
    """Publications of figure 5b; they begin with those."""


FULL = Sizes(5, 20_000, 10, 5_000)
QUICK = Sizes(5, 1_000, 5, 100)


@dataclass(frozen=True, slots=True)
class Grown:
    """Over the queries of one FT_pr."""

    stages: Mapping[str, Sequence[Stage]]
    """By algorithm, by size."""
    streams: Mapping[str, Point]
    """Milliseconds over the whole stream at the last size, by algorithm; iBroker's are of the first publications."""


def measure(quick: bool) -> Iterator[Figure]:
    sizes = QUICK if quick else FULL
    found = find_corpus(ROOT)
    stream = read_stream(found.corpus.publications[: sizes.stream], sizes.alone)
    half = _grow(found, stream, sizes, 0.5, (RTFM, RTFS, IBROKER), whole_stream=True)
    note = f"FT_pr 50 %; the first {sizes.alone} of {found.name} for every line but those in batches"
    total = f"{sizes.parts * sizes.part:,} subscriptions"
    yield _filtering_figure(half, note)
    yield _throughput_figure(half, stream, f"FT_pr 50 %; {total}; {sizes.stream} of {found.name}")
    yield _memory_figure(half, "FT_pr 50 %")
    yield _insertion_figure(half, "FT_pr 50 %; each part inserted once")
    none = _grow(found, stream, sizes, 0.0, (RTFM, RTFS, IBROKER))
    by_share = {0.0: none, 0.5: half, 1.0: _grow(found, stream, sizes, 1.0, (RTFM, RTFS))}
    yield _share_filtering_figure(by_share, f"the first {sizes.alone} of {found.name}")
    yield _share_insertion_figure(by_share, "each part inserted once")
    yield _share_memory_figure(by_share, total)


def _grow(
    found: NamedCorpus, stream: Stream, sizes: Sizes, share: float, names: Sequence[str], whole_stream: bool = False
) -> Grown:
    """All algorithms over the same queries. Words are drawn from the multi-set of all words (line 165). The whole
    stream is filtered for figure 5b, by iBroker its first publications only."""
    interests = draw_interests(found.corpus, sizes.parts * sizes.part, share, from_tokens=True)
    indexes: dict[str, Index] = {
        name: InvertedIndex() if name == IBROKER else TrieForest(Variant(name)) for name in names
    }
    growing = Growing(stream, indexes)
    stages: dict[str, list[Stage]] = {name: [] for name in (*indexes, ENGINE)}
    for at in range(0, len(interests), sizes.part):
        part = interests[at : at + sizes.part]
        queries = [to_query(number, interest) for number, interest in enumerate(part, at)]
        insertion = growing.insert(queries, list(map(write_interest, part)))
        for name, stage in growing.ask(insertion).items():
            stages[name].append(stage)
        tell(f"rtf: {at + sizes.part:,} queries, FT_pr {share:.0%}")
    streams: dict[str, Point] = {}
    if whole_stream:
        streams = growing.filter_stream((RTFM, RTFS)) | {IBROKER: stages[IBROKER][-1].filtering[IBROKER]}
        tell("rtf: the whole stream")
    growing.engine.close()
    return Grown(stages, streams)


def _filtering_figure(half: Grown, note: str) -> Figure:
    lines = tuple(
        Line(name, tuple(stage.filtering[name] for stage in stages))
        for stages in half.stages.values()
        for name in stages[0].filtering
    )
    return Figure("5a", "filtering time", _DATABASE, _FILTERING, lines, True, note)


def _throughput_figure(half: Grown, stream: Stream, note: str) -> Figure:
    """KB/s over the stream, in chunks; a line of fewer publications is one chunk."""
    kilobytes = [publication.size / 1e3 for publication in stream.publications]
    lines = []
    for name, timed in half.streams.items():
        each = timed.each
        chunk = len(each) // _CHUNKS if len(each) == len(kilobytes) else len(each)
        ends = range(chunk, len(each) + 1, chunk)
        points = [Point(end, sum(kilobytes[end - chunk : end]) / sum(each[end - chunk : end]) * 1e3) for end in ends]
        lines.append(Line(name, tuple(points)))
    return Figure("5b", "filtering throughput", "publications so far", "KB/s", tuple(lines), True, note)


def _memory_figure(half: Grown, note: str) -> Figure:
    lines = [
        Line(name, tuple(Point(stage.subscriptions, stage.megabytes) for stage in stages))
        for name, stages in half.stages.items()
    ]
    return Figure("6a", "memory", _DATABASE, "MB", tuple(lines), sizes=note)


def _insertion_figure(half: Grown, note: str) -> Figure:
    lines = tuple(_insertion_line(name, stages) for name, stages in half.stages.items())
    return Figure("6b", "insertion time", _DATABASE, "ms a part", lines, True, note)


def _insertion_line(name: str, stages: Sequence[Stage]) -> Line:
    return Line(name, tuple(Point(stage.subscriptions, stage.insertion) for stage in stages))


def _share_filtering_figure(by_share: Mapping[float, Grown], note: str) -> Figure:
    lines = tuple(
        Line(f"{name}, {share:.0%}", tuple(stage.filtering[name] for stage in by_share[share].stages[name]))
        for share in SHARES
        for name in (RTFM, RTFS, *([IBROKER] if share == 0.0 else []), ENGINE)
    )
    return Figure("7a", "filtering time by FT_pr", _DATABASE, _FILTERING, lines, True, note)


def _share_insertion_figure(by_share: Mapping[float, Grown], note: str) -> Figure:
    lines = tuple(
        _insertion_line(f"{name}, {share:.0%}", by_share[share].stages[name])
        for share in SHARES
        for name in (RTFM, RTFS, ENGINE)
    )
    return Figure("7b", "insertion time by FT_pr", _DATABASE, "ms a part", lines, True, note)


def _share_memory_figure(by_share: Mapping[float, Grown], note: str) -> Figure:
    """Section 4.2 gives memory by FT_pr in words only (line 208)."""
    lines = tuple(
        Line(name, tuple(Point(100 * share, by_share[share].stages[name][-1].megabytes) for share in SHARES))
        for name in (RTFM, RTFS, ENGINE)
    )
    return Figure("memory", "memory by FT_pr", "FT_pr in %", "MB", lines, sizes=note)
