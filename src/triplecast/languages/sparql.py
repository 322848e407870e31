"""Parses SPARQL 1.1 text to the algebra: tokens, prologue, LALR(1) grammar, then one function a rule, leaves first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from lark import Lark, Tree
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer, Token
from pyoxigraph import Literal, NamedNode

from triplecast.errors import QuerySyntaxError
from triplecast.languages import expressions, fulltext, patterns, solutions
from triplecast.languages.context import Translation
from triplecast.languages.expected import describe
from triplecast.languages.prefixes import Namespace, read_prologue
from triplecast.languages.refusals import MAX_DEPTH, refuse_size
from triplecast.languages.rewriting import measure_depth, replace_constants
from triplecast.languages.tokens import Source, clip, open_source, tokenise
from triplecast.model.algebra import Query, Slot


class Parsed(NamedTuple):
    """A query whose constants are ``Slot(n)``, n their number among the matches of `tokens.TOKEN` in the whole text."""

    query: Query
    source: Source
    tokens: dict[int, Token]
    """All tokens after the prologue, by that number."""
    namespace: Namespace
    pinned: frozenset[int]
    lowered: frozenset[int]
    texts: Mapping[int, str]
    """As `Translation.texts`."""
    notes: tuple[str, ...]
    """How foreign forms were read."""


class _Given(Lexer):
    """Hands tokens that exist already to the parser."""

    def __init__(self, configuration: Any) -> None:
        pass

    def lex(self, tokens: Any) -> Iterator[Token]:  # type: ignore[override]
        yield from tokens


@cache
def _parser() -> Lark:
    grammar = files("triplecast.languages").joinpath("sparql.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer=_Given, start="query", maybe_placeholders=True)


@cache
def _rules() -> Mapping[str, Callable[[Translation, list[Any]], Any]]:
    return {**expressions.RULES, **fulltext.RULES, **patterns.RULES, **solutions.RULES}


def parse(text: str, name: str | None = None) -> Parsed:
    """Raises `QuerySyntaxError` and `QueryRefused`, with the place in the text as written."""
    source = open_source(text, name)
    namespace, body = read_prologue(source, tokenise(source))
    numbered: dict[int, Token] = {}
    tree = _tree(source, _noting(body, numbered))
    translation = Translation(source, namespace, numbered)
    result = _translate(translation, tree)
    query = result if isinstance(result, Query) else Query("select", result.pattern, result.variables)
    if measure_depth(query) > MAX_DEPTH:
        raise refuse_size("a query nested this deep", f"its algebra may have {MAX_DEPTH} levels", name)
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
    )


def _pin_graphs(translation: Translation, query: Query) -> Query:
    """Whether a query that names several graphs can ever match depends on which names are the same."""

    def replace(constant: NamedNode | Literal | Slot) -> Any:
        named = isinstance(constant, Slot) and constant.index in translation.graphs
        return translation.pin(constant) if named else constant  # type: ignore[arg-type]

    return replace_constants(query, replace)


def _noting(tokens: Iterator[Token], numbered: dict[int, Token]) -> Iterator[Token]:
    for token in tokens:
        numbered[token.end_pos or 0] = token
        yield token


def _tree(source: Source, tokens: Iterator[Token]) -> Tree[Token]:
    try:
        return _parser().parse(tokens)
    except UnexpectedToken as error:
        raise _explain(source, error) from None


def _explain(source: Source, error: UnexpectedToken) -> QuerySyntaxError:
    token = error.token
    parser = error.interactive_parser
    accepted = parser.accepts() if parser is not None else error.expected  # type: ignore[no-untyped-call]
    if token.type == "$END":
        return source.fault(len(source.text.rstrip()), "the query ends too early", describe(accepted))
    return source.fault(token.start_pos or 0, f"unexpected {clip(str(token))}", describe(accepted))


def _translate(translation: Translation, tree: Tree[Token]) -> Any:
    """Calls each rule's function after those of its children, from left to right, without recursion."""
    order: list[Any] = []
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        order.append(node)
        if isinstance(node, Tree):
            todo.extend(node.children)
    rules = _rules()
    values: list[Any] = []
    for node in reversed(order):
        if isinstance(node, Tree):
            width = len(node.children)
            children = values[len(values) - width :]
            del values[len(values) - width :]
            values.append(rules[node.data](translation, children))
        else:
            values.append(node)
    return values.pop()
