"""What operators are asked, told by a performer that writes down what it was asked: no process is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.unit.match.match_samples import InProcess, match_asking, matches_of, publication, registrations, snapshot_of
from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.evaluate import Candidate, Decision
from triplecast.index import build_segment
from triplecast.model.answers import Answer, Failed, GroundCall, parse_answer
from triplecast.model.match import Learnt, MatchedBatch
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.operators import PublicationView, operator
from triplecast.operators.asking import Asker
from triplecast.operators.asking.rounds import UNASKED, AskingRound
from triplecast.operators.asking.workers import Performed, Performer
from triplecast.operators.messages import PublicationCall
from triplecast.operators.operator_set import operator_set
from triplecast.operators.worker import read_result

OPS = "http://e/operate#"
NAMED = f"<{OPS}"
"""``{NAMED}ok>`` is an operator's name in a query."""
PICTURES = " . ".join(f"e:p{number} a e:Pic ; e:tag e:t{number % 2} ; e:n {number}" for number in range(40))


@operator(OPS + "ok", version="1", arguments=("bound",))
def ok(event: PublicationView, term: object) -> bool:
    """Whether its name does not say that it is bad; fails where it says that it is broken."""
    if "broken" in str(term):
        raise ValueError("broken")
    return "bad" not in str(term)


@operator(OPS + "count", version="1", arguments=("bound", "free"), cost=0.001)
def count(event: PublicationView, term: object) -> int:
    """Always five."""
    return 5


@operator(OPS + "cheap", version="1", arguments=("bound",), cost=0.0009)
def cheap(event: PublicationView, term: object) -> bool:
    """Never."""
    return False


@operator(OPS + "costly", version="1", arguments=("bound",), cost=0.5)
def costly(event: PublicationView, term: object) -> bool:
    """Never."""
    return False


@operator(OPS + "length", version="1", arguments=("bound", "free"))
def length(event: PublicationView, term: object) -> int:
    """Of its name; fails where it says that it is broken."""
    ok(event, term)
    return len(str(term))


FUNCTIONS: dict[str, Callable[..., object]] = {OPS + each.__name__: each for each in (ok, count, cheap, costly, length)}
OPERATORS = operator_set(FUNCTIONS.values())
MEANINGS = SubscriptionCompiler(OPERATORS)
SECONDS = {OPS + "length": 0.1, OPS + "ok": 0.25, OPS + "count": 0.5, OPS + "cheap": 0.0009, OPS + "costly": 0.5}


class Told(Performer):
    """Answers here, and remembers each request's calls."""

    def __init__(self) -> None:
        super().__init__(OPERATORS)
        self.requests: list[list[tuple[str, str]]] = []

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        self.requests.append([(call.operator.removeprefix(OPS), call.arguments[0]) for _, call in asked])
        return [Performed(self._answer(each), SECONDS[each.call.operator]) for each in asked]

    def _answer(self, asked: PublicationCall) -> Answer:
        declared = OPERATORS.find(asked.call.operator)
        assert declared is not None
        try:
            return read_result(declared, FUNCTIONS[declared.iri](None, *asked.call.arguments))
        except ValueError as error:
            return Failed(str(error))

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [call for request in self.requests for call in request]


@pytest.fixture
def told() -> Iterator[Told]:
    with Told() as performer:
        yield performer


def match(told: Told, turtle: str, *queries: str, learnt: Sequence[Learnt] = ()) -> tuple[MatchedBatch, Asker]:
    snapshot = snapshot_of([build_segment(registrations(*queries), compiler=MEANINGS)])
    asked = match_asking(snapshot, [publication(turtle)], told, learnt=learnt)
    return asked.matched, asked.asker


def test_a_row_that_would_repeat_another_leaves_nothing_undecided(told: Told) -> None:
    turtle = "e:p1 a e:Pic ; e:tag e:a . e:broken a e:Pic ; e:tag e:a"
    matched, _ = match(told, turtle, f"SELECT DISTINCT ?t {{ ?p a e:Pic ; e:tag ?t FILTER({NAMED}ok>(?p)) }}")
    assert matched.undecided == ()
    assert matches_of(matched) == {(0, 1): b'[{"t":"<http://e/a>"}]'}


