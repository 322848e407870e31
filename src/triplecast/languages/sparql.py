"""Parses SPARQL 1.1 text to the algebra: tokens, prologue, LALR(1) grammar, then one function a rule, leaves first."""

from __future__ import annotations

from typing import Any

from lark.lexer import Token
from pyoxigraph import Literal, NamedNode

from triplecast.languages import expressions, fulltext, groups, patterns, solutions
from triplecast.languages.context import Translation
from triplecast.languages.dialect import Cut, Dialect, Parsed, number_tokens, read_tree, translate
from triplecast.languages.prefixes import Namespace, read_prologue
from triplecast.languages.refusals import MAX_DEPTH, refuse_depth
from triplecast.languages.rewriting import measure_depth, replace_constants
from triplecast.languages.tokens import PROLOGUE, Source, describe, find_tokens, open_source, terminal, tokenise
from triplecast.languages.updates import read_updates
from triplecast.model.algebra import Query, Slot
from triplecast.model.operators import OperatorSet


def parse(text: str, name: str | None, operators: OperatorSet) -> Parsed:
    """Raises `QuerySyntaxError` and `QueryRefused`, with the place in the text as written."""
    source = open_source(text, name)
    namespace, body = read_prologue(source, tokenise(source))
    numbered: dict[int, Token] = {}
    tree = read_tree("sparql.lark", "query", source, number_tokens(body, numbered), describe)
    translation = Translation(source, namespace, numbered, operators)
    query: Query = translate((expressions, fulltext, patterns, groups, solutions), translation, tree)
    updates = read_updates(translation, query)
    if max(map(measure_depth, (query, *updates))) > MAX_DEPTH:
        raise refuse_depth("a query", name)
    if len(translation.graphs) > 1:
        query = _pin_graphs(translation, query)
    return Parsed(
        query,
        source,
        numbered,
        namespace,
        frozenset(translation.pinned),
        frozenset(translation.lowered),
        translation.texts,
        tuple(translation.notes),
        updates,
    )


def _pin_graphs(translation: Translation, query: Query) -> Query:
    """Whether a query that names several graphs can ever match depends on which names are the same."""

    def replace(constant: NamedNode | Literal | Slot) -> Any:
        named = isinstance(constant, Slot) and constant.index in translation.graphs
        return translation.pin(constant) if named else constant  # type: ignore[arg-type]

    return replace_constants(query, replace)


def _cut(text: str) -> Cut:
    end = PROLOGUE.match(text).end()  # type: ignore[union-attr]
    return Cut(text[:end], find_tokens(text, end))


def _namespace(prologue: str) -> Namespace:
    source = Source(prologue, prologue, None)
    return read_prologue(source, tokenise(source))[0]


def _piece(token: str, namespace: Namespace) -> str | None:
    """``IRI(…)`` resolves against the base, which is no constant of the text's body."""
    if token.upper() in ("IRI", "URI") and namespace.base is not None:
        return f"{token}\x01{namespace.base}"
    return None


SPARQL = Dialect(parse, _cut, lambda prologue: len(find_tokens(prologue)), _namespace, terminal, _piece, True)
