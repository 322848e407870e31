"""Figures 9(a) and 9(b): index look-up, and the constraint tables beside G-ToPSS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from experiments.engine import Engine, engine_lines
from experiments.figures import Figure, Line, Point
from experiments.gtopss import match as gtopss
from experiments.gtopss import matrix as gtopss_matrix
from experiments.gtopss.measure import GTOPSS, SUBSCRIPTIONS, check_alike
from experiments.gtopss.model import Subscription
from experiments.gtopss.rdf import contents, to_asked
from experiments.gtopss.workload import Workload, make_workload
from experiments.measuring import MILLISECONDS, time_each
from experiments.rss_cluster.match import Matcher
from experiments.rss_cluster.tables import Matrix
from experiments.rss_cluster.workload import MATCHES, SECTION_5, VARIATIONS, Variation, make_same_structure

TABLES = "constraint tables"


@dataclass(frozen=True, slots=True)
class Scale:
    lookups: tuple[int, ...]
    """Subscriptions in figure 9(a)."""
    same: tuple[int, ...]
    """Subscriptions in figure 9(b)."""
    publications: int
    matched: float


QUICK = Scale((500, 1_000, 2_000), (1_000, 2_000, 4_000), 2, 0.01)
FULL = Scale((10_000, 25_000, 50_000, 75_000, 100_000), (10_000, 25_000, 50_000, 75_000, 100_000), 5, SECTION_5.matched)


def measure(quick: bool) -> Iterator[Figure]:
    scale = QUICK if quick else FULL
    yield _measure_lookups(scale)
    for variation in VARIATIONS:
        yield _measure_same(scale, variation)


def _ask(subscriptions: Sequence[Subscription], before: Engine | None = None) -> Engine:
    held = before.size if before else 0
    return Engine([to_asked(each, f"s{held + n}") for n, each in enumerate(subscriptions)], before=before)


def _measure_lookups(scale: Scale) -> Figure:
    """9(a). G-ToPSS on the same input is one more line than the text has."""
    parameters = replace(
        SECTION_5, subscriptions=scale.lookups[-1], publications=scale.publications, matched=scale.matched
    )
    rivals = _Rivals(make_workload(parameters))
    for size in scale.lookups:
        rivals.measure(size)
    sizes = (
        f"Fixed: SizeP {parameters.publication_size}, SizeS {parameters.subscription_size}, ratio_match "
        f"{parameters.matched:.1%}, N_stars {parameters.stars}, N_sub* {parameters.with_stars:.0%}, overlap "
        f"{parameters.overlap:.0%}, {parameters.limited:.0%} of the stars limited, {parameters.publications} "
        "publications."
    )
    return Figure("9a", "index look-up", SUBSCRIPTIONS, MILLISECONDS, rivals.lines(), True, sizes)


def _measure_same(scale: Scale, variation: Variation) -> Figure:
    """9(b), in one of the variations of the workload that the text allows."""
    rivals = _Rivals(make_same_structure(scale.same[-1], scale.publications, variation))
    for size in scale.same:
        rivals.measure(size)
    sizes = (
        f"Fixed: SizeP {SECTION_5.publication_size}, SizeS {SECTION_5.subscription_size}, N_stars {SECTION_5.stars}, "
        f"{MATCHES} matches, {scale.publications} publications. Both stars are limited, each to "
        f"{'four values' if variation.windows else 'a value'} of the subscription's own; "
        f"{'some edges touch none' if variation.free_edges else 'every edge touches one'} of them."
    )
    return Figure(variation.name, variation.title, SUBSCRIPTIONS, MILLISECONDS, rivals.lines(), True, sizes)


class _Rivals:
    """The three indexes over one growing workload, and their points so far."""

    def __init__(self, work: Workload) -> None:
        self.work = work
        self.bytes_in = contents(work.publications, work.subscriptions)
        self.tables = Matrix()
        self.gtopss = gtopss_matrix.Matrix()
        self.engine: Engine | None = None
        self.points: list[tuple[Point, Point, Point]] = []

    def _grow(self, size: int) -> Engine:
        fresh = self.work.subscriptions[len(self.tables.subscriptions) : size]
        for subscription in fresh:
            self.tables.insert(subscription)
            self.gtopss.insert(subscription)
        return _ask(fresh, self.engine)

    def measure(self, size: int) -> None:
        """The points of the first `size` subscriptions."""
        self.engine = self._grow(size)
        publications = self.work.publications
        tables, other = Matcher(self.tables), gtopss.Matcher(self.gtopss)
        for name, found in ((TABLES, tables.match(publications[0])), (GTOPSS, other.match(publications[0]))):
            check_alike(name, found, self.engine, publications[0], self.bytes_in[0])
        self.points.append(
            (
                time_each(tables.match, publications, size, tables.work),
                time_each(other.match, publications, size, other.work),
                self.engine.time_alone(self.bytes_in, size),
            )
        )

    def lines(self) -> tuple[Line, ...]:
        tables, other, ours = zip(*self.points, strict=True)
        return Line(TABLES, tables), Line(GTOPSS, other), *engine_lines(ours, ())