def test_a_row_of_an_unknown_value_repeats_nothing(told: Told) -> None:
    turtle = "e:p1 a e:Pic . e:broken a e:Pic"
    matched, _ = match(told, turtle, f"SELECT DISTINCT ?v {{ ?p a e:Pic BIND({NAMED}ok>(?p) AS ?v) }}")
    assert [each.reason for each in matched.undecided] == ["broken"]


MINUS = f"{{ ?p a e:Pic ; e:kind ?k MINUS {{ ?p e:tag ?t FILTER({NAMED}ok>(?t)) }} }}"


@pytest.mark.parametrize(
    ("query", "undecided"), [(f"SELECT DISTINCT ?k {MINUS}", 0), (f"SELECT ?k {MINUS}", 1), (f"ASK {MINUS}", 0)]
)
def test_rows_that_a_failure_may_take_away(told: Told, query: str, undecided: int) -> None:
    matched, _ = match(told, "e:p1 a e:Pic ; e:kind 1 . e:p2 a e:Pic ; e:kind 1 ; e:tag e:broken", query)
    assert len(matched.undecided) == undecided
    assert len(matched) == 1 - undecided


@pytest.mark.parametrize("own", ["FILTER({}ok>(?t))", "?t {}length> ?n", "?p {}count> ?n FILTER({}ok>(?t))"])
def test_what_is_taken_away_for_sure_is_decided_whatever_failed(told: Told, own: str) -> None:
    """What is taken away repeats the failing condition of what it is taken from."""
    taken = f" }} MINUS {{ ?p e:tag ?t FILTER({NAMED}count>(?p) = "
    query = "SELECT ?p { { ?p a e:Pic ; e:tag ?t . " + own.replace("{}", NAMED) + taken
    matched, _ = match(told, "e:p1 a e:Pic ; e:tag e:broken", query + "5) } }", query + "6) } }")
    assert [(each.registration, each.reason) for each in matched.undecided] == [(2, "broken")]
    assert len(matched) == 0
    assert {name for name, _ in told.calls} - {"ok", "length"} == {"count"}
    assert len(told.calls) == 2


def test_what_a_row_without_its_own_condition_would_agree_with_is_not_asked_about(told: Told) -> None:
    query = "SELECT ?p { { ?p a e:Pic ; e:tag ?t FILTER(OPSok>(?t)) } MINUS { ?p e:tag ?t FILTER(OPScount>(?p) = 5) } }"
    matched, _ = match(told, "e:p1 a e:Pic ; e:tag e:bad", query.replace("OPS", NAMED))
    assert (len(matched), matched.undecided) == (0, ())
    assert told.calls == [("ok", "<http://e/bad>")]


@pytest.mark.parametrize(
    "where",
    [
        "?p e:kind ?k BIND(ABS(?k) AS ?n) ?p OPScount> ?n FILTER(?n > 3)",
        "OPTIONAL { ?p e:kind ?k BIND(ABS(?k) AS ?n) } ?p OPScount> ?n FILTER(?n > 3)",
        "OPTIONAL { ?p e:missing ?m } BIND(?m AS ?n) ?p OPScount> ?n FILTER(?n > 3)",
        "?p e:kind ?k BIND(ABS(?k) AS ?n) ?p OPScount> ?n . ?n OPSlength> ?m",
        "?p e:kind ?k BIND(ABS(?k) AS ?n) ?p OPScount> ?m . ?m OPScount> ?n FILTER(?n > 3)",
        "?p e:kind ?k BIND(ABS(?k) AS ?n) ?p OPScount> ?n BIND(?n + 1 AS ?m) FILTER(?m > 5)",
    ],
)
def test_an_operator_may_give_a_value_to_what_has_none_in_a_row(told: Told, where: str) -> None:
    """Whatever is known before: nothing, all, or only the first call."""
    query = f"SELECT ?p ?n {{ ?p a e:Pic . {where.replace('OPS', NAMED)} }}"
    turtle = 'e:p1 a e:Pic ; e:kind "none"'
    each = publication(turtle)
    snapshot = snapshot_of([build_segment(registrations(query), compiler=MEANINGS)])
    first = match_asking(snapshot, [each], told)
    found = {(0, 1): b'[{"n":"\\"5\\"^^<http://www.w3.org/2001/XMLSchema#integer>","p":"<http://e/p1>"}]'}
    assert matches_of(first.matched) == found
    answers = {GroundCall(row.operator, row.arguments): parse_answer(row.answer) for row in first.settled.results}
    for known in (answers, dict(list(answers.items())[:1])):
        assert matches_of(match_asking(snapshot, [each], told, {each.position: known}).matched) == found


