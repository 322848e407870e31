"""Predicates that look like operators and are none: told when they are subscribed, and by `explain`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.explain import explain_subscription
from triplecast.languages.refusals import warn_undeclared
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.operators.declaration import declarations_in
from triplecast.operators.operator_set import operator_set
from triplecast.registry.admission import admit

P = f"PREFIX w: <{WILD}> PREFIX : <urn:> PREFIX other: <https://example.org/op#> "
OPERATORS = operator_set(declarations_in(wild_operators.__name__))


def warnings(text: str, language: str = "sparql") -> tuple[str, ...]:
    return admit(Subscription("s", text, language), operators=OPERATORS).warnings


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("?p w:siz ?n", f"was the operator <{WILD}size> meant?"),
        ("?p w:siz+ ?n", f"was the operator <{WILD}size> meant?"),
        ("?p (:a|w:siz)/:b ?n", f"was the operator <{WILD}size> meant?"),
        ("?p <https://example.org/wild/size> ?n", f"was the operator <{WILD}size> meant?"),
        ("?p <http://example.org/wild#size> ?n", f"was the operator <{WILD}size> meant?"),
        ("?p <https://example.org/wlid#size> ?n", ""),
        ("?p w:colours ?n", "its namespace has chance, counted, dated and"),
        ("?p other:boats ?n", "if it is an operator, name the module that declares it (`--operators MODULE`"),
        ("?p :size ?n", ""),
        ("?p <https://schema.org/width> ?n", ""),
        ("?p ?q ?n", ""),
    ],
)
def test_a_predicate_that_may_be_meant_as_an_operator(pattern: str, told: str) -> None:
    met = [each for each in warnings(f"{P} SELECT * {{ ?p a :P . {pattern} }}") if "no operator of this name" in each]
    assert len(met) == bool(told)
    assert not told or told in met[0]


def test_each_subscription_of_a_template_is_looked_at() -> None:
    """The predicate is a constant of the subscription, and no part of the template."""
    assert not warnings(f"{P} SELECT * {{ ?p a :P ; :q ?n }}")
    assert "size> meant" in warnings(f"{P} SELECT * {{ ?p a :P ; w:siz ?n }}")[0]


def test_in_rdql() -> None:
    (told,) = warnings(
        f"SELECT ?n WHERE (?p w:siz ?n) (?p w:size ?m) (?p <urn:a> <urn:b>) USING w FOR <{WILD}>", "rdql"
    )
    assert f"was the operator <{WILD}size> meant?" in told


def test_an_operator_that_is_declared_is_no_doubt() -> None:
    assert warn_undeclared(WILD + "size", OPERATORS) is None
    assert not warnings(f"{P} SELECT * {{ ?p a :P ; w:size ?n }}")


@pytest.mark.parametrize("path", ["w:size+", "w:size*", "w:size?", "^w:size", "w:size/:a", "(:a|w:size)", "!w:size"])
def test_an_operator_in_a_path_is_refused(path: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        admit(Subscription("s", f"{P}\nASK {{ ?p {path} ?n }}"), operators=OPERATORS)
    assert str(caught.value).endswith(
        "w:size in a path is refused: an operator is no step of a path; make it a triple of its own"
    )
    assert caught.value.line == 2


def test_what_nothing_binds_has_its_place() -> None:
    with pytest.raises(QueryRefused) as caught:
        admit(
            Subscription("s", f"{P}\nSELECT * {{ ?pick :q ?pic .\n  FILTER(w:size(?pick) > 1 && w:long( ?pik)) }}"),
            operators=OPERATORS,
        )
    assert (caught.value.line, caught.value.column) == (3, 39)
    assert str(caught.value).startswith(f"s: 3:39: operator <{WILD}long> is refused: its argument ?pik is unbound")


def test_a_wrong_number_of_arguments_shows_both_forms() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        admit(Subscription("s", f"{P} ASK {{ ?p a :P FILTER(w:size(?p, 3)) }}"), operators=OPERATORS)
    assert "takes 1 argument as a function (its value is the free one) and got 2" in caught.value.message
    assert caught.value.expected == ("w:size(?bound1)", "a triple with it as predicate: ?bound1 w:size ?free2")


@pytest.mark.parametrize("pattern", ["'abc' w:letters ?n", "<urn:pic> w:size ?n FILTER(?n > 3)", "FILTER(w:long('a'))"])
def test_what_operators_alone_decide(pattern: str) -> None:
    told = warnings(f"{P} SELECT * {{ {pattern} }}")
    assert "what its operators say of a publication may be enough" in told[1]
    assert not any("it has a result on the empty graph" in each for each in told)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("?p other:boats ?n", "no triple has the predicate other:boats; if it is an operator, name the module"),
        ("?p <https://nowhere.example/boats> ?n", "; if it is an operator, name the module"),
        ("?p :boots ?n", "no triple has the predicate :boots"),
        ("?p dc:tilte ?n", "no triple has the predicate dc:tilte"),
    ],
)
def test_explain_says_that_it_may_be_an_operator(pattern: str, told: str) -> None:
    publication = Publication(1, "urn:g", 1, "2026-11-22T00:00:00Z", b"<urn:pic> <urn:boats> <urn:b> .\n")
    (explained,) = explain_subscription(
        Subscription("s", f"{P} SELECT * {{ {pattern} }}"), [publication], False, operators=OPERATORS
    )
    line = explained.instead[0]
    assert line.startswith(told) if not told.startswith(";") else told in line
    assert ("operator" in line) == ("operator" in told)
