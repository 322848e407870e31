"""How often things are made and looked at where filters alone decide rows, and that it is the same without."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.unit.match.match_samples import InProcess, match_asking, matches_of, publication, registrations, snapshot_of
from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.index import Snapshot, build_segment
from triplecast.match import Matcher
from triplecast.model.answers import Failed, Found, GroundCall
from triplecast.model.match import MatchedBatch
from triplecast.operators import PublicationView, operator
from triplecast.operators.asking.workers import Performed, Performer
from triplecast.operators.messages import PublicationCall
from triplecast.operators.operator_set import operator_set

OPS = "http://e/waiting#"
ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
PICTURES = "e:p1 a e:Pic ; e:n 1 ; e:like e:p1 . e:p2 a e:Pic ; e:n 2 ; e:like e:p1"


@operator(OPS + "above", version="1", arguments=("bound", "bound"))
def above(event: PublicationView, term: object, least: object) -> bool:
    """Answered by `Told`."""
    return False


OPERATORS = operator_set([above])


class Told(Performer):
    """True for ``e:p2`` and what is no picture, false for ``e:p1``; fails for a least of 13."""

    def __init__(self) -> None:
        super().__init__(OPERATORS)
        self.calls: list[tuple[str, ...]] = []

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        self.calls += [each.call.arguments for each in asked]
        return [self._answer(*each.call.arguments) for each in asked]

    def _answer(self, term: str, least: str) -> Performed:
        if least.startswith('"13"'):
            return Performed(Failed("thirteen"), 0.001)
        return Performed(Found(() if "p1" in term else ((),)), 0.001)


def query(*least: int, rest: str = "") -> str:
    filters = " ".join(f"FILTER(<{OPS}above>(?p, {each}))" for each in least)
    return f"SELECT ?p {{ ?p a e:Pic ; e:n ?n {filters} {rest} }}"


QUERIES = [query(number % 7, 7 + number % 5) for number in range(60)]
"""35 that differ, of twelve filters."""


def snapshot(*queries: str) -> Snapshot:
    return snapshot_of([build_segment(registrations(*queries), compiler=SubscriptionCompiler(OPERATORS))])


def match(queries: Sequence[str], told: Told, publications: int = 1) -> list[MatchedBatch]:
    known = snapshot(*queries)
    with Matcher(InProcess(), OPERATORS) as matcher:  # type: ignore[arg-type]
        return [
            match_asking(known, [publication(PICTURES)], told, matcher=matcher).matched for _ in range(publications)
        ]


def count(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """Grows with each call of what the name stands for."""
    module, _, attribute = name.rpartition(".")
    called: list[int] = []
    real: Callable[..., object] = getattr(__import__(module, fromlist=[attribute]), attribute)

    def counted(*arguments: object) -> object:
        called.append(1)
        return real(*arguments)

    monkeypatch.setattr(name, counted)
    return called


def test_a_condition_is_made_once_for_all_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    made = count(monkeypatch, "triplecast.residual.conditions.Condition")
    judged_once = count(monkeypatch, "triplecast.residual.rows._judge")
    told = Told()
    (matched,) = match(QUERIES, told)
    assert len(judged_once) == 2 * 24, "twelve filters on two rows, before the calls and after them"
    assert len(made) == 2 * 24 - len(told.calls), "a condition whose call was made is known"
    assert len(told.calls) == len(set(told.calls)) <= 24
    assert matches_of(matched) == {(0, number): b'[{"p":"<http://e/p2>"}]' for number in range(1, 61)}


def test_a_pair_is_solved_before_and_after_and_those_that_are_alike_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solved = count(monkeypatch, "triplecast.match.resolve.solve_pair")
    alone = count(monkeypatch, "triplecast.residual.agreement.solve_rows")
    match(QUERIES, Told())
    assert (len(solved), len(alone)) == (2 * 35, 0)


def test_only_what_failed_is_solved_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = count(monkeypatch, "triplecast.residual.agreement.solve_rows")
    (matched,) = match([*QUERIES, query(13), query(13, rest="FILTER(?n < ?n)")], Told())
    assert [each.reason for each in matched.undecided] == ["thirteen"]
    assert len(alone) == 1


def test_subscriptions_are_read_once_for_all_publications(monkeypatch: pytest.MonkeyPatch) -> None:
    read = count(monkeypatch, "triplecast.residual.plans.parse_template")
    assert len({str(matches_of(each)) for each in match(QUERIES, Told(), publications=3)}) == 1
    assert len(read) == len(set(QUERIES))


@pytest.mark.parametrize("everywhere", [False, True])
def test_what_may_take_too_much_is_solved_alone(monkeypatch: pytest.MonkeyPatch, everywhere: bool) -> None:
    """Each pair goes the long way, and the answers are the same; `everywhere`: it takes too much there too."""
    (before,) = match(QUERIES, Told())
    alone = count(monkeypatch, "triplecast.residual.agreement.solve_rows")
    monkeypatch.setattr("triplecast.residual.agreement.SHARED_STEPS", 1)
    if everywhere:
        monkeypatch.setattr("triplecast.residual.agreement.DEFAULT_STEPS", 1)
    (matched,) = match(QUERIES, Told())
    assert len(alone) == (35 if everywhere else 2 * 35)
    if everywhere:
        assert {each.reason for each in matched.undecided} == {"budget: more than 1 steps"}
    else:
        assert matches_of(matched) == matches_of(before)


LONG = " && ".join(f"STRLEN(?t) > {least}" for least in range(5))
DEAR = [
    f"SELECT ?n {{ ?p e:n ?n ; e:t ?t FILTER({condition}) }}"
    for condition in (
        f"IF(<{OPS}above>(?p, 1), {LONG}, false)",  # takes much as soon as it is answered
        f"<{OPS}above>(?p, 1) || {LONG}",  # and until it is
        f"IF(<{OPS}above>(?p, 2), STRLEN(?t) > 0, false)",
    )
]


@pytest.mark.parametrize(("rows", "undecided"), [(8, set()), (24, {0, 1}), (96, {0, 1, 2})])
def test_whose_budget_is_spent_depends_on_nobody_else(
    monkeypatch: pytest.MonkeyPatch, rows: int, undecided: set[int]
) -> None:
    """Alone, before and behind others, and with all or some answers known."""
    for module in ("agreement", "conditions", "rows"):
        monkeypatch.setattr(f"triplecast.residual.{module}.DEFAULT_STEPS", 3_000)
    monkeypatch.setattr("triplecast.residual.agreement.SHARED_STEPS", 3_000)
    each = publication(" . ".join(f'e:o{row} e:n {row} ; e:t "{"a" * 2_000}"' for row in range(rows)))

    def undecided_of(*numbers: int, known: int = 0) -> set[int]:
        shown = snapshot(*(DEAR[number] for number in numbers))
        answers = {GroundCall(OPS + "above", (f"<http://e/o{row}>", ONE)): Found(((),)) for row in range(known)}
        matched = match_asking(shown, [each], Told(), {each.position: answers}).matched
        lost = {numbers[found.registration - 1] for found in matched.undecided}
        assert {numbers[found - 1] for found in matched.registration.tolist()} == set(numbers) - lost
        return lost

    assert {number for number in range(3) if undecided_of(number)} == undecided
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        for known in (0, rows // 2, rows):
            assert undecided_of(*order, known=known) == undecided, (order, known)


def test_two_filters_that_come_to_one_condition_are_one() -> None:
    """?p and ?q are the same picture in one row."""
    text = f"SELECT ?p {{ ?p a e:Pic ; e:like ?q FILTER(<{OPS}above>(?p, 1)) FILTER(<{OPS}above>(?q, 1)) }}"
    told = Told()
    (matched,) = match([text], told)
    assert len(matched) == 0
    assert len(told.calls) == len(set(told.calls))
