"""Reads rules (semantics 7.2): text to a `Rule`, whose condition is split into alternatives.

Names, strings and numbers are SPARQL's (`tokens`), but that a name has no point inside: ``c.ex:p.q`` is a path. A bare
name is a variable in the place of one, and otherwise resolved by ``prefix :``. What a rule was bound to when it was
registered (`rule_binding`) follows its text as a last line of its own, a comment.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from lark.lexer import Token

from triplecast.languages import tokens
from triplecast.languages.context import Translation
from triplecast.languages.dialect import number_tokens, read_tree, translate
from triplecast.languages.prefixes import Namespace, read_prologue
from triplecast.languages.refusals import refuse_size
from triplecast.languages.tokens import Source, describe, open_source, open_string, read_tokens
from triplecast.model.algebra import to_ntriples
from triplecast.model.operators import NO_OPERATORS

MAX_ALTERNATIVES = 64
"""Alternatives that ``or`` makes of a rule, those of the rules that it searches included."""

_GRAMMAR = "rule.lark"
_PREFIXED = (
    rf"(?:[{tokens.NAME_START}][{tokens.NAME_CHARACTER}]*+)?:"
    rf"(?:(?:[{tokens.NAME_START}_0-9]|\\[_~.\-!$&'()*+,;=/?#@%])"
    rf"(?:[{tokens.NAME_CHARACTER}]|%[0-9A-Fa-f]{{2}}|\\[_~.\-!$&'()*+,;=/?#@%])*+)?"
)
_TAG = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"
TOKEN = re.compile(
    rf"{tokens.IRI_REFERENCE}|\#[^\r\n]*+|{_PREFIXED}|[{tokens.NAME_START}_][{tokens.NAME_CHARACTER}]*+"
    rf"|(?:{tokens.STRING})(?:{tokens.SPACE}(?:{_TAG}|\^\^{tokens.SPACE}(?:{tokens.IRI_REFERENCE}|{_PREFIXED})))?"
    rf"|{tokens.NUMBER}|!=|<=|>=|\S"
)
_VARIABLE = re.compile(r"[^\W\d]\w*")
_PUNCTUATION = {
    ",": "_COMMA", "(": "_LPAR", ")": "_RPAR", ".": "_DOT", "?": "QMARK", "=": "EQUAL", "!=": "COMPARISON",
    "<": "COMPARISON", ">": "COMPARISON", "<=": "COMPARISON", ">=": "COMPARISON",
}  # fmt: skip
_KEYWORDS = {
    "SEARCH": "_SEARCH", "REGISTER": "_REGISTER", "WHERE": "_WHERE", "AND": "_AND", "OR": "_OR",
    "CONTAINS": "CONTAINS", "TRUE": "BOOLEAN", "FALSE": "BOOLEAN", "PREFIX": "PREFIX",
}  # fmt: skip
_WORDS = {
    "NAME": "a name", "CONTAINS": "contains", "COMPARISON": "!=, <, <=, > or >=", "PREFIX": "a name",
    "_DOT": "a property after a point", "QMARK": "? for any value",
}  # fmt: skip


class PathStep(NamedTuple):
    """One property of a path."""

    property: str
    """Its IRI in N-Triples form."""
    any: bool
    """Whether it has a ``?``."""
    token: Token


class Path(NamedTuple):
    """A variable, and the properties that lead from it to a value."""

    variable: str
    steps: tuple[PathStep, ...]
    token: Token


class RuleComparison(NamedTuple):
    operator: str
    """``= != < <= > >=`` or ``contains``."""
    left: Path | Token
    """A path, or the token of a constant."""
    right: Path | Token
    token: Token
    """The operator's."""


class Searched(NamedTuple):
    """A variable, and the class or rule that its values are of."""

    variable: str
    token: Token
    """That of the class: a name, an IRI, or a string for a rule."""


class Rule(NamedTuple):
    searched: tuple[Searched, ...]
    registered: str
    alternatives: tuple[tuple[RuleComparison, ...], ...]
    """The condition: one of them holds, each a conjunction."""
    source: Source
    namespace: Namespace
    tokens: dict[int, Token]
    """Those after the prefixes, by number."""


def read_rule(text: str, name: str | None = None) -> Rule:
    """Raises `QuerySyntaxError` and `QueryRefused`, with the place in the text."""
    source = open_source(text, name)
    namespace, body = read_prologue(source, tokenise(source))
    numbered: dict[int, Token] = {}
    tree = read_tree(_GRAMMAR, "rule", source, number_tokens(body, numbered), name_terminals)
    translation = Translation(source, namespace, numbered, NO_OPERATORS)
    rule: Rule = translate((sys.modules[__name__],), translation, tree)
    return rule


def term_of(rule: Rule, token: Token) -> str:
    """The N-Triples form of a constant, or of a name by ``prefix :``. Raises `QuerySyntaxError`."""
    text = f":{token}" if token.type not in _CONSTANTS else str(token)
    try:
        return to_ntriples(rule.namespace.term(text))
    except ValueError as error:
        missing = token.type not in _CONSTANTS and "" not in rule.namespace.prefixes
        reason = f"{token} has no prefix; declare `prefix : <…>`, or write it as <…>" if missing else str(error)
        raise rule.source.fault(token, reason) from error


