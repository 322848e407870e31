"""Figures 9(a) to 9(h): the workload of Table 1 with one parameter varied, each algorithm in the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from experiments.engine import BATCH, Engine
from experiments.figures import ENGINE, ENGINE_BATCH, Figure, Line, Point
from experiments.gtopss.asking import expect_answers, make_engine, tell_publications
from experiments.gtopss.match import Matcher
from experiments.gtopss.matrix import Matrix, fill_matrix
from experiments.gtopss.naive import Naive
from experiments.gtopss.ops import Ops
from experiments.gtopss.ops_tree import OpsTree
from experiments.gtopss.rdf import contents
from experiments.gtopss.workload import Parameters, Workload, make_workload
from experiments.measuring import MILLISECONDS, Run, deep_size, make_point, take_turns
from experiments.progress import tell

GTOPSS = "G-ToPSS"
FIRST_STAGE = "G-ToPSS, first stage"
SECOND_STAGE = "G-ToPSS, second stage"
OPS = "OPS"
OPS_TREE = "OPS, parts shared"
NAIVE = "naive"
MATRIX = "matrix"
WHOLE = "matrix and subscriptions"
INDEX = f"index file of {ENGINE}"
SUBSCRIPTIONS = "subscriptions"
EDGES = "edges of a subscription"
NODES = "nodes of a subscription that is a graph of its own"
MEGABYTES = "MB"
SLOWEST = 5.0
"""Seconds of a turn of a line after which no further publication is begun."""


Rival: TypeAlias = Matcher | Ops | OpsTree | Naive


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of a run."""

    numbers: tuple[int, ...]
    """Subscriptions in figures 9(a), (b), (g) and (h)."""
    varied: int
    """Subscriptions where something else is varied."""
    edges: tuple[int, ...]
    nodes: tuple[int, ...]
    overlaps: tuple[float, ...]
    ratios: tuple[float, ...]
    publications: int
    """Matched one a call; the batches have `BATCH`, of which they are the first."""
    matched: float
    """``ratio_match`` where it is not varied."""


QUICK = Scale(
    (250, 500, 1_000, 1_500, 2_000),
    250,
    (4, 8, 16, 24, 35),
    (5, 15, 25),
    (0.0, 0.5, 1.0),
    (0.004, 0.01, 0.1),
    3,
    0.004,
)
FULL = Scale(
    (1_000, 4_000, 10_000, 30_000, 100_000),
    30_000,
    (4, 8, 16, 24, 35),
    (5, 15, 25),
    (0.0, 0.25, 0.5, 0.75, 1.0),
    (0.0025, 0.01, 0.05, 0.1),
    10,
    0.001,
)


def measure(quick: bool) -> Iterator[Figure]:
    scale = QUICK if quick else FULL
    yield from _measure_numbers(scale)
    yield _measure_overlap(scale)
    yield from _measure_edges(scale)
    yield _measure_nodes(scale)
    yield _measure_ratio(scale)


def _describe(scale: Scale, parameters: Parameters, varied: str, more: str = "", batches: bool = True) -> str:
    shown = {
        "SizeP": parameters.publication_size,
        "SizeS": parameters.subscription_size,
        "N_sub": f"{parameters.subscriptions:,}",
        "ratio_match": f"{parameters.matched:.3g}",
        "N_stars": parameters.stars,
        "N_sub*": f"{parameters.with_stars:.0%}",
        "overlap": f"{parameters.overlap:.0%}",
    }
    fixed = ", ".join(f"{name} {value}" for name, value in shown.items() if name != varied)
    return f"Fixed: {fixed}.{more} {tell_publications(scale.publications, batches)}"


def _measure_matrix(matrix: Matrix, x: float) -> tuple[Point, Point]:
    """Megabytes of ``G_M``, and of ``G_M`` with the subscriptions; without rows of a publication."""
    matrix.clear_tables()
    alone = deep_size(matrix.tables)
    whole = deep_size([matrix.tables, matrix.subscriptions, matrix.edges])
    return Point(x, alone / 1e6), Point(x, whole / 1e6)


