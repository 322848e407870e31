"""Errors as people read them."""

from __future__ import annotations

from triplecast.errors import DocumentRejected, TaxonomyCycle


def test_a_place_is_told_as_far_as_it_is_known() -> None:
    assert str(DocumentRejected("gate", "no JSON", "write JSON")) == "gate: no JSON; write JSON"
    assert str(DocumentRejected("gate", "no JSON", "write JSON", 3)) == "gate: line 3: no JSON; write JSON"
    assert str(DocumentRejected("parse", "no dot", "end it", 3, 7)) == "parse: line 3:7: no dot; end it"


def test_a_long_cycle_is_told_from_both_ends() -> None:
    short, long = (TaxonomyCycle("classes", tuple(map(str, range(count)))) for count in (20, 21))
    assert str(short).count(" under ") == 20
    assert "9 under (1 more) under 11 " in str(long)
