"""What is taken for an IRI without a check is one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from triplecast.languages.prefixes import Namespace
from triplecast.languages.tokens import PLAIN_IRI, TOKEN


@settings(max_examples=500, derandomize=True, database=None, deadline=None)
@given(st.from_regex(PLAIN_IRI, fullmatch=True))
def test_a_plain_iri_is_one_token_and_its_own_term(written: str) -> None:
    assert TOKEN.findall(written) == [written]
    assert str(NamedNode(written[1:-1])) == written
    assert Namespace({}, "urn:base:").iri(written) == written[1:-1]
