"""Figures 9(a) and 9(b): index look-up, and the constraint tables beside G-ToPSS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from experiments.engine import BATCH, Engine
from experiments.figures import ENGINE, ENGINE_BATCH, Figure, Line, Point
from experiments.gtopss import match as gtopss
from experiments.gtopss import matrix as gtopss_matrix
from experiments.gtopss.asking import expect_answers, make_engine, tell_publications
from experiments.gtopss.measure import GTOPSS, SUBSCRIPTIONS
from experiments.gtopss.rdf import contents
from experiments.gtopss.workload import Workload, make_workload
from experiments.measuring import MILLISECONDS, Run, take_turns
from experiments.progress import tell
from experiments.rss_cluster.match import Matcher
from experiments.rss_cluster.tables import Matrix
from experiments.rss_cluster.workload import MATCHES, SECTION_5, VARIATIONS, Variation, make_same_structure

TABLES = "constraint tables"


@dataclass(frozen=True, slots=True)
class Scale:
    numbers: tuple[int, ...]
    """Subscriptions, in all figures."""
    publications: int
    """Matched one a call; the batches have `BATCH`, of which they are the first."""
    matched: float
    """Of the subscriptions, by each publication."""


QUICK = Scale((250, 500, 1_000, 1_500, 2_000), 3, 0.004)
FULL = Scale((10_000, 25_000, 50_000, 75_000, 100_000), 10, SECTION_5.matched)
SLOWEST = 10.0
"""Seconds of a turn of a line after which no further publication is begun."""


def measure(quick: bool) -> Iterator[Figure]:
    scale = QUICK if quick else FULL
    yield _measure_lookups(scale)
    for variation in VARIATIONS:
        yield _measure_same(scale, variation)


def _measure_lookups(scale: Scale) -> Figure:
    """9(a). G-ToPSS on the same input is one more line than the text has."""
    parameters = replace(SECTION_5, subscriptions=scale.numbers[-1], publications=BATCH, matched=scale.matched)
    lines = _Rivals(make_workload(parameters), scale).measure()
    sizes = (
        f"Fixed: SizeP {parameters.publication_size}, SizeS {parameters.subscription_size}, ratio_match "
        f"{parameters.matched:.3g}, N_stars {parameters.stars}, N_sub* {parameters.with_stars:.0%}, overlap "
        f"{parameters.overlap:.0%}, {parameters.limited:.0%} of the stars limited. "
        f"{tell_publications(scale.publications)}"
    )
    return Figure("9a", "index look-up", SUBSCRIPTIONS, MILLISECONDS, lines, True, sizes)


def _measure_same(scale: Scale, variation: Variation) -> Figure:
    """9(b), in one of the variations of the workload that the text allows."""
    lines = _Rivals(make_same_structure(scale.numbers[-1], BATCH, variation), scale).measure()
    sizes = (
        f"Fixed: SizeP {SECTION_5.publication_size}, SizeS {SECTION_5.subscription_size}, N_stars {SECTION_5.stars}, "
        f"{MATCHES} matches, {tell_publications(scale.publications)} Both stars are limited, each to "
        f"{'four values' if variation.windows else 'a value'} of the subscription's own; "
        f"{'some edges touch none' if variation.free_edges else 'every edge touches one'} of them."
    )
    return Figure(variation.name, variation.title, SUBSCRIPTIONS, MILLISECONDS, lines, True, sizes)


class _Rivals:
    """The three indexes over one growing workload, and their points so far."""

    def __init__(self, workload: Workload, scale: Scale) -> None:
        self.workload = workload
        self.scale = scale
        self.bytes_in = contents(workload.publications, workload.subscriptions)
        self.tables = Matrix()
        self.gtopss = gtopss_matrix.Matrix()
        self.points: dict[str, list[Point]] = {name: [] for name in (TABLES, GTOPSS, ENGINE, ENGINE_BATCH)}

    def measure(self) -> tuple[Line, ...]:
        engine = Engine([])
        for size in self.scale.numbers:
            engine = self._grow(size, engine)
            self._measure_size(size, engine)
        engine.close()
        return tuple(Line(name, tuple(points)) for name, points in self.points.items())

    def _grow(self, size: int, before: Engine) -> Engine:
        fresh = self.workload.subscriptions[before.size : size]
        for subscription in fresh:
            self.tables.insert(subscription)
            self.gtopss.insert(subscription)
        before.close()
        return make_engine(fresh, before)

    def _measure_size(self, size: int, engine: Engine) -> None:
        count = self.scale.publications
        publications = self.workload.publications[:count]
        expected = expect_answers(engine, self.bytes_in[:count])
        rivals: dict[str, Matcher | gtopss.Matcher] = {
            TABLES: Matcher(self.tables),
            GTOPSS: gtopss.Matcher(self.gtopss),
        }
        runs: dict[str, Run[Any]] = {
            name: Run(rival.match, publications, rival.work, SLOWEST, expected.checking(name))
            for name, rival in rivals.items()
        }
        runs[ENGINE] = engine.alone(self.bytes_in[:count])
        runs[ENGINE_BATCH] = engine.batch(self.bytes_in)
        for name, point in engine.count_work(self.bytes_in[:count], take_turns(runs, size)).items():
            self.points[name].append(point)
        tell(f"rss_cluster: {size:,}")
