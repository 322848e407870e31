"""Full text through the index: against the slow reader of selections, and the same in every way of running."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.reference.anchors import FirstWritten, NoFilter
from tests.reference.fulltext import Selection, Word, cosine, fulfils, render
from tests.unit.match.match_samples import (
    Matches,
    answer,
    expected,
    match_all,
    matcher,
    matches_of,
    publication,
    registrations,
    snapshot_of,
)
from tests.unit.text.text_samples import LEXICON, random_selection, random_text, write_text
from triplecast.errors import StorageFault
from triplecast.index import IndexWriter, RarestKey, Segment, SegmentFolder, build_segment
from triplecast.index.merge import merge_segments
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, Subscription
from triplecast.registry.admission import admit

TAGS = ("", "@en", "@xx", "^^<http://e/markup>")


class Text(NamedTuple):
    words: tuple[Word, ...]
    tag: str
    written: str

    def fulfils(self, selection: Selection) -> bool:
        return self.tag != TAGS[3] and fulfils(selection, self.words, self.tag == "@en")

    def term(self) -> str:
        return json.dumps(self.written, ensure_ascii=False) + self.tag


class Asked(NamedTuple):
    """A query with what it asks of literals."""

    text: str
    predicate: int | None
    selection: Selection
    negated: bool
    second: Selection | None
    """Of another literal of the same subject, under e:p2."""


Documents = list[list[tuple[int, int, Text]]]
"""Of each publication, its triples as subject, predicate and text."""


def _documents(rng: random.Random) -> Documents:
    documents: Documents = []
    for size in (6, 0, 3, 12, 5):
        triples = []
        for _ in range(size):
            words = random_text(rng, 7)
            text = Text(words, rng.choice(TAGS), write_text(rng, words))
            triples += [(rng.randrange(3), rng.randrange(3), text) for _ in range(rng.choice((1, 1, 2)))]
        documents.append(triples)
    return documents


def _publish(documents: Documents) -> list[Publication]:
    return [publication(" . ".join(f"e:s{s} e:p{p} {text.term()}" for s, p, text in triples)) for triples in documents]


def _ask(rng: random.Random) -> Asked:
    plain = rng.random() < 0.6
    selection, negated = random_selection(rng, rng.choice((0, 1, 2)), plain=plain), rng.random() < 0.1
    predicate = rng.choice((0, 1, 2, None))
    verb = "?p" if predicate is None else f"e:p{predicate}"
    call = f"ft:contains(?t, {json.dumps(render(selection), ensure_ascii=False)})"
    body = f"?s {verb} ?t FILTER({'!' if negated else ''}{call})"
    second = random_selection(rng, 1, plain=True) if rng.random() < 0.3 else None
    if second is not None:
        body += f" ?s e:p2 ?u FILTER(ft:contains(?u, {json.dumps(render(second), ensure_ascii=False)}))"
    return Asked(f"SELECT ?s ?t ?u {{ {body} }}", predicate, selection, negated, second)


def _rows(asked: Asked, triples: list[tuple[int, int, Text]]) -> list[dict[str, str]]:
    """Solutions, by trying every triple."""
    rows = []
    graph = {(s, p, text.written, text.tag): text for s, p, text in triples}
    for (s, p, _, _), text in graph.items():
        if asked.predicate not in (None, p) or text.tag == TAGS[3]:
            continue
        if text.fulfils(asked.selection) is asked.negated:
            continue
        if asked.second is None:
            rows.append({"s": str(s), "t": text.written + text.tag})
            continue
        for (other, q, _, _), found in graph.items():
            if other == s and q == 2 and found.fulfils(asked.second):
                rows.append({"s": str(s), "t": text.written + text.tag, "u": found.written + found.tag})
    return rows


def _case(number: int) -> tuple[list[Registration], list[Publication], list[Asked], Documents]:
    rng = random.Random(number)
    asked, documents = [_ask(rng) for _ in range(30)], _documents(rng)
    return registrations(*(one.text for one in asked)), _publish(documents), asked, documents


def test_matches_are_those_of_the_slow_reader(seed: int) -> None:
    pairs = matched = decided = 0
    for number in range(seed, seed + 12):
        queries, publications, asked, documents = _case(number)
        found = match_all(queries, publications)
        assert found == expected(queries, publications), f"case {number}"
        decided += sum(admit(query.subscription).decided for query in queries)
        for at, triples in enumerate(documents):
            for one, query in zip(asked, queries, strict=True):
                rows = _rows(one, triples)
                bindings = json.loads(found.get((at, int(query.id)), b"[]"))
                assert len(bindings) == len(rows), f"case {number}: {one.text} on {triples}"
                subjects = sorted(f"<http://e/s{row['s']}>" for row in rows)
                assert sorted(row["s"] for row in bindings) == subjects
                pairs += 1
                matched += bool(rows)
    assert matched > pairs / 8
    assert decided > 12 * 30 / 5


@pytest.mark.parametrize("anchor", [RarestKey(), FirstWritten(), NoFilter()], ids=lambda anchor: type(anchor).__name__)
def test_every_anchor_finds_every_match(anchor: RarestKey | FirstWritten | NoFilter, seed: int) -> None:
    """Law: candidates ⊇ matches; what is filed under a word is found without it too."""
    for number in range(seed + 200, seed + 203):
        queries, publications, _, _ = _case(number)
        wanted = expected(queries, publications)
        assert wanted
        assert match_all(queries, publications, anchor) == wanted, f"case {number}"


def _merged(queries: list[Registration], publications: list[Publication]) -> Matches:
    parts = [build_segment(queries[start::3]) for start in range(3)]
    return matches_of(matcher().match(snapshot_of([merge_segments(parts)]), publications))


def _grown(queries: list[Registration], publications: list[Publication]) -> Matches:
    index = IndexWriter()
    for start in range(0, len(queries), 3):
        snapshot = index.apply(queries[start : start + 3], (), start)
    return matches_of(matcher().match(snapshot, publications))


def _several(queries: list[Registration], publications: list[Publication]) -> Matches:
    parts = [build_segment(queries[start::3], NoFilter() if start == 1 else RarestKey()) for start in range(3)]
    return matches_of(matcher().match(snapshot_of(parts), publications))


def _singly(queries: list[Registration], publications: list[Publication]) -> Matches:
    snapshot, found = snapshot_of([build_segment(queries)]), {}
    with matcher() as one:
        for number, each in enumerate(publications):
            for (_, registration), bindings in matches_of(one.match(snapshot, [each])).items():
                found[number, registration] = bindings
    return found


@pytest.mark.parametrize("way", [_merged, _grown, _several, _singly])
def test_every_way_gives_the_same(way: object, seed: int) -> None:
    assert callable(way)
    for number in range(seed + 100, seed + 103):
        queries, publications, _, _ = _case(number)
        assert way(queries, publications) == match_all(queries, publications), f"case {number}"


def test_reopened_folder_gives_the_same(tmp_path: Path, seed: int) -> None:
    queries, publications, _, _ = _case(seed)
    written = IndexWriter(SegmentFolder(tmp_path)).apply(queries, (), 40)
    wanted = match_all(queries, publications)
    for snapshot in (written, IndexWriter(SegmentFolder(tmp_path)).open()):
        assert matches_of(matcher().match(snapshot, publications)) == wanted


def test_words_of_another_analyser_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of Unicode may cut and fold otherwise."""
    segment = build_segment(registrations("ASK { ?s e:t ?t FILTER(ft:contains(?t, '\"a\"')) }"))
    segment.write(tmp_path / "with-words")
    build_segment(registrations("ASK { ?s e:t ?t }")).write(tmp_path / "without")
    monkeypatch.setattr("triplecast.index.segment.ANALYSER", "0/another")
    Segment.open(tmp_path / "without")
    with pytest.raises(StorageFault, match="analyser"):
        Segment.open(tmp_path / "with-words")


