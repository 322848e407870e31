"""Constants that an operator can never answer are refused at `subscribe`, by the operator's own check, asked once."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import checked_operators
from checked_operators import CHECKED

from triplecast import Engine
from triplecast.compile.refusals import called_operators
from triplecast.errors import InputError, QueryRefused
from triplecast.model.subscription import Subscription
from triplecast.operators import operator
from triplecast.operators.asking.argument_checks import MOST_SECONDS, Checker, shared_checker
from triplecast.operators.asking.availability import REST, SHORTEST_REST
from triplecast.operators.declaration import declarations_in
from triplecast.operators.operator_set import operator_set
from triplecast.registry.admission import admit, examine

OPERATORS = operator_set(declarations_in(checked_operators.__name__))
P = f"PREFIX c: <{CHECKED}> PREFIX : <urn:> "


def refused(text: str, language: str = "sparql") -> QueryRefused:
    with pytest.raises(QueryRefused) as caught:
        examine(Subscription("s", text, language), operators=OPERATORS)
    return caught.value


@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        ("FILTER(c:near(?x, 'nowhere'))", 20),
        ("FILTER(c:near('nowhere', ?x))", 16),
        ("FILTER(c:near('here', 'nowhere'))", 24),
        ("FILTER(?x = 'nowhere' || c:near(?x, 'nowhere'))", 38),
        ("?x c:near 'nowhere'", 12),
        ("OPTIONAL { ?x :q ?z BIND(c:name('nowhere') AS ?y) }", 34),
        ("{ ?x :q ?z . ?x c:near 'nowhere' } UNION { ?x a :Q }", 25),
        ("FILTER NOT EXISTS { ?x c:near 'nowhere' }", 32),
        ("FILTER(c:near(?x, ?y) && c:near(?y, 'nowhere'))", 38),
    ],
)
def test_it_is_refused_with_its_place(pattern: str, column: int) -> None:
    fault = refused(f"{P}SELECT * {{ ?x :p ?y .\n {pattern} }}")
    assert (fault.line, fault.column) == (2, column)
    assert fault.reason == "it can never answer: no place is called 'nowhere'"
    assert fault.hint == "write 'here' or 'there'"
    assert fault.name == "s"


def test_in_rdql() -> None:
    fault = refused(f"SELECT ?x WHERE (?x <urn:p> ?y) (?x c:near 'nowhere') USING c FOR <{CHECKED}>", "rdql")
    assert fault.column == 44
    assert "no place is called" in fault.reason


@pytest.mark.parametrize(
    ("pattern", "called"),
    [
        ("FILTER(c:near(?x, 'here'))", "near"),
        ("FILTER(c:near(?x, ?y))", "near"),
        ("FILTER(c:near(?x, :thing))", "near"),
        ("FILTER(c:name(?x) = 'nowhere')", "name"),
        ("?x c:name 'nowhere'", "name"),
        ("FILTER(c:broken('nowhere'))", "broken"),
        ("FILTER(c:stuck('nowhere'))", "stuck"),
        ("FILTER(c:unchecked('nowhere'))", "unchecked"),
    ],
)
def test_all_else_is_taken(pattern: str, called: str) -> None:
    """What is free, what is bound by a variable, what an operator without a check is given, and a check that fails."""
    subscription = Subscription("s", f"{P} SELECT * {{ ?x :p ?y . {pattern} }}")
    taken = examine(subscription, operators=OPERATORS)
    assert called_operators(taken.compiled.template) == {CHECKED + called}
    assert taken.admission == admit(subscription, operators=OPERATORS)


def test_each_subscription_of_a_template_is_checked() -> None:
    text = f"{P} SELECT * {{ ?x :p ?y FILTER(c:near(?x, '%s')) }}"
    with Engine() as engine:
        taken, other = engine.subscribe_many([Subscription(name, text % name) for name in ("here", "nowhere")])
        assert isinstance(other, QueryRefused)
        assert other.name == "nowhere"
        assert not isinstance(taken, Exception)
        with pytest.raises(QueryRefused, match="can never answer"):
            engine.preview(text % "nowhere")
        assert [each.id for each in engine.subscriptions()] == ["here"]


def test_one_that_is_live_is_not_checked_again() -> None:
    text = f"{P} SELECT * {{ ?x :p ?y FILTER(c:near(?x, 'nowhere')) }}"
    assert "never answer" in refused(text).reason
    assert admit(Subscription("s", text), operators=OPERATORS).cost == "predicate"


def test_the_same_constants_are_checked_once() -> None:
    checker = Checker()
    declared = OPERATORS.find(CHECKED + "counts")
    assert declared is not None
    told = [checker.objection(declared, (text, None)) for text in ('"a"', '"b"', '"a"', '"a"')]
    assert told == ["asked 1 times; ask less", "asked 2 times; ask less", *["asked 1 times; ask less"] * 2]
    checker.close()


def test_a_worker_that_does_not_start_is_rarely_started_again() -> None:
    """For new constants as for the same ones, which nobody has been asked about yet."""
    declared = OPERATORS.find(CHECKED + "near")
    assert declared is not None
    gone = replace(declared, iri=CHECKED + "gone", module="a_module_that_is_gone")
    now = 0.0
    checker = Checker(clock=lambda: now)
    for number in range(5):
        assert checker.objection(gone, (f'"{number % 3}"', None)) is None
    started = checker.children
    assert started in (1, 2), "a child that ends while it starts is started once more"
    assert checker.objection(declared, ('"nowhere"', None)), "another module's"
    now = SHORTEST_REST
    assert checker.objection(gone, ('"0"', None)) is None
    assert checker.children == 2 * started + 1
    checker.close()


def test_how_long_a_worker_rests() -> None:
    """20 times as long as its start took: after an import that hung for 60 s, none for 20 minutes."""
    declared = OPERATORS.find(CHECKED + "near")
    assert declared is not None
    gone = replace(declared, iri=CHECKED + "gone", module="a_module_that_is_gone")
    times = iter([0.0, 60.0, 60.0 + REST * 60.0 - 0.001, 60.0 + REST * 60.0, 60.0 + REST * 60.0])
    checker = Checker(clock=times.__next__)
    started = []
    for number in range(3):
        checker.objection(gone, (f'"{number}"', None))
        started.append(checker.children)
    assert started == [started[0], started[0], 2 * started[0]]
    checker.close()


def test_operators_of_one_module_have_their_own_limits() -> None:
    checker = Checker()
    stuck, near = OPERATORS.find(CHECKED + "stuck"), OPERATORS.find(CHECKED + "near")
    assert stuck is not None
    assert near is not None
    assert checker.objection(near, ('"nowhere"', None)) is not None
    began = time.monotonic()
    assert checker.objection(stuck, ('"x"',)) is None
    assert time.monotonic() - began < MOST_SECONDS / 2
    assert checker.children == 2
    checker.close()


def test_a_worker_of_another_module_is_no_part_of_this_process() -> None:
    refused(f"{P} ASK {{ ?x :p ?y FILTER(c:near(?x, 'nowhere')) }}")
    assert not checked_operators.ASKED, "the check ran elsewhere"
    assert shared_checker() is shared_checker()


def test_a_check_that_cannot_be_is_refused_when_it_is_declared() -> None:
    def declare(check: object) -> None:
        operator(CHECKED + "other", version="1", arguments=("bound", "bound"), check=check)(top)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="does not take 2 arguments"):
        declare(one)
    with pytest.raises(InputError, match="is of checked_operators; write one in"):
        declare(checked_operators.check_places)
    with pytest.raises(InputError, match="is no function at the top level"):
        declare(lambda first, second: None)


def top(event: object, first: object, second: object) -> bool:
    return True


def one(first: object) -> None:
    """Takes one."""
