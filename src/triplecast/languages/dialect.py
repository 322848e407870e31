"""What all query languages share: tokens to a tree, a tree to algebra, and the functions that templates need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from lark import Lark, Tree
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer, Token

from triplecast.languages.context import Translation
from triplecast.languages.prefixes import Namespace
from triplecast.languages.tokens import Source, clip, find_wrong_tag, number_of
from triplecast.model.algebra import Expression, Query
from triplecast.model.operators import OperatorSet

_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"'{}|^`\\]*")
_AGGREGATES = frozenset(("COUNT", "SET_FUNCTION", "GROUP_CONCAT", "FUNCTION"))


class Parsed(NamedTuple):
    """A query whose constants are ``Slot(n)``, n their number among the matches of its language's token expression in
    the whole text."""

    query: Query
    source: Source
    tokens: dict[int, Token]
    """All tokens but those of the prologue, by that number."""
    namespace: Namespace
    pinned: frozenset[int]
    lowered: frozenset[int]
    texts: Mapping[int, str] = MappingProxyType({})
    """As `Translation.texts`."""
    notes: tuple[str, ...] = ()
    """How foreign forms were read."""
    updates: tuple[Expression, ...] = ()
    """Conditions of an update (`updates`)."""


class Cut(NamedTuple):
    """A text in two: what declares names, and the tokens of all the rest."""

    declarations: str
    body: list[str]


class Dialect(NamedTuple):
    """A language as `template.TemplateCache` sees it.

    A text's meaning is a function of its namespace, its body's pieces and its constants: `piece` gives the whole of a
    token that is no constant and what the algebra depends on in a constant, without any space.
    """

    parse: Callable[[str, str | None, OperatorSet], Parsed]
    """Of a text, its subscription's name for errors, and the operators that it may call."""
    cut: Callable[[str], Cut]
    skipped: Callable[[str], int]
    """Count the tokens of declarations that precede the body."""
    namespace: Callable[[str], Namespace]
    """Of declarations."""
    terminal: Callable[[str], str]
    piece: Callable[[str, Namespace], str | None]
    """A token's part in a template's name; None where its terminal is enough (`template`)."""
    is_chunked: bool
    """Whether `tokens.tokens_of_chunk` cuts its bodies."""


class _TokenLexer(Lexer):
    """Hands the parser tokens that are read already."""

    def __init__(self, configuration: Any) -> None:
        pass

    def lex(self, tokens: Any) -> Iterator[Token]:  # type: ignore[override]
        yield from tokens


@cache
def _grammar(file: str, start: str) -> Lark:
    grammar = files("triplecast.languages").joinpath(file).read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer=_TokenLexer, start=start, maybe_placeholders=True)


def number_tokens(tokens: Iterator[Token], numbered: dict[int, Token]) -> Iterator[Token]:
    """Yield the same tokens, recording each by its number."""
    for token in tokens:
        numbered[number_of(token)] = token
        yield token


def read_tree(
    grammar: str, start: str, source: Source, tokens: Iterator[Token], words: Callable[[Iterable[str]], tuple[str, ...]]
) -> Tree[Token]:
    """The tree of `tokens` under a grammar's file; `words` puts terminals in human words. Raises `QuerySyntaxError`."""
    try:
        return _grammar(grammar, start).parse(tokens)
    except UnexpectedToken as error:
        token, parser = error.token, error.interactive_parser
        hint = _hint_at(source.text, token)
        if hint is not None:
            raise source.fault(*hint) from None
        terminals = parser.accepts() if parser is not None else error.expected  # type: ignore[no-untyped-call]
        accepted = words(terminals)
        if token.type == "NAME" and "IRI" in terminals:
            bare = f"{clip(str(token))} has no prefix; write it with one, like dc:title, or as <…>"
            raise source.fault(token, bare) from None
        if token.type == "$END":
            raise source.fault(len(source.text.rstrip()), "the query ends too early", accepted) from None
        raise source.fault(token, f"unexpected {clip(str(token))}", accepted) from None


def _hint_at(text: str, token: Token) -> tuple[int, str] | None:
    """The common mistake that an unexpected `token` of `text` is part of: its offset, and a message with the fix."""
    offset = token.start_pos or 0
    for address in _ADDRESS.finditer(text, max(0, offset - 2000), offset + 2000):
        if address.start() < offset < address.end():
            return address.start(), f"{clip(address[0])} is no IRI here; write it in angle brackets: <…>"
    if token == "=" and text[max(0, offset - 1) : offset] == "=":
        return offset - 1, "unexpected ==; SPARQL compares with one ="
    before = text[:offset].rstrip()
    if token in (".", ";", "}") and before.endswith("*"):
        return len(before) - 1, "* is no term; write a variable, such as ?any"
    if token.type in _AGGREGATES and "{" not in text[:offset]:
        return offset, f"an expression in SELECT needs brackets and a name; write ({token.upper()}(…) AS ?name)"
    return find_wrong_tag(text, offset)


@cache
def _rules_of(modules: tuple[ModuleType, ...]) -> Mapping[str, Callable[[Translation, list[Any]], Any]]:
    return {name[1:]: value for module in modules for name, value in vars(module).items() if name[0] == "_"}


def translate(modules: tuple[ModuleType, ...], translation: Translation, tree: Tree[Token]) -> Any:
    """The value of a tree. The rule ``x`` has the function `_x` of one of the modules, which makes the value of a node
    from those of its children. They are called from the leaves up, from left to right, without recursion."""
    rules = _rules_of(modules)
    order: list[Any] = []
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        order.append(node)
        if isinstance(node, Tree):
            todo.extend(node.children)
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
