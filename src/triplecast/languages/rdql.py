"""Parses RDQL to the algebra, as Jena's grammar and as the cluster paper write it.

A query is one basic graph pattern under a conjunction of constraints; ``AND``, ``SUCHTHAT``, the comma and brackets
only separate them. RDQL's coercions (semantics 7.1) are in the algebra: a variable that is compared as a number is
wrapped in ``NUMBER``, one that is compared as text in ``TEXT``; the operators are SPARQL's. A variable in the place of
a subject or predicate is an IRI or a blank node: it has no number, and its text is the same as another's only if the
terms are the same, so there both are left out and the index can decide. A call of an operator takes terms as they are;
its result is coerced as a variable's value is. A constant with a tag or datatype is compared as a term by ``eq``.

Names, strings and numbers are SPARQL's (`tokens`); IRIs may stand without brackets, and ``#`` begins a comment, as in
the papers. A pattern of ``=~``, ``~~`` or ``!~`` is one token with its operator, because a ``/`` elsewhere divides;
``//`` and ``/* … */`` are comments outside IRIs and strings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any, NamedTuple

from lark import Tree
from lark.lexer import Token
from pyoxigraph import Literal

from triplecast.languages import expressions, tokens
from triplecast.languages.context import Translation
from triplecast.languages.dialect import Cut, Dialect, Parsed, number_tokens, read_tree, translate
from triplecast.languages.operators import (
    Production,
    find_property_function,
    operator_call,
    order_productions,
    produce,
    read_productions,
)
from triplecast.languages.prefixes import Namespace, Notation
from triplecast.languages.rdql_coercions import Coercions, spells_number
from triplecast.languages.refusals import MAX_DEPTH, refuse_all_but_operators, refuse_depth
from triplecast.languages.rewriting import measure_depth
from triplecast.languages.tokens import Source, describe, open_source, open_string, read_tokens
from triplecast.languages.vocabularies import DECLARED
from triplecast.model import algebra
from triplecast.model.algebra import Call, Expression, Operation, Pattern, Query, TriplePattern, Variable
from triplecast.model.operators import OperatorSet

_GRAMMAR = "rdql.lark"
_PRINTED = {"=": "==", "≠": "!="}
"""As the cluster paper's figures print them."""
_NUMBERED = "\x01n"
_NOTATION = Notation("USING {} FOR <…>", loose=True, triple="({}, {}, {})", lists=False)


class _Constraint(NamedTuple):
    expression: Expression
    """With RDQL's own operators ``== eq ne langeq =~ !~`` and variables as written."""


def parse(text: str, name: str | None, operators: OperatorSet) -> Parsed:
    """Raises `QuerySyntaxError` and `QueryRefused`, with the place in the text as written."""
    source = open_source(text, name)
    numbered: dict[int, Token] = {}
    tree = read_tree(_GRAMMAR, "query", source, number_tokens(tokenise(source), numbered), name_terminals)
    translation = Translation(source, _declared(source, tree), numbered, operators)
    query = translate((expressions, sys.modules[__name__]), translation, tree)
    if measure_depth(query) > MAX_DEPTH:
        raise refuse_depth("a query", name)
    return Parsed(query, source, numbered, translation.namespace, frozenset(translation.pinned), frozenset())


def sources(text: str) -> tuple[str, ...]:
    """What a query that parses names after ``FROM`` or ``SOURCE``, as written: noted, not fetched (semantics 7.1)."""
    kinds = [(terminal(token), token) for token in TOKEN.findall(open_source(text, None).text)]
    head = kinds[: [kind for kind, _ in kinds].index("_WHERE")]
    return tuple(token for kind, token in head if kind in ("IRI", "NAME"))


# ---- tokens ------------------------------------------------------------------------------------------------

BARE_IRI = r"[A-Za-z][A-Za-z0-9+.\-]*+://[^\s<>\"{}|^`\\,()]++"
_TAG = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"
_MARKED = "|".join(rf"m{mark}(?:[^{mark}\\\r\n]|\\[^\r\n])*+{mark}" for mark in ("!", "%", r"\#"))
"""A pattern between other marks, as Jena prints one that holds a slash."""

