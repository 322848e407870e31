"""Figures 9(a) to 9(h): the workload of Table 1 with one parameter varied, each algorithm in the same run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from experiments.engine import Engine, engine_lines
from experiments.figures import ENGINE, Figure, Line, Point
from experiments.gtopss.match import Matcher
from experiments.gtopss.matrix import Matrix, fill_matrix
from experiments.gtopss.model import Answers, Publication, Subscription
from experiments.gtopss.naive import Naive
from experiments.gtopss.ops import Ops
from experiments.gtopss.ops_tree import OpsTree
from experiments.gtopss.rdf import contents, to_answers, to_asked
from experiments.gtopss.workload import Parameters, Workload, make_workload
from experiments.measuring import MILLISECONDS, deep_size, time_each

GTOPSS = "G-ToPSS"
FIRST_STAGE = "G-ToPSS, first stage"
OPS = "OPS"
OPS_TREE = "OPS, parts shared"
NAIVE = "naive"
MATRIX = "matrix"
WHOLE = "matrix and subscriptions"
INDEX = f"index file of {ENGINE}"
SUBSCRIPTIONS = "subscriptions"
EDGES = "edges of a subscription"
MEGABYTES = "MB"
SLOWEST = 10.0
"""Seconds after which no further publication is given to a slow algorithm."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of a run."""

    numbers: tuple[int, ...]
    """Subscriptions in figures 9(a), (b) and (g)."""
    varied: int
    """Subscriptions where something else is varied."""
    edges: tuple[int, ...]
    overlaps: tuple[float, ...]
    ratios: tuple[float, ...]
    publications: int
    matched: float
    """``ratio_match`` where it is not varied."""


QUICK = Scale((500, 1_000, 2_000), 500, (4, 8, 35), (0.0, 0.5, 1.0), (0.004, 0.02, 0.1), 2, 0.004)
FULL = Scale(
    (1_000, 4_000, 10_000, 30_000, 100_000),
    4_000,
    (4, 8, 16, 35),
    (0.0, 0.25, 0.5, 0.75, 1.0),
    (0.0025, 0.01, 0.05, 0.1),
    4,
    0.0025,
)


def measure(quick: bool) -> Iterator[Figure]:
    scale = QUICK if quick else FULL
    yield from _measure_numbers(scale)
    yield _measure_overlap(scale)
    yield from _measure_edges(scale)
    yield _measure_ratio(scale)


def _describe(parameters: Parameters, varied: str, more: str = "") -> str:
    shown = {
        "SizeP": parameters.publication_size,
        "SizeS": parameters.subscription_size,
        "N_sub": f"{parameters.subscriptions:,}",
        "ratio_match": f"{parameters.matched:.1%}",
        "N_stars": parameters.stars,
        "N_sub*": f"{parameters.with_stars:.0%}",
        "overlap": f"{parameters.overlap:.0%}",
        "publications": parameters.publications,
    }
    fixed = ", ".join(f"{name} {value}" for name, value in shown.items() if name != varied)
    return f"Fixed: {fixed}.{' ' + more if more else ''}"


def _ask(subscriptions: Sequence[Subscription], before: Engine | None = None) -> Engine:
    held = before.size if before else 0
    return Engine([to_asked(each, f"s{held + n}") for n, each in enumerate(subscriptions)], before=before)


def check_alike(name: str, found: Answers, engine: Engine, publication: Publication, content: bytes) -> None:
    """Raises ValueError where an algorithm and the engine differ: figures of different answers compare nothing."""
    (theirs,) = engine.match(engine.take([content]))
    if found != to_answers(theirs):
        raise ValueError(f"{name} and the engine differ on a publication that begins with {publication[0]}")


def _measure_matrix(matrix: Matrix, x: float) -> tuple[Point, Point]:
    """Megabytes of ``G_M``, and of ``G_M`` with the subscriptions."""
    alone = deep_size(matrix.tables)
    whole = deep_size([matrix.tables, matrix.subscriptions, matrix.edges])
    return Point(x, alone / 1e6), Point(x, whole / 1e6)


def _memory_lines(points: Sequence[tuple[Point, Point]], files: Sequence[Point]) -> tuple[Line, ...]:
    matrix, whole = ([pair[part] for pair in points] for part in (0, 1))
    return Line(WHOLE, tuple(whole)), Line(MATRIX, tuple(matrix)), Line(INDEX, tuple(files))


