"""What we and pyoxigraph say of a SPARQL text, and the corpora of real ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pyoxigraph import Store

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import parse_query
from triplecast.languages.vocabularies import DECLARED


def real_queries(shared_data: Path) -> list[str]:
    files = sorted((shared_data / "queries" / "extracted").glob("*.jsonl"))
    return [json.loads(line)["query"] for file in files for line in file.read_text("utf-8").splitlines()]


APART = re.compile(r"(?i)\b(?:COALESCE|CONCAT|BNODE)(?:\s|#[^\r\n]*[\r\n])+\(")
"""pyoxigraph refuses these names apart from their bracket, against SPARQL 19.8."""


def oracle_fault(text: str) -> str | None:
    """What pyoxigraph says against the syntax: it parses before it evaluates, and the store is empty."""
    try:
        Store().query(text, prefixes=dict(DECLARED))
    except SyntaxError as error:
        return str(error)
    except (ValueError, OSError, RuntimeError):
        return None
    return None


def oracle_accepts(text: str) -> bool:
    return oracle_fault(text) is None


def verdict(text: str, language: str = "sparql") -> str:
    """``parsed``, ``fault`` or what is refused; errors must say where."""
    try:
        parse_query(text, language)
    except QueryRefused as error:
        check_place(text, error.line, error.column)
        return error.construct
    except QuerySyntaxError as error:
        check_place(text, error.line, error.column)
        return "fault"
    return "parsed"


def check_place(text: str, line: int | None, column: int | None) -> None:
    assert line is not None
    assert line >= 1
    assert column is not None
    assert 1 <= column <= len(text.split("\n")[line - 1]) + 1
