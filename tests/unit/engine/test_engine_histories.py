"""Random histories of a durable engine (a Hypothesis state machine): what each publication is told equals asking the
evaluator again, from scratch, of every subscription that stands by then, with the taxonomy that holds by then."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.reference.fulltext import render
from tests.unit.match.match_samples import InProcess, query_of
from tests.unit.match.test_entailed_random import published, random_graph, random_query, random_taxonomy
from tests.unit.text.text_samples import random_selection, random_text, write_text
from triplecast import FOREVER, Engine
from triplecast.evaluate import DEFAULT_STEPS, Background, Budget, bindings_json, evaluate
from triplecast.index import IndexWriter, merge
from triplecast.ingest import Parser
from triplecast.match import Matcher
from triplecast.model.entailment import ENTAILMENTS, Entailment
from triplecast.registry import upkeep
from triplecast.taxonomy import NO_TAXONOMY, Taxonomy

SECOND = 1_000_000
TAGS = ("", "@en", "@xx")
SOURCES = st.integers(0, 2**32 - 1).map(Random)
LEASES = st.sampled_from([None, FOREVER, 1, 5, 30])


class Standing(NamedTuple):
    registration: int
    text: str
    entailment: str | None
    end: int | None
    """Of its lease, in microseconds."""


class KeptParser:
    """One parser's child for all engines of a test."""

    def __init__(self, parser: Parser) -> None:
        self.parse, self.parse_soon, self.parse_here = parser.parse, parser.parse_soon, parser.parse_here

    def close(self) -> None:
        pass


class Histories(RuleBasedStateMachine):
    """Subclassed with a parser and a counter for each test."""

    parser: Parser
    seen: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="triplecast-histories-"))
        self.now = 1_800_000_000 * SECOND
        self.standing: dict[str, Standing] = {}
        self.taxonomy: Taxonomy = NO_TAXONOMY
        self.version = 0
        self.open()

    def open(self) -> None:
        self.engine = Engine.open(self.folder, lambda: self.now)
        matcher, matching = Matcher(InProcess(), self.engine._operators), self.engine._matching
        self.engine._matcher = matching._matcher = matching.asking._matcher = matcher
        self.engine._parser = self.engine._publishing._parser = KeptParser(self.parser)  # type: ignore[assignment]

    def teardown(self) -> None:
        self.engine.close()
        shutil.rmtree(self.folder)

    @initialize(source=SOURCES)
    def begin(self, source: Random) -> None:
        for _ in range(3):
            self.subscribe(source, None)

    @rule(source=SOURCES, lease=LEASES)
    def subscribe(self, source: Random, lease: object) -> None:
        for _ in range(source.choice((1, 2, 5))):
            text, entailment = _draw_query(source)
            made = self.engine.subscribe(text, entailment=entailment, lease=lease)  # type: ignore[arg-type]
            self.standing[made.id] = Standing(made.registration, text, entailment, self._end(lease))

    @rule(source=SOURCES)
    @precondition(lambda self: self.live())
    def cancel(self, source: Random) -> None:
        name = source.choice(sorted(self.live()))
        self.engine.unsubscribe(name)
        del self.standing[name]
        self.seen["cancel"] += 1

    @rule(source=SOURCES, lease=LEASES)
    @precondition(lambda self: self.live())
    def renew(self, source: Random, lease: object) -> None:
        name = source.choice(sorted(self.live()))
        self.engine.renew(name, until=lease)  # type: ignore[arg-type]
        self.standing[name] = self.standing[name]._replace(end=self._end(lease))
        self.seen["renew"] += 1

    @rule(seconds=st.sampled_from([1, 2, 6]))
    def wait(self, seconds: int) -> None:
        before = len(self.live())
        self.now += seconds * SECOND
        self.seen["lease end"] += before - len(self.live())

    @rule(source=SOURCES)
    def load_taxonomy(self, source: Random) -> None:
        self.taxonomy = random_taxonomy(source, source.random() < 0.5)
        self.engine.load_taxonomy(self.taxonomy.lines, "application/n-triples", self.taxonomy.broader)
        self.seen["taxonomy"] += 1

    @rule(lose_index=st.booleans())
    def restart(self, lose_index: bool) -> None:
        self.engine.close()
        if lose_index:
            shutil.rmtree(self.folder / "index", ignore_errors=True)
        self.open()
        self.seen["restart without an index" if lose_index else "restart"] += 1

    @rule(source=SOURCES)
    def publish(self, source: Random) -> None:
        for _ in range(3):
            self._publish_one(source)

    @rule(source=SOURCES, lease=LEASES)
    def subscribe_and_publish(self, source: Random, lease: object) -> None:
        self.subscribe(source, lease)
        self.publish(source)

    def _publish_one(self, source: Random) -> None:
        self.version += 1
        graph = {tuple("_:c14n0" if term == "_:b0" else term for term in triple) for triple in random_graph(source)}
        for _ in range(source.randrange(4)):
            text = json.dumps(write_text(source, random_text(source)), ensure_ascii=False) + source.choice(TAGS)
            graph.add((source.choice(["<http://e/n0>", "<http://e/n1>"]), f"<http://e/p{source.randrange(3)}>", text))
        publication = published(graph, 1)
        receipt = self.engine.publish(publication.quads, "application/n-triples", f"http://g/{self.version}")
        self.engine._upkeep._compactor.wait()
        assert not receipt.undecided
        assert not receipt.rejects
        wanted = {}
        for each in self.live().values():
            background = Background.of(_entailment(each), self.taxonomy)
            solutions = evaluate(query_of(each.text), publication, Budget(DEFAULT_STEPS), background)
            if solutions.matched:
                wanted[each.registration] = bindings_json(solutions).decode()
                self.seen["match with a text" if "ft:" in each.text else "match"] += 1
        assert {match.registration: match.json for match in receipt.matches} == wanted

    def live(self) -> dict[str, Standing]:
        return {name: each for name, each in self.standing.items() if each.end is None or each.end > self.now}

    def _end(self, lease: object) -> int | None:
        if lease == FOREVER:
            return None
        return self.now + (86_400 if lease is None else int(str(lease))) * SECOND