def test_one_row_is_enough_to_take_another_away(told: Told) -> None:
    query = "SELECT ?x { ?x a e:Pic FILTER(?x = e:p1) MINUS { ?x e:tag ?t . ?p e:tag ?t FILTER(NAMEDok>(?p)) } }"
    matched, _ = match(told, PICTURES, query.replace("NAMED", NAMED))
    assert (len(matched), matched.undecided, len(told.calls)) == (0, (), 1)


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        (f"ASK {{ ?p a e:Pic FILTER({NAMED}ok>(?p)) }}", 1),
        (f"SELECT DISTINCT ?t {{ ?p a e:Pic ; e:tag ?t FILTER({NAMED}ok>(?p)) }}", 2),
        (f"SELECT ?p {{ ?p a e:Pic BIND({NAMED}ok>(?p) AS ?unused) }}", 0),
        (f"SELECT ?p {{ ?p a e:Pic FILTER({NAMED}ok>(?p)) }}", 40),
    ],
)
def test_nothing_is_asked_once_the_answer_is_known(told: Told, query: str, calls: int) -> None:
    matched, _ = match(told, PICTURES, query)
    assert len(matched) == 1
    assert len(told.calls) == calls


def test_rows_of_which_one_is_enough_are_asked_about_in_growing_numbers(told: Told) -> None:
    matched, _ = match(told, PICTURES.replace("e:p", "e:bad"), f"ASK {{ ?p a e:Pic FILTER({NAMED}ok>(?p)) }}")
    assert len(matched) == 0
    assert list(map(len, told.requests)) == [1, 2, 4, 8, 16, 9]


@pytest.mark.parametrize(
    "asks", [f"?p {NAMED}count> ?k FILTER(?k > 9)", f"BIND({NAMED}count>(?p) AS ?k) FILTER(?k * 2 > 18)"]
)
def test_a_value_is_filtered_before_anything_else_is_asked(told: Told, asks: str) -> None:
    matched, operators = match(told, "e:p1 a e:Pic", f"SELECT ?p {{ ?p a e:Pic . {asks} FILTER({NAMED}costly>(?p)) }}")
    assert len(matched) == 0
    assert [name for name, _ in told.calls] == ["count"]
    (row,) = operators.experience.changes().rows[:1]
    assert row.template.startswith(f"{OPS}count@1(?0)")
    assert (row.answered, row.held, row.timed, row.seconds) == (1.0, 0.0, 1.0, 0.5)


@pytest.mark.parametrize(("drops", "asked"), [("ok", ["length", "count", "ok"]), ("cheap", ["cheap"])])
def test_values_that_are_compared_with_each_other_are_all_asked_for(told: Told, drops: str, asked: list[str]) -> None:
    """Unless another operator is expected to be cheaper (docs/operators.md, cheap first)."""
    query = f"BIND(NAMEDlength>(?p) AS ?a) BIND(NAMEDcount>(?p) AS ?b) FILTER(?a > 2 * ?b) FILTER(NAMED{drops}>(?t))"
    query = f"SELECT ?p {{ ?p a e:Pic ; e:tag ?t {query.replace('NAMED', NAMED)} }}"
    matched, _ = match(told, "e:p1 a e:Pic ; e:tag e:bad", query)
    assert len(matched) == 0
    assert [name for name, _ in told.calls] == asked


@pytest.mark.parametrize(
    "asks",
    [
        "?p NAMEDlength> ?n FILTER(NAMEDcheap>(?t))",
        "FILTER(NAMEDcostly>(?p) && NAMEDcheap>(?t))",
        "FILTER(NAMEDlength>(?p) > NAMEDcount>(?t)) FILTER(NAMEDcheap>(?t))",
        "BIND(NAMEDlength>(?p) AS ?n) FILTER(NAMEDcount>(?t) > ?n) FILTER(NAMEDcheap>(?t))",
    ],
)
def test_what_is_declared_is_believed_from_the_first_publication_on(told: Told, asks: str) -> None:
    """The cheap one is asked first, wherever it stands, and drops all rows."""
    matched, _ = match(told, PICTURES, f"SELECT ?p {{ ?p a e:Pic ; e:n ?t . {asks.replace('NAMED', NAMED)} }}")
    assert len(matched) == 0
    assert [name for name, _ in told.calls] == ["cheap"] * 40


