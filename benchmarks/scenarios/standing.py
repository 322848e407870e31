"""Subscriptions of repository scope, the workloads of the MDV paper (section 5): documents through a durable engine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.figures import Figure, at_least, make_rate, time_runs
from triplecast import Document, Engine, Receipt, Subscription

AT_ONCE = 1_000
"""Documents of one call."""
SINGLY = 300
LEAST_AT_ONCE, LEAST_SINGLY = 10_000.0, 1_000.0
"""Documents a second."""
_MDV = "http://mdv.example/"
_RULES = {
    "OID": "SELECT ?host {{ <{0}provider/{1}> a <{0}CycleProvider> ; <{0}host> ?host }}",
    "PATH": "SELECT ?c {{ ?c a <{0}CycleProvider> ; <{0}info> ?s . ?s <{0}memory> {1} }}",
    "JOIN": "SELECT ?c {{ ?c a <{0}CycleProvider> ; <{0}host> 'host {1}' ; <{0}info> ?s . "
    "?s <{0}cpu> ?x FILTER(?x > 500) }}",
}
"""Each rule matches one document."""
_TRIPLES = (
    '<{0}provider/{1}> <{0}host> "host {1}" .\n<{0}provider/{1}> <{0}info> <{0}server/{1}> .\n'
    '<{0}provider/{1}> <{0}port> "{2}" .\n'
    "<{0}provider/{1}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{0}CycleProvider> .\n"
    '<{0}server/{1}> <{0}cpu> "600"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '<{0}server/{1}> <{0}memory> "{1}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '<{0}server/{1}> <{0}os> "{2}" .\n'
    "<{0}server/{1}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{0}ServerInformation> .\n"
)


def measure_standing(rules: int) -> Iterator[Figure]:
    for workload, rule in _RULES.items():
        with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder, Engine.open(Path(folder)) as engine:
            yield from _measure_workload(engine, workload, rule, rules)


def _measure_workload(engine: Engine, workload: str, rule: str, rules: int) -> Iterator[Figure]:
    size = workload, rules
    texts = [Subscription(f"r{n}", rule.format(_MDV, n), scope="repository") for n in range(rules)]
    began, core = time.perf_counter(), time.process_time()
    engine.subscribe_many(texts)
    seconds, processor = time.perf_counter() - began, time.process_time() - core
    yield Figure(
        "subscribe_many", *size, rules / seconds, "subscriptions/s", work={"per core second": rules / processor}
    )
    numbers = count()

    def documents(many: int) -> list[Document]:
        """Those that follow: each of a rule of its own, again and again under other names of graphs."""
        return [_document(next(numbers), rules) for _ in range(many)]

    yield _measure(engine, "1,000 a call", size, lambda: engine.publish_many(documents(AT_ONCE)), AT_ONCE)
    yield _measure(
        engine,
        "one by one",
        size,
        lambda: [engine.publish(each.data, each.media_type, each.graph) for each in documents(SINGLY)],
        SINGLY,
    )


def _measure(
    engine: Engine, how: str, size: tuple[str, int], publish: Callable[[], list[Receipt]], many: int
) -> Figure:
    matches = sum(len(each.matches) for each in publish()) / many
    least = LEAST_AT_ONCE if many == AT_ONCE else LEAST_SINGLY
    timing = time_runs(publish)
    return make_rate(
        f"events, durable, {how}", size, timing, many, "documents/s", {"matches": matches}, at_least(least)
    )


def _document(number: int, rules: int) -> Document:
    turn, place = divmod(number, rules)
    graph = f"{_MDV}document/{place}"
    return Document(graph, _TRIPLES.format(_MDV, place, turn).encode(), "application/n-triples", graph)
