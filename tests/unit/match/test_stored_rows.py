"""Open rows through bytes: the same outcome before and after, in another process, and matched again where they cannot
be read."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.properties.test_operators import Asking, made, publications_of, snapshot_of
from tests.unit.journal.journal_samples import run_and_crash
from triplecast.evaluate.unknown import Answers
from triplecast.match import Matcher
from triplecast.match.answer_limit import AnswerLimit
from triplecast.match.resolve import Resolved
from triplecast.model.answers import Answer, GroundCall, parse_answer
from triplecast.model.match import ANSWER_LIMITS, MatchRows
from triplecast.model.open_rows import OpenRows
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import compact, read_open_rows, write_open_rows
from triplecast.outbox import Outbox, OutboxReader
from triplecast.outbox.tables import write_open_pairs
from triplecast.taxonomy import NO_TAXONOMIES

GRAMMAR = "of these tests"


def calls_of(rows: OpenRows, pair: int) -> tuple[GroundCall, ...]:
    return tuple(rows.calls[number] for number in rows.needed[rows.waits[pair] : rows.waits[pair + 1]].tolist())


def outcome(resolved: Resolved, decided: MatchRows) -> tuple[object, ...]:
    offsets = decided.offsets.tolist()
    rows = [decided.text[offsets[sheet] : offsets[sheet + 1]].tobytes() for sheet in decided.sheet.tolist()]
    pairs = zip(decided.publication.tolist(), decided.registration.tolist(), rows, strict=True)
    left = resolved.open
    waiting = [
        (int(left.position[pair]), int(left.registration[pair]), sorted(calls_of(left, pair)))
        for pair in range(left.pairs)
    ]
    undecided = sorted((pair.publication, pair.registration, pair.reason) for pair in resolved.undecided)
    return sorted(pairs), undecided, waiting


def same(rows: OpenRows, other: OpenRows) -> bool:
    return all(
        list(one) == list(two) if hasattr(one, "tolist") else one == two for one, two in zip(rows, other, strict=True)
    )


def test_what_is_read_again_resolves_to_the_same(seed: int) -> None:
    """With no answers, some and all of them, on pairs of the index and of the evaluator, some of which fail."""
    random = Random(seed)
    for fails in (False, True):
        _, texts, graphs = made(seed, fails, 4)
        publications = publications_of(graphs, len(texts))
        with Asking() as asking:
            matched = asking.matcher.match(snapshot_of(texts), publications)
            _, results = asking.match(snapshot_of(texts), publications)
            assert matched.open.pairs > 20
            assert all(calls_of(matched.open, pair) for pair in range(matched.open.pairs))
            some = matched.open.only(sorted(random.sample(range(matched.open.pairs), matched.open.pairs // 2)))
            for rows in (matched.open, some, some.only([])):
                read = read_open_rows(write_open_rows(rows, GRAMMAR), GRAMMAR)
                assert read is not None
                assert same(read, compact(rows))
                for part in (0.0, 0.5, 1.0):
                    known: dict[int, dict[GroundCall, Answer]] = {}
                    for each in results:
                        if random.random() < part:
                            answers = known.setdefault(each.position, {})
                            answers[GroundCall(each.operator, each.arguments)] = parse_answer(each.answer)
                    told = [resolve(asking.matcher, each, known, publications) for each in (rows, read)]
                    assert told[0] == told[1], (seed, fails, part)


def resolve(
    matcher: Matcher, rows: OpenRows, known: Mapping[int, Answers], publications: Sequence[Publication]
) -> tuple[object, ...]:
    limit = AnswerLimit(ANSWER_LIMITS.publication)
    resolved = matcher.resolve(rows, known, publications, NO_TAXONOMIES, limit)
    return outcome(resolved, *limit.close((), len(publications)))


def test_bytes_that_are_none_are_refused(seed: int) -> None:
    _, texts, graphs = made(seed, False, 1)
    with Asking() as asking:
        rows = asking.matcher.match(snapshot_of(texts), publications_of(graphs, len(texts))).open
    body = write_open_rows(rows, GRAMMAR)
    assert read_open_rows(body, "another") is None
    assert read_open_rows(body.replace(b'"format": 1', b'"format": 2', 1), GRAMMAR) is None
    random = Random(seed)
    for cut in (0, 1, len(body) - 1, *(random.randrange(len(body)) for _ in range(50))):
        assert read_open_rows(body[:cut], GRAMMAR) is None


# ---- in another process ----------------------------------------------------------------------------------------------

RUN = """
import json, sys
from pathlib import Path
sys.path.insert(0, "tests/unit/operators")
import wild_operators
from triplecast.engine import Engine
from triplecast.match import Matcher
matched = []
real = Matcher.match_pieces
Matcher.match_pieces = lambda self, snapshot, publications, *rest: (
    matched.extend(each.graph for each in publications) or real(self, snapshot, publications, *rest)
)
P = f"PREFIX : <https://example.org/> PREFIX w: <{wild_operators.WILD}> "
QUERIES = (
    "SELECT ?n { ?p a :Picture ; :title ?t BIND(w:lengths(?t) AS ?n) }",
    "SELECT (COUNT(?l) AS ?n) { ?p :title ?t . ?t w:letters ?l } GROUP BY ?p",
    "ASK { ?p :title ?t FILTER(w:long(?t)) }",
    "SELECT ?t { ?p :title ?t }",
)
with Engine.open(Path(sys.argv[1])) as engine:
    if not list(engine.subscriptions()):
        for number, text in enumerate(QUERIES):
            engine.subscribe(P + text, id=f"s{number}")
        for number in range(3):
            text = f'@prefix : <https://example.org/> . <urn:p> a :Picture ; :title "title{number}" .'
            engine.publish(text, "text/turtle", f"urn:d{number}")
    told = sorted((each.subscription, each.publication, each.json) for each in engine.notifications())
    print(json.dumps([matched, told]))
