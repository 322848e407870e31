"""The peers' workload, its right answers and their hash; no Java and nothing that is fetched."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.figures import Target
from benchmarks.peers.answers import Answer, hash_pairs
from benchmarks.peers.contest import AnswersDiffer, Contest, Contestant, Limits, Score, hold_contest
from benchmarks.peers.oxigraph_engine import Oxigraph
from benchmarks.peers.probe import find_pairs
from benchmarks.peers.triplecast_door import BULK, DURABLE, MEMORY, Door
from benchmarks.peers.triplecast_door import SINGLY as ONE_BY_ONE
from benchmarks.peers.triplecast_engine import BYTES, IDS, SINGLY, Triplecast, build
from benchmarks.peers.verdict import (
    COVERING,
    DOOR_MEMORY,
    MOKACCINO,
    MONITOR_BYTES,
    OXIGRAPH,
    RAREST,
    THREE,
    TRIPLECAST,
    to_door_figures,
    to_figures,
)
from benchmarks.peers.workload import WITNESSES, Given, draw_given, order_by_rarity, read_given, write_given

ROOT = Path(__file__).resolve().parents[3]
LIMITS = Limits(build=60.0, warm=0.0, shortest=0.0, turn=1.0, turns=2)


def find_pairs_plainly(given: Given) -> list[tuple[int, int]]:
    stars = [set(map(tuple, star)) for star in given.subscriptions.tolist()]
    publications = [set(map(tuple, pairs)) for pairs in given.publications.tolist()]
    return [(at, number) for at, pairs in enumerate(publications) for number, star in enumerate(stars) if star <= pairs]


def test_the_probe_finds_what_set_containment_finds() -> None:
    given = draw_given(700, 40)
    found = find_pairs(given)
    assert found == find_pairs_plainly(given)
    assert len(found) >= WITNESSES * 3


def test_each_witness_matches_the_three_subscriptions_planted_in_it() -> None:
    found = set(find_pairs(draw_given(1_000, 0)))
    assert {(number // 3, number) for number in range(WITNESSES * 3)} <= found


def test_the_workload_is_the_same_each_time_and_survives_its_files(tmp_path: Path) -> None:
    given, again = draw_given(300, 20), draw_given(300, 20)
    write_given(given, tmp_path)
    for other in (again, read_given(tmp_path)):
        assert np.array_equal(given.subscriptions, other.subscriptions)
        assert np.array_equal(given.publications, other.publications)


def test_predicates_of_a_star_differ_and_the_rarest_pair_is_put_first() -> None:
    given = draw_given(500, 30)
    for pairs in (given.subscriptions, given.publications[WITNESSES:]):
        assert all(len(set(row)) == len(row) for row in pairs[:, :, 0].tolist())
    ordered = order_by_rarity(np.array([[[0, 9], [3, 3], [1, 1]]], np.int32))
    assert ordered.tolist() == [[[3, 3], [0, 9], [1, 1]]]


def test_the_hash_does_not_see_order_and_sees_everything_else() -> None:
    pairs = [(0, 0), (0, 7), (7, 0), (4_199, 999_999)]
    told = hash_pairs(pairs)
    assert told == hash_pairs(pairs[::-1]) == Answer(4, "6c15ea12ba674ee1")
    others = [pairs[:3], [*pairs, pairs[0]], [(0, 0), (7, 0), (7, 0), (4_199, 999_999)], [(b, a) for a, b in pairs[1:]]]
    assert told.digest not in {hash_pairs(other).digest for other in others}
    assert hash_pairs([]) == Answer(0, "0" * 16)


@pytest.mark.parametrize("way", [IDS, BYTES, SINGLY])
def test_the_product_gives_the_right_answers(way: str, tmp_path: Path) -> None:
    given = draw_given(400, 30)
    write_given(given, tmp_path)
    build(tmp_path)
    engine = Triplecast(way, tmp_path)
    for first, count in ((0, WITNESSES), (WITNESSES, 30)):
        engine.prepare(first, count)
        publications, subscriptions = engine.match(first, count, "")
        found = sorted(zip(publications.tolist(), subscriptions.tolist(), strict=True))
        assert found == [pair for pair in find_pairs(given) if first <= pair[0] < first + count]


@pytest.mark.parametrize("place", [MEMORY, DURABLE])
def test_the_front_door_gives_the_right_answers(place: str, tmp_path: Path) -> None:
    given = draw_given(400, 30)
    write_given(given, tmp_path)
    door = Door(place, tmp_path)
    for way in (ONE_BY_ONE, BULK):
        for first, count in ((0, WITNESSES), (WITNESSES, 30)):
            found = sorted(zip(*door.match(first, count, way), strict=True))
            assert found == [pair for pair in find_pairs(given) if first <= pair[0] < first + count]


def test_the_front_door_is_judged_one_by_one_and_in_bulk() -> None:
    def score(name: str, rate: float) -> Score:
        return Score(name, "1", 1_000_000, 1_000_000, 100, 0.1, [rate], [rate], 1.0, 100, 100)

    names = (f"{DOOR_MEMORY}, {ONE_BY_ONE}", f"{DOOR_MEMORY}, {BULK}", MOKACCINO, MONITOR_BYTES)
    figures = [*to_door_figures(Contest([*map(score, names, (900.0, 3_000.0, 200.0, 100.0))], {}))]
    assert [(figure.value, figure.target) for figure in figures[4:]] == [
        (4.5, Target(5.0, True)), (9.0, Target(5.0, True)), (15.0, Target(15.0, True)), (30.0, Target(15.0, True))
    ]  # fmt: skip


def test_pyoxigraph_is_asked_a_sample_and_answers_it_right(tmp_path: Path) -> None:
    given = draw_given(400, 10)
    write_given(given, tmp_path)
    engine = Oxigraph(25, tmp_path)
    assert engine.greeting.subscriptions == 25
    found = list(zip(*engine.match(0, 12, ""), strict=True))
    assert found == [pair for pair in find_pairs(given) if pair[0] < 12 and pair[1] < 25]
    assert len(found) >= 25


SCRIPTED = """
import sys
from dataclasses import replace
from pathlib import Path
from benchmarks.peers.probe import find_pairs
from benchmarks.peers.protocol import Greeting, give_up, serve
from benchmarks.peers.workload import read_given