def _memory_lines(points: Sequence[tuple[Point, Point]], files: Sequence[Point]) -> tuple[Line, ...]:
    matrix, whole = ([pair[part] for pair in points] for part in (0, 1))
    return Line(WHOLE, tuple(whole)), Line(MATRIX, tuple(matrix)), Line(INDEX, tuple(files))


class _Points:
    """Of all lines of a figure of times, by name: one more point of each at a time."""

    def __init__(self) -> None:
        self.by_line: dict[str, list[Point]] = {}

    def lines(self, *names: str) -> tuple[Line, ...]:
        return tuple(Line(name, tuple(self.by_line[name])) for name in names)

    def add_rivals(
        self, scale: Scale, workload: Workload, engine: Engine, x: float, rivals: Mapping[str, Rival], batch: bool
    ) -> None:
        """Of each rival and of the engine, over the same publications, all answers checked. Of a `Matcher` by the name
        of `GTOPSS` its first stage too, and what the whole takes beyond it."""
        publications = workload.publications[: scale.publications]
        bytes_in = contents(workload.publications, workload.subscriptions)
        alone = bytes_in[: scale.publications]
        expected = expect_answers(engine, alone)
        runs: dict[str, Run[Any]] = {
            name: Run(rival.match, publications, rival.work, SLOWEST, expected.checking(name))
            for name, rival in rivals.items()
        }
        gtopss = rivals[GTOPSS]
        assert isinstance(gtopss, Matcher)
        runs[FIRST_STAGE] = Run(gtopss.find_edges, publications, gtopss.work, SLOWEST)
        runs[ENGINE] = engine.alone(alone)
        if batch:
            runs[ENGINE_BATCH] = engine.batch(bytes_in)
        points = engine.count_work(alone, take_turns(runs, x))
        points[SECOND_STAGE] = _subtract(points[GTOPSS], points[FIRST_STAGE])
        for name, point in points.items():
            self.by_line.setdefault(name, []).append(point)
        tell(f"gtopss: {', '.join(rivals)} at {x:,g}")


def _subtract(whole: Point, first: Point) -> Point:
    """What the whole takes beyond its first stage, over the publications that both were measured on."""
    turns = [
        [both - part for both, part in zip(*pair, strict=False)] for pair in zip(whole.turns, first.turns, strict=True)
    ]
    work = {kind: count - first.work.get(kind, 0.0) for kind, count in whole.work.items()}
    return make_point(whole.x, turns, {kind: count for kind, count in work.items() if count})


def _measure_numbers(scale: Scale) -> Iterator[Figure]:
    """9(a), (b), (g) and (h): one workload, of which each size is the beginning."""
    parameters = replace(_make_varied(scale), subscriptions=scale.numbers[-1])
    workload = make_workload(parameters)
    memory, files, points = [], [], _Points()
    matrix, ops, tree, naive = Matrix(), Ops(), OpsTree(), Naive()
    engine = Engine([])
    for size in scale.numbers:
        fresh = workload.subscriptions[engine.size : size]
        for subscription in fresh:
            for index in (matrix, ops, tree, naive):
                index.insert(subscription)
        engine.close()
        engine = make_engine(fresh, engine)
        memory.append(_measure_matrix(matrix, size))
        files.append(Point(size, engine.file_size() / 1e6))
        rivals: dict[str, Rival] = {GTOPSS: Matcher(matrix), OPS: ops, OPS_TREE: tree, NAIVE: naive}
        points.add_rivals(scale, workload, engine, size, rivals, batch=True)
    engine.close()
    sizes = _describe(scale, parameters, "N_sub")
    yield Figure("9a", "memory", SUBSCRIPTIONS, MEGABYTES, _memory_lines(memory, files), sizes=sizes)
    for figure, title, names in (
        ("9b", "matching time", (GTOPSS, FIRST_STAGE, SECOND_STAGE)),
        ("9g", "G-ToPSS and OPS", (OPS, OPS_TREE, GTOPSS)),
        ("9h", "OPS and naive", (NAIVE, OPS, OPS_TREE)),
    ):
        lines = points.lines(*names, ENGINE, ENGINE_BATCH)
        yield Figure(figure, title, SUBSCRIPTIONS, MILLISECONDS, lines, True, sizes)


