"""Publications and answers in short form."""

from __future__ import annotations

import json

from triplecast.evaluate import Budget, Solutions, bindings_json, evaluate
from triplecast.languages import parse_query
from triplecast.model.publication import Publication

PREFIXES = "PREFIX : <urn:x:> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"


def published(turtle: str, dataset: bool = False, graph: str = "urn:x:doc", version: int = 1) -> Publication:
    """A publication from Turtle (TriG for a dataset) with the prefixes above."""
    from pyoxigraph import RdfFormat, parse, serialize

    source, target = (RdfFormat.TRIG, RdfFormat.N_QUADS) if dataset else (RdfFormat.TURTLE, RdfFormat.N_TRIPLES)
    lines = serialize(parse(PREFIXES + turtle, format=source), format=target).splitlines(keepends=True)
    stamp = "2026-11-21T08:00:00.000000Z"
    return Publication(7, graph, version, stamp, b"".join(sorted(set(lines))), dataset)


def solve(text: str, publication: Publication, steps: int = 100_000) -> Solutions:
    return evaluate(parse_query(PREFIXES + text), publication, Budget(steps))


def answers(text: str, publication: Publication) -> list[dict[str, str]]:
    """The bindings as sent; IRIs of the prefix and plain integers shortened: ``:a``, ``5``."""
    rows = json.loads(bindings_json(solve(text, publication)))
    return [{name: shortened(term) for name, term in row.items()} for row in rows]


def shortened(term: str) -> str:
    if term.startswith("<urn:x:"):
        return ":" + term[7:-1]
    suffix = '"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return term[1 : -len(suffix)] if term.endswith(suffix) else term


def value(expression: str, publication: Publication | None = None) -> str | None:
    """What an expression gives, None for an error."""
    rows = answers(f"SELECT ({expression} AS ?x) {{ }}", publication or published(""))
    return rows[0].get("x")
