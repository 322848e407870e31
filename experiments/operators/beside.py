"""What the figures of the paper do not show: what ordering costs, small worlds' optimum, learning, batches."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator

import numpy as np

from experiments.figures import Figure, Line, Point
from experiments.operators.optimum import expect, find_optimum
from experiments.operators.workload import Sizes, Workload, make_events, make_workload
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import Conjunctions
from triplecast.operators.asking.schedules import SCHEDULES, Schedule, make_schedule
from triplecast.operators.asking.sub_order import SubOrder

SEED = 2007
_POPULARITY = {"uniform": 0.0, "Zipf": 1.0}
_INSERTED = 1_000
_OPERATOR_SECONDS = 0.001
_WARM = Sizes(50, 40)


def measure_limits(divided_by: int) -> Iterator[Figure]:
    """Seconds are this process's own: the machine runs other things."""
    order: dict[str, list[Point]] = {name: [] for name in _POPULARITY}
    insert: dict[str, list[Point]] = {f"{name}{told}": [] for name in _POPULARITY for told in ("", ", slowest")}
    memory: list[Point] = []
    share: dict[str, list[Point]] = {name: [] for name in SCHEDULES}
    warm = make_workload(_WARM, SEED)
    warmed, _, _ = _order_and_insert(warm, 5)
    for known in SCHEDULES:
        _share(known, warmed, warm)  # the first event of a schedule loads its kernels
    for count in (20_000 // divided_by, 80_000 // divided_by):
        for name, exponent in _POPULARITY.items():
            workload = make_workload(Sizes(count, 40_000 // divided_by, exponent), SEED)
            schedule, seconds, each = _order_and_insert(workload, _INSERTED)
            order[name].append(Point(count, seconds))
            insert[name].append(Point(count, 1e3 * float(np.mean(each))))
            insert[f"{name}, slowest"].append(Point(count, 1e3 * max(each)))
            if name == "Zipf":
                for known in SCHEDULES:
                    share[known].append(Point(count, _share(known, schedule, workload)))
        memory.append(Point(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
    sizes = f"{40_000 // divided_by:,} predicates, 3 to 5 a subscription; processor time"
    yield _figure("order", "putting all in Sub-Order", "seconds", order, sizes)
    yield _figure("insert", f"inserting one more, of {_INSERTED:,}", "ms", insert, sizes)
    yield _figure("memory", "most memory of the process", "MiB", {"process": memory}, sizes)
    told = f"{sizes}; Zipf; every operator takes 1 ms, one asked at a time; rows and numbers are ready"
    yield _figure("share-run", "the share of a schedule's run in an event", "%", share, told)


def _figure(name: str, title: str, unit: str, points: dict[str, list[Point]], sizes: str) -> Figure:
    lines = tuple(Line(line, tuple(found)) for line, found in points.items())
    return Figure(name, title, "subscriptions", unit, lines, sizes=sizes)


def _order_and_insert(workload: Workload, inserted: int) -> tuple[SubOrder, float, list[float]]:
    """(the schedule without what was inserted, seconds of ordering, seconds of each insertion)."""
    schedule = SubOrder(workload.known)
    start = time.process_time()
    schedule.insert_all(workload.standing)
    seconds = time.process_time() - start
    chance = random.Random(SEED)
    count, each = len(workload.starts) - 1, []
    for number in range(inserted):
        row = chance.randrange(count)
        other = int(workload.members[chance.randrange(len(workload.members))])
        members = [*workload.members[workload.starts[row] : workload.starts[row + 1] - 1].tolist(), other]
        start = time.process_time()
        schedule.insert(count + number, members)
        each.append(time.process_time() - start)
    for number in range(inserted):
        schedule.remove(count + number)
    return schedule, seconds, each


def _share(name: str, sub_order: SubOrder, workload: Workload) -> float:
    """Per cent, of one event: what is not the operators' milliseconds."""
    schedule: Schedule = sub_order if name == "sub-order" else make_schedule(name, Experience())
    satisfied = make_events(workload, 1, SEED)[0].tolist()
    start = time.process_time()
    asked, _ = _run(schedule, workload.conjunctions, satisfied, 1)
    seconds = time.process_time() - start
    return 100 * seconds / (seconds + asked * _OPERATOR_SECONDS)


def _run(schedule: Schedule, rows: Conjunctions, satisfied: list[bool], limit: int) -> tuple[int, int]:
    """(predicates asked, rounds) through the interface that the engine uses."""
    run = schedule.start(rows)
    asked = rounds = 0
    while wanted := run.wanted(limit):
        rounds += 1
        for predicate in wanted:
            run.learn(predicate, satisfied[predicate])
        asked += len(wanted)
    return asked, rounds


def measure_batches(divided_by: int) -> Figure:
    """How many evaluations asking for several at once costs, and how few rounds it takes."""
    workload = make_workload(Sizes(20_000 // divided_by, 5_000 // divided_by, 1.0), SEED)
    events = make_events(workload, 5, SEED).tolist()
    sub_order = SubOrder(workload.known)
    sub_order.insert_all(workload.standing)
    schedules: dict[str, Schedule] = {
        "Sub-Order": sub_order,
        "adaptive": make_schedule("adaptive", Experience()),
    }
    points: dict[str, list[Point]] = {}
    for limit in (1, 4, 16, 32, 64, 256):
        for name, schedule in schedules.items():
            runs = [_run(schedule, workload.conjunctions, event, limit) for event in events]
            asked, rounds = (float(np.mean(column)) for column in zip(*runs, strict=True))
            points.setdefault(name, []).append(Point(limit, asked))
            points.setdefault(f"{name}, rounds", []).append(Point(limit, rounds))
    lines = tuple(Line(name, tuple(found)) for name, found in sorted(points.items()))
    sizes = f"{20_000 // divided_by:,} subscriptions, {5_000 // divided_by:,} predicates, Zipf; 5 events"
    return Figure(
        "batches", "asking several at once", "asked at once at most", "evaluations; rounds", lines, True, sizes
    )


def measure_learning(divided_by: int) -> Figure:
    """The adaptive schedule from nothing but the prior, event after event, beside one that knows everything."""
    workload = make_workload(Sizes(20_000 // divided_by, 5_000 // divided_by, 1.0), SEED)
    rows = workload.conjunctions
    experience, schedule = Experience(), make_schedule("adaptive", Experience())
    learning: list[int] = []
    knowing: list[int] = []
    for satisfied in make_events(workload, 256, SEED).tolist():
        knowing.append(_run(schedule, rows, satisfied, 1)[0])
        run = schedule.start(rows._replace(holds=experience.holds(rows.templates)))
        asked: list[int] = []
        while wanted := run.wanted():
            run.learn(wanted[0], satisfied[wanted[0]])
            asked += wanted
        for predicate in asked:
            experience.learn(predicate, satisfied[predicate], None)
        learning.append(len(asked))
    ends = [4, 16, 64, 256]
    lines = tuple(
        Line(name, tuple(Point(end, float(np.mean(counts[end // 4 : end]))) for end in ends))
        for name, counts in (("learning", learning), ("knowing", knowing))
    )
    sizes = (
        f"{20_000 // divided_by:,} subscriptions, {5_000 // divided_by:,} predicates, Zipf; means since a quarter of x"
    )
    return Figure("learning", "selectivities learnt online", "events", "evaluations an event", lines, sizes=sizes)


def measure_optimum(worlds: int) -> Iterator[Figure]:
    """The expected cost in random small worlds with unequal costs, each over all truths: the mean of all, and how many
    times the optimum it is in the worst of them."""
    chance = random.Random(SEED)
    points: dict[str, list[Point]] = {}
    worst: dict[str, list[Point]] = {name: [] for name in SCHEDULES}
    for predicates in (3, 4, 5, 6, 7, 8):
        costs: dict[str, list[float]] = {}
        for _ in range(worlds):
            rows, columns = _small_world(chance, predicates)
            members = [members for _, members in rows]
            costs.setdefault("optimum", []).append(
                find_optimum(members, columns.holds.tolist(), columns.costs.tolist())
            )
            for name in SCHEDULES:
                costs.setdefault(name, []).append(_expected(name, columns, members))
        for name, values in costs.items():
            points.setdefault(name, []).append(Point(predicates, float(np.mean(values))))
        for name in SCHEDULES:
            times = [cost / least for cost, least in zip(costs[name], costs["optimum"], strict=True)]
            worst[name].append(Point(predicates, max(times)))
    sizes = (
        f"{worlds} worlds a point, as many subscriptions as predicates, 1 to 4 each; p in 0.05 to 0.95, costs 1 to 10"
    )
    for name, title, unit, found in (
        ("optimum", "the best policy there is", "expected cost", points),
        ("optimum-worst", "the worst of the worlds", "times the optimum", worst),
    ):
        lines = tuple(Line(line, tuple(each)) for line, each in found.items())
        yield Figure(name, title, "predicates", unit, lines, sizes=sizes)


def _small_world(chance: random.Random, predicates: int) -> tuple[list[tuple[int, list[int]]], Conjunctions]:
    rows = [(row, chance.sample(range(predicates), chance.randint(1, min(4, predicates)))) for row in range(predicates)]
    holds = [chance.uniform(0.05, 0.95) for _ in range(predicates)]
    costs = [10 ** chance.random() for _ in range(predicates)]
    starts = np.cumsum([0, *(len(members) for _, members in rows)])
    flat = np.array([member for _, members in rows for member in members], np.int32)
    every, templates = np.arange(predicates), np.arange(predicates, dtype=np.int32)
    return rows, Conjunctions(every, starts, flat, templates, np.array(costs), np.array(holds))


def _expected(name: str, columns: Conjunctions, rows: list[list[int]]) -> float:
    known = Workload(columns.starts, columns.members, columns.holds, columns.costs)
    schedule = make_schedule(name, known.known)
    if isinstance(schedule, SubOrder):
        schedule.insert_all(known.standing)

    def cost_of(truths: tuple[bool, ...]) -> float:
        run = schedule.start(columns)
        total = 0.0
        while wanted := run.wanted():
            total += float(columns.costs[wanted[0]])
            run.learn(wanted[0], truths[wanted[0]])
        return total

    return expect(columns.holds.tolist(), cost_of)