def _make_varied(scale: Scale) -> Parameters:
    return Parameters(subscriptions=scale.varied, publications=BATCH, matched=scale.matched)


def _measure_overlap(scale: Scale) -> Figure:
    memory, files = [], []
    default = _make_varied(scale)
    for overlap in scale.overlaps:
        workload = make_workload(replace(default, overlap=overlap))
        memory.append(_measure_matrix(fill_matrix(workload.subscriptions), overlap))
        with make_engine(workload.subscriptions) as engine:
            files.append(Point(overlap, engine.file_size() / 1e6))
        tell(f"gtopss: memory at {overlap:g}")
    sizes = _describe(scale, default, "overlap")
    return Figure("9c", "memory", "overlap of subscriptions", MEGABYTES, _memory_lines(memory, files), sizes=sizes)


def _measure_edges(scale: Scale) -> Iterator[Figure]:
    """9(d) and (e): five nodes, as in Table 1, and more and more edges."""
    memory, files, points = [], [], _Points()
    default = _make_varied(scale)
    for edges in scale.edges:
        workload = make_workload(replace(default, subscription_size=(default.subscription_size[0], edges)))
        matrix = fill_matrix(workload.subscriptions)
        with make_engine(workload.subscriptions) as engine:
            memory.append(_measure_matrix(matrix, edges))
            files.append(Point(edges, engine.file_size() / 1e6))
            points.add_rivals(scale, workload, engine, edges, {GTOPSS: Matcher(matrix)}, batch=True)
    sizes = _describe(scale, default, "SizeS", f" SizeS ({default.subscription_size[0]}, x).")
    yield Figure("9d", "memory", EDGES, MEGABYTES, _memory_lines(memory, files), sizes=sizes)
    lines = points.lines(GTOPSS, ENGINE, ENGINE_BATCH)
    yield Figure("9e", "matching time", EDGES, MILLISECONDS, lines, True, sizes)


def _measure_nodes(scale: Scale) -> Figure:
    """Beside 9(e), of which line 225 says that nodes do not matter: as many edges between more nodes, where a
    subscription is a graph of its own."""
    points = _Points()
    default = _make_varied(scale)
    for nodes in scale.nodes:
        workload = make_workload(replace(default, subscription_size=(nodes, default.subscription_size[1])))
        with make_engine(workload.subscriptions) as engine:
            rivals = {GTOPSS: Matcher(fill_matrix(workload.subscriptions))}
            points.add_rivals(scale, workload, engine, nodes, rivals, batch=False)
    sizes = _describe(scale, default, "SizeS", f" SizeS (x, {default.subscription_size[1]}).", batches=False)
    return Figure("9e-nodes", "matching time", NODES, MILLISECONDS, points.lines(GTOPSS, ENGINE), True, sizes)


def _measure_ratio(scale: Scale) -> Figure:
    """Without batches: where a publication is matched by one subscription in ten, four leave more than half to others,
    as in the text, and more than ten there cannot be."""
    points = _Points()
    scale = replace(scale, publications=min(scale.publications, 4))
    default = replace(_make_varied(scale), publications=scale.publications)
    for ratio in scale.ratios:
        workload = make_workload(replace(default, matched=ratio))
        with make_engine(workload.subscriptions) as engine:
            rivals = {GTOPSS: Matcher(fill_matrix(workload.subscriptions))}
            points.add_rivals(scale, workload, engine, ratio, rivals, batch=False)
    sizes = _describe(scale, default, "ratio_match", batches=False)
    return Figure(
        "9f",
        "matching time",
        "ratio of matching subscriptions",
        MILLISECONDS,
        points.lines(GTOPSS, ENGINE),
        True,
        sizes,
    )
