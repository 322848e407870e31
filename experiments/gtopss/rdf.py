"""The papers' graphs as the engine takes them: N-Triples, SPARQL, and answers back into rows.

A number that is a node cannot be an RDF literal, as literals are no subjects. It becomes an IRI with one more triple,
its value, and a star that is compared one more pattern: the engine does more than the papers' algorithms for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.workloads.texts import XSD_INTEGER, iri, to_lines
from experiments.engine import Rows
from experiments.gtopss.model import COMPARISONS, Answers, Label, Node, Publication, Row, Subscription, is_star
from experiments.gtopss.taxonomy import Taxonomy
from triplecast import Subscription as Asked
from triplecast.model.events import TaxonomyVersion
from triplecast.taxonomy import Taxonomies, read_taxonomy

_PREFIXES = "PREFIX b: <http://bench.example/>\nPREFIX tc: <urn:triplecast:taxonomy:>\n"
_RDFS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_FUNCTIONS = {"is-a =": "tc:instance", "is-a <=": "tc:descendant", "is-a >=": "tc:ancestor"}


def to_asked(subscription: Subscription, name: str) -> Asked:
    """A subscription without stars is asked with ``ASK``."""
    parts = [f"{_write(edge.subject)} b:{_label(edge.label)} {_write(edge.object)}" for edge in subscription.edges]
    compared = sorted({each.star for each in subscription.constraints if each.operator in COMPARISONS}, reverse=True)
    parts += [f"{_write(star)} b:value ?v{-star}" for star in compared]
    filters = [
        f"FILTER(?v{-star} {how} {value})"
        if how in COMPARISONS
        else f"FILTER({_FUNCTIONS[how]}({_write(star)}, {_write(value)}))"
        for star, how, value in subscription.constraints
    ]
    columns = " ".join(_write(star) for star in subscription.stars)
    head = f"SELECT {columns}" if columns else "ASK"
    return Asked(name, f"{_PREFIXES}{head} {{ {' . '.join(parts)} {' '.join(filters)} }}")


def to_content(publication: Publication, with_values: bool) -> bytes:
    """`with_values`: the numbers among the nodes have their value triples."""
    triples = [(_iri(edge.subject), iri(_label(edge.label)), _iri(edge.object)) for edge in publication]
    if with_values:
        numbers = {node for edge in publication for node in (edge.subject, edge.object) if isinstance(node, int)}
        triples += [(_iri(number), iri("value"), f'"{number}"^^<{XSD_INTEGER}>') for number in numbers]
    return to_lines(triples)


def to_taxonomies(taxonomy: Taxonomy) -> Taxonomies:
    """In force from the first position on."""
    triples = [
        (_iri(below), _RDFS, _iri(above)) for below, all_above in taxonomy.broader.items() for above in all_above
    ]
    triples += [(_iri(below), _TYPE, _iri(above)) for below, all_above in taxonomy.types.items() for above in all_above]
    return Taxonomies((TaxonomyVersion(0, read_taxonomy([to_lines(triples)]).lines, False),))


def to_answers(found: dict[int, Rows]) -> Answers:
    """The engine's bindings as rows of nodes."""
    return {number: {_read_row(dict(solution)) for solution in rows} for number, rows in found.items()}


def _read_row(solution: dict[str, str]) -> Row:
    return tuple(_read(solution[name]) for name in sorted(solution, key=lambda name: int(name[1:])))


def _read(term: str) -> Node:
    name = term.removesuffix(">").rpartition("/")[2]
    return int(name[1:]) if name[0] == "n" else name[1:]


def _name(node: Node) -> str:
    return f"n{node}" if isinstance(node, int) else f"t{node}"


def _label(label: Label) -> str:
    return f"e{label}"


def _iri(node: Node) -> str:
    return iri(_name(node))


def _write(node: Node) -> str:
    return f"?s{-node}" if is_star(node) else f"b:{_name(node)}"


def contents(publications: Sequence[Publication], subscriptions: Sequence[Subscription]) -> list[bytes]:
    """With values where some subscription compares."""
    compare = any(each.operator in COMPARISONS for subscription in subscriptions for each in subscription.constraints)
    return [to_content(publication, compare) for publication in publications]