TOKEN = re.compile(
    rf"\?[{tokens.NAME_START}_0-9][{tokens.VARIABLE_CHARACTER}]*+|{tokens.IRI_REFERENCE}|[,()]"
    r"|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|\#[^\r\n]*+"
    rf"|{BARE_IRI}|{tokens.NAME}|[{tokens.NAME_START}_][{tokens.NAME_CHARACTER}]*+"
    rf"|(?:{tokens.STRING})(?:{tokens.SPACE}{_TAG})?"
    rf"(?:{tokens.SPACE}\^\^{tokens.SPACE}(?:{tokens.IRI_REFERENCE}|{tokens.NAME}))?"
    rf"|[=!~]~[ \t\r\n]*+(?:m?/(?![/*])(?:[^/\\\r\n]|\\[^\r\n])*+/|{_MARKED})[A-Za-z]*+|[=!~]~"
    rf"|{tokens.NUMBER}|&&|\|\||==|!=|<=|>>>|>>|>=|<<|\^\^|\S"
)
MATCH_PARTS = re.compile(r"([=!~])~[ \t\r\n]*(?:m?([/!%#])((?:(?!\2)[^\\]|\\.)*)\2([A-Za-z]*))?")

_PUNCTUATION = {
    ",": "_COMMA", "(": "_LPAR", ")": "_RPAR", "*": "STAR", "/": "SLASH", "+": "PLUS", "-": "MINUS", "!": "BANG",
    "~": "BANG", "||": "_OR", "&&": "_BOTH", "==": "EQUALITY", "!=": "EQUALITY", "<": "COMPARISON", ">": "COMPARISON",
    "<=": "COMPARISON", ">=": "COMPARISON", "=": "EQUALITY", "≠": "EQUALITY", "=~": "MATCH_SIGN", "!~": "MATCH_SIGN",
    "~~": "MATCH_SIGN",
}  # fmt: skip
_KEYWORDS = {
    "SELECT": "_SELECT", "FROM": "_FROM", "SOURCE": "_SOURCE", "WHERE": "_WHERE", "AND": "_AND", "USING": "_USING",
    "SUCHTHAT": "_SUCHTHAT", "FOR": "_FOR", "EQ": "EQ", "NE": "NE", "LANGEQ": "LANGEQ", "TRUE": "BOOLEAN",
    "FALSE": "BOOLEAN",
}  # fmt: skip
_AS_NAMES = frozenset(_KEYWORDS.values()) - {"BOOLEAN"}
_WORDS = {
    "NAME": "a name", "EQ": "eq", "NE": "ne", "EQUALITY": "== or !=", "COMPARISON": "<, <=, > or >=", "_BOTH": "&&",
    "LANGEQ": "langeq", "ANY": "*", "MATCH": "=~ or !~ with a pattern",
    "MATCH_SIGN": "=~ or !~ with a pattern", "_AND": "AND", "_COMMA": "a comma",
}  # fmt: skip

_BITS = ("RDQL's operators on bits have no meaning for RDF values", "compare, add, subtract, multiply or divide")
_REFUSED = {
    **dict.fromkeys(("&", "|", "^", "<<", ">>", ">>>"), _BITS),
    "%": ("there is no remainder among SPARQL's and RDQL's common operators", "compare, add, subtract or divide"),
    "NULL": ("RDF has no null", "leave it out; a pattern that has no triple gives no row"),
}


def name_terminals(terminals: Iterable[str]) -> tuple[str, ...]:
    """Words for a set of terminals; where a name is allowed, keywords are too, which is not worth listing."""
    names = frozenset(terminals)
    return describe(names - _AS_NAMES if names >= _AS_NAMES else names, _WORDS)


def terminal(text: str) -> str:
    """The grammar's name for a token; empty for a comment, ``UNKNOWN`` for what is no token of the language."""
    known = _PUNCTUATION.get(text)
    if known is not None:
        return known
    first = text[0]
    if first == "?" and len(text) > 1:
        return "VAR"
    if first == "<" and text[-1] == ">":
        return "IRI"
    if first in "\"'" and len(text) > 1:
        parts = tokens.LITERAL_PARTS.fullmatch(text)
        return "UNKNOWN" if parts is None else "LITERAL" if parts[2] or parts[3] else "STRING"
    if first in "+-.0123456789" and text != ".":
        return "SIGNED" if first in "+-" else "INTEGER" if text.isdigit() else "NUMBER"
    if first == "#" or text[:2] in ("//", "/*"):
        return ""
    if text[:2] in ("=~", "!~", "~~"):
        return "MATCH"
    if ":" in text:
        return "IRI" if len(text) > 1 else "UNKNOWN"
    return _KEYWORDS.get(text.upper(), "NAME" if first == "_" or first.isalpha() else "UNKNOWN")


