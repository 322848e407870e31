"""Answers of one publication beyond their limit (decision 15): which pairs are undecided is a function of publication
and position, whatever the batch, the segments and the way of deciding.

No test saw memory without a limit because no generator multiplied rows by subscriptions: each pair was small, and pairs
few. The tests here lower the limits instead, so that random cases cross them; `tests/unit/engine/test_peak_memory.py`
measures processes under the real ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import pytest

from tests.properties.operators import EVEN
from tests.properties.test_operators import OPERATORS, is_decided_by_index, made, publications_of
from tests.unit.match.match_samples import InProcess, publication, random_case, random_stars, registrations, snapshot_of
from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.index import IndexWriter, Snapshot, build_segment
from triplecast.index.merge import merge_segments
from triplecast.match import Matcher
from triplecast.match.answer_limit import NO_ROOM, NO_ROOM_TO_WAIT, AnswerLimit
from triplecast.match.members import BatchMatches
from triplecast.model.match import ANSWER_LIMITS, PAIR_BYTES, TOO_LONG, AnswerLimits, MatchRows
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.operators.asking import Asker, settle

Outcome = tuple[dict[tuple[int, int], bytes], set[tuple[int, int]]]
"""By position and registration: answers, and the pairs without room."""


def outcome(snapshot: Snapshot, batches: Sequence[Sequence[Publication]], limits: AnswerLimits) -> Outcome:
    found: Outcome = ({}, set())
    with Matcher(InProcess(), limits=limits) as matcher:
        for batch in batches:
            done: list[Publication] = []
            for of, matched in matcher.match_pieces(snapshot, batch):
                done += of
                rows = zip(matched.publication.tolist(), matched.registration.tolist(), strict=True)
                for row, (place, registration) in enumerate(rows):
                    found[0][of[place].position, registration] = matched.bindings_of(row)
                pairs = [pair for pair in matched.undecided if pair.reason == NO_ROOM]
                found[1].update((of[pair.publication].position, pair.registration) for pair in pairs)
                assert matched.stats.matches == len(matched)
                assert matched.stats.undecided == len(matched.undecided)
            assert done == [*batch], "pieces are of all publications, in order"
    return found


def limited(whole: Outcome, limit: int) -> Outcome:
    """What semantics 1.7 says of answers without a limit."""
    spent: dict[int, int] = {}
    kept: Outcome = ({}, set())
    for (position, registration), bindings in sorted(whole[0].items()):
        spent[position] = spent.get(position, 0) + len(bindings)
        if spent[position] <= limit:
            kept[0][position, registration] = bindings
        else:
            kept[1].add((position, registration))
    return kept


def ways(
    queries: Sequence[Registration], publications: list[Publication]
) -> Iterator[tuple[Snapshot, list[list[Publication]]]]:
    parts = [build_segment(queries[start::3]) for start in range(3)]
    index = IndexWriter()
    for start in range(0, len(queries), 7):
        grown = index.apply(queries[start : start + 7], (), start)
    yield snapshot_of([build_segment(queries)]), [publications]
    yield snapshot_of([build_segment(queries)]), [[each] for each in publications]
    yield snapshot_of(parts), [publications[:2], publications[2:]]
    yield snapshot_of([merge_segments(parts)]), [publications]
    yield grown, [publications]


@pytest.mark.parametrize("make", [random_case, random_stars])
def test_every_way_leaves_the_same_pairs_undecided(make: object, seed: int) -> None:
    assert callable(make)
    crossed = 0
    for number in range(seed, seed + 3):
        queries, publications = make(number)
        publications = [*publications, publication("")]
        whole = outcome(snapshot_of([build_segment(queries)]), [publications], AnswerLimits())
        assert not whole[1]
        sizes = sorted(len(bindings) for bindings in whole[0].values())
        for limit in (0, sizes[len(sizes) // 2], sizes[-1], 3 * sizes[-1], sum(sizes)):
            wanted = limited(whole, limit)
            crossed += bool(wanted[0] and wanted[1])
            limits = AnswerLimits(limit, pairs=random.Random(number).choice((1, 5, 50)))
            for way, (snapshot, batches) in enumerate(ways(queries, publications)):
                assert outcome(snapshot, batches, limits) == wanted, (number, limit, way)
    assert crossed > 3


def test_the_cut_is_the_same_in_whatever_order_and_way_answers_come(seed: int) -> None:
    """Some answers are added, here or to another limit that is absorbed, and some measured first; a limit that they
    reach exactly cuts none off."""
    source = random.Random(seed)
    for _ in range(300):
        sizes = {(source.randrange(3), number): source.randrange(1, 9) for number in range(1, 9)}
        whole: Outcome = ({pair: b"x" * size for pair, size in sizes.items()}, set())
        limit = source.choice([sum(source.sample([*sizes.values()], 3)), max(sizes.values()), 0])
        upto = source.choice((1, 2, 3, 3))
        one, other, parts = AnswerLimit(limit), AnswerLimit(limit), []
        for pair in source.sample([*sizes], len(sizes)):
            way = source.choice((one, other, None))
            if way is None:
                parts.append(MatchRows.of([pair[0]], [pair[1]], [whole[0][pair]]))
            else:
                way.add(*pair, whole[0][pair])
        one.absorb(other)
        rows = one.close(parts, upto)
        kept = {
            (int(place), int(of)): part.text[part.offsets[sheet] : part.offsets[sheet + 1]].tobytes()
            for part in rows
            for place, of, sheet in zip(part.publication, part.registration, part.sheet, strict=True)
        }
        wanted = limited(({pair: text for pair, text in whole[0].items() if pair[0] < upto}, set()), limit)
        undecided = one.undecided(upto)
        assert (kept, {(each.publication, each.registration) for each in undecided}) == wanted
        assert len(undecided) == len(wanted[1])


@pytest.mark.parametrize(
    "pattern",
    ["?s e:p ?o FILTER(?o != {})", "{{ ?s e:p ?o }} UNION {{ ?s e:q ?o }}", "?s e:p+ ?o FILTER(?o != {})"],
    ids=["joined", "combined", "evaluated"],
)
def test_pieces_hold_no_more_than_the_limit_together(pattern: str) -> None:
    """Counted work: of 40 publications with 40 answers each, a piece takes as many as fit and no fewer than a third;
    of the publication after it, one answer is made at most."""
    queries = registrations(*(f"SELECT * {{ {pattern.format(number)} }}" for number in range(40)))
    publications = [publication(" . ".join(f"e:s{number} e:p {number}" for number in range(10))) for _ in range(40)]
    snapshot = snapshot_of([build_segment(queries)])
    alone = len(Matcher(InProcess()).match(snapshot, publications[:1]).bindings)
    with Matcher(InProcess(), limits=AnswerLimits(10 * alone + 1)) as matcher:
        found = [*matcher.match_pieces(snapshot, publications)]
    assert sum(len(of) for of, _ in found) == 40
    assert max(len(matched.bindings) for _, matched in found) <= 10 * alone + 1
    assert len(found) <= 12
    assert sum(matched.stats.combined for _, matched in found) in (0, *range(1_600, 1_600 + len(found)))


def test_only_the_first_of_equal_pieces_is_found_to_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = snapshot_of([build_segment(registrations(*["SELECT * { ?s e:p ?o }"] * 10))])
    publications = [publication(f"e:s e:p {number}") for number in range(600)]
    cut = []
    shorten = BatchMatches.shorten
    monkeypatch.setattr(BatchMatches, "shorten", lambda batch, upto: (cut.append(upto), shorten(batch, upto)))
    with Matcher(InProcess(), limits=ANSWER_LIMITS._replace(pairs=1_000)) as matcher:
        pieces = [len(of) for of, _ in matcher.match_pieces(snapshot, publications)]
    assert sum(pieces) == 600
    assert cut == pieces[:1]


@pytest.mark.parametrize("limit", [ANSWER_LIMITS.publication, 1_000])
def test_an_answer_that_is_too_long_is_undecided_by_every_route_and_takes_no_room(limit: int) -> None:
    """The evaluator has always had this limit; the index had none, and 10,000 rows of a long literal were tried."""
    text = "x" * 1_000_000
    graph = publication(f'e:a e:t "{text}"  . ' + " . ".join(f"e:s{number} e:p {number}" for number in range(20)))
    queries = registrations(
        "SELECT * { ?a e:t ?t . ?s e:p ?o }",
        "SELECT * { { ?a e:t ?t . ?s e:p ?o } UNION { ?a e:q ?t } }",
        "SELECT * { ?a e:t ?t . ?s e:p ?o } ORDER BY ?o LIMIT 30",
        "ASK { ?a e:t ?t . ?s e:p ?o }",
    )
    with Matcher(limits=AnswerLimits(limit)) as matcher:
        matched = matcher.match(snapshot_of([build_segment(queries)]), [graph])
    assert [(pair.registration, pair.reason) for pair in matched.undecided] == [(n, TOO_LONG) for n in (1, 2, 3)]
    assert matched.registration.tolist() == [4]


@pytest.mark.parametrize("more", [0, 1])
def test_joined_and_combined_rows_make_an_answer_of_exactly_the_limit(more: int) -> None:
    written = len("[") + 16 * len(r'{"t":"\"\""},')  # the last comma counts as the ]
    length, longer = divmod(PAIR_BYTES + more - written, 16)
    texts = [letter * (length + (letter == "a") * longer) for letter in "abcdefghijklmnop"]
    graph = publication(" . ".join(f'e:a e:t "{text}"' for text in texts))
    queries = registrations("SELECT ?t { ?a e:t ?t }", "SELECT ?t { { ?a e:t ?t } UNION { ?a e:q ?t } }")
    with Matcher(InProcess()) as matcher:
        matched = matcher.match(snapshot_of([build_segment(queries)]), [graph])
    assert matched.rows.length.tolist() == [PAIR_BYTES] * 2 * (not more)
    assert [pair.reason for pair in matched.undecided] == [TOO_LONG] * 2 * more


class Waiting(NamedTuple):
    """By position and registration."""

    answers: dict[tuple[int, int], bytes]
    open: set[tuple[int, int]]
    dropped: list[tuple[int, int]]


def waiting(snapshot: Snapshot, batches: Sequence[Sequence[Publication]], limit: int) -> Waiting:
    found = Waiting({}, set(), [])
    with Matcher(operators=OPERATORS, limits=AnswerLimits(waiting=limit)) as matcher:
        for batch in batches:
            for of, matched in matcher.match_pieces(snapshot, batch):
                rows = zip(matched.publication.tolist(), matched.registration.tolist(), strict=True)
                for row, (place, registration) in enumerate(rows):
                    found.answers[of[place].position, registration] = matched.bindings_of(row)
                found.open.update((pair.position, pair.registration) for pair in matched.open.awaited())
                lost = [pair for pair in matched.undecided if pair.reason == NO_ROOM_TO_WAIT]
                found.dropped.extend((of[pair.publication].position, pair.registration) for pair in lost)
    return found


def asking(texts: Sequence[str]) -> list[Registration]:
    return [Registration(RegistrationId(i), Subscription(str(i), text)) for i, text in enumerate(texts, 1)]


def test_every_way_drops_the_same_pairs_that_wait_for_operators(seed: int) -> None:
    """Those from one registration on, at each publication by itself."""
    _, texts, graphs = made(seed, False, 4)
    queries = asking([text for text in texts if is_decided_by_index(text)])
    publications = publications_of(graphs, len(queries))
    compiler, index = SubscriptionCompiler(OPERATORS), IndexWriter()
    whole = IndexWriter().apply(queries, (), len(queries), compiler=compiler)
    for start in range(0, len(queries), 20):
        grown = index.apply(queries[start : start + 20], (), len(queries), compiler=compiler)
    without, before = waiting(whole, [publications], ANSWER_LIMITS.waiting), -1
    for limit in (1 << 20, 6_000, 1_500, 0):
        found = waiting(whole, [publications], limit)
        assert found == waiting(whole, [[each] for each in publications], limit)
        assert found == waiting(grown, [publications], limit)
        dropped = {*found.dropped}
        for each in publications:
            first = min((of for at, of in dropped if at == each.position), default=len(queries) + 1)
            assert found.open.isdisjoint((each.position, of) for of in range(first, len(queries) + 1))
        assert found.open | dropped >= without.open
        assert found.answers.keys() | dropped >= without.answers.keys()
        assert found.answers.items() <= without.answers.items()
        assert before < len(dropped) == len(found.dropped)
        before = len(dropped)
    assert not found.open


def test_rows_that_wait_may_take_exactly_their_limit() -> None:
    """Counted work: a piece holds twice as much at most, and of one publication alone no more is made than may wait."""
    plain, asks = "SELECT * { ?s <http://e/p> ?o", f"FILTER(<{EVEN}>(?o))"
    graph = publication(" . ".join(f"e:s{number} e:p {number}" for number in range(9)))
    size = len(Matcher(InProcess()).match(snapshot_of([build_segment(asking([plain + "}"]))]), [graph]).bindings)
    queries = asking([f"{plain} FILTER(?o != {number}) {asks} }}" for number in range(10, 15)])
    snapshot = IndexWriter().apply(queries, (), 5, compiler=SubscriptionCompiler(OPERATORS))
    left = [len(waiting(snapshot, [[graph]], limit).open) for limit in (3 * size - 1, 3 * size, 3 * size + 1)]
    assert left == [2, 3, 3]
    graphs = [graph._replace(position=at) for at in range(10, 19)]
    with Matcher(operators=OPERATORS, limits=AnswerLimits(waiting=10 * size)) as matcher:
        assert [len(of) for of, _ in matcher.match_pieces(snapshot, graphs)] == [4, 4, 1]
    with Matcher(operators=OPERATORS, limits=AnswerLimits(1, 3 * size)) as matcher:
        assert len(matcher.match(snapshot, [graph]).open.rows) == 3


def test_answers_that_are_settled_together_have_the_same_limit(seed: int) -> None:
    _, texts, graphs = made(seed, False, 4)
    queries = asking([text for text in texts if is_decided_by_index(text)])
    publications = publications_of(graphs, len(queries))
    snapshot = IndexWriter().apply(queries, (), len(queries), compiler=SubscriptionCompiler(OPERATORS))

    def settled(limit: int) -> Outcome:
        with (
            Matcher(operators=OPERATORS) as first,
            Matcher(operators=OPERATORS, limits=AnswerLimits(limit)) as then,
            closing(Asker(operators=OPERATORS)) as asker,
        ):
            matched = settle(asker, then, first.match(snapshot, publications).open, publications).matched
        rows = enumerate(zip(matched.publication.tolist(), matched.registration.tolist(), strict=True))
        undecided = [(each.publication, each.registration) for each in matched.undecided if each.reason == NO_ROOM]
        assert matched.stats.matches == len(matched)
        return {pair: matched.bindings_of(row) for row, pair in rows}, {*undecided}

    whole = settled(ANSWER_LIMITS.publication)
    spent = sum(len(bindings) for (place, _), bindings in whole[0].items() if place == 0)
    for limit in (spent, spent - 1, spent // 2, 0):
        assert settled(limit) == limited(whole, limit)