def test_conditions_of_one_call_are_weighed_as_the_call(told: Told) -> None:
    """One call of 1 ms refutes five rows; five calls of 0.9 ms refute them too, one each."""
    queries = [
        f"SELECT ?p {{ ?p a e:Pic FILTER({NAMED}count>(?p) > {n}) FILTER({NAMED}cheap>({n})) }}" for n in range(5, 10)
    ]
    matched, operators = match(told, "e:p1 a e:Pic", *queries)
    assert len(matched) == 0
    assert told.calls == [("count", "<http://e/p1>")]
    learnt = [row for row in operators.experience.changes().rows if "count" in row.template]
    assert [(row.timed, row.seconds) for row in learnt] == [(1.0, 0.5)] * 5


def test_a_condition_costs_all_of_its_calls(told: Told) -> None:
    _, operators = match(
        told, "e:p1 a e:Pic", f"SELECT ?p {{ ?p a e:Pic FILTER(IF({NAMED}ok>(?p), {NAMED}count>(?p), 0) > 1) }}"
    )
    assert len(told.calls) == 2
    assert [row.seconds for row in operators.experience.changes().rows] == [0.75]


def test_another_version_is_believed_what_it_declares(told: Told) -> None:
    query = f"SELECT ?p {{ ?p a e:Pic FILTER({NAMED}count>(?p) > 1) }}"
    _, first = match(told, "e:p1 a e:Pic", query)
    declared = OPERATORS.find(OPS + "count")
    assert declared is not None
    told.operators = OperatorSet((replace(declared, version="2", cost=2.0),))
    _, second = match(told, "e:p1 a e:Pic", query, learnt=first.experience.changes().rows)
    (row,) = second.experience.changes().rows
    assert (row.template.partition("@")[2][0], row.hint, row.answered) == ("2", 2.0, 1.0)


def test_what_was_learnt_is_believed_by_who_is_told(told: Told) -> None:
    """Of two that refute as much the dearer waits, by what was measured and not by what is declared."""
    query = f"SELECT ?p {{ ?p a e:Pic FILTER({NAMED}cheap>(?p)) FILTER(! {NAMED}ok>(?p)) }}"
    match(told, "e:p1 a e:Pic", query)
    assert told.calls == [("cheap", "<http://e/p1>")]
    kept = [Learnt(f"{OPS}cheap@1(?0)", 0.0009, 500.0, 250.0, 500.0, 500.0)]
    told.requests.clear()
    match(told, "e:p1 a e:Pic", query, learnt=kept)
    assert told.calls == [("ok", "<http://e/p1>")]


class Wanting(InProcess):
    """An evaluator that waits for a call, whatever is known."""

    def decide(
        self, candidates: Sequence[Candidate], operators: OperatorSet = NO_OPERATORS
    ) -> Iterator[tuple[int, Decision]]:
        wanted = Decision(False, b"", None, ((GroundCall(OPS + "ok", ('"x"',)),),))
        yield from ((number, wanted) for number in range(len(candidates)))


def test_what_waits_and_is_not_asked_is_left_undecided(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """No schedule does that; one that did would otherwise be asked for ever."""
    monkeypatch.setattr(AskingRound, "ask", lambda *_: False)
    where = f"{{ ?p a e:Pic FILTER({NAMED}ok>(?p)) }}"
    queries = registrations(f"SELECT ?p {where}", f"SELECT DISTINCT ?p {where}", f"SELECT ?p {where} LIMIT 9", "ASK {}")
    snapshot = snapshot_of([build_segment(queries, compiler=MEANINGS)])
    matched = match_asking(snapshot, [publication("e:p1 a e:Pic")], told, evaluator=Wanting()).matched  # type: ignore[arg-type]
    assert [(each.registration, each.reason) for each in matched.undecided] == [
        (number, UNASKED) for number in (1, 2, 3)
    ]
    assert (matched.registration.tolist(), matched.open.pairs) == ([4], 0)
