"""`python -m tests.properties.service N`: N requests that schemathesis makes of the service's own description.

Each is answered as the description says, and never with a 5xx. Half of them are seasoned with what means something
here, so that they come through. A seed in TRIPLECAST_SEED replays a run.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import requests
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.server import ServiceServer
from triplecast.service.settings import ServiceSettings

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
GRAPHS = ("https://e.org/1", "https://e.org/2", "urn:x:3")
BODIES = {
    "text/turtle": ("<a:s> <a:p> 1, [ <a:q> 2 ] .", '<a:s> <a:p> "x"@en .'),
    "application/n-triples": ("<a:s> <a:p> <a:o> .\n",),
    "application/ld+json": ('{"@id": "a:s", "a:p": 1}',),
    "application/x-ndjson": ('{"id": "urn:x:3", "media_type": "text/turtle", "data": "<a:s> <a:p> 3 ."}\n',),
}
QUERIES = (
    "SELECT * { ?s ?p ?o }",
    "ASK { ?s <a:p> 1 }",
    "CONSTRUCT { ?s a ?o } { ?s ?p ?o }",
    "SELECT ?n (COUNT(*) AS ?n) {}",
    "SELECT ?s { ?s <a:p> ?o FILTER(?o > 0) } GROUP BY ?s",
)


@contextmanager
def served(engine: Engine) -> Iterator[str]:
    """The address of a service in this process."""
    app = create_app(engine, ServiceSettings(query_rows=10_000))
    server = ServiceServer(uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on"), app)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def season(case: schemathesis.Case, chance: random.Random) -> None:
    """Put something into a request that the service can do something with."""
    path, method = case.operation.path, case.operation.method
    if path == "/documents":
        case.query = {"graph": chance.choice(GRAPHS)}
        if method in ("put", "post") and case.media_type in BODIES:
            case.body = chance.choice(BODIES[case.media_type]).encode()
            if case.media_type == "application/x-ndjson":
                case.query = {}
    elif path == "/sparql" and method == "get":
        case.query = {"query": chance.choice(QUERIES)}
    elif path == "/sparql" and case.media_type == "application/x-www-form-urlencoded":
        case.body = {"query": chance.choice(QUERIES)}
    elif case.media_type in ("application/sparql-query", "text/plain"):
        case.body = chance.choice(QUERIES).encode()
    elif path in ("/subscriptions", "/preview") and isinstance(case.body, dict) and case.media_type is not None:
        case.body = {**case.body, "text": chance.choice(QUERIES), "language": "sparql"}


def check_service(n: int, engine: Engine) -> Counter[int]:
    """How often each status was answered. Raises what schemathesis finds wrong."""
    number = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    chance, statuses = random.Random(number), Counter[int]()
    with served(engine) as url, requests.Session() as session:
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        operations = [found.ok() for found in schema.get_all_operations()]
        for each, operation in enumerate(operations):
            positive = operation.as_strategy(schemathesis.GenerationMode.POSITIVE)
            negative = operation.as_strategy(schemathesis.GenerationMode.NEGATIVE)

            @seed(number + each)
            @settings(
                max_examples=max(n // len(operations), 1),
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(st.one_of(positive, positive, negative))
            def ask(case: schemathesis.Case) -> None:
                if chance.random() < 0.5:
                    season(case, chance)
                response = case.call_and_validate(base_url=url, session=session, checks=CHECKS)
                statuses[response.status_code] += 1

            ask()
            print(f"{operation.label}: {statuses.total()} so far", file=sys.stderr, flush=True)
    return statuses


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with Engine() as engine:
        found = check_service(n, engine)
    print(f"{found.total()} requests answered as described: {dict(sorted(found.items()))}")


if __name__ == "__main__":
    main()
