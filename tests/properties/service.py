"""`python -m tests.properties.service N`: N requests that schemathesis makes of the service's own description.

Each is answered as the description says, and never with a 5xx. Half of them are seasoned with what means something
here, so that they come through. A seed in TRIPLECAST_SEED replays a run.
"""

from __future__ import annotations

import faulthandler
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import requests
import schemathesis
import uvicorn
from fastapi import FastAPI
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
from triplecast import Engine, Subscribed
from triplecast.delivery.opening import open_delivery
from triplecast.egress import Egress, EgressRules
from triplecast.errors import EgressFailed
from triplecast.service.app import create_app
from triplecast.service.server import ServiceServer
from triplecast.service.settings import ServiceSettings
from triplecast.service.websub import open_hub

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OF_A_TURN = 100
"""Requests of one operation, before the next one has its turn."""
OF_EACH_WRONG = 6
"""Requests of which one breaks the description."""
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
def whole_service(folder: Path, **settings: Any) -> Iterator[tuple[Engine, FastAPI]]:
    """All of a service but its socket, over a folder. Nothing leaves this machine: each request out fails."""
    with ExitStack() as opened:
        fails = EgressFailed("there is no network", "this is a test")
        opened.enter_context(patch.object(Egress, "send", side_effect=fails))
        engine = opened.enter_context(Engine.open(folder))
        targets = opened.enter_context(open_delivery(folder)).requests
        hub = opened.enter_context(closing(open_hub(engine, Egress(EgressRules()), targets)))
        yield engine, create_app(engine, ServiceSettings(**settings), targets, hub)


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The address of a service in this process."""
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


def season(case: schemathesis.Case, chance: random.Random, known: Mapping[str, Subscribed]) -> None:
    """Put something into a request that the service can do something with."""
    path, method, body = case.operation.path, case.operation.method, case.body
    if "{id}" in path:
        id = chance.choice([*known])
        case.path_parameters = {"id": id}
        case.headers["Triplecast-Ticket"] = known[id].ticket
        if path.endswith(("ldes", "stream")):
            case.query = {}
    if "{owner}" in path and method == "get":
        case.path_parameters, case.query = {"owner": "ada"}, {"after": 0, "id": ""}
    if path == "/documents":
        case.query = {"graph": chance.choice(GRAPHS)}
        if method in ("put", "post") and case.media_type in BODIES:
            case.body = chance.choice(BODIES[case.media_type]).encode()
            if case.media_type == "application/x-ndjson":
                case.query = {}
    elif path == "/notifications":
        case.query = {"since": chance.choice(("0", "now", "2026-01-01T00:00:00Z")), "limit": chance.randint(1, 9)}
    elif path == "/sparql" and method == "get":
        case.query = {"query": chance.choice(QUERIES)}
    elif path == "/sparql" and case.media_type == "application/x-www-form-urlencoded":
        case.body = {"query": chance.choice(QUERIES)}
    elif case.media_type in ("application/sparql-query", "text/plain"):
        case.body = chance.choice(QUERIES).encode()
    elif path == "/taxonomy" and method == "put" and case.media_type in BODIES:
        case.body = b"<a:q> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <a:p> ."
    elif path in ("/subscriptions", "/preview") and isinstance(body, dict) and case.media_type is not None:
        case.body = {**body, "text": chance.choice(QUERIES), "language": "sparql"}
    elif path.endswith("/delivery") and isinstance(body, dict) and method == "post":
        case.body = {"webhook": "https://hooks.example/1"}


def keep_known(engine: Engine, known: dict[str, Subscribed]) -> None:
    """Some subscriptions are live, whatever a request cancelled."""
    live = {each.id for each in engine.subscriptions()}
    for id, scope in (("rail", "publication"), ("a/b c", "repository")):
        if id not in live:
            known[id] = engine.subscribe("SELECT ?o { ?s <a:p> ?o }", id, scope=scope)


def check_service(n: int, folder: Path) -> Counter[int]:
    """How often each status was answered. Raises what schemathesis finds wrong."""
    number = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    chance, statuses, known = random.Random(number), Counter[int](), dict[str, Subscribed]()
    with whole_service(folder, query_rows=10_000) as (engine, app), served(app) as url, requests.Session() as session:
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        operations = [(found.ok(), _cases(found.ok())) for found in schema.get_all_operations()]
        seeds = count(number)
        while (left := n - statuses.total()) > 0:
            for operation, cases in operations:

                @seed(next(seeds))
                @settings(
                    max_examples=min(max(left // len(operations), 1), OF_A_TURN),
                    database=None,
                    deadline=None,
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                )
                @given(cases)
                def ask(case: schemathesis.Case) -> None:
                    if chance.random() < 0.5:
                        season(case, chance, known)
                    try:
                        response = case.call_and_validate(base_url=url, session=session, checks=CHECKS, timeout=600)
                    except requests.Timeout:
                        faulthandler.dump_traceback()  # what each thread of the service is at
                        raise
                    statuses[response.status_code] += 1

                keep_known(engine, known)
                began = time.monotonic()
                ask()
                if "-v" in sys.argv:
                    print(operation.label, statuses.total(), time.monotonic() - began, file=sys.stderr)
            print(f"{statuses.total()} so far: {dict(sorted(statuses.items()))}", file=sys.stderr, flush=True)
    return statuses


def _cases(operation: schemathesis.APIOperation) -> st.SearchStrategy[schemathesis.Case]:
    """Most keep to the description: one that breaks it takes several times as long to make."""
    positive = operation.as_strategy(schemathesis.GenerationMode.POSITIVE)
    return st.one_of(*[positive] * (OF_EACH_WRONG - 1), operation.as_strategy(schemathesis.GenerationMode.NEGATIVE))


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        found = check_service(n, Path(folder) / "folder")
    print(f"{found.total()} requests answered as described: {dict(sorted(found.items()))}")


if __name__ == "__main__":
    main()
