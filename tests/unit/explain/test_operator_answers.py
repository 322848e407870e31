"""Explanations show what operators returned for the rows that they show, and which version of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

from wild_operators import WILD

from triplecast import Engine

P = f"PREFIX w: <{WILD}> PREFIX : <urn:> "
DATA = "<urn:a> <urn:t> 'long one' ; <urn:n> 3 . <urn:b> <urn:t> 'xy' ; <urn:n> 7 ."


def explained(pattern: str) -> tuple[str, ...]:
    with Engine() as engine:
        engine.subscribe(f"{P} SELECT * {{ {pattern} }}", id="s")
        (explanation,) = engine.explain(DATA, "s", "text/turtle")
        return explanation.support if explanation.matched else (explanation.failure or "", *explanation.instead)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("<urn:a> :t ?t . ?t w:lengths ?l", 'w:lengths("long one") returns 8 (version 1)'),
        ("<urn:a> :t ?t BIND(w:lengths(?t) AS ?l)", 'w:lengths("long one") returns 8 (version 1)'),
        ("<urn:a> :t ?t FILTER(w:long(?t))", 'w:long("long one") returns true (version 1)'),
        ("<urn:a> :t ?t FILTER(!w:long(?t))", 'w:long("long one") returns true (version 1)'),
        ("?p :t ?t . ?t w:lengths 3", 'w:lengths("xy") returns 2 (version 1)'),
        ("<urn:a> :t ?t FILTER(w:lengths(?t) < 3)", 'w:lengths("long one") returns 8 (version 1)'),
        (
            "<urn:a> :t ?t . ?t w:pairs (?l ?m)",
            'w:pairs("long one") returns (" " 4), ("e" 7), ("g" 3) and 5 more (version 1)',
        ),
        ("<urn:a> :t ?t FILTER(w:lengths(w:lengths(?t)) < 3)", 'w:lengths("long one") returns 8 (version 1)'),
    ],
)
def test_what_was_returned_is_shown(pattern: str, line: str) -> None:
    assert line in explained(pattern)


def test_a_predicate_that_gives_nothing_fitting_is_named() -> None:
    assert explained("?p :t ?t . ?t w:lengths 3")[0] == "w:lengths(?t 3)"
