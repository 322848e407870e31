"""Constructs that are refused by name, undeclared operators, and the limits of a query's size (semantics 1.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from triplecast.errors import QueryRefused
from triplecast.languages.vocabularies import bare_namespace, doubt_iri, is_far
from triplecast.model.entailment import FUNCTION_MARKS, FUNCTIONS
from triplecast.model.operators import OperatorSet
from triplecast.operators.failure_hints import describe_missing
from triplecast.terms.casts import CASTS
from triplecast.terms.nearness import likeness_of, nearest_names, one_apart, split_name
from triplecast.terms.values import XSD

MAX_CHARACTERS = 1_000_000
MAX_TOKENS = 100_000
MAX_NESTING = 100
"""Brackets of all kinds, open at once."""
_NAMES_KEPT = 100_000
MAX_DEPTH = 100
"""Nodes on any way from a query's root to a leaf of its algebra.

Readers may recurse at Python's default recursion limit as long as they use at most five frames a node.
"""

_UPDATE = (
    "an update changes a store, and a subscription only reads publications",
    "write what should be matched as SELECT, ASK or CONSTRUCT",
)
TRIPLE_TERM = (
    "triple terms and the rest of RDF 1.2 are not part of SPARQL 1.1",
    "describe the statement with rdf:subject, rdf:predicate and rdf:object, or give it a node of its own",
)
_DATASET = (
    "a query is evaluated against each publication, so it cannot choose its dataset",
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
            "list the triples with CONSTRUCT",
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
"""GeoSPARQL's functions, which are built-in operators."""
_STAGES = (
    ("urn:triplecast:ft:", "full text has ft:contains and ft:score only", "use one of these"),
    (GEOF, "no operator of this name is known", "GeoSPARQL's functions are built-in operators"),
    (
        XSD,
        f"SPARQL 1.1 casts only to {KNOWN_CASTS}",
        "use one of these; STRDT(?text, datatype) makes a literal of any other datatype, and comparisons read dates, "
        "times and the types derived from xsd:integer without a cast",
    ),
    (
        FUNCTIONS,
        "the taxonomy has no such function",
        "use tc:instance, tc:descendant or tc:ancestor, with a node and a class, or tc:before of an update",
    ),
    (
        OPERATORS,
        "no operator of this name is known",
        "this namespace has the built-in operators only; use another IRI for your own",
    ),
)

_OWN = (
    "for an operator of your own, name its module (`--operators MODULE`); in Python, import it first, or give the "
    "operator to `Engine(operators=…)`"
)
_OURS = ("urn:triplecast:ft:", FUNCTIONS, XSD)
"""Namespaces without operators: a misspelt name there means none."""


def nearest_operators(iri: str, operators: OperatorSet) -> list[str]:
    """List the IRIs of similar operators, the likeliest first."""
    return nearest_names(iri, [each.iri for each in operators])


def refuse_word(word: str) -> tuple[str, str, str] | None:
    """Return construct, reason and fix for a word or sign that is refused by name; None for any other."""
    found = WORDS.get(word.upper())
    if found is None:
        return None
    name = word.upper() if word.isalpha() else f"{word} (RDF 1.2)"
    return (name, *found)


def refuse_function(iri: str, operators: OperatorSet) -> tuple[str, str, str] | None:
    """Return construct, reason and fix for an unknown function; None for SPARQL's casts and the taxonomy's."""
    if iri in CASTS or iri in FUNCTION_MARKS:
        return None
    near = nearest_operators(iri, operators)
    if near and not iri.startswith(_OURS):
        return f"function <{iri}>", "no such function or operator is known", f"was <{near[0]}> meant?"
    for namespace, reason, hint in _STAGES:
        if iri.startswith(namespace):
            fix = hint if namespace in _OURS else _known_operators(namespace, hint, operators)
            return f"function <{iri}>", reason, fix
    fix = f"use a built-in function of SPARQL 1.1, a cast ({KNOWN_CASTS}) or an operator; {_OWN}"
    return f"function <{iri}>", "no such function or operator is known", _with_faults(fix, operators)


def refuse_all_but_operators(iri: str, operators: OperatorSet) -> tuple[str, str, str]:
    """The same for RDQL, whose functions are operators only."""
    ours = iri.startswith(_OURS)
    if not ours and (nearest_operators(iri, operators) or iri.startswith((OPERATORS, GEOF))):
        found = refuse_function(iri, operators)
        assert found is not None
        return found
    fix = "write casts, full text and the taxonomy's functions in SPARQL" if ours else _OWN
    reason = "RDQL's functions are operators, and no operator of this name is known"
    return f"function <{iri}>", reason, _with_faults(fix, operators)


def refuse_operator(iri: str, operators: OperatorSet) -> tuple[str, str, str]:
    """Return construct, reason and fix for a predicate in the operators' namespace that is no operator."""
    near = nearest_operators(iri, operators)
    (found,) = ((reason, hint) for namespace, reason, hint in _STAGES if namespace == OPERATORS)
    hint = f"was <{near[0]}> meant?" if near else _known_operators(OPERATORS, found[1], operators)
    return f"operator <{iri}>", found[0], hint


