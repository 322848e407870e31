"""Regular expressions of REGEX and REPLACE in RE2, without exponential time.

The language is that of XPath functions 3.0 (section 5.6) as far as RE2 can run it: flags ``i m s x q``; ``\\d \\w \\s``
and their complements mean Unicode, as in XPath; no look-around, back-references, class subtraction, ``\\i`` or ``\\c``.
What cannot run is a `ValueFault` at evaluation; `check_regex` refuses it beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import re2

from triplecast.errors import QueryRefused
from triplecast.evaluate.budget import Budget
from triplecast.terms.compare import ValueFault

LONGEST_PATTERN = 10_000
"""Characters."""
PATTERN_MEMORY = 2 << 20
"""Bytes that RE2 may use for one pattern's program and states."""
PIECES_A_STEP = 2
"""Groups and texts of a replacement that are put in for one step."""
REMEMBERED = 64
"""Regular expressions that are kept compiled."""
PROGRAMS_OF_A_QUERY = 200_000
"""Instructions of RE2 that the constant expressions of one query may come to: they are compiled when it is subscribed,
and again for each publication that it is evaluated against."""
FAILED_STEPS = 50_000
"""For an expression that RE2 gives up on; a tenth of a second and more."""
POSITIONS_A_CHARACTER = 16
"""Positions of an expression, repetitions written out, that RE2 may follow at once at the cost of one character."""

_TOKEN = re.compile(r"\\.|\[\^?\]?|.", re.DOTALL)
_CLASSES = {"d": r"\p{Nd}", "D": r"\P{Nd}", "w": r"\p{L}\p{M}\p{N}\p{S}", "W": r"\p{P}\p{Z}\p{C}", "s": r" \t\n\r"}
_NAMED_CLASS = re.compile(r"\\[pP](?:\{[^}]*\}|.)")
_REFUSED = frozenset("CicIAzZQEGKXRN")
"""Escapes whose meaning XPath and RE2 do not share (``\\b`` is allowed, as RE2 has it)."""


def check_regexes(expressions: Iterable[tuple[str, str]]) -> None:
    """Check the constant (pattern, flags) of a query, and their sum. Raises `QueryRefused`."""
    size = 0
    for pattern, flags in dict.fromkeys(expressions):
        size += check_regex(pattern, flags)
        if size > PROGRAMS_OF_A_QUERY:
            raise QueryRefused(
                "a query with so many regular expressions",
                f"they come to more than {PROGRAMS_OF_A_QUERY:,} instructions of RE2",
                "join them into fewer, or repeat \\w, \\p{…} and the like less often",
            )


def check_regex(pattern: str, flags: str = "") -> int:
    """Count the instructions of a pattern's program. Raises `QueryRefused` where every evaluation would be a type
    error."""
    try:
        return int(compile_regex(pattern, flags).programsize)
    except ValueFault as fault:
        hint = "write it without look-around, back-references and class subtraction, with flags among i m s x q"
        raise QueryRefused("regular expression", str(fault), hint) from fault


class Program(NamedTuple):
    """What an expression compiles to: a pure function of pattern and flags, costs included."""

    compiled: Any
    """RE2's pattern, or the `ValueFault` that it is."""
    steps: int
    """For compiling it."""
    weight: int
    """Characters of work for each one searched: RE2 follows all positions when it has no room to remember states."""


