"""Full text in SPARQL: ``ft:contains`` and ``ft:score``, and what is read as the first, with a note that shows it: the
RTF paper's ``ftcontains`` and the searches of other stores.

``bif:contains`` (Virtuoso), ``text:query`` (Jena), ``textMatch`` (Stardog) and ``bds:search`` (Blazegraph) are
predicates that are no data but ask for text: conditions of their group. Their other options are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from lark.lexer import Token
from pyoxigraph import Literal

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages.context import Translation
from triplecast.languages.rewriting import names_of_path
from triplecast.model.algebra import Call, Expression, Node, PathExpression, Slot, TriplePattern, Variable
from triplecast.model.printable import shortened
from triplecast.text import CONTAINS, SCORE, TextFault, TextRefused, parse_selection, words_of
from triplecast.text.dialects import blazegraph, lucene, quote, virtuoso
from triplecast.text.grammar import LONGEST, MOST_WORDS

TEXT_FUNCTIONS = frozenset({CONTAINS, SCORE})


def check_text(function: str, text: str) -> None:
    """Raises `TextFault` for a constant that `function` cannot take."""
    if function == CONTAINS:
        parse_selection(text)
        return
    if len(text) > LONGEST:
        reason = f"the limit is {LONGEST:,} characters"
        raise TextRefused(LONGEST, "a longer text of ft:score", reason, "give fewer terms")
    words = len(words_of(text))
    if not words:
        raise TextFault(0, "there is no word in these terms", ("a word with a letter or a number",))
    if words > MOST_WORDS:
        raise TextRefused(0, "ft:score of more words", f"the limit is {MOST_WORDS} words", "give fewer terms")


def text_call(translation: Translation, token: Token, function: str, arguments: tuple[Expression, ...]) -> Call:
    """``ft:contains(value, 'selection')`` or ``ft:score(value, 'terms')``; the text stays a slot of the template."""
    name = f"ft:{function.rpartition(':')[2]}"
    if len(arguments) != 2:
        raise translation.fault(token, f"{name} takes a value and a text, and got {len(arguments)} arguments")
    slot = arguments[1]
    constant = translation.tokens.get(slot.index) if isinstance(slot, Slot) else None
    if constant is None or constant.type != "STRING":
        hint = 'write it out as a string without language tag, like \'"olympic" ftand "games"\''
        raise translation.refusal(
            token, f"{name} with a text that is no constant string", "it is read when you subscribe", hint
        )
    assert isinstance(slot, Slot)
    text = translation.resolve(constant).value
    try:
        check_text(function, text)
    except TextFault as fault:
        raise fault_at(translation, constant, fault) from None
    translation.texts[slot.index] = function
    return Call(function, arguments)


def fault_at(
    translation: Translation, token: Token, fault: TextFault, shown: str | None = None
) -> QuerySyntaxError | QueryRefused:
    """Place a fault inside a string token, or at the token of a foreign form if its translation is `shown`."""
    offset = (token.start_pos or 0) + (_offset_in_token(str(token), fault.offset) if shown is None else 0)
    message = fault.message + (shown or "")
    if isinstance(fault, TextRefused):
        return translation.source.refusal(offset, fault.construct, message, fault.hint)
    return translation.source.fault(offset, message, fault.expected)


def _offset_in_token(token: str, offset: int) -> int:
    """The offset in a string's token of character `offset` of its value."""
    at = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    for _ in range(offset):
        at += 2 if token[at] == "\\" else 1
    return at


# ---- ftcontains ------------------------------------------------------------------------------------------------------


def _join(sign: str) -> Callable[[Translation, list[Any]], str]:
    return lambda translation, children: f" {sign} ".join(_written(translation, child) for child in children)


def _written(translation: Translation, child: Any) -> str:
    if not isinstance(child, Token):
        return str(child)
    translation.keep(child)
    if child.type != "STRING":
        return str(child)
    text = translation.resolve(child).value
    if not words_of(text):
        raise translation.fault(child, "there is no word in this string", ("a string with a letter or a number",))
    return quote(text)


_ft_or, _ft_and = _join("ftor"), _join("ftand")