def tokenise(source: Source) -> Iterator[Token]:
    """All tokens but comments, one by one, numbered as in `tokens.tokenise`; raises what that raises."""
    return _find_wildcards(read_tokens(source, TOKEN, terminal, _check))


def _find_wildcards(found: Iterator[Token]) -> Iterator[Token]:
    """A ``*`` that has no operand on one side is a node of a pattern, of any term; else it multiplies."""
    before = ""
    for token, after in pairwise(chain(found, (None,))):
        assert token is not None
        kind = token.type
        stands_alone = before in ("_LPAR", "_COMMA") or (after is not None and after.type in ("_RPAR", "_COMMA"))
        yield token.update(type="ANY") if kind == "STAR" and stands_alone else token
        before = kind


def _check(source: Source, offset: int, text: str, kind: str) -> None:
    refused = _REFUSED.get(text.upper()) if kind else None
    if refused is not None:
        raise source.refusal(offset, text, *refused)
    if kind == "UNKNOWN" and text[0] in "\"'":
        raise open_string(source, offset)
    if kind and source.text.startswith("/*", offset):
        raise source.fault(offset, "this comment does not end", ("*/",))


# ---- prefixes ------------------------------------------------------------------------------------------------


def _declared(source: Source, tree: Tree[Token]) -> Namespace:
    """The namespace of the prefixes that ``USING`` declares, the last of a name, or that are declared for all.

    Raises `QuerySyntaxError`.
    """
    prefixes = dict(DECLARED)
    declarations = [(clause.children[0], clause.children[1]) for clause in tree.find_data("prefix")]
    for name, iri in sorted(declarations, key=lambda declaration: getattr(declaration[1], "start_pos", 0)):
        assert isinstance(name, Tree)
        assert isinstance(iri, Token)
        try:
            if not iri.startswith("<"):
                raise ValueError(f"{iri} is no IRI in angle brackets")
            prefixes[str(name.children[0])] = Namespace({}, None).named(str(iri)).value
        except ValueError as error:
            raise source.fault(iri, str(error), ("an IRI in angle brackets",)) from error
    return Namespace(prefixes, None, _NOTATION)


def _prefix(translation: Translation, children: list[Any]) -> None:
    """Read before (`_declared`)."""


_name = _prefixes = _sources = _prefix


# ---- patterns ------------------------------------------------------------------------------------------------


def _select(translation: Translation, children: list[Any]) -> tuple[Variable, ...] | None:
    """None for ``SELECT *``."""
    if children[0].type == "STAR":
        return None
    return tuple(dict.fromkeys(translation.node(child) for child in children))


def _pattern(translation: Translation, children: list[Any]) -> TriplePattern | Production:
    nodes: list[Any] = [
        translation.fresh("a") if isinstance(child, Token) and child.type == "ANY" else translation.node(child)
        for child in children
    ]
    subject, verb, end = nodes
    declared = find_property_function(translation, verb)
    if declared is not None:
        return Production(declared, (subject, end), translation.tokens[verb.index])
    return TriplePattern(subject, verb, end)


def _group(translation: Translation, children: list[Any]) -> list[TriplePattern | Production | _Constraint]:
    parts: list[TriplePattern | Production | _Constraint] = []
    for child in children:
        if isinstance(child, list):
            parts.extend(child)
        elif isinstance(child, TriplePattern | Production | _Constraint):
            parts.append(child)
    return parts


def _constraint(translation: Translation, children: list[Any]) -> _Constraint:
    expression = translation.node(children[0])
    if measure_depth(expression) > MAX_DEPTH:
        raise refuse_depth("an expression", translation.source.name)
    return _Constraint(expression)


