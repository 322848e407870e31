"""Write and read terms in their canonical N-Triples form, a term's identity everywhere inside Triplecast.

It is `pyoxigraph`'s ``str(term)``, the form of RDF 1.1 N-Triples, section 4 (``"x"`` without datatype for xsd:string,
escapes only where required).
"""

from __future__ import annotations

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from triplecast.model.algebra import Term


def to_ntriples(term: Term) -> str:
    return str(term)


def from_ntriples(text: str) -> Term:
    """Return the term that `to_ntriples` wrote. Raises ValueError for text that is not the form of one term."""
    if text.startswith("<") and text.endswith(">") and "\\" not in text:
        return NamedNode(text[1:-1])
    if text.startswith("_:"):
        return BlankNode(text[2:])
    try:
        (quad,) = parse(f"<x:s> <x:p> {text} .".encode(), format=RdfFormat.N_TRIPLES)
    except SyntaxError as error:
        raise ValueError(f"not a term in N-Triples form: {text!r}") from error
    value = quad.object
    if not isinstance(value, NamedNode | BlankNode | Literal):
        raise ValueError(f"a triple term is not supported: {text!r}")
    return value
