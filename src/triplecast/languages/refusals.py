"""What is refused by name, and the limits of a query's size (semantics 1.5; docs/language.md)."""

from __future__ import annotations

from types import MappingProxyType

from triplecast.errors import QueryRefused
from triplecast.model.entailment import FUNCTION_MARKS, FUNCTIONS
from triplecast.model.operators import OperatorSet
from triplecast.operators.extra import describe_missing
from triplecast.terms.casts import CASTS
from triplecast.terms.nearness import nearest_names
from triplecast.terms.values import XSD

MAX_CHARACTERS = 1_000_000
MAX_TOKENS = 100_000
MAX_NESTING = 100
"""Brackets of all kinds, open at once."""
MAX_DEPTH = 100
"""Nodes on any way from a query's root to a leaf of its algebra.

Readers may recurse at Python's default recursion limit as long as they use at most five frames a node.
"""

_UPDATE = (
    "an update changes a store, and a subscription only reads publications",
    "write what should be told as SELECT, ASK or CONSTRUCT",
)
TRIPLE_TERM = (
    "triple terms and the rest of RDF 1.2 are not part of SPARQL 1.1",
    "describe the statement with rdf:subject, rdf:predicate and rdf:object, or give it a node of its own",
)
_DATASET = (
    "a subscription is asked of each publication, so a query cannot choose its dataset",
    "leave FROM out; use GRAPH for the graphs of a publication",
)
_CHANCE = (
    "its value is no function of the publication, and answers must be repeatable",
    "leave it out, or derive a value from the data",
)

_UPDATES = ("LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "INSERT", "DELETE", "WITH", "USING")
_STATEMENTS = ("<<", ">>", "{|", "|}", "~", "TRIPLE", "SUBJECT", "PREDICATE", "OBJECT", "ISTRIPLE", "VERSION")
WORDS = MappingProxyType(
    {
        "DESCRIBE": (
            "SPARQL leaves open what a description contains, so its answer is not defined",
            "say which triples you want with CONSTRUCT",
        ),
        "SERVICE": (
            "it reaches outside the publication, and what matches may depend on nothing else",
            "query the other endpoint after a notification",
        ),
        **dict.fromkeys(["FROM", "NAMED"], _DATASET),
        **dict.fromkeys(["RAND", "UUID", "STRUUID"], _CHANCE),
        **dict.fromkeys(_UPDATES, _UPDATE),
        **dict.fromkeys(_STATEMENTS, TRIPLE_TERM),
        **dict.fromkeys(["LANGDIR", "HASLANG", "HASLANGDIR", "STRLANGDIR"], TRIPLE_TERM),
    }
)

KNOWN_CASTS = ", ".join(f"xsd:{iri.removeprefix(XSD)}" for iri in CASTS)

OPERATORS = "urn:triplecast:op:"
"""Names in this namespace are operators and nothing else."""
GEOF = "http://www.opengis.net/def/function/geosparql/"
"""GeoSPARQL's functions, which are operators of the box."""
_STAGES = (
    ("urn:triplecast:ft:", "full text has ft:contains and ft:score only", "use one of these"),
    (
        GEOF,
        "no operator of this name is known",
        "GeoSPARQL's are operators of the box",
    ),
    (
        XSD,
        f"SPARQL 1.1 casts only to {KNOWN_CASTS}",
        "use one of these; STRDT(?text, datatype) makes a literal of any other datatype, and comparisons read dates, "
        "times and the types derived from xsd:integer without a cast",
    ),
    (
        FUNCTIONS,
        "the taxonomy has no such function",
        "use tc:instance, tc:descendant or tc:ancestor, with a node and a class",
    ),
    (
        OPERATORS,
        "no operator of this name is known",
        "names in this namespace are operators of the box; one of your own has another IRI",
    ),
)

_OWN = "one of your own is known where its module is named (`--operators MODULE`) or, in Python, imported before"
_OURS = ("urn:triplecast:ft:", FUNCTIONS, XSD)
"""Namespaces in which nobody declares operators: none is meant by a slip there."""


def nearest_operators(iri: str, operators: OperatorSet) -> list[str]:
    """Return the IRIs of operators that may have been meant, the likeliest first."""
    return nearest_names(iri, [each.iri for each in operators])


def refuse_word(word: str) -> tuple[str, str, str] | None:
    """Construct, reason and fix for a word or sign that is refused by name; None for any other."""
    found = WORDS.get(word.upper())
    if found is None:
        return None
    name = word.upper() if word.isalpha() else f"{word} (RDF 1.2)"
    return (name, *found)


def refuse_function(iri: str, operators: OperatorSet) -> tuple[str, str, str] | None:
    """Construct, reason and fix for a function named by an IRI; None for SPARQL's casts and the taxonomy's."""
    if iri in CASTS or iri in FUNCTION_MARKS:
        return None
    near = nearest_operators(iri, operators)
    if near and not iri.startswith(_OURS):
        return f"function <{iri}>", "no such function or operator is known", f"was <{near[0]}> meant?"
    for namespace, reason, hint in _STAGES:
        if iri.startswith(namespace):
            return (
                f"function <{iri}>",
                reason,
                hint if namespace in _OURS else _what_is_known(namespace, hint, operators),
            )
    told = f"use a built-in function of SPARQL 1.1, a cast ({KNOWN_CASTS}) or an operator; {_OWN}"
    return f"function <{iri}>", "no such function or operator is known", _with_faults(told, operators)


def refuse_all_but_operators(iri: str, operators: OperatorSet) -> tuple[str, str, str]:
    """The same in RDQL, which has no other functions than operators."""
    ours = iri.startswith(_OURS)
    if not ours and (nearest_operators(iri, operators) or iri.startswith((OPERATORS, GEOF))):
        found = refuse_function(iri, operators)
        assert found is not None
        return found
    told = "casts, full text and the taxonomy's functions are SPARQL's" if ours else _OWN
    return (
        f"function <{iri}>",
        "RDQL's functions are operators, and none of this name is known",
        _with_faults(told, operators),
    )


def refuse_operator(iri: str, operators: OperatorSet) -> tuple[str, str, str]:
    """Construct, reason and fix for a predicate in the namespace of operators that is none."""
    near = nearest_operators(iri, operators)
    (found,) = ((reason, hint) for namespace, reason, hint in _STAGES if namespace == OPERATORS)
    hint = f"was <{near[0]}> meant?" if near else _what_is_known(OPERATORS, found[1], operators)
    return f"operator <{iri}>", found[0], hint


def _what_is_known(namespace: str, otherwise: str, operators: OperatorSet) -> str:
    """Of a namespace of operators: those that are declared, and why others may not be."""
    names = [each.iri.removeprefix(namespace) for each in operators if each.iri.startswith(namespace)]
    known = f"known there are {', '.join(names)}" if names else otherwise
    missing = describe_missing()
    return _with_faults(f"{known}; {missing}" if missing else known, operators)


def _with_faults(told: str, operators: OperatorSet) -> str:
    """What is told, and which operators of installed packages are not known because they cannot be imported."""
    return f"{told}; not imported: {'; '.join(operators.faults)}" if operators.faults else told


def refuse_depth(what: str, name: str | None) -> QueryRefused:
    """Of what has more than `MAX_DEPTH` levels."""
    return refuse_size(f"{what} nested this deep", f"its algebra may have {MAX_DEPTH} levels", name)


def refuse_size(construct: str, reason: str, name: str | None) -> QueryRefused:
    return QueryRefused(
        construct, reason, "make it flatter or shorter, or split it into several subscriptions", name=name
    )
