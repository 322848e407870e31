"""Subscriptions of repository scope, the workloads of the MDV paper (section 5): documents through a durable engine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.figures import Figure, at_least, make_rate, time_runs
from triplecast import Document, Engine, Subscription

AT_ONCE = 1_000
"""Documents of one call."""
SINGLY = 300
REGISTERED = 10_000
"""Documents at most."""
LEAST_AT_ONCE, LEAST_SINGLY = 10_000.0, 1_000.0
"""Documents a second."""
Size = tuple[str, int]
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
    first = [_document(number, rules) for number in range(min(rules, REGISTERED))]
    yield _measure_registered(engine, size, first)
    numbers = count(rules)

    def following(many: int) -> list[Document]:
        """Versions of other documents each time, in which nothing changes that a rule asks of."""
        return [_document(next(numbers), rules) for _ in range(many)]

    timing = time_runs(lambda: engine.publish_many(following(AT_ONCE)))
    yield make_rate("updated, 1,000 a call", size, timing, AT_ONCE, "documents/s", target=at_least(LEAST_AT_ONCE))
    timing = time_runs(lambda: [engine.publish(*_parts(each)) for each in following(SINGLY)])
    yield make_rate("updated, one by one", size, timing, SINGLY, "documents/s", target=at_least(LEAST_SINGLY))


def _measure_registered(engine: Engine, size: Size, documents: list[Document]) -> Figure:
    """Once: each document is of one rule, and new."""
    began, core, matches = time.perf_counter(), time.process_time(), 0
    for first in range(0, len(documents), AT_ONCE):
        receipts = engine.publish_many(documents[first : first + AT_ONCE])
        matches += sum(len(each.matches) for each in receipts)
    seconds, processor = time.perf_counter() - began, time.process_time() - core
    work = {"matches": matches / len(documents), "per core second": len(documents) / processor}
    rate = len(documents) / seconds
    return Figure("registered, 1,000 a call", *size, rate, "documents/s", work=work, target=at_least(LEAST_AT_ONCE))


def _parts(document: Document) -> tuple[bytes, str | None, str | None]:
    return document.data, document.media_type, document.graph


def _document(number: int, rules: int) -> Document:
    turn, place = divmod(number, rules)
    graph = f"{_MDV}document/{place}"
    return Document(graph, _TRIPLES.format(_MDV, place, turn).encode(), "application/n-triples", graph)