_CONSTANTS = frozenset({"IRI", "STRING", "LITERAL", "NUMBER", "INTEGER", "SIGNED"})


# ---- tokens ------------------------------------------------------------------------------------------------


def name_terminals(terminals: Iterable[str]) -> tuple[str, ...]:
    return describe(terminals, _WORDS)


def terminal(text: str) -> str:
    """The grammar's name for a token; empty for a comment, ``UNKNOWN`` for what is no token of the language."""
    known = _PUNCTUATION.get(text)
    if known is not None:
        return known
    first = text[0]
    if first == "#":
        return ""
    if first == "<":
        return "IRI" if len(text) > 1 else "UNKNOWN"
    if first in "\"'":
        parts = tokens.LITERAL_PARTS.fullmatch(text)
        return "UNKNOWN" if parts is None else "LITERAL" if parts[2] or parts[3] else "STRING"
    if first in "+-.0123456789":
        return "SIGNED" if first in "+-" else "INTEGER" if text.isdigit() else "NUMBER"
    if ":" in text:
        return "IRI"
    return _KEYWORDS.get(text.upper(), "NAME" if first == "_" or first.isalpha() else "UNKNOWN")


def tokenise(source: Source) -> Iterator[Token]:
    """All tokens but comments, numbered as in `tokens.tokenise`; raises what that raises."""
    return read_tokens(source, TOKEN, terminal, _check)


def _check(source: Source, offset: int, text: str, kind: str) -> None:
    if kind != "UNKNOWN":
        return
    if text[0] in "\"'":
        raise open_string(source, offset)
    raise source.fault(offset, f"unexpected {text}" if text.isprintable() else f"unexpected character {text!r}")


# ---- the tree ----------------------------------------------------------------------------------------------


def _word(translation: Translation, children: list[Any]) -> Token:
    return children[0]  # type: ignore[no-any-return]


def _step(translation: Translation, children: list[Any]) -> PathStep:
    token = children[0]
    name = str(token) if token.type == "IRI" else f":{token}"
    try:
        iri = translation.namespace.named(name)
    except ValueError as error:
        missing = token.type != "IRI" and "" not in translation.namespace.prefixes
        reason = f"{token} has no prefix; declare `prefix : <…>`, or write it as <…>" if missing else str(error)
        raise translation.fault(token, reason) from error
    return PathStep(to_ntriples(iri), len(children) > 1, token)


def _path(translation: Translation, children: list[Any]) -> Path:
    return Path(str(children[0]), tuple(children[1:]), children[0])


def _comparison(translation: Translation, children: list[Any]) -> list[tuple[RuleComparison, ...]]:
    left, token, right = children
    if isinstance(left, Token) and isinstance(right, Token):
        raise translation.fault(token, "two constants are compared; one side has to be a path, like c.property")
    return [(RuleComparison(token.lower(), left, right, token),)]


def _either(translation: Translation, children: list[Any]) -> list[tuple[RuleComparison, ...]]:
    return _few(translation.source, [each for child in children for each in child])


def _both(translation: Translation, children: list[Any]) -> list[tuple[RuleComparison, ...]]:
    found: list[tuple[RuleComparison, ...]] = [()]
    for child in children:
        found = [(*left, *right) for left, right in product(found, child)]
        _few(translation.source, found)
    return found


def _few(source: Source, found: list[tuple[RuleComparison, ...]]) -> list[tuple[RuleComparison, ...]]:
    if len(found) > MAX_ALTERNATIVES:
        raise refuse_alternatives(source.name)
    return found


def refuse_alternatives(name: str | None) -> Exception:
    return refuse_size(
        "a rule of so many alternatives",
        f"`or` may make {MAX_ALTERNATIVES} of it, those of searched rules included",
        name,
    )


def _searched(translation: Translation, children: list[Any]) -> Searched:
    kind, variable = children
    if not _VARIABLE.fullmatch(variable):
        raise translation.fault(variable, f"{variable} is no name of a variable; use letters, digits and _")
    return Searched(str(variable), kind)


def _rule(translation: Translation, children: list[Any]) -> Rule:
    searched = tuple(each for each in children if isinstance(each, Searched))
    registered = children[len(searched)]
    alternatives = children[len(searched) + 1] if len(children) > len(searched) + 1 else [()]
    known = [each.variable for each in searched]
    for place, each in enumerate(searched):
        if each.variable in known[:place]:
            raise translation.fault(each.token, f"{each.variable} is searched twice; name one of them otherwise")
    paths = [side for each in alternatives for one in each for side in (one.left, one.right) if isinstance(side, Path)]
    for name, token in ((str(registered), registered), *((each.variable, each.token) for each in paths)):
        if name not in known:
            raise translation.fault(token, f"{name} is not searched", tuple(known))
    return Rule(
        searched, str(registered), tuple(alternatives), translation.source, translation.namespace, translation.tokens
    )
