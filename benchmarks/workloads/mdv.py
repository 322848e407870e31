"""The workloads of the MDV paper (section 4, figure 10): rules of one kind each, and documents of two resources.

Document n has a CycleProvider and the ServerInformation that it refers to. Rules of the kinds OID, PATH and JOIN match
one document each: rule r is matched by document r. Of COMP, a document matches a share of all rules. Where the paper is
silent: what is not asked of is filled in, and a new *turn* of a document is its next version. In an even turn rule r is
matched as said, in an odd one by the document before it (PATH, JOIN), or one rule in a hundred fewer match (COMP).

Beyond the paper: JOIN by ``=`` instead of ``contains``; PATH rules of several *structures*, which ask of a property
each; and a *hub*, one ServerInformation in document 0 to which the providers of all others refer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.workloads.texts import XSD_INTEGER

OID, COMP, PATH, JOIN = KINDS = "OID", "COMP", "PATH", "JOIN"
JOIN_EQUAL, HUB = "JOIN by =", "HUB"
NAMESPACE = "http://mdv.example/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
PROVIDER, SERVER = "CycleProvider", "ServerInformation"
DOMAIN, CPU = "uni-passau.de", "600"
CLASS, INFORMATION = "rdf:type", "serverInformation"
_PREFIX = f"PREFIX : <{NAMESPACE}>\n"
_QUERIES = {
    OID: "?c a :CycleProvider FILTER(?c = <{0}provider{1}>)",
    COMP: "?c a :CycleProvider ; :synthValue ?v FILTER(?v > {1})",
    PATH: "?c a :CycleProvider ; :serverInformation ?s . ?s a :ServerInformation ; :memory{2} {1}",
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


@dataclass(frozen=True, slots=True)
class RuleBase:
    kind: str
    rules: int
    share: float = 0.1
    """Of the rules that a document of kind COMP matches."""
    structures: int = 1
    """Of kind PATH."""

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.structures:,} structures" if self.structures > 1 else self.kind

    def place(self, number: int) -> tuple[int, int]:
        """The structure and the constant of a rule."""
        return number % self.structures, number // self.structures

    def write_rule(self, number: int) -> str:
        """Figure 10's rule as SPARQL."""
        structure, constant = self.place(number)
        pattern = _QUERIES[PATH if self.kind == HUB else self.kind]
        return f"{_PREFIX}SELECT ?c {{ {pattern.format(NAMESPACE, constant, self._suffix(structure))} }}"

    def make_facts(self, number: int, turn: int = 0) -> Sequence[Fact]:
        """A document in a turn."""
        if self.kind == HUB:
            return self._make_hub(turn) if number == 0 else self._make_reference(number, turn)
        provider, server = f"provider{number}", f"server{number}"
        odd = turn % 2
        structure, constant = self.place(number % self.rules)
        if self.kind in (PATH, JOIN, JOIN_EQUAL):
            constant = (constant + odd) % max(1, self.rules // self.structures)
        synthetic = int(self.rules * self.share) - odd * (self.rules // 100) if self.kind == COMP else number
        return (
            Fact(provider, CLASS, PROVIDER),
            Fact(provider, "serverHost", DOMAIN if self.kind == JOIN_EQUAL else f"host{number}.{DOMAIN}"),
            Fact(provider, "serverPort", str(5000 + turn)),
            Fact(provider, "synthValue", str(synthetic)),
            Fact(provider, INFORMATION, server),
            Fact(server, CLASS, SERVER),
            Fact(server, f"memory{self._suffix(structure)}", str(constant)),
            Fact(server, "cpu", CPU),
        )

    def _suffix(self, structure: int) -> str:
        return "" if self.structures == 1 else str(structure)

    def _make_hub(self, turn: int) -> Sequence[Fact]:
        return Fact("server0", CLASS, SERVER), Fact("server0", "memory", str(turn % self.rules))

    def _make_reference(self, number: int, turn: int) -> Sequence[Fact]:
        provider = f"provider{number}"
        port = Fact(provider, "serverPort", str(5000 + turn))
        return Fact(provider, CLASS, PROVIDER), Fact(provider, INFORMATION, "server0"), port


def read_number(name: str) -> int:
    """At the end of the name of a document, a resource or a rule, or the value itself."""
    digits = len(name) - len(name.rstrip("0123456789"))
    return int(name[-digits:])


def name_graph(number: int) -> str:
    return f"{NAMESPACE}document{number}"


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