# ---- cases -----------------------------------------------------------------------------------------------------------

TEXT = 'e:a e:t "The Olympic Games of Rio" ; e:n 3 . e:b e:t "games"@en'


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, \'"olympic" ftand "games"\')) }', "a"),
        ("SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, '\"olympic games\"')) }", "a"),
        ("SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, '\"games olympic\"')) }", ""),
        ("SELECT ?s { ?s ?p ?t FILTER(ft:contains(?t, '\"games\"')) }", "ab"),
        ("SELECT ?s { ?s e:t ?t ; ?p ?o FILTER(ft:contains(?t, '\"rio\"')) }", "aa"),
        ("SELECT ?s { ?s e:t ?t . ?x ?p ?t FILTER(ft:contains(?t, '\"rio\"')) }", "a"),
        ("SELECT ?s { ?s e:t ?t FILTER(!ft:contains(?t, '\"rio\"')) }", "b"),
        ("SELECT ?s { ?s e:n ?n FILTER(!ft:contains(?n, '\"3\"')) }", ""),
        ("SELECT ?s { ?s e:n ?n FILTER(ft:contains(STR(?n), '\"3\"')) }", "a"),
        ('SELECT ?s { ?s e:n ?n . BIND("games x" AS ?t) FILTER(ft:contains(?t, \'"games"\')) }', "a"),
        ("SELECT ?s { ?s e:n ?n OPTIONAL { ?s e:t ?t } FILTER(ft:contains(?t, '\"rio\"')) }", "a"),
        ("SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, '\"rio\"') || ft:contains(?t, '\"games\"')) }", "ab"),
        ('SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, \'"rio"\') && ?t != "x") }', "a"),
        ('SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, \'"the" ftor "games"\')) }', "ab"),
        ("SELECT ?s { ?s e:t ?t FILTER(ft:score(?t, 'games') >= 0.9) }", "b"),
        ("SELECT ?s { ?s e:t ?t FILTER(0 < ft:score(?t, 'games')) }", "ab"),
        ("SELECT ?s { ?s e:t ?t FILTER(ft:score(?t, 'rio') >= 0) }", "ab"),
        ("SELECT ?s { ?s e:t ?t FILTER(ft:score(?t, 'rio') < 0.1) }", "b"),
        ('SELECT ?s { ?s e:t ?t FILTER ftcontains(?t, "games" ftNEAR[0,1] "rio") }', "a"),
        ("SELECT ?s { ?s e:t ?t . ?t bif:contains \"olympic AND 'the olympic'\" }", "a"),
        ("SELECT ?s { ?s e:t/^e:t ?s . ?s e:t ?t FILTER(ft:contains(?t, '\"rio\"')) }", "a"),
    ],
)
def test_cases(query: str, names: str) -> None:
    found = answer(query, TEXT)
    rows = json.loads(found) if found else []
    assert "".join(sorted(row["s"].removeprefix("<http://e/").removesuffix(">") for row in rows)) == names