def _entailment(standing: Standing) -> Entailment:
    if standing.entailment is not None:
        return ENTAILMENTS[standing.entailment]
    return Entailment.TAXONOMY if "tc:" in standing.text else Entailment.NONE


def _draw_query(source: Random) -> tuple[str, str | None]:
    """Of a taxonomy, of words, or of both."""
    if source.random() < 0.6:
        return random_query(source)
    selection = json.dumps(render(random_selection(source, 1, plain=source.random() < 0.7)), ensure_ascii=False)
    verb, kind = source.choice(["?p", "<http://e/p0>", "<http://e/p1>"]), source.choice(["", "?s a ?c . "])
    text = f"SELECT * {{ {kind}?s {verb} ?t FILTER(ft:contains(?t, {selection})) }}"
    return text, source.choice([None, None, "taxonomy", "rdfs"])


@pytest.mark.parametrize("examples", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_histories_equal_asking_again_from_scratch(examples: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, merge_segments = Counter[str](), merge.merge_segments

    def counting(*arguments: object, **named: object) -> object:
        counted["merge"] += 1
        return merge_segments(*arguments, **named)  # type: ignore[arg-type]

    def adopting(index: IndexWriter, *made: object) -> bool:
        counted["made again"] += (adopted := adopt(index, *made))  # type: ignore[arg-type]
        return adopted

    adopt = IndexWriter.adopt
    monkeypatch.setattr(merge, "merge_segments", counting)
    monkeypatch.setattr(IndexWriter, "adopt", adopting)
    monkeypatch.setattr(merge, "DUE_LEAST", 2)
    monkeypatch.setattr(upkeep, "AT_ONCE", 3)
    monkeypatch.setattr(upkeep, "UNINDEXED", 4)
    with Parser() as shared:

        class Seeded(Histories):
            parser, seen = shared, counted

        run_state_machine_as_test(
            with_seed(seed)(Seeded),
            settings=settings(
                max_examples=examples,
                stateful_step_count=40,
                deadline=None,
                database=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )
    print(counted)
    wanted = (
        "merge",
        "made again",
        "cancel",
        "renew",
        "lease end",
        "taxonomy",
        "restart",
        "restart without an index",
        "match",
    )
    assert all(counted[each] for each in (*wanted, "match with a text")), counted
