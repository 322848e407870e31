"""Section 4's workload and the figures over it, in tiny sizes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from benchmarks.workloads.abstracts import ABSTRACT, draw_interests, write_interest
from experiments import engine
from experiments.claims import judge, read_claims
from experiments.figures import ENGINE, Figure
from experiments.rtf import measure as experiment
from experiments.rtf.filtering import Growing, read_stream
from experiments.rtf.forest import TrieForest, Variant
from experiments.rtf.queries import And, Chain, Variable
from experiments.rtf.run import PAPER
from experiments.rtf.workload import NamedCorpus, cut_to_size, find_corpus, make_corpus, to_query

WRONG = "RTFm, hashed and the engine differ on publication 1 in subscriptions"


def test_without_the_fetched_abstracts_made_up_ones_are_told_as_such(tmp_path: Path) -> None:
    found = find_corpus(tmp_path)
    assert "made-up" in found.name
    corpus = found.corpus
    assert len(corpus.publications) == len(set(corpus.publications)) == 5_000
    assert 70 < len(corpus.tokens) / 5_000 < 120
    assert corpus.publications[:3] == cut_to_size(make_corpus()).publications[:3]
    assert corpus.tokens.count("ba") > 20 * corpus.tokens.count("bara") > 0


def test_a_tuple_asks_what_the_interest_asks() -> None:
    corpus = make_corpus(50)
    seen = set()
    for interest in draw_interests(corpus, 60, 0.5, from_tokens=True):
        query = to_query(7, interest)
        assert len(query.tuples) == len(interest)
        text = write_interest(interest)
        for number, (asked, part) in enumerate(zip(query.tuples, interest, strict=True)):
            assert asked.predicate == f"<{part.predicate}>"
            assert (asked.object == f"<{part.kind}>") == (part.kind is not None)
            assert (asked.object == Variable(f"v{number}")) == (part.kind is None)
            expected = And(tuple(Chain((word,)) for word in part.words)) if part.words else None
            assert asked.text == expected
            seen.add((part.predicate == ABSTRACT, bool(part.words)))
            assert all(f'"{word}"' in text.replace("\\", "") for word in part.words)
    assert len(seen) == 4


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    """Of a tiny run, which itself raises where an answer is not the engine's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "QUICK", experiment.Sizes(5, 10, 3, 20))
        patch.setattr(experiment, "find_corpus", lambda _: NamedCorpus(make_corpus(40), "made-up"))
        patch.setattr(engine, "METERED", 1)
        return {figure.name: figure for figure in experiment.measure(quick=True)}


def test_every_figure_has_the_engine_beside_the_algorithms(figures: dict[str, Figure]) -> None:
    assert list(figures) == ["5a", "5b", "6a", "6b", "7a", "7b", "memory"]
    for figure in figures.values():
        assert any(line.name.startswith(ENGINE) for line in figure.lines)
    for line in figures["5a"].lines:
        assert [point.x for point in line.points] == [10, 20, 30, 40, 50]
    alone = [line for line in figures["5a"].lines if "batches" not in line.name]
    assert {line.name for line in alone if line.points[-1].steps} >= {"RTFm", "RTFs", "iBroker", "RTFs, hashed", ENGINE}
    assert [line.name for line in alone for point in line.points if len(point.each) != 3] == []
    assert {line.name: [point.x for point in line.points] for line in figures["5b"].lines} == {
        ENGINE: [4, 8, 12, 16, 20],
        "RTFm": [4, 8, 12, 16, 20],
        "RTFs": [4, 8, 12, 16, 20],
        "iBroker": [3],
    }


def test_what_every_claim_is_about_is_measured(figures: dict[str, Figure]) -> None:
    """But for those that name a point of the full run."""
    verdicts = judge(read_claims(PAPER.folder / "expected.json"), list(figures.values()), quick=False)
    unchecked = {verdict.claim.name: verdict.seen for verdict in verdicts if verdict.held is None and not verdict.noisy}
    assert set(unchecked) == {"R-5a-5", "R-6a-3", "R-6a-4", "R-6a-6"}
    assert all("has no point at" in seen for seen in unchecked.values())


def test_an_answer_that_is_not_the_engines_ends_the_run() -> None:
    corpus = make_corpus(40)
    interests = draw_interests(corpus, 20, 0.5, from_tokens=True, seed=random.Random(1).randrange(100))
    queries = [to_query(number, interest) for number, interest in enumerate(interests)]
    growing = Growing(read_stream(corpus.publications[:2], 2), {"RTFm": TrieForest(Variant.MANY)})
    insertion = growing.insert(queries, list(map(write_interest, interests)))
    growing.answers = [growing.answers[0], [*growing.answers[1], 99]]
    with growing.engine, pytest.raises(ValueError, match=WRONG):
        growing.ask(insertion)


def test_abstracts_are_as_long_as_the_papers_publications() -> None:
    corpus = make_corpus(300)
    cut = cut_to_size(corpus).publications
    assert sum(map(len, cut)) / len(cut) == pytest.approx(630, rel=0.02)
    assert all(len(list(parse(content, format=RdfFormat.N_TRIPLES))) == 2 for content in cut)
    kept = [(short, long) for short, long in zip(cut, corpus.publications, strict=True) if short == long]
    assert 0 < len(kept) < len(cut)
