"""The workloads of the MDV paper (section 4, figure 10): rules of one kind each, and documents of two resources.

Document n has a CycleProvider and the ServerInformation that it refers to. Rules of the kinds OID, PATH and JOIN match
one document each: rule r is matched by document r. Of COMP, a document matches a share of all rules. Where the paper is
silent: what is not asked of is filled in, and a new *turn* of a document is its next version. In an even turn rule r is
matched as said, in an odd one by the rule after it (PATH, JOIN), or one rule in a hundred fewer match (COMP).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.workloads.texts import XSD_INTEGER

OID, COMP, PATH, JOIN = KINDS = "OID", "COMP", "PATH", "JOIN"
JOIN_EQUAL = "JOIN by ="
"""No kind of the paper's: JOIN whose ``contains`` is ``=``, which all documents meet as well."""
NAMESPACE = "http://mdv.example/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
PROVIDER, SERVER = "CycleProvider", "ServerInformation"
DOMAIN, CPU = "uni-passau.de", "600"
CLASS, INFORMATION = "rdf:type", "serverInformation"
_PREFIX = f"PREFIX : <{NAMESPACE}>\n"
_QUERIES = {
    OID: "?c a :CycleProvider FILTER(?c = <{0}provider{1}>)",
    COMP: "?c a :CycleProvider ; :synthValue ?v FILTER(?v > {1})",
    PATH: "?c a :CycleProvider ; :serverInformation ?s . ?s a :ServerInformation ; :memory {1}",
    JOIN: "?c a :CycleProvider ; :serverHost ?h ; :serverInformation ?s . "
    "?s a :ServerInformation ; :cpu 600 ; :memory {1} FILTER(CONTAINS(?h, 'uni-passau.de'))",
    JOIN_EQUAL: "?c a :CycleProvider ; :serverHost 'uni-passau.de' ; :serverInformation ?s . "
    "?s a :ServerInformation ; :cpu 600 ; :memory {1}",
}


class Fact(NamedTuple):
    """A statement by names alone, as the paper's figure 4 has it; `CLASS` and `INFORMATION` have resources for
    values."""

    resource: str
    property: str
    value: str


def write_rule(kind: str, number: int) -> str:
    """Figure 10's rule as SPARQL."""
    return f"{_PREFIX}SELECT ?c {{ {_QUERIES[kind].format(NAMESPACE, number)} }}"


def name_graph(number: int) -> str:
    return f"{NAMESPACE}document{number}"


def make_facts(kind: str, number: int, rules: int, turn: int = 0, share: float = 0.1) -> Sequence[Fact]:
    """Document `number` in a turn. `share`: of the rules of kind COMP that it matches."""
    provider, server = f"provider{number}", f"server{number}"
    odd = turn % 2
    shift = odd if kind in (PATH, JOIN, JOIN_EQUAL) else 0
    host = DOMAIN if kind == JOIN_EQUAL else f"host{number}.{DOMAIN}"
    synthetic = int(rules * share) - odd * (rules // 100) if kind == COMP else number
    return (
        Fact(provider, CLASS, PROVIDER),
        Fact(provider, "serverHost", host),
        Fact(provider, "serverPort", str(5000 + turn)),
        Fact(provider, "synthValue", str(synthetic)),
        Fact(provider, INFORMATION, server),
        Fact(server, CLASS, SERVER),
        Fact(server, "memory", str((number + shift) % rules)),
        Fact(server, "cpu", CPU),
    )


def to_triples(facts: Sequence[Fact]) -> bytes:
    """N-Triples, not canonical."""
    return "".join(map(_to_line, facts)).encode()


def _to_line(fact: Fact) -> str:
    resource, property, value = fact
    predicate = RDF_TYPE if property == CLASS else NAMESPACE + property
    if property in (CLASS, INFORMATION):
        term = f"<{NAMESPACE}{value}>"
    else:
        term = f'"{value}"^^<{XSD_INTEGER}>' if value.isdecimal() else f'"{value}"'
    return f"<{NAMESPACE}{resource}> <{predicate}> {term} .\n"
