"""From generated numbers to RDF and SPARQL text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from triplecast.model.subscription import Subscription
from triplecast.taxonomy import Taxonomy

NAMESPACE = "http://bench.example/"
PREFIX = f"PREFIX b: <{NAMESPACE}>\n"
XSD_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    subscriptions: Sequence[str]
    """SPARQL texts."""
    publications: Sequence[bytes]
    """Canonical N-Triples: sorted unique lines."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several ways to state the same interests."""

    workload: Workload
    subscriptions: Sequence[Subscription]
    taxonomy: Taxonomy


def iri(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


def decimal(value: float) -> str:
    """The N-Triples form of a number with two places."""
    return f'"{value:.2f}"^^<{XSD_DECIMAL}>'


def to_lines(triples: Iterable[tuple[str, str, str]]) -> bytes:
    """Canonical N-Triples of terms given in N-Triples form."""
    return "".join(sorted({f"{subject} {predicate} {value} .\n" for subject, predicate, value in triples})).encode()


def to_turtle(lines: bytes) -> bytes:
    """The same graph as a publisher would write it: prefixes, a block a subject, numbers and names in short form."""
    triples = [line[:-2].split(" ", 2) for line in lines.decode().splitlines()]
    blocks = [f"@prefix b: <{NAMESPACE}> .\n"]
    for subject, group in groupby(triples, key=lambda triple: triple[0]):
        pairs = ";\n  ".join(f"{_shorten(predicate)} {_shorten(value)}" for _, predicate, value in group)
        blocks.append(f"{_shorten(subject)} {pairs} .\n")
    return "".join(blocks).encode()


def _shorten(term: str) -> str:
    name = term[len(NAMESPACE) + 1 : -1]
    if term.startswith(f"<{NAMESPACE}") and name.replace("-", "").isalnum():
        return f"b:{name}"
    return term.removeprefix('"').removesuffix(f'"^^<{XSD_DECIMAL}>') if term.endswith(f"<{XSD_DECIMAL}>") else term


def to_query(patterns: Iterable[tuple[str, str, str]], conditions: Mapping[str, Sequence[str]]) -> str:
    """Write ``SELECT *`` over triple patterns and, by variable, comparisons like ``>= 5``, in SPARQL terms."""
    body = " . ".join(" ".join(pattern) for pattern in patterns)
    filters = "".join(
        f" FILTER({' && '.join(f'{variable} {comparison}' for comparison in comparisons)})"
        for variable, comparisons in conditions.items()
    )
    return f"{PREFIX}SELECT * {{ {body}{filters} }}"