def _ft_not(translation: Translation, children: list[Any]) -> str:
    return f"ftnot {_written(translation, children[0])}"


def _ft_bracket(translation: Translation, children: list[Any]) -> str:
    return f"({_written(translation, children[0])})"


def _ft_near(translation: Translation, children: list[Any]) -> str:
    parts = [_written(translation, children[0])]
    for at in range(1, len(children), 3):
        least, most, part = (_written(translation, child) for child in children[at : at + 3])
        parts.append(f"ftnear[{least},{most}] {part}")
    return " ".join(parts)


def _text_search(translation: Translation, children: list[Any]) -> Call:
    token, value, written = children
    selection = _written(translation, written)
    try:
        parse_selection(selection)
    except TextFault as fault:
        raise fault_at(translation, token, fault, "") from None
    expression: Expression = translation.node(value)
    return noted_call(translation, expression, selection, "ftcontains")


def noted_call(translation: Translation, value: Expression, selection: str, form: str) -> Call:
    """The call that a foreign form means, noted for the subscriber."""
    shown = f"?{value.name}" if isinstance(value, Variable) and not value.hidden else "the text"
    note = f"{form} is read as ft:contains({shown}, '{selection}')"
    if note not in translation.notes:
        translation.notes.append(note)
    return Call(CONTAINS, (value, Literal(selection)))


# ---- searches of other stores ----------------------------------------------------------------------------------------

BIF = "bif:contains"
JENA = "http://jena.apache.org/text#query"
STARDOG = ("tag:stardog:api:property:textMatch", "tag:stardog:api:search:textMatch")
BDS = "http://www.bigdata.com/rdf/search#"
_BDS = (
    *("search", "matchAllTerms", "matchExactTerms", "matchExact", "matchRegex", "minRelevance", "maxRelevance"),
    *("minRank", "maxRank", "rank", "relevance", "subjectSearch", "searchTimeout", "rangeCount"),
)
MAGIC = frozenset({BIF, JENA, *STARDOG, *(BDS + name for name in _BDS)})
"""Predicates that are searches in other stores never plain predicates; nor is any other built-in name of Virtuoso."""
SHOWN = 201
"""Characters of a translation that an error shows."""


class Search(NamedTuple):
    """A triple whose predicate is a search."""

    subject: Node
    predicate: str
    target: Node
    members: tuple[Node, ...] | None
    """The members of a collection as object; None without one."""
    token: Token


def magic_predicate(translation: Translation, verb: object) -> str | None:
    """The IRI of a predicate that is a search elsewhere; the predicate is then part of the template."""
    if not isinstance(verb, Slot):
        return None
    iri = translation.resolve(translation.tokens[verb.index]).value
    if iri not in MAGIC and not iri.startswith("bif:"):
        return None
    translation.pin(verb)
    return iri


def path_slots(path: PathExpression) -> Iterator[Slot]:
    """The constants of a path, but those that a plan depends on."""
    return (name for name in names_of_path(path) if isinstance(name, Slot))


def refuse_in_path(translation: Translation, path: PathExpression) -> None:
    """Refuse such a predicate in a path; raises `QueryRefused`."""
    for slot in path_slots(path):
        if magic_predicate(translation, slot) is not None:
            token = translation.tokens[slot.index]
            _refuse(translation, token, "in a path", "a search is no step of a path", "make it a triple of its own")


def bif_call(translation: Translation, token: Token, arguments: tuple[Expression, ...]) -> Call:
    """``bif:contains(?v, '…')`` as Virtuoso's FILTER writes it."""
    if len(arguments) != 2:
        raise translation.refusal(token, f"{token} with options", "scores and offsets are not known", "two arguments")
    text, place = _constant_text(translation, token, arguments[1])
    return noted_call(translation, arguments[0], _translated(translation, place, virtuoso, text), str(token))