"""


def told(folder: Path) -> tuple[list[str], list[list[str]]]:
    """The publications that a process matched, and all notifications."""
    ended = subprocess.run([sys.executable, "-c", RUN, str(folder)], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    matched, notifications = json.loads(ended.stdout)
    return matched, notifications


@pytest.mark.slow
def test_a_batch_that_one_process_matched_is_asked_about_by_another_which_does_not_match_it(tmp_path: Path) -> None:
    plain, folder = tmp_path / "plain", tmp_path / "folder"
    assert run_and_crash(RUN, folder, "outbox.some-wait", 1, tmp_path / "log")
    with OutboxReader.read_only(folder) as outbox:
        pending = outbox.pending(0, 9)
        assert [len(pending.positions), len(pending.pairs), len(pending.parts)] == [1, 3, 1]
    matched, notifications = told(folder)
    assert matched == []
    assert notifications == [row for row in told(plain)[1] if row[1] == "urn:d0"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["body = CAST('x' AS BLOB)", "body = zeroblob(9), crc = 0", "deleted", "format"])
def test_stored_rows_that_cannot_be_read_are_matched_again(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "folder"
    assert run_and_crash(RUN, folder, "outbox.some-wait", 1, tmp_path / "log")
    with OutboxReader.read_only(folder) as outbox:
        (part,) = outbox.pending(0, 9).parts
    with sqlite3.connect(folder / "outbox.sqlite") as connection:
        connection.execute(
            "DELETE FROM open_part" if damage in ("deleted", "format") else f"UPDATE open_part SET {damage}"
        )
    connection.close()
    if damage == "format":
        with Outbox.open(folder) as outbox, outbox._database.write():
            write_open_pairs(outbox._database, (), [part._replace(format=99)])
    matched, notifications = told(folder)
    assert matched == ["urn:d0"]
    assert [name for name, _, _ in notifications] == ["s0", "s1", "s2", "s3"]
