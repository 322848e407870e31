"""Figures 9(c) to 9(i) and 10: the size of the index stage, false positives, insertion and merging, and throughput.

The index stage and its shards are the product's (`triplecast.partition`). Sizes, false positives and steps are counted;
throughput is what `cluster` makes of the steps of each node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from experiments.figures import Figure, Line, Point
from experiments.measuring import TURNS, make_point, time_once, without_collector
from experiments.progress import tell
from experiments.rss_partition.cluster import (
    Coefficients,
    Load,
    Stage,
    calibrate,
    entries_found,
    load_of,
    match_members,
    steps_of,
    work_of,
)
from experiments.rss_partition.workload import CONTAINED, EDGES, make, to_publications, to_segment
from triplecast.index import Segment
from triplecast.index.merge import merge_segments
from triplecast.kernels.layout import I32
from triplecast.model.publication import Publication
from triplecast.partition.containment import assign_by_containment, find_forest
from triplecast.partition.items import file_items
from triplecast.partition.merging import Summaries, assign_by_merging
from triplecast.partition.placing import spread
from triplecast.partition.routing import build_router

ONE, MERGING = "one node", "merging"
PERCENT = "% merged"
FALSE = "% false"


@dataclass(frozen=True, slots=True)
class Scale:
    numbers: tuple[int, ...]
    """Subscriptions of 9(c) and 9(f)."""
    fixed: int
    """Of 9(g), 9(i) and 10."""
    few: int
    """Of 9(e) and 9(h)."""
    varied: int
    """Of 9(d)."""
    publications: int
    """That match; half of them are the sample that merging has."""
    strangers: int
    """Publications that match nothing."""


QUICK = Scale((250, 500, 1_000, 1_500, 2_000), 1_000, 500, 500, 20, 20)
FULL = Scale((2_000, 4_000, 6_000, 9_000, 12_000), 12_000, 10_000, 2_500, 60, 2_000)
"""The text has 100,000 subscriptions, but in 9(e), and there 20,000 publications. Each of the subscriptions, random
graphs of ten edges, takes the engine 2 ms to compile, and each figure has its own."""
OVERLAPS = (0.1, 0.3, 0.5, 0.7, 0.9)
PERCENTAGES = (30.0, 50.0, 70.0, 90.0, 99.0)
NODES = (1, 2, 3, 5, 7, 16, 32, 64)
"""Of a cluster, the server among them."""


def measure(quick: bool) -> Iterator[Figure]:
    scale = QUICK if quick else FULL
    first = _draw(QUICK, 200, 0.05, 0.5, CONTAINED)  # what compiles does so before anything is timed
    first.contain(2)
    first.merge(2, 70)
    yield from _measure_sizes(scale)
    yield _measure_overlap(scale)
    yield from _measure_merging(scale)
    yield from _measure_nodes(scale)
    yield _measure_percentages(scale)


class _Workload:
    """Subscriptions in a segment, the sample and the measured publications."""

    def __init__(self, segment: Segment, publications: Sequence[Publication], build_seconds: float) -> None:
        self.segment = segment
        self.build_seconds = build_seconds
        self.filed = file_items(segment)
        self.closed = np.ones(len(segment.tables.index.structures) - 1, np.uint8)
        """All may be contained: the text knows no bound on joins."""
        self.sample, self.measured = publications[::2], publications[1::2]

    def contain(self, shards: int) -> Stage:
        assigned = assign_by_containment(self.segment, self.filed, self.spread(shards), self.closed)
        assert assigned.entries is not None
        return Stage(self.segment, self.filed, assigned, build_router(self.segment, assigned.entries))

    def merge(self, shards: int, percentage: float) -> Stage:
        publication, _ = match_members(self.segment, self.sample)
        matched = np.bincount(publication, minlength=len(self.sample)).tolist()
        summaries = Summaries()
        for each, pairs in zip(self.sample, matched, strict=True):
            if pairs:
                summaries.add(each.quads, pairs)
        lower = 1 - percentage / 100
        assigned = assign_by_merging(
            self.segment,
            self.filed,
            self.spread(shards),
            summaries.ranked(),
            lambda asked: match_members(self.segment, asked),
            (0.0, lower),
        )
        assert assigned.entries is not None
        return Stage(self.segment, self.filed, assigned, build_router(self.segment, assigned.entries))

    def spread(self, shards: int) -> I32:
        """By subscription the shard."""
        _, member = match_members(self.segment, self.sample)
        return spread(self.segment, self.filed, shards, np.bincount(member, minlength=self.segment.members))

    def roots(self) -> I32:
        """The members that contain others and are contained by none."""
        root = find_forest(self.segment, self.filed, self.closed).root
        own: I32 = self.filed.items.subscription[np.unique(root)].astype(np.int32)
        return own


def _grow(scale: Scale, numbers: Sequence[int], matched: float, overlap: float, reading: str) -> Iterator[_Workload]:
    """A workload that grows to each of the numbers of subscriptions."""
    made = make(numbers[-1], scale.publications, matched, overlap, reading)
    publications, segments, seconds = to_publications(made), list[Segment](), 0.0
    for first, last in pairwise((0, *numbers)):
        started = time.process_time()
        segments = [merge_segments([*segments, to_segment(made.subscriptions[first:last], first)])]
        seconds += time.process_time() - started
        yield _Workload(segments[0], publications, seconds)


def _draw(scale: Scale, number: int, matched: float, overlap: float, reading: str) -> _Workload:
    (work,) = _grow(scale, (number,), matched, overlap, reading)
    return work


def _entries(stage: Stage) -> float:
    assert stage.assigned.entries is not None
    return float(len(stage.assigned.entries.leads))


def _strangers(number: int) -> list[Publication]:
    """Drawn with another seed, so that they match nothing."""
    return to_publications(make(1, number, 0.001, 0.0, EDGES, seed=1))


def _in_turns(
    x: float, run: Callable[[], object], before: float = 0.0, work: Mapping[str, float] | None = None
) -> Point:
    """Milliseconds; `before`: what is part of each turn and was timed once."""
    with without_collector():
        turns = [[before + time_once(run)] for _ in range(TURNS)]
    return make_point(x, turns, work or {})


def _measure_sizes(scale: Scale) -> Iterator[Figure]:
    """9(c) and 9(f), at an overlap of a half and 70 % merged."""
    sizes: dict[str, list[Point]] = {ONE: [], CONTAINED: [], EDGES: [], MERGING: []}
    times: dict[str, list[Point]] = {"no indexing": []}
    for reading in (CONTAINED, EDGES):
        growing = _grow(scale, scale.numbers, 0.001, 0.5, reading)
        for number, work in zip(scale.numbers, growing, strict=True):
            sizes[reading].append(Point(number, _entries(work.contain(2))))
            counts = (find_forest(work.segment, work.filed, work.closed).counts / number).tolist()
            steps = dict(zip(("touched", "structures compared", "conditions compared"), counts, strict=True))
            taken = _in_turns(number, partial(work.contain, 2), work.build_seconds * 1e3, steps)
            times.setdefault(f"containment, {reading}", []).append(_per_subscription(taken))
            if reading == CONTAINED:
                sizes[ONE].append(Point(number, number))
                times["no indexing"].append(Point(number, work.build_seconds * 1e6 / number))
                sizes[MERGING].append(Point(number, _entries(work.merge(2, 70))))
            tell(f"rss_partition: sizes at {number:,}, {reading}")
    fixed = "Overlap 50 %, in either reading; 70 % merged; 0.1 % of the subscriptions match a publication."
    yield Figure("9c", "size of the server's index", "subscriptions", "entries", _lines(sizes), False, fixed)
    told = f"{fixed} Parsing and indexing as in the first column; its time was taken once."
    yield Figure("9f", "insertion", "subscriptions", "µs a subscription", _lines(times), False, told)


def _per_subscription(taken: Point) -> Point:
    """Microseconds."""
    each = 1e3 / taken.x
    return make_point(taken.x, [[value * each for value in turn] for turn in taken.turns], taken.work)


def _measure_overlap(scale: Scale) -> Figure:
    points: dict[str, list[Point]] = {CONTAINED: [], EDGES: [], "N (1 - overlap)": []}
    for overlap in OVERLAPS:
        for reading in (CONTAINED, EDGES):
            work = _draw(scale, scale.varied, 0.001, overlap, reading)
            points[reading].append(Point(overlap, _entries(work.contain(2))))
        points["N (1 - overlap)"].append(Point(overlap, scale.varied * (1 - overlap)))
        tell(f"rss_partition: overlap {overlap}")
    return Figure(
        "9d", "size by overlap", "overlap", "entries", _lines(points), False, f"{scale.varied:,} subscriptions."
    )


def _measure_merging(scale: Scale) -> Iterator[Figure]:
    """9(g) over many, 9(g), 9(e) and 9(h) over few subscriptions."""
    few, many = _grow(scale, (scale.few, scale.fixed), 0.01, 0.5, CONTAINED)
    strangers = _strangers(scale.strangers)
    names = [f"{number:,} subscriptions" for number in (scale.fixed, scale.few)]
    sizes: dict[str, list[Point]] = {}
    times: list[Point] = []
    rates: dict[str, list[Point]] = {}
    for percentage in PERCENTAGES:
        stage = few.merge(2, percentage)
        times.append(_in_turns(percentage, partial(few.merge, 2, percentage)))
        for name, number, entries in (
            (names[0], scale.fixed, _entries(many.merge(2, percentage))),
            (names[1], scale.few, _entries(stage)),
        ):
            sizes.setdefault(f"merging, {name}", []).append(Point(percentage, entries))
            sizes.setdefault(f"N (1 - m), {name}", []).append(Point(percentage, number * (1 - percentage / 100)))
        for name, asked in (("", few.measured), (", strangers", strangers)):
            for kind, rate in _false_rates(stage, asked).items():
                rates.setdefault(kind + name, []).append(Point(percentage, rate))
        tell(f"rss_partition: {percentage} % merged")
    fixed = "1 % of the subscriptions match a publication; overlap 50 %, contained."
    yield Figure("9g", "size by merge percentage", PERCENT, "entries", _lines(sizes), True, fixed)
    told = f"{len(few.measured)} publications that match, and {len(strangers):,} strangers that match nothing."
    yield Figure("9e", "false positives", PERCENT, FALSE, _lines(rates), False, f"{names[1]}; {fixed} {told}")
    yield Figure("9h", "merging", PERCENT, "ms", (Line(MERGING, tuple(times)),), False, f"{names[1]}; {fixed}")


def _false_rates(stage: Stage, publications: Sequence[Publication]) -> dict[str, float]:
    """By three denominators, of entries that several subscriptions have: in %. A hit is false where none of these
    matches; a publication is forwarded in vain where it has hits and all are false."""
    entry_of = stage.entry_of
    members = np.bincount(entry_of)
    publication, entry = entries_found(stage, publications)
    several = members[entry] > 1
    hits = set(zip(publication[several].tolist(), entry[several].tolist(), strict=True))
    matched, member = match_members(stage.segment, publications)
    right = set(zip(matched.tolist(), entry_of[member].tolist(), strict=True))
    false = hits - right
    vain = {each for each, _ in hits} - {each for each, _ in hits & right}
    without = len(publications) - len({each for each, of in right if members[of] > 1})
    return {
        "of publications and mergers": 100 * len(false) / max(1, len(publications) * int((members > 1).sum())),
        "of hits": 100 * len(false) / max(1, len(hits)),
        "of publications without a match": 100 * len(vain) / max(1, without),
    }


def _measure_nodes(scale: Scale) -> Iterator[Figure]:
    """9(i): 0.5 % match."""
    lines: dict[str, list[Point]] = {}
    timed: dict[str, list[Point]] = {}
    for reading in (CONTAINED, EDGES):
        work = _draw(scale, scale.fixed, 0.005, 0.5, reading)
        cost, alone = _calibrate(work)
        for nodes in NODES:
            found = {"containment": alone, MERGING: alone}
            if nodes > 1:
                contained, merged = work.contain(nodes - 1), work.merge(nodes - 1, 70.0)
                for name, stage, kept in (("containment", contained, work.roots()), (MERGING, merged, _single(merged))):
                    found[name] = load_of(stage, kept, nodes - 1, work.measured, cost)
            for name, load in found.items():
                of = f"{name}, {reading}"
                lines.setdefault(of, []).append(Point(nodes, 100 * alone.steps / load.steps))
                timed.setdefault(of, []).append(Point(nodes, 100 * alone.seconds / load.seconds))
            tell(f"rss_partition: {nodes} nodes, {reading}")
    fixed = f"{scale.fixed:,} subscriptions, of which 0.5 % match a publication; overlap 50 %; 70 % merged."
    yield Figure("9i", "throughput by nodes, in steps", "nodes", "% of one node", _lines(lines), False, fixed)
    yield Figure("9i-timed", "the same in time", "nodes", "% of one node", _lines(timed), False, fixed)


def _measure_percentages(scale: Scale) -> Figure:
    """10: 1 % match."""
    lines: dict[str, list[Point]] = {ONE: [Point(each, 100.0) for each in PERCENTAGES]}
    for reading in (CONTAINED, EDGES):
        work = _draw(scale, scale.fixed, 0.01, 0.5, reading)
        alone = float(steps_of(work.segment, work.measured).sum())
        for nodes in (2, 4):
            for percentage in PERCENTAGES:
                stage = work.merge(nodes, percentage)
                load = load_of(stage, _single(stage), nodes, work.measured, Coefficients(0.0, 1.0))
                line = f"{nodes} back-end nodes, {reading}"
                lines.setdefault(line, []).append(Point(percentage, 100 * alone / load.steps))
            tell(f"rss_partition: {nodes} back-end nodes, {reading}")
    fixed = f"{scale.fixed:,} subscriptions, of which 1 % match a publication; overlap 50 %."
    return Figure(
        "10", "throughput by merge percentage, in steps", PERCENT, "% of one node", _lines(lines), False, fixed
    )


def _single(stage: Stage) -> I32:
    """The members that are in no merger."""
    entry = stage.entry_of
    return np.flatnonzero(np.bincount(entry)[entry] == 1).astype(np.int32)


def _calibrate(work: _Workload) -> tuple[Coefficients, Load]:
    """The coefficients, and the load of one node that has all."""
    stage = work.contain(8)
    assert stage.router.indexed is not None
    whole = work_of(work.segment, work.measured)
    roots = work_of(stage.router.indexed.segment, work.measured)
    idle = work_of(work.segment, _strangers(len(work.measured)))
    cost, steps = calibrate([whole, roots, idle]), float(whole.steps.sum())
    return cost, Load(steps, len(work.measured) * cost.publication + steps * cost.step)


def _lines(points: dict[str, list[Point]]) -> tuple[Line, ...]:
    return tuple(Line(name, tuple(those)) for name, those in points.items())