def test_word_triples_are_nobody_elses() -> None:
    """Patterns with variables everywhere do not see them, whatever a join walks."""
    many = " . ".join(f'e:s e:p "a word {n}"' for n in range(30))
    texts = registrations(
        "SELECT * { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o . ?s ?q ?o }",
        "SELECT * { ?s ?p ?o . ?o ?q ?r }",
        'SELECT * { ?s ?p ?o . ?r ?q ?o FILTER(ft:contains(?o, \'"word" ftand "a"\')) }',
    )
    publications = [publication(many)]
    assert match_all(texts, publications) == expected(texts, publications)


def test_texts_of_a_dataset() -> None:
    trig = 'e:a e:t "rail road" . e:g { e:b e:t "rail" . e:c e:t "road" }'
    queries = registrations(
        "SELECT ?s { ?s e:t ?t FILTER(ft:contains(?t, '\"rail\"')) }",
        "SELECT ?s { GRAPH ?g { ?s e:t ?t FILTER(ft:contains(?t, '\"rail\"')) } }",
    )
    publications = [publication(trig, dataset=True)]
    found = match_all(queries, publications)
    assert found == expected(queries, publications)
    assert len(found) == 2


def test_words_keep_unasked_structures_untouched() -> None:
    """Structures are filed under their words: a publication looks at those of its own words only."""
    queries = registrations(
        *(f'SELECT ?s {{ ?s e:t ?t FILTER(ft:contains(?t, \'"word{n}" ftand "the"\')) }}' for n in range(200))
    )
    batch = matcher().match(snapshot_of([build_segment(queries)]), [publication('e:a e:t "The word7 and word9"')])
    assert (batch.stats.touched, batch.stats.candidates, batch.stats.matches) == (2, 0, 2)


def test_what_is_decided_in_the_index() -> None:
    def decided(selection: str) -> bool:
        text = f"SELECT ?s {{ ?s dc:title ?t FILTER(ft:contains(?t, '{selection}')) }}"
        return admit(Subscription("s", text)).decided

    assert all(map(decided, ('"a"', '"a b" ftand "c"', '"a b c" all words', '"a" using no stemming')))
    assert not any(map(decided, ('"a" ftor "b"', 'ftnot "a"', '("a" ftand "b") ordered', '"a" using case sensitive')))


def test_score_through_the_index(seed: int) -> None:
    rng = random.Random(seed)
    words = random_text(rng)
    terms = rng.sample(LEXICON, 3)
    text, asked = write_text(rng, words), " ".join(word.written for word in terms)
    exact = round(cosine(words, tuple(terms)), 9)
    for bound, holds in ((exact - 0.001, True), (exact + 0.001, False)):
        query = f"ASK {{ ?s e:t ?t FILTER(ft:score(?t, {json.dumps(asked, ensure_ascii=False)}) >= {bound:.6f}) }}"
        assert (answer(query, f"e:a e:t {json.dumps(text, ensure_ascii=False)}") is not None) is (holds and bool(words))
