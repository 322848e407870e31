"""The same documents as N-Triples and the same rules as SPARQL, for the engine.

A rule's answer is a set of resources, so ``DISTINCT``. Each predicate with a constant binds a variable of its own, as
its triggering rule asks of one atom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from experiments.mdv.decompose import normalise
from experiments.mdv.rules import CLASS, SUBJECT, Atom, Rule, Schema

NAMESPACE = "http://mdv.example/"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def to_iri(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


def to_term(property: str, value: str, schema: Schema) -> str:
    """A resource, a number or a text."""
    if property in schema or property == CLASS:
        return to_iri(value)
    return f'"{value}"^^<{XSD_INTEGER}>' if value.lstrip("-").isdecimal() else f'"{value}"'


def to_property(property: str) -> str:
    return RDF_TYPE if property == CLASS else to_iri(property)


def to_triples(atoms: frozenset[Atom], schema: Schema) -> bytes:
    """Canonical N-Triples."""
    lines = (
        f"{to_iri(resource)} {to_property(property)} {to_term(property, value, schema)} .\n"
        for resource, property, value in atoms
    )
    return "".join(sorted(lines)).encode()


def to_sparql(rule: Rule, schema: Schema, others: Mapping[str, Rule]) -> str:
    """`others` are those that an extension may name."""
    writer = _Writer(schema, others)
    register = writer.fresh()
    return f"SELECT DISTINCT {register} {{ {' '.join(writer.write(rule, register))} }}"


class _Writer:
    def __init__(self, schema: Schema, others: Mapping[str, Rule]) -> None:
        self._schema = schema
        self._others = others
        self._variables = 0

    def fresh(self) -> str:
        self._variables += 1
        return f"?v{self._variables}"

    def write(self, rule: Rule, register: str) -> Iterator[str]:
        """The patterns and filters of a rule whose registered variable has a name."""
        normal = normalise(rule, self._schema)
        names = {each: register if each == rule.register else self.fresh() for each in normal.extensions}
        for variable, extension in normal.extensions.items():
            if extension in self._others:
                yield from self.write(self._others[extension], names[variable])
            else:
                yield f"{names[variable]} {RDF_TYPE} {to_iri(extension)} ."
        for variable, property, operator, constant in normal.constants:
            yield self._compare(names[variable], property, operator, constant)
        for edge in normal.edges:
            yield self._join(names[edge.left], edge.property, names[edge.right], edge.other_property)

    def _compare(self, variable: str, property: str, operator: str, constant: str) -> str:
        if property == SUBJECT:
            return f"FILTER({variable} {operator} {to_iri(constant)})"
        term = to_term(property, constant, self._schema)
        if operator == "=":
            return f"{variable} {to_iri(property)} {term} ."
        value = self.fresh()
        holds = f"CONTAINS({value}, {term})" if operator == "contains" else f"{value} {operator} {term}"
        return f"{variable} {to_iri(property)} {value} . FILTER({holds})"

    def _join(self, left: str, property: str, right: str, other_property: str) -> str:
        if property == other_property == SUBJECT:
            return f"FILTER({left} = {right})"
        if other_property == SUBJECT:
            return f"{left} {to_iri(property)} {right} ."
        if property == SUBJECT:
            return f"{right} {to_iri(other_property)} {left} ."
        value = self.fresh()
        return f"{left} {to_iri(property)} {value} . {right} {to_iri(other_property)} {value} ."