def _known_operators(namespace: str, otherwise: str, operators: OperatorSet) -> str:
    """List the operators that a namespace has, and say why others may be missing."""
    names = [each.iri.removeprefix(namespace) for each in operators if each.iri.startswith(namespace)]
    known = f"it has {', '.join(names)}" if names else otherwise
    missing = describe_missing()
    return _with_faults(f"{known}; {missing}" if missing else known, operators)


def _with_faults(fix: str, operators: OperatorSet) -> str:
    """Add which installed packages of operators cannot be imported."""
    return f"{fix}; not imported: {'; '.join(operators.faults)}" if operators.faults else fix


# ---- undeclared operators --------------------------------------------------------------------------------------------

HOW_TO_DECLARE = "name the module that declares it (`--operators MODULE`; in Python, import it first)"
_SHOWN = 3
_OPERATOR_FOLDERS = frozenset({"op", "ops", "operator", "operators"})
"""Last parts of namespaces whose names say that they hold operators."""
_ALIKE = 0.8
"""Likeness of two names in namespaces that differ by little."""


def warn_undeclared(iri: str, operators: OperatorSet) -> str | None:
    """Warn of a predicate that is named like an operator though no operator has its name; None for nearly all.

    Any IRI may be a predicate of the data, so such a query is accepted.
    """
    namespace, local = split_name(iri)
    if not _may_hold_operators(namespace, operators) or operators.find(iri) is not None:
        return None
    declared = _declared(operators)
    beside = declared.get(namespace, ())
    warning = f"<{iri}> is matched as a predicate of the data, since no operator of this name is declared"
    near = nearest_names(iri, beside, 1) or _in_like_namespaces(namespace, local, declared)
    if near:
        return f"{warning}; was the operator <{near[0]}> meant?"
    if beside:
        names = ", ".join(split_name(name)[1] for name in beside[:_SHOWN])
        more = f" and {len(beside) - _SHOWN} more" if len(beside) > _SHOWN else ""
        return f"{warning}, though its namespace has {names}{more}; if it is an operator, {HOW_TO_DECLARE}"
    if _is_of_operators(namespace):
        return f"{warning}; if it is an operator, {HOW_TO_DECLARE}"
    return None


@lru_cache(maxsize=16_384)
def _may_hold_operators(namespace: str, operators: OperatorSet) -> bool:
    """Whether `warn_undeclared` warns of some name in it."""
    declared = _declared(operators)
    return namespace in declared or _is_of_operators(namespace) or any(_are_like(each, namespace) for each in declared)


def _is_of_operators(namespace: str) -> bool:
    return namespace == GEOF or split_name(namespace[:-1])[1].lower() in _OPERATOR_FOLDERS


def _are_like(namespace: str, other: str) -> bool:
    return bare_namespace(namespace) == bare_namespace(other) or one_apart(namespace, other)


class OrdinaryNames(set[str]):
    """Constants of which neither `warn_undeclared` nor `doubt_iri` has anything to say; bounded."""

    def __init__(self, operators: OperatorSet) -> None:
        super().__init__()
        self._operators = operators
        self._namespaces: dict[str, bool] = {}

    def has_all(self, names: Sequence[str]) -> bool:
        """Whether all these constants are ordinary."""
        if self.issuperset(names):
            return True
        new = [name for name in names if name not in self]
        if not all(map(self._is_ordinary, new)):
            return False
        if len(self) > _NAMES_KEPT:
            self.clear()
            self._namespaces.clear()
        self.update(new)
        return True

    def _is_ordinary(self, name: str) -> bool:
        iri = name[1:-1]
        namespace, _ = split_name(iri)
        known = self._namespaces.get(namespace)
        if known is None:
            known = namespace[-1:] in ("/", "#") and is_far(namespace)
            known = self._namespaces[namespace] = known and not _may_hold_operators(namespace, self._operators)
        return known or (doubt_iri(iri) is None and warn_undeclared(iri, self._operators) is None)


@lru_cache(maxsize=16)
def ordinary_names(operators: OperatorSet) -> OrdinaryNames:
    """The process's for these operators."""
    return OrdinaryNames(operators)


@lru_cache(maxsize=16)
def _declared(operators: OperatorSet) -> Mapping[str, Sequence[str]]:
    """Group the operators' IRIs by namespace."""
    found: dict[str, list[str]] = {}
    for each in operators:
        found.setdefault(split_name(each.iri)[0], []).append(each.iri)
    return found


def _in_like_namespaces(namespace: str, local: str, declared: Mapping[str, Sequence[str]]) -> list[str]:
    """An operator in a namespace that differs from this one by a sign, by its end, or by ``https``."""
    return [
        name
        for other, names in declared.items()
        if other != namespace and _are_like(other, namespace)
        for name in names
        if likeness_of(split_name(name)[1], local) >= _ALIKE
    ][:1]


# ---- size ------------------------------------------------------------------------------------------------------------


def refuse_depth(what: str, name: str | None) -> QueryRefused:
    """Refuse what has more than `MAX_DEPTH` levels."""
    return refuse_size(f"{what} nested this deep", f"its algebra may have {MAX_DEPTH} levels", name)


def refuse_size(construct: str, reason: str, name: str | None) -> QueryRefused:
    return QueryRefused(construct, reason, "make it flatter or shorter, or split it into subscriptions", name=name)