def _measure_numbers(scale: Scale) -> Iterator[Figure]:
    """9(a), (b), (g) and (h): one workload, of which each size is the beginning."""
    parameters = replace(_make_varied(scale), subscriptions=scale.numbers[-1])
    work = make_workload(parameters)
    bytes_in = contents(work.publications, work.subscriptions)
    memory, files, engines = [], [], []
    times: dict[str, list[Point]] = {name: [] for name in (GTOPSS, FIRST_STAGE, OPS, OPS_TREE, NAIVE)}
    matrix, ops, tree, naive = Matrix(), Ops(), OpsTree(), Naive()
    engine: Engine | None = None
    for size in scale.numbers:
        fresh = work.subscriptions[len(matrix.subscriptions) : size]
        for subscription in fresh:
            for index in (matrix, ops, tree, naive):
                index.insert(subscription)
        engine = _ask(fresh, engine)
        memory.append(_measure_matrix(matrix, size))
        files.append(Point(size, engine.file_size() / 1e6))
        engines.append(engine.time_alone(bytes_in, size))
        times[GTOPSS].append(_time_matcher(matrix, work.publications, size))
        times[FIRST_STAGE].append(_time_first_stage(matrix, work.publications, size))
        first = work.publications[0]
        check_alike(GTOPSS, Matcher(matrix).match(first), engine, first, bytes_in[0])
        for name, rival in ((OPS, ops), (OPS_TREE, tree), (NAIVE, naive)):
            times[name].append(time_each(rival.match, work.publications, size, rival.work, seconds=SLOWEST))
        for name, other in ((OPS, ops), (OPS_TREE, tree)):
            check_alike(name, other.match(first), engine, first, bytes_in[0])
    sizes = _describe(parameters, "N_sub")
    ours = engine_lines(engines, ())
    yield Figure("9a", "memory", SUBSCRIPTIONS, MEGABYTES, _memory_lines(memory, files), sizes=sizes)
    for figure, title, names in (
        ("9b", "matching time", (GTOPSS, FIRST_STAGE)),
        ("9g", "G-ToPSS and OPS", (OPS, OPS_TREE, GTOPSS)),
        ("9h", "OPS and naive", (NAIVE, OPS, OPS_TREE)),
    ):
        lines = (*(Line(name, tuple(times[name])) for name in names), *ours)
        yield Figure(figure, title, SUBSCRIPTIONS, MILLISECONDS, lines, True, sizes)


def _time_matcher(matrix: Matrix, publications: Sequence[Publication], x: float) -> Point:
    matcher = Matcher(matrix)
    return time_each(matcher.match, publications, x, matcher.work)


def _time_first_stage(matrix: Matrix, publications: Sequence[Publication], x: float) -> Point:
    matcher = Matcher(matrix)
    return time_each(matcher.find_edges, publications, x, matcher.work)


def _make_varied(scale: Scale) -> Parameters:
    return Parameters(subscriptions=scale.varied, publications=scale.publications, matched=scale.matched)


def _measure_overlap(scale: Scale) -> Figure:
    memory, files = [], []
    default = _make_varied(scale)
    for overlap in scale.overlaps:
        work = make_workload(replace(default, overlap=overlap))
        memory.append(_measure_matrix(fill_matrix(work.subscriptions), overlap))
        files.append(Point(overlap, _ask(work.subscriptions).file_size() / 1e6))
    lines = _memory_lines(memory, files)
    return Figure("9c", "memory", "overlap of subscriptions", MEGABYTES, lines, sizes=_describe(default, "overlap"))


def _measure_edges(scale: Scale) -> Iterator[Figure]:
    """9(d) and (e): five nodes, as in Table 1, and more and more edges."""
    memory, files, times, engines = [], [], [], []
    default = _make_varied(scale)
    for edges in scale.edges:
        work = make_workload(replace(default, subscription_size=(default.subscription_size[0], edges)))
        matrix, engine = fill_matrix(work.subscriptions), _ask(work.subscriptions)
        memory.append(_measure_matrix(matrix, edges))
        files.append(Point(edges, engine.file_size() / 1e6))
        times.append(_time_checked(work, matrix, engine, edges))
        engines.append(engine.time_alone(contents(work.publications, work.subscriptions), edges))
    sizes = _describe(default, "SizeS", f"SizeS ({default.subscription_size[0]}, x).")
    yield Figure("9d", "memory", EDGES, MEGABYTES, _memory_lines(memory, files), sizes=sizes)
    lines = (Line(GTOPSS, tuple(times)), *engine_lines(engines, ()))
    yield Figure("9e", "matching time", EDGES, MILLISECONDS, lines, True, sizes)


def _time_checked(work: Workload, matrix: Matrix, engine: Engine, x: float) -> Point:
    point = _time_matcher(matrix, work.publications, x)
    (content,) = contents(work.publications[:1], work.subscriptions)
    check_alike(GTOPSS, Matcher(matrix).match(work.publications[0]), engine, work.publications[0], content)
    return point


def _measure_ratio(scale: Scale) -> Figure:
    times, engines = [], []
    default = _make_varied(scale)
    for ratio in scale.ratios:
        work = make_workload(replace(default, matched=ratio))
        matrix, engine = fill_matrix(work.subscriptions), _ask(work.subscriptions)
        times.append(_time_checked(work, matrix, engine, ratio))
        engines.append(engine.time_alone(contents(work.publications, work.subscriptions), ratio))
    lines = (Line(GTOPSS, tuple(times)), *engine_lines(engines, ()))
    sizes = _describe(default, "ratio_match")
    return Figure("9f", "matching time", "ratio of matching subscriptions", MILLISECONDS, lines, True, sizes)
