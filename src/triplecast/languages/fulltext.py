"""Full text in SPARQL: ``ft:contains`` and ``ft:score``, and the RTF paper's ``ftcontains``, read as the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lark.lexer import Token
from pyoxigraph import Literal

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages.context import Translation
from triplecast.languages.tokens import unescape_string
from triplecast.model.algebra import Call, Expression, Slot, Variable
from triplecast.text import CONTAINS, SCORE, TextFault, TextRefused, parse_selection, words_of
from triplecast.text.dialects import quote
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
        raise place_fault(translation, constant, fault) from None
    translation.texts[slot.index] = function
    return Call(function, arguments)


def place_fault(translation: Translation, token: Token, fault: TextFault) -> QuerySyntaxError | QueryRefused:
    """Place a fault inside a string token in the query."""
    offset = (token.start_pos or 0) + _offset_in_token(str(token), fault.offset)
    if isinstance(fault, TextRefused):
        return translation.source.refusal(offset, fault.construct, fault.message, fault.hint)
    return translation.source.fault(offset, fault.message, fault.expected)


def fault_of_translation(
    translation: Translation, token: Token, fault: TextFault, shown: str = ""
) -> QuerySyntaxError | QueryRefused:
    """Place a fault of a translated foreign form at `token`; `shown` is the translation."""
    if isinstance(fault, TextRefused):
        return translation.refusal(token, fault.construct, fault.message + shown, fault.hint)
    return translation.fault(token, fault.message + shown, fault.expected)


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
    try:
        text = unescape_string(str(child))
    except ValueError as error:
        raise translation.fault(child, str(error)) from error
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
        raise fault_of_translation(translation, token, fault) from None
    expression: Expression = translation.node(value)
    return noted_call(translation, expression, selection, "ftcontains")


def noted_call(translation: Translation, value: Expression, selection: str, form: str) -> Call:
    """The call that a foreign form means, noted for the subscriber."""
    shown = f"?{value.name}" if isinstance(value, Variable) and not value.hidden else "the text"
    note = f"{form} is read as ft:contains({shown}, '{selection}')"
    if note not in translation.notes:
        translation.notes.append(note)
    return Call(CONTAINS, (value, Literal(selection)))
