"""Other stores' full-text queries as selections."""

from __future__ import annotations

import pytest

from triplecast.text import TextFault, parse_selection
from triplecast.text.dialects import blazegraph, lucene, virtuoso


@pytest.mark.parametrize(
    ("written", "selection"),
    [
        ("rail", '"rail"'),
        ("'olympic games' AND rom*", '"olympic games" ftand "rom.*" using wildcards'),
        ('"a b" OR (c AND NOT d)', '"a b" ftor ( "c" ftand ftnot "d" )'),
        ("'what is rail?'", '"what is rail?"'),
        ("'is it (a) rom*?'", '"is it a rom.*" using wildcards'),
    ],
)
def test_virtuoso(written: str, selection: str) -> None:
    assert virtuoso(written) == selection
    parse_selection(selection)


@pytest.mark.parametrize(
    ("written", "selection"),
    [
        ("rail road", '"rail" ftor "road"'),
        ("rail AND road", '"rail" ftand "road"'),
        ("rail +road", '"road"'),
        ("rail -road", '"rail" ftand ftnot "road"'),
        ("a b -c", '("a" ftor "b") ftand ftnot "c"'),
        ("(a b) AND c", '("a" ftor "b") ftand "c"'),
        ('"olympic games" && !rio', '"olympic games" ftand ftnot "rio"'),
        ("te?t wor*", '"te.t" using wildcards ftor "wor.*" using wildcards'),
        ("wi-fi", '"wi-fi"'),
        (r"a\:b", '"a:b"'),
        ('"what is rail?"', '"what is rail?"'),
        (r"wor\* te?t", '"wor*" ftor "te.t" using wildcards'),
        (r"a\*b?\*", r'"a\*b." using wildcards'),
        ("R.*", r'"R\..*" using wildcards'),
        ("rock & roll", '"rock" ftor "roll"'),
    ],
)
def test_lucene(written: str, selection: str) -> None:
    assert lucene(written) == selection
    parse_selection(selection)


def test_blazegraph() -> None:
    assert blazegraph("dog cat*", False, False) == '"dog" ftor "cat.*" using wildcards'
    assert blazegraph("dog cat", True, False) == '"dog" ftand "cat"'
    assert blazegraph("dog cat", False, True) == '"dog cat"'
    assert blazegraph("what is rail?", True, False) == '"what" ftand "is" ftand "rail?"'
    assert blazegraph("2 * 2?", False, True) == '"2 * 2?"'


@pytest.mark.parametrize(
    "written",
    ["title:x", "x~", "x^2", "/x/", "[a TO b]", '"a b"~3', "-x", "(a", "a)", "NOT x", "…", "", 'a "b c', 'a"', '"a" "'],
)
def test_lucene_that_has_no_selection(written: str) -> None:
    with pytest.raises(TextFault):
        parse_selection(lucene(written))


@pytest.mark.parametrize("written", ["a NEAR b", "a b", "", "AND", "'a b", "don't", "a AND 'b"])
def test_virtuoso_that_has_no_selection(written: str) -> None:
    with pytest.raises(TextFault):
        parse_selection(virtuoso(written))
