"""Sets of operators: equality by content, grammar, recorded operators, JSON, and where the default comes from."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from triplecast.errors import InputError
from triplecast.languages.refusals import nearest_operators
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet, read_operators, write_operators
from triplecast.operators import operator
from triplecast.operators import operator_set as sets
from triplecast.operators.operator_set import declared_operators, operator_set

IRI = "https://example.org/sets#"
ONE = Operator(IRI + "one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "gone", "one")
TWO = replace(ONE, iri=IRI + "two", arguments=("bound", "bound"), name="two", check="check_two")


def length(event: object, text: object) -> int:
    return len(str(text))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An imported module that declares nothing yet."""
    made = ModuleType("sets_somewhere")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def declare(
    module: ModuleType, name: str, arguments: tuple[str, ...] = ("bound", "free"), version: str = "1"
) -> object:
    exec(f"def {name}(event, text): return len(str(text))", vars(module))
    function = vars(module)[name]
    return operator(IRI + "length", version=version, arguments=arguments)(function)


def test_a_set_equals_and_hashes_by_content() -> None:
    one, other = OperatorSet((TWO, ONE)), OperatorSet((replace(ONE), replace(TWO)))
    assert one == other
    assert hash(one) == hash(other)
    assert one.operators == (ONE, TWO)
    assert {one: 1}[other] == 1
    newer = OperatorSet((replace(ONE, version="2"), TWO))
    assert newer != one
    assert newer.grammar == one.grammar, "a version changes no text's meaning"
    assert OperatorSet((replace(ONE, arguments=("bound", "bound", "free")), TWO)).grammar != one.grammar
    assert OperatorSet((ONE,)).grammar != one.grammar
    assert OperatorSet(()) == NO_OPERATORS
    assert not NO_OPERATORS
    assert len(one) == 2
    assert pickle.loads(pickle.dumps(one)) == one


def test_two_functions_of_one_iri_make_no_set() -> None:
    other = replace(ONE, module="elsewhere")
    with pytest.raises(InputError, match=rf"<{IRI}one> is declared as gone\.one and as elsewhere\.one"):
        OperatorSet((ONE, other))
    assert OperatorSet((ONE, ONE)) == OperatorSet((ONE,))


def test_recorded_operators_are_found_until_they_are_declared() -> None:
    recorded = NO_OPERATORS.with_recorded([ONE])
    assert recorded.find(ONE.iri) == ONE
    assert recorded.find_declared(ONE.iri) is None
    assert recorded.grammar == OperatorSet((ONE,)).grammar, "they parse as declared ones do"
    assert recorded != OperatorSet((ONE,))
    newer = replace(ONE, version="2")
    assert recorded.with_recorded([newer]).recorded == (newer,)
    moved = replace(ONE, module="moved", name="other")
    declared = OperatorSet((moved,)).with_recorded([ONE, TWO])
    assert (declared.operators, declared.recorded) == ((moved,), (TWO,))
    assert declared.find_declared(ONE.iri) == declared.find(ONE.iri) == moved
    assert list(declared) == [moved, TWO]


def test_a_set_comes_back_from_json() -> None:
    made = OperatorSet((ONE,)).with_recorded([TWO])
    assert read_operators(write_operators(made)) == made
    assert read_operators(write_operators(NO_OPERATORS)) == NO_OPERATORS
    with pytest.raises(ValueError, match="Expecting value"):
        read_operators("no set")


def test_names_that_may_have_been_meant() -> None:
    known = OperatorSet((replace(ONE, iri=IRI + "objects"),))
    assert nearest_operators(IRI + "object", known) == [IRI + "objects"]
    assert nearest_operators("urn:other:objects", known) == [IRI + "objects"]


def test_functions_and_operators_make_a_set(module: ModuleType) -> None:
    made = operator_set([declare(module, "length"), ONE])
    assert [(each.iri, each.place) for each in made] == [
        (IRI + "length", "sets_somewhere.length"),
        (IRI + "one", "gone.one"),
    ]
    with pytest.raises(InputError, match="is no operator; give functions declared with @operator"):
        operator_set([length])


def test_the_default_is_what_imported_modules_declare(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before = declared_operators()
    assert before.find(IRI + "length") is None
    declare(module, "length")
    after = declared_operators()
    assert after.find_declared(IRI + "length") is not None
    assert after is declared_operators()
    declare(module, "length", version="2")
    newer = declared_operators().find(IRI + "length")
    assert newer is not None
    assert newer.version == "2"
    monkeypatch.delitem(sys.modules, module.__name__)
    assert declared_operators() == before


def test_an_iri_belongs_to_one_function_of_a_module(module: ModuleType) -> None:
    declare(module, "length")
    with pytest.raises(InputError, match=r"is sets_somewhere\.length already, so it cannot be sets_somewhere\.size"):
        declare(module, "size")


def test_the_default_names_both_modules_that_declare_one_iri(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("sets_elsewhere")
    monkeypatch.setitem(sys.modules, other.__name__, other)
    one, two = declare(module, "length"), declare(other, "length", ("bound",))
    with pytest.raises(InputError, match=r"declared as sets_somewhere\.length and as sets_elsewhere\.length.*its own"):
        declared_operators()
    assert operator_set([one]).grammar != operator_set([two]).grammar


def test_entry_points_that_cannot_be_imported_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("lost", "no.such.module", sets.GROUP), EntryPoint("here", "json.decoder", sets.GROUP)]
    monkeypatch.setattr(sets, "entry_points", lambda group: points if group == sets.GROUP else [])
    (fault,) = sets.read_entry_points.__wrapped__()
    assert fault == "lost (no.such.module): No module named 'no'"