class Scripted:
    greeting = Greeting("scripted", 300, 0.25, 1000)
    right = find_pairs(read_given(Path(sys.argv[2])))
    def prepare(self, first, count):
        self.asked = [pair for pair in self.right if first <= pair[0] < first + count]
    def match(self, first, count, way):
        found = self.asked[1:] if "forgets" in (sys.argv[1], way) else self.asked
        return [pair[0] for pair in found], [pair[1] for pair in found]

if sys.argv[1] == "gives up":
    give_up("7 of 300 rules built")
elif sys.argv[1] == "breaks":
    raise SystemExit("out of luck")
else:
    serve(Scripted())
"""


def script(behaviour: str) -> Contestant:
    def command(folder: Path) -> list[str]:
        return [sys.executable, "-c", SCRIPTED, behaviour, str(folder)]

    return Contestant(behaviour, command, {"PYTHONPATH": str(ROOT)})


def test_who_gives_up_is_told_and_the_others_are_scored(tmp_path: Path) -> None:
    contest = hold_contest(300, 50, [script("answers"), script("gives up")], LIMITS, tmp_path)
    assert contest.given_up == {"gives up": "7 of 300 rules built"}
    (score,) = contest.scores
    assert (score.name, score.subscriptions, score.asked, score.build, score.index) == ("answers", 300, 300, 0.25, 1000)
    assert len(score.rates) == LIMITS.turns
    assert score.publications == 50
    above = replace(script("answers"), gives_up_above=299)
    assert "gave up at 299" in hold_contest(300, 5, [above], LIMITS, tmp_path).given_up["answers"]


def test_an_answer_that_lacks_a_pair_ends_the_contest(tmp_path: Path) -> None:
    with pytest.raises(AnswersDiffer, match="forgets at 300 subscriptions told"):
        hold_contest(300, 5, [script("forgets")], LIMITS, tmp_path)


def test_each_way_of_a_process_has_a_score_and_the_right_answers(tmp_path: Path) -> None:
    both = replace(script("answers"), ways=("one by one", "1,000 a call"))
    contest = hold_contest(300, 50, [both, script("answers")], LIMITS, tmp_path)
    assert [score.name for score in contest.scores] == ["answers, one by one", "answers, 1,000 a call", "answers"]
    with pytest.raises(AnswersDiffer, match="answers at 300 subscriptions told"):
        hold_contest(300, 5, [replace(both, ways=("one by one", "forgets"))], LIMITS, tmp_path)


def test_an_engine_that_breaks_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="breaks: its process ended: out of luck"):
        hold_contest(300, 5, [script("breaks")], LIMITS, tmp_path)


def test_the_verdict_compares_with_the_fastest_lucene_and_judges_it_by_the_page() -> None:
    def score(name: str, rate: float, asked: int = 1_000_000) -> Score:
        return Score(name, "1", 1_000_000, asked, 100, 0.1, [rate, rate * 2], [rate, rate], 1.0, 100, 100)

    ask = 1 / (53.7e-6 / 2 * 1_000_000)  # twice as fast as on the page's machine
    scores = [score(TRIPLECAST, 40_000), score(COVERING, 1_000), score(THREE, 2_000), score(RAREST, 300)]
    figures = {figure.scenario: figure for figure in to_figures(Contest([*scores, score(OXIGRAPH, ask, 500)], {}))}
    assert figures[TRIPLECAST].target is not None
    assert not figures[TRIPLECAST].target.is_met(figures[TRIPLECAST].low or 0)
    over = figures[f"{TRIPLECAST}, over {COVERING}"]
    assert (over.value, over.target) == (40.0, Target(50.0, at_least=True))
    assert figures[f"{TRIPLECAST}, over {THREE}"].target is None
    judged = figures[f"{COVERING}, over the page's figure scaled to this machine, core time"]
    assert judged.work["scaled to this machine"] == pytest.approx(617 * 2)
    assert judged.value == pytest.approx(1_000 / 1_234)
