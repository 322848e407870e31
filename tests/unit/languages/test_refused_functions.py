"""Functions that are refused by name, and what is said instead."""

from __future__ import annotations

import pytest

from triplecast.errors import QueryRefused
from triplecast.languages import parse_query
from triplecast.languages.refusals import KNOWN_CASTS
from triplecast.operators.operator_set import declared_operators
from triplecast.terms.casts import CASTS
from triplecast.terms.values import XSD


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("xsd:date(?o)", KNOWN_CASTS),
        ("xsd:int(?o)", "STRDT"),
        ("geof:buffer(?o, ?o)", "no operator of this name is known"),
        ("op:neither(?o)", "no operator of this name is known"),
        ("tc:instances(?o, ?s)", "taxonomy"),
        ("<urn:none>(?o)", KNOWN_CASTS),
        ("<urn:none>(?o)", "`--operators MODULE`"),
    ],
)
def test_a_function_is_refused_with_what_is_known(call: str, said: str) -> None:
    with pytest.raises(QueryRefused, match="function <") as caught:
        parse_query(f"ASK {{ ?s ?p ?o FILTER({call}) }}")
    assert said in f"{caught.value.reason} {caught.value.hint}"


def test_the_casts_that_parse_are_those_that_are_evaluated() -> None:
    for iri in CASTS:
        assert parse_query(f"ASK {{ ?s ?p ?o FILTER(<{iri}>(?o)) }}")
    assert [XSD + name.removeprefix("xsd:") for name in KNOWN_CASTS.split(", ")] == list(CASTS)


def test_a_name_that_is_none_beside_operators_that_are_known() -> None:
    """Whoever has the extra is not told to install it."""
    pytest.importorskip("shapely", reason="geography needs the extra [operators]")
    with pytest.raises(QueryRefused) as caught:
        parse_query("ASK { ?s ?p ?o FILTER(geof:buffer(?o, ?o)) }", operators=declared_operators())
    assert caught.value.hint.startswith("it has distance, sfContains")
    assert "pip" not in str(caught.value)