def _query(translation: Translation, children: list[Any]) -> Query:
    variables: tuple[Variable, ...] | None = children[0]
    parts = _group(translation, children[1:])
    triples = tuple([part for part in parts if isinstance(part, TriplePattern)])
    nodes = [node for triple in triples for node in (triple.subject, triple.predicate, triple.object)]
    resources = [node for triple in triples for node in (triple.subject, triple.predicate)]
    coercions = Coercions(translation, frozenset(node for node in resources if isinstance(node, Variable)))
    translation.productions = [part for part in parts if isinstance(part, Production)]
    filters, productions = read_productions(translation)
    conditions = [coercions.value(part.expression) for part in parts if isinstance(part, _Constraint)] + filters
    nodes += [node for production in productions for node in production.arguments]
    if variables is None:
        variables = tuple(dict.fromkeys(node for node in nodes if isinstance(node, Variable) and node.name[0] != "_"))
    pattern: Pattern = algebra.BasicPattern(triples)
    for production in order_productions(productions):
        pattern = produce(production, pattern)
    if conditions:
        pattern = algebra.Filter(expressions.conjoin(conditions), pattern)
    return Query("select", algebra.Project(pattern, variables), variables)


# ---- constraints ---------------------------------------------------------------------------------------------


def _comparison(translation: Translation, children: list[Any]) -> Operation:
    left, operator, right = children
    name = operator.lower()
    return Operation(_PRINTED.get(name, name), (translation.node(left), translation.node(right)))


_text_comparison = _comparison


def _language(translation: Translation, children: list[Any]) -> Operation:
    """The constant is part of the template: whether it has a second part decides how it is compared."""
    subject, _, wanted = children
    translation.keep(wanted)
    return Operation("langeq", (translation.node(subject), translation.resolve(wanted)))


def _unary(translation: Translation, children: list[Any]) -> Operation:
    sign = str(children[0])
    return Operation("!" if sign in "!~" else f"u{sign}", (translation.node(children[1]),))


def _match(translation: Translation, children: list[Any]) -> Operation:
    """The pattern and its flags are part of the template: a plan refuses what RE2 cannot run."""
    token = children[1]
    parts = MATCH_PARTS.fullmatch(str(token))
    assert parts is not None
    pattern, flags = parts[3], parts[4]
    if len(children) > 2:
        translation.keep(children[2])
        pattern, flags = translation.resolve(children[2]).value, ""
    return Operation(
        "!~" if parts[1] == "!" else "=~", (translation.node(children[0]), Literal(pattern), Literal(flags))
    )


def _arguments(translation: Translation, children: list[Any]) -> tuple[Expression, ...]:
    return tuple([translation.node(child) for child in children])


def _iri_call(translation: Translation, children: list[Any]) -> Call:
    token, arguments = children
    iri = translation.pin(translation.slot(token)).value
    declared = translation.operators.find(iri)
    if declared is None:
        raise translation.refusal(token, *refuse_all_but_operators(iri, translation.operators))
    return operator_call(translation, token, declared, arguments)


# ---- templates -----------------------------------------------------------------------------------------------


def _cut(text: str) -> Cut:
    found = TOKEN.findall(text)
    for at, token in enumerate(found):
        if token[0] in "uU" and token.upper() == "USING":
            return Cut("\n".join(found[at:]), found[:at])
    return Cut("", found)


def _namespace(declarations: str) -> Namespace:
    if not declarations:
        return _NAMESPACE
    source = Source(declarations, declarations, None)
    return _declared(source, read_tree(_GRAMMAR, "prefixes", source, tokenise(source), name_terminals))


_NAMESPACE = Namespace(DECLARED, None, _NOTATION)
_SPACES = re.compile(r"[\\ \t\r\n]")


def _piece(token: str, namespace: Namespace) -> str | None:
    """Of what the algebra depends on: strings that read as numbers, and patterns, with their white space marked."""
    match terminal(token):
        case "":
            return ""
        case "STRING" if spells_number(token):
            return _NUMBERED
        case "MATCH":
            return _SPACES.sub(lambda found: f"\\{ord(found[0])};", token)
    return None


RDQL = Dialect(parse, _cut, lambda declarations: 0, _namespace, terminal, _piece, False)