@lru_cache(maxsize=REMEMBERED)
def _program(pattern: str, flags: str) -> Program:
    try:
        compiled = compile_regex(pattern, flags)
        shape = compile_regex(pattern, flags, shape=True)
    except ValueFault as fault:
        return Program(fault, FAILED_STEPS, 1)
    return Program(compiled, compiled.programsize, 1 + shape.programsize // POSITIONS_A_CHARACTER)


def open_regex(pattern: str, flags: str, budget: Budget) -> Program:
    """The compiled expression; spends its compilation once an evaluation, or as often as it is forgotten there. Raises
    `ValueFault`."""
    program = budget.regexes.get((pattern, flags))
    if not isinstance(program, Program):
        budget.spend(1 + 4 * min(len(pattern), LONGEST_PATTERN))
        program = _program(pattern, flags)
        budget.spend(program.steps)
        if len(budget.regexes) >= REMEMBERED:
            budget.regexes.clear()
        budget.regexes[pattern, flags] = program
    if isinstance(program.compiled, ValueFault):
        raise ValueFault(str(program.compiled))
    return program


def compile_regex(pattern: str, flags: str, shape: bool = False) -> Any:
    """RE2's compiled pattern; its `shape` has ASCII letters in the place of classes, so that its size counts positions.
    Raises `ValueFault`."""
    unknown = sorted(set(flags) - set("imsxq"))
    if unknown:
        raise ValueFault(f"unknown flag {unknown[0]!r} of a regular expression (known: i m s x q)")
    if len(pattern) > LONGEST_PATTERN:
        raise ValueFault(f"a regular expression of more than {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    options.literal = "q" in flags
    text = pattern if "q" in flags else translate_regex(pattern, free_spacing="x" in flags)
    if "m" in flags and "q" not in flags:
        text = f"(?m){text}"
    if shape and "q" not in flags:
        text = _NAMED_CLASS.sub("a", text)
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else error
        raise ValueFault(f"RE2 cannot run the regular expression {pattern!r}: {reason}") from error


def matches(text: str, pattern: str, flags: str, budget: Budget) -> bool:
    program = open_regex(pattern, flags, budget)
    budget.spend_text(len(text) * program.weight)
    return program.compiled.search(text) is not None


def replace(text: str, pattern: str, replacement: str, flags: str, budget: Budget) -> str:
    """fn:replace: ``$N`` are groups, ``\\$`` and ``\\\\`` themselves. A pattern that matches the empty string is an
    error."""
    program = open_regex(pattern, flags, budget)
    compiled = program.compiled
    if compiled.search("") is not None:
        raise ValueFault("REPLACE with a regular expression that matches the empty string")
    pieces = [replacement] if "q" in flags else _replacement(replacement, compiled.groups)
    budget.spend_text(len(text) * program.weight)
    written: list[str] = []
    position = 0
    for match in compiled.finditer(text):
        budget.spend(len(pieces) // PIECES_A_STEP)
        found = "".join(piece if isinstance(piece, str) else match.group(piece) or "" for piece in pieces)
        budget.spend_text(len(found))
        written += text[position : match.start()], found
        position = match.end()
    return "".join(written) + text[position:]


def translate_regex(pattern: str, free_spacing: bool) -> str:
    """XPath's syntax in RE2's: multi-character escapes spelt out, white space dropped outside classes when
    `free_spacing`."""
    written: list[str] = []
    depth = 0
    for match in _TOKEN.finditer(pattern):
        token = match.group()
        if token.startswith("\\"):
            token = _escape(token[1:], depth > 0)
        elif token.startswith("["):
            if depth:
                raise ValueFault("class subtraction and nested classes are not supported in regular expressions")
            depth = 1
        elif token == "]":
            depth = 0
        elif free_spacing and not depth and token in " \t\n\r":
            continue
        written.append(token)
    return "".join(written)


def _escape(letter: str, in_class: bool) -> str:
    if letter == "" or letter in _REFUSED or letter.isdigit():
        raise ValueFault(f"\\{letter} is not supported in a regular expression")
    if letter == "S":
        if in_class:
            return r"\x{0}-\x{8}\x{B}\x{C}\x{E}-\x{1F}\x{21}-\x{10FFFF}"
        return r"[^ \t\n\r]"
    if letter not in _CLASSES:
        return f"\\{letter}"
    return _CLASSES[letter] if in_class else f"[{_CLASSES[letter]}]"


def _replacement(text: str, groups: int) -> list[str | int]:
    """Literal pieces and group numbers."""
    pieces: list[str | int] = []
    position = 0
    while position < len(text):
        character = text[position]
        following = text[position + 1 : position + 2]
        if character == "\\":
            if following not in ("\\", "$"):
                raise ValueFault("in a replacement, \\ may precede \\ or $ only")
            pieces.append(following)
            position += 2
        elif character == "$":
            if not ("0" <= following <= "9"):
                raise ValueFault("in a replacement, $ may precede a digit only")
            end = position + 2
            while end < len(text) and "0" <= text[end] <= "9" and int(text[position + 1 : end + 1]) <= groups:
                end += 1
            number = int(text[position + 1 : end])
            pieces.append(number if number <= groups else "")
            position = end
        else:
            pieces.append(character)
            position += 1
    return pieces
