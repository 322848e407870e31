"""Figures 4 to 8 and what the issue asks beside them.

A sweep's figure has a line for each schedule: the expected cost of an event, in evaluations (predicates cost 1), mean,
least and most over the seeds; the lower bound; and where the paper prints numbers, what even one who is told the truth
evaluates. Beside it stand two figures of the claims: ``-gap``, how much of Sub-Order's distance from the bound the
adaptive schedule takes away, and how it stands to the best of the others; ``-ratios``, the paper's algorithms over
each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from experiments.figures import Figure, Line, Point
from experiments.operators.beside import measure_batches, measure_learning, measure_limits, measure_optimum
from experiments.operators.bound import bound_event, least_cover
from experiments.operators.playing import OURS, SCHEDULES, UNEQUAL
from experiments.operators.share import measure_share
from experiments.operators.workload import Sizes, Workload, make_events, make_workload

BOUND = "lower bound"
SUB_ORDER = "Sub-Order"
UNIT = "evaluations an event"
SEEDS = (2007, 2008, 2009)
CLOSED = "share of the gap closed"
AGAINST = "best other over adaptive"
COVER, COVERED = "least cover, truth known", "4"
"""The line, and the sweep that has it."""
PRINTED: Mapping[str, Mapping[str, Mapping[float, float]]] = {
    "4": {"Sequential": {80_000: 7_761}, SUB_ORDER: {80_000: 7_037}},
    "6": {"naive": {30_000: 16_251}, "Sequential": {30_000: 3_267}, SUB_ORDER: {30_000: 1_977}},
    "7": {"Sequential": {5: 1_593, 11: 1_784}},
}
"""What section 5.3 prints, by figure and line."""
RATIOS = (("naive", "Sequential"), ("naive", SUB_ORDER), (SUB_ORDER, "Sequential"))


@dataclass(frozen=True, slots=True)
class Effort:
    events: int
    """Of each seed: 1,000 in all, as Table 1 has them."""
    bounded: int
    """Events over which the bound is taken."""
    divided_by: int
    """Subscriptions and predicates are this many times fewer."""
    seeds: int
    """Of `SEEDS`, the first: each a workload and events of its own."""


FULL, QUICK = Effort(334, 10, 1, 3), Effort(20, 4, 20, 2)


@dataclass(frozen=True, slots=True)
class Sweep:
    name: str
    title: str
    across: str
    points: Mapping[float, Sizes]
    fixed: str


THOUSAND = 1_000
_UNIFORM = Sizes(80 * THOUSAND, 40 * THOUSAND)
_ZIPF = replace(_UNIFORM, exponent=1.0)
_MIDDLE = Sizes(20 * THOUSAND, 5 * THOUSAND, exponent=1.0)
_SUBSCRIPTIONS = tuple(count * THOUSAND for count in (2, 10, 20, 40, 60, 80))
_PREDICATES = tuple(count * THOUSAND for count in (2, 5, 10, 20, 30))


def _by_subscriptions(base: Sizes, counts: Sequence[int] = _SUBSCRIPTIONS) -> dict[float, Sizes]:
    return {count: replace(base, subscriptions=count) for count in counts}


def _by_predicates(base: Sizes) -> dict[float, Sizes]:
    return {count: replace(base, predicates=count) for count in _PREDICATES}


_FEW = (20 * THOUSAND, 80 * THOUSAND)
_EQUAL = "40,000 predicates, all equally probable, 3 to 5 a subscription"
SWEEPS = (
    Sweep("4", "uniform popularity", "subscriptions", _by_subscriptions(_UNIFORM), "40,000 predicates, 3 to 5 each"),
    Sweep("5", "Zipf popularity", "subscriptions", _by_subscriptions(_ZIPF), "40,000 predicates, 3 to 5 each"),
    Sweep("6", "predicates, Zipf", "predicates", _by_predicates(_MIDDLE), "20,000 subscriptions of 3 to 5"),
    Sweep(
        "6-uniform",
        "predicates, uniform",
        "predicates",
        _by_predicates(replace(_MIDDLE, exponent=0.0)),
        "20,000 subscriptions of 3 to 5",
    ),
    Sweep(
        "7",
        "length, Zipf",
        "most predicates of a subscription",
        {longest: replace(_MIDDLE, longest=longest) for longest in (5, 7, 9, 11)},
        "20,000 subscriptions, 5,000 predicates, at least 3 each",
    ),
    Sweep(
        "8",
        "popularity",
        "exponent of Zipf (0: uniform weights)",
        {exponent: replace(_MIDDLE, exponent=exponent) for exponent in (0.0, 0.8, 1.0, 1.2)},
        "20,000 subscriptions, 5,000 predicates, 3 to 5 each",
    ),
    Sweep(
        "4-equal", "uniform, equal p", "subscriptions", _by_subscriptions(replace(_UNIFORM, equal=True), _FEW), _EQUAL
    ),
    Sweep("5-equal", "Zipf, equal p", "subscriptions", _by_subscriptions(replace(_ZIPF, equal=True), _FEW), _EQUAL),
    Sweep(
        "costs",
        "unequal costs (4.3), Zipf",
        "dearest over cheapest predicate",
        {ratio: replace(_MIDDLE, cost_ratio=ratio) for ratio in (1.0, 10.0, 100.0)},
        "20,000 subscriptions, 5,000 predicates, 3 to 5 each; the cheapest predicate costs 1",
    ),
)


def measure(quick: bool) -> Iterator[Figure]:
    """The limits first: the memory told is the most that the process has had so far."""
    effort = QUICK if quick else FULL
    yield from measure_limits(effort.divided_by)
    yield from measure_share(effort.divided_by, 2)
    yield from measure_optimum(3 if quick else 20)
    yield measure_learning(effort.divided_by)
    yield measure_batches(effort.divided_by)
    known: dict[str, Figure] = {}
    for sweep in SWEEPS:
        for figure in _measure_sweep(sweep, effort):
            known[figure.name] = figure
            yield figure
    yield _side_by_side("4-5", "more subscriptions: uniform and Zipf", known["4-ratios"], known["5-ratios"])
    yield _side_by_side("6-similar", "more predicates: uniform and Zipf", known["6-uniform-ratios"], known["6-ratios"])


def _side_by_side(name: str, title: str, uniform: Figure, zipf: Figure) -> Figure:
    """What is saved against naive under both popularities."""
    lines = tuple(
        replace(figure.line(_over("naive", under)), name=f"{_over('naive', under)}, {popularity}")
        for popularity, figure in (("uniform", uniform), ("Zipf", zipf))
        for under in ("Sequential", SUB_ORDER)
    )
    return replace(uniform, name=name, title=title, lines=lines)


def _over(over: str, under: str) -> str:
    return f"{over} over {under}"


def _measure_sweep(sweep: Sweep, effort: Effort) -> Iterator[Figure]:
    played = _played(sweep.name == "costs")
    points: dict[str, list[Point]] = {name: [] for name in (*played, BOUND)}
    gaps: dict[str, list[Point]] = {name: [] for name in (CLOSED, AGAINST)}
    ratios: dict[str, list[Point]] = {_over(*pair): [] for pair in RATIOS}
    for x, sizes in sweep.points.items():
        scaled = _scale_down(sizes, effort.divided_by)
        x = x / effort.divided_by if sweep.across in ("subscriptions", "predicates") else x
        seeds = [_measure_sizes(scaled, effort, played, seed, sweep.name == COVERED) for seed in SEEDS[: effort.seeds]]
        for name in seeds[0]:
            points.setdefault(name, []).append(_of_seeds(x, [means[name] for means in seeds]))
        gaps[CLOSED].append(_of_seeds(x, [_share_closed(means) for means in seeds]))
        gaps[AGAINST].append(_of_seeds(x, [_best_other(means) / means[OURS] for means in seeds]))
        for over, under in RATIOS:
            ratios[_over(over, under)].append(_of_seeds(x, [means[over] / means[under] for means in seeds]))
    said = f"{sweep.fixed}; 0.2 % match; {effort.events:,} events, the bound over {effort.bounded} of them, "
    said += f"{effort.seeds} seeds, of which the mean, the least and the most"
    said += f"; sizes divided by {effort.divided_by}" if effort.divided_by > 1 else ""
    unit = UNIT if sweep.name != "costs" else "cost of an event"
    printed = PRINTED.get(sweep.name, {})
    yield Figure(sweep.name, sweep.title, sweep.across, unit, _lines(points), sizes=said, printed=printed)
    title = f"{sweep.title}: Sub-Order, adaptive, bound"
    yield Figure(f"{sweep.name}-gap", title, sweep.across, "share; ratio", _lines(gaps), sizes=said)
    title = f"{sweep.title}: the paper's algorithms"
    yield Figure(f"{sweep.name}-ratios", title, sweep.across, "ratio of the means", _lines(ratios), sizes=said)


def _of_seeds(x: float, values: Sequence[float]) -> Point:
    return Point(x, fmean(values), min(values), max(values), turns=tuple((value,) for value in values))


def _share_closed(means: Mapping[str, float]) -> float:
    """Of the gap from Sub-Order to the lower bound."""
    return (means[SUB_ORDER] - means[OURS]) / (means[SUB_ORDER] - means[BOUND])


def _best_other(means: Mapping[str, float]) -> float:
    return min(mean for name, mean in means.items() if name not in (OURS, BOUND, COVER))


def _scale_down(sizes: Sizes, by: int) -> Sizes:
    return replace(sizes, subscriptions=sizes.subscriptions // by, predicates=sizes.predicates // by)


def _lines(points: Mapping[str, list[Point]]) -> tuple[Line, ...]:
    return tuple(Line(name, tuple(sorted(found, key=lambda point: point.x))) for name, found in points.items())


def _played(unequal: bool) -> tuple[str, ...]:
    return tuple(name for name in SCHEDULES if unequal or name != UNEQUAL)


def _measure_sizes(sizes: Sizes, effort: Effort, played: Sequence[str], seed: int, covered: bool) -> dict[str, float]:
    """The mean cost of an event, by schedule; the lower bound's estimate, without bias, which takes our mean over all
    events as exact, as every line is held against the same events; and, if `covered`, the least cover."""
    workload = make_workload(sizes, seed)
    events = make_events(workload, effort.events, seed + 1)
    means: dict[str, float] = {}
    excess: list[float] = []
    for name in played:
        evaluate = SCHEDULES[name](workload)
        taken = []
        for number, satisfied in enumerate(events):
            evaluated = evaluate(satisfied)
            taken.append(float(workload.costs[evaluated].sum()))
            if name == OURS and number < effort.bounded:
                excess.append(_excess(workload, satisfied, evaluated))
        means[name] = fmean(taken)
    means[BOUND] = means[OURS] - fmean(excess)
    if covered:
        means[COVER] = fmean(least_cover(workload, satisfied) for satisfied in events[: effort.bounded])
    return means


def _excess(workload: Workload, satisfied: NDArray[np.bool_], evaluated: NDArray[np.bool_]) -> float:
    """What was evaluated, priced as the bound prices it, above the bound: never negative, and in expectation the
    distance of the schedule's cost from it. Its mean varies far less over events than the bound itself."""
    false = evaluated & ~satisfied
    priced = float((workload.costs[false] / (1 - workload.holds[false])).sum())
    return priced - bound_event(workload, satisfied)