def read_searches(translation: Translation) -> tuple[list[TriplePattern], list[Expression]]:
    """Read the searches since the last block of triples as triples and conditions of their group."""
    searches, translation.searches = translation.searches, []
    edges: list[TriplePattern] = []
    conditions: list[Expression] = []
    bds: dict[Node, list[Search]] = {}
    for search in searches:
        if search.predicate.startswith(BDS):
            bds.setdefault(search.subject, []).append(search)
        elif search.predicate == JENA:
            edge, condition = _read_jena(translation, search)
            edges.append(edge)
            conditions.append(condition)
        elif search.predicate.startswith("bif:") and search.predicate != BIF:
            reason = "of Virtuoso's searches bif:contains alone is known"
            _refuse(translation, search.token, "", reason, "use ft:contains")
        else:
            reader = virtuoso if search.predicate == BIF else lucene
            text, place = _search_text(translation, search)
            selection = _translated(translation, place, reader, text)
            conditions.append(noted_call(translation, _searched(translation, search), selection, str(search.token)))
    conditions.extend(_read_bds(translation, group) for group in bds.values())
    return edges, conditions


def _read_jena(translation: Translation, search: Search) -> tuple[TriplePattern, Expression]:
    token = search.token
    members, hint = search.members, 'write ?s text:query (dc:title "…")'
    if members is None:
        _refuse(translation, token, "without a property", "there is no default field", hint)
    if len(members) != 2 or not isinstance(members[0], Slot):
        reason = "an answer has no limit, score or highlighting"
        _refuse(translation, token, "with other arguments than a property and a query", reason, hint)
    text, place = _constant_text(translation, token, members[1])
    selection = _translated(translation, place, lucene, text)
    variable = translation.fresh("t")
    condition = noted_call(translation, variable, selection, f"{token} ({translation.tokens[members[0].index]} …)")
    return TriplePattern(search.subject, members[0], variable), condition


def _read_bds(translation: Translation, group: list[Search]) -> Expression:
    """All ``bds:`` triples of one subject are one search."""
    main: Search | None = None
    every = exact = False
    for search in group:
        name = search.predicate.removeprefix(BDS)
        if name == "search" and main is None:
            main = search
        elif name in ("matchAllTerms", "matchExactTerms", "matchExact") and search.members is None:
            flag = _search_text(translation, search)[0].lower() == "true"
            every, exact = every or (flag and name == "matchAllTerms"), exact or (flag and name == "matchExact")
        else:
            _refuse(translation, search.token, "", "an answer has no rank or relevance", "leave it out or use ft:score")
    if main is None:
        _refuse(translation, group[0].token, "without bds:search", "there is nothing to search for", "add bds:search")
    text, place = _search_text(translation, main)
    selection = _translated(translation, place, lambda written: blazegraph(written, every, exact), text)
    return noted_call(translation, _searched(translation, main), selection, str(main.token))


def _refuse(translation: Translation, token: Token, with_what: str, reason: str, hint: str) -> NoReturn:
    raise translation.refusal(token, f"{token} {with_what}".rstrip(), reason, hint)


def _searched(translation: Translation, search: Search) -> Variable:
    if not isinstance(search.subject, Variable) or search.subject.hidden:
        _refuse(translation, search.token, "on something other than a variable", "it reads a text", "a variable for it")
    return search.subject


def _search_text(translation: Translation, search: Search) -> tuple[str, Token]:
    if search.members is not None:
        _refuse(translation, search.token, "with a list", "an answer has no limit or score", "the query alone")
    return _constant_text(translation, search.token, search.target)


def _constant_text(translation: Translation, token: Token, node: object) -> tuple[str, Token]:
    """The text of a constant string, now part of the template, and its token."""
    constant = translation.tokens.get(node.index) if isinstance(node, Slot) else None
    if constant is None or constant.type not in ("STRING", "LITERAL"):
        _refuse(translation, token, "with a text that is no constant", "it is read when you subscribe", "write it out")
    translation.keep(constant)
    return translation.resolve(constant).value, constant


def _translated(translation: Translation, token: Token, reader: Callable[[str], str], text: str) -> str:
    try:
        selection = reader(text)
    except TextFault as fault:
        raise fault_at(translation, token, fault) from None
    try:
        parse_selection(selection)
    except TextFault as fault:
        raise fault_at(translation, token, fault, f" (read as {shortened(selection, SHOWN)})") from None
    return selection
