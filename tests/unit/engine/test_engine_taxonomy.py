"""A taxonomy that is loaded and changed while subscriptions stand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from tests.unit.match.match_samples import InProcess, matches_of
from tests.unit.match.test_entailed_random import history, published, random_graph, random_query, random_taxonomy
from triplecast import DocumentRejected, Engine, TaxonomyCycle
from triplecast.index import IndexWriter
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import NO_TAXONOMY, Taxonomy

PREFIXES = "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
KNOWN = PREFIXES + ":Cat rdfs:subClassOf :Animal . :tom a :Cat ."
QUERY = "PREFIX : <http://x/> SELECT * { ?x a :Animal }"
FUNCTION = "PREFIX : <http://x/> SELECT * { ?x :likes ?y FILTER(tc:descendant(?x, :Animal)) }"


def names(engine: Engine, turtle: str) -> list[str]:
    receipt = engine.publish(PREFIXES + turtle, "text/turtle", "http://x/doc")
    assert not receipt.undecided
    return [match.subscription for match in receipt.matches if match.added]


def test_later_publications_see_a_change_and_earlier_ones_are_not_asked_again(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(QUERY, id="plain", notify="every")
        engine.subscribe(QUERY, id="rdfs", entailment="rdfs", notify="every")
        engine.subscribe(f"# triplecast: entailment=rdfs\n{QUERY}", id="first line", notify="every")
        engine.subscribe(QUERY, id="taxonomy", entailment="taxonomy", notify="every")
        engine.subscribe(FUNCTION, id="function", notify="every")
        assert names(engine, ":tom :likes :milk .") == []
        loaded = engine.load_taxonomy(KNOWN, "text/turtle")
        assert (loaded.subclasses, loaded.subproperties, loaded.broader, loaded.types) == (1, 0, 0, 1)
        assert engine.load_taxonomy(KNOWN, "text/turtle") == loaded
        assert len(list(engine.notifications())) == 0
        assert names(engine, ":tom :likes :fish .") == ["rdfs", "first line", "function"]
    with Engine.open(tmp_path) as engine:
        assert names(engine, ":tom :likes :tea .") == ["rdfs", "first line", "function"]
        assert names(engine, ":tom a :Animal .") == ["plain", "rdfs", "first line", "taxonomy"]
        engine.load_taxonomy("", "text/turtle")
        assert names(engine, ":tom :likes :sun .") == []
        assert len(engine.preview(QUERY, entailment="rdfs").matches) == 3


def test_a_version_is_compared_with_what_the_one_before_was_told_by_its_own_taxonomy() -> None:
    with Engine() as engine:
        engine.subscribe(QUERY, id="rdfs", entailment="rdfs")
        engine.load_taxonomy(KNOWN, "text/turtle")
        assert names(engine, ":tom :likes :fish .") == ["rdfs"]
        engine.load_taxonomy("", "text/turtle")
        (match,) = engine.publish(PREFIXES + ":tom :likes :tea .", "text/turtle", "http://x/doc").matches
        assert (match.change, match.removed) == ("removed", [{"x": NamedNode("http://x/tom")}])


def test_a_taxonomy_that_cannot_be_read_changes_nothing() -> None:
    with Engine() as engine:
        engine.subscribe(QUERY, id="rdfs", entailment="rdfs")
        engine.load_taxonomy(KNOWN, "text/turtle")
        with pytest.raises(TaxonomyCycle, match="<http://x/Animal> under <http://x/Cat> under <http://x/Animal>"):
            engine.load_taxonomy(KNOWN + " :Animal rdfs:subClassOf :Cat .", "text/turtle")
        with pytest.raises(DocumentRejected):
            engine.load_taxonomy("no turtle", "text/turtle")
        assert names(engine, ":tom :likes :fish .") == ["rdfs"]


def test_a_cycle_in_a_publication_is_no_error() -> None:
    with Engine() as engine:
        engine.subscribe(QUERY, id="rdfs", entailment="rdfs")
        assert names(engine, ":A rdfs:subClassOf :B . :B rdfs:subClassOf :A, :Animal . :x a :A .") == ["rdfs"]
        assert names(engine, ":x a :A .") == []


def test_explain_names_the_steps() -> None:
    with Engine() as engine:
        engine.subscribe(QUERY, id="rdfs", entailment="rdfs")
        engine.subscribe(FUNCTION, id="function")
        engine.load_taxonomy(KNOWN, "text/turtle")
        document = PREFIXES + ":tom :likes :fish ."
        (rdfs,) = engine.explain(document, "rdfs", "text/turtle")
        assert rdfs.matched
        assert ":tom a :Animal . (by the taxonomy)" in rdfs.support
        assert ":tom a :Cat, which is under :Animal" in rdfs.support
        (function,) = engine.explain(document, "function", "text/turtle")
        assert function.matched
        assert ":tom a :Cat, which is under :Animal" in function.support
        assert not any("by the taxonomy" in line for line in function.support)


def test_an_older_journal_takes_a_taxonomy(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal._database._connection.execute("DROP INDEX taxonomy")  # type: ignore[union-attr]
    with Journal.open(tmp_path) as journal:
        position = journal.load_taxonomy(Taxonomy((("<x:a>", "<x:b>", "<x:c>"),)))
        assert journal.taxonomies(position, position).before(position + 1).triples == (("<x:a>", "<x:b>", "<x:c>"),)
        assert journal.taxonomies(0, position - 1).versions == ()
        journal.check()


def test_random_histories_equal_asking_again_from_scratch(seed: int) -> None:
    """Subscribe, cancel, change the taxonomy, publish, open again, in any order."""
    source = random.Random(seed)
    told = 0
    for _ in range(4):
        engine, live, taxonomy, version = Engine(), {}, NO_TAXONOMY, 0
        with engine:
            for _ in range(40):
                action = source.random()
                if action < 0.4:
                    text, entailment = random_query(source)
                    subscribed = engine.subscribe(text, entailment=entailment)
                    live[subscribed.id] = (subscribed.registration, text, entailment)
                elif action < 0.5 and live:
                    engine.unsubscribe(live_id := source.choice(sorted(live)))
                    del live[live_id]
                elif action < 0.65:
                    taxonomy = random_taxonomy(source, source.random() < 0.5)
                    engine.load_taxonomy(taxonomy.lines, "application/n-triples", broader=taxonomy.broader)
                else:
                    graph = {
                        tuple("_:c14n0" if term == "_:b0" else term for term in triple)
                        for triple in random_graph(source)
                    }
                    version += 1
                    document = published(graph, 10_000).quads
                    receipt = engine.publish(document, "application/n-triples", f"http://g/{version}")
                    found = {match.registration: match.json for match in receipt.matches}
                    registrations = [
                        Registration(RegistrationId(id), Subscription(str(id), text, entailment=entailment))
                        for id, text, entailment in live.values()
                    ]
                    snapshot = IndexWriter().apply(registrations, [], 9_000)
                    again = Matcher(InProcess()).match(snapshot, [published(graph, 10_000)], history(taxonomy, 9_999))
                    assert found == {id: bindings.decode() for (_, id), bindings in matches_of(again).items()}
                    told += len(found)
    assert told > 50


@pytest.mark.parametrize(("types_in", "matches"), [("", ["outside"]), (" <urn:g>", ["inside"])])
def test_a_function_reads_the_graph_that_is_active_where_it_is_written(types_in: str, matches: list[str]) -> None:
    """A filter after a GRAPH reads the default graph, also where its variable is bound inside."""
    patterns = {
        "outside": "GRAPH <urn:g> { ?x <urn:p> ?y } FILTER(tc:ancestor(?x, <urn:C>))",
        "inside": "GRAPH <urn:g> { ?x <urn:p> ?y FILTER(tc:ancestor(?x, <urn:C>)) }",
    }
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    quads = f'<urn:s> <urn:p> "x" <urn:g> .\n<urn:s> {rdf_type} <urn:D>{types_in} .\n'
    with Engine() as engine:
        engine.load_taxonomy("<urn:C> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:D> .", "text/turtle")
        for id, pattern in patterns.items():
            engine.subscribe(f"PREFIX tc: <urn:triplecast:taxonomy:> SELECT * {{ {pattern} }}", id)
        receipt = engine.publish(quads, "application/n-quads", "urn:document", dataset=True)
        assert [match.subscription for match in receipt.matches] == matches
