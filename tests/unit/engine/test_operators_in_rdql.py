"""Operators as functions of RDQL, through the engine, against the slow reader of RDQL and SPARQL's own functions."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from tests.reference.expressions import FALSE, TRUE
from tests.reference.rdql import Functions, answer
from tests.reference.terms import XSD, Term, literal, read_ntriples, write
from tests.reference.values import TypeFault
from triplecast.engine import Engine
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.explain import Explanation
from triplecast.model.algebra import to_ntriples

assert wild_operators
USING = f" USING w FOR <{WILD}>, e FOR <urn:e:>"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        yield opened


@pytest.mark.parametrize(
    ("constraint", "condition"),
    [
        ("w:size(?p) > 3", "w:size(?p) > 3"),
        ("w:size(?p) > 300", "w:size(?p) > 300"),
        ("w:long(?t), !w:long('abc')", "w:long(?t) && !w:long('abc')"),
        ("w:long(?u)", "w:long(?u)"),
        ("w:size(?p) eq '5'", "STR(w:size(?p)) = '5'"),
        ("w:size(?p) =~ /^5$/", "REGEX(STR(w:size(?p)), '^5$')"),
        ("w:lengths(?t) == w:size(?p) + 1", "w:lengths(?t) = w:size(?p) + 1"),
        ("w:raises(?p) > 1 || w:long(?t)", "w:raises(?p) > 1 || w:long(?t)"),
        ("w:lengths(?u) == 1, ?u < 6", "w:lengths(?u) = 1 && xsd:integer(?u) < 6"),
        ("w:letters(?t) eq 't'", "w:letters(?t) = 't'"),
        ("w:letters(?u) < 6", "xsd:integer(w:letters(?u)) < 6"),
        ("w:letters(?u)", "w:letters(?u)"),
    ],
)
def test_it_is_what_it_is_in_a_filter(engine: Engine, constraint: str, condition: str) -> None:
    """`u` is the string "5": an operator is given it as it stands, and what it gives is read as a number again."""
    where = f"WHERE (?p, e:title, ?t), (?p, e:n, ?u) AND {constraint}"
    engine.subscribe(f"SELECT ?p {where}{USING}", id="rdql", language="rdql")
    engine.subscribe(
        f"PREFIX e: <urn:e:> PREFIX w: <{WILD}> SELECT ?p {{ ?p e:title ?t ; e:n ?u FILTER({condition}) }}"
    )
    receipt = engine.publish(
        '<urn:pic> <urn:e:title> "timber" ; <urn:e:n> "5" .', "text/turtle", attachments={"urn:pic": b"12345"}
    )
    assert receipt.undecided == ()
    assert len(receipt.matches) in (0, 2)
    calls = engine.statistics().work.operator_calls
    assert calls <= constraint.count("w:"), "what both ask is one call"


def test_an_operator_may_have_no_argument(engine: Engine) -> None:
    """O1: a predicate has zero or more arguments; its value depends on the publication alone."""
    prefixes = f"PREFIX e: <urn:e:> PREFIX w: <{WILD}>"
    engine.subscribe(f"SELECT ?p WHERE (?p, e:title, *) AND w:dated(){USING}", id="rdql", language="rdql")
    engine.subscribe(f"{prefixes} SELECT ?p {{ ?p e:title ?t FILTER(!w:dated()) }}", id="undated")
    engine.subscribe(f"{prefixes} SELECT ?p {{ ?p e:title ?t . () w:dated () }}", id="triple")
    engine.subscribe(f"{prefixes} SELECT ?n {{ ?p e:title ?t . () w:sizes ?n }}", id="free")
    for date, wanted in (("", {"undated", "free"}), ("; <urn:e:date> 1", {"rdql", "triple", "free"})):
        receipt = engine.publish(f"<urn:p> <urn:e:title> 'a' {date} .", "text/turtle")
        assert receipt.undecided == ()
        found = {match.subscription: match.bindings for match in receipt.matches}
        assert found.keys() == wanted
        assert sorted(row["n"].value for row in found["free"]) == ["0", "2" if date else "1"]


def test_explain_says_what_it_said(engine: Engine) -> None:
    engine.subscribe(f"SELECT ?p WHERE (?p e:title ?t) AND w:size(?p) > 3{USING}", id="few", language="rdql")
    engine.subscribe(f"SELECT ?p WHERE (?p e:title ?t) AND w:size(?p) > 30{USING}", id="many", language="rdql")
    document = '<urn:pic> <urn:e:title> "a" .'

    def explained(id: str) -> Explanation:
        (found,) = engine.explain(document, id, "text/turtle", attachments={"urn:pic": b"12345"})
        return found

    assert "w:size(<urn:pic>) returns 5 (version 1" in str(explained("few"))
    missed = explained("many")
    assert missed.failure == "FILTER(w:size(?p) > 30)"
    assert "w:size(<urn:pic>) returns 5 (version 1" in missed.instead[-1]


@pytest.mark.parametrize(
    ("constraint", "column", "told", "expected"),
    [
        ("w:sise(?p) > 1", 5, f"was <{WILD}size> meant?", ()),
        ("?t eq 'a', w:size(?pp) > 1", 23, "its argument ?pp is unbound; bind it", ()),
        ("w:size(?p, ?t) > 1", 5, "takes 1 argument as a function", ("w:size(?bound1)", "(?bound1, w:size, ?free2)")),
        ("w:size() > 1", 5, "and got 0", ("w:size(?bound1)", "(?bound1, w:size, ?free2)")),
        ("w:long(?p, ?t)", 5, "takes 1 argument as a function", ("w:long(?bound1)",)),
        ("w:pairs(?t)", 5, "gives 2 terms at once", ()),
        ("(?p w:long ?t)", 9, "takes 1 argument as a predicate and got 2", ("w:long(?bound1)",)),
        (
            "e:f(?p)",
            5,
            "no operator of this name is known; for an operator of your own",
            (),
        ),
        ("xsd:integer(?t) > 1", 5, "write casts, full text and the taxonomy's functions in SPARQL", ()),
        ("<urn:triplecast:op:nothing>(?p)", 5, "no operator of this name is known", ()),
        ("x:f(?p)", 5, "the prefix x: is not declared; add USING x FOR", ()),
        ("size(?p) > 1", 5, "size has no prefix; write it with one", ()),
    ],
)
def test_what_is_refused_has_its_place(
    engine: Engine, constraint: str, column: int, told: str, expected: tuple[str, ...]
) -> None:
    with pytest.raises((QueryRefused, QuerySyntaxError)) as caught:
        engine.subscribe(f"SELECT ?p WHERE (?p e:title ?t)\nAND {constraint}\n{USING}", language="rdql")
    assert (caught.value.line, caught.value.column) == (2, column)
    assert told in str(caught.value)
    if isinstance(caught.value, QuerySyntaxError):
        shown = [each.removeprefix("a triple with it as predicate: ") for each in caught.value.expected]
        assert tuple(shown[: len(expected)]) == expected
        assert "SELECT" not in shown


TEXTS = ("1", "24", "2.5", "abc", "abcd", "Abcdef", "", "-3", "1e0")


def _length(term: Term) -> Term:
    return literal(str(len(term[1])), XSD + "integer")


def _letter(term: Term) -> Term:
    if len(set(term[1])) != 1:
        raise TypeFault("none or several letters")
    return literal(term[1][0])


SLOW: Functions = {
    WILD + "lengths": _length,
    WILD + "letters": _letter,
    WILD + "long": lambda term: TRUE if len(term[1]) > 3 else FALSE,
}


def _constraint(chance: Random, depth: int) -> str:
    kind = chance.random()
    if depth and kind < 0.3:
        return f"({_constraint(chance, depth - 1)} {chance.choice(('&&', '||'))} {_constraint(chance, depth - 1)})"
    if depth and kind < 0.4:
        return f"!({_constraint(chance, depth - 1)})"
    if kind < 0.55:
        return f"w:long({chance.choice(('?x', '?y', repr(chance.choice(TEXTS))))})"
    name = chance.choice(("lengths", "letters"))
    argument = chance.choice(("?x", "?y", "?y", "w:lengths(?x)", "?x == ?y"))
    sign = chance.choice(("==", "!=", "<", ">=", "eq", "ne"))
    other = chance.choice(("1", "3", "'1'", "'3'", "?x", "w:lengths(?y)", f"'{chance.choice(TEXTS)}'"))
    plus = " + 1" if sign in ("==", "<") and chance.random() < 0.3 else ""
    return f"w:{name}({argument}){plus} {sign} {other}"


def test_generated_constraints_as_the_slow_reader(engine: Engine, seed: int) -> None:
    chance = Random(seed)
    texts = {}
    for number in range(60):
        where = f"WHERE (?s e:x ?x) (?s e:y ?y) AND {_constraint(chance, 2)}"
        texts[f"s{number}"] = f"SELECT ?s ?x ?y {where}{USING}"
        engine.subscribe(texts[f"s{number}"], id=f"s{number}", language="rdql")
    seen: Counter[bool] = Counter()
    for number in range(12):
        lines = [f'<urn:s{number}> <urn:e:{name}> "{chance.choice(TEXTS)}" .' for name in ("x", "x", "y")]
        document = "\n".join(dict.fromkeys(lines))
        receipt = engine.publish(document, "application/n-triples", f"urn:d{number}")
        assert receipt.undecided == ()
        found = {match.subscription: match.bindings for match in receipt.matches}
        for id, text in texts.items():
            wanted = [{name[1:]: write(term) for name, term in row.items()} for row in _rows(text, document)]
            told = [{name: to_ntriples(term) for name, term in row.items()} for row in found.get(id, ())]
            assert sorted(map(json.dumps, told)) == sorted(map(json.dumps, wanted)), f"{text}\n{document}"
            seen[bool(wanted)] += 1
    assert min(seen.values()) > 0.25 * sum(seen.values()), seen


def _rows(text: str, document: str) -> list[dict[str, Term]]:
    return answer(text, read_ntriples(document), SLOW)
