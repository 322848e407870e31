"""What the readings of one batch have in common is made once."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import triplecast.match.entailed as entailed_module
import triplecast.match.segment as segment_module
from benchmarks.steps import encode
from tests.unit.match.match_samples import PREFIXES, matcher, publication, snapshot_of
from triplecast.index.segment import build_segments
from triplecast.kernels.views import Views
from triplecast.match.entailed import ClosureCache
from triplecast.match.segment import EncodedBatch, encode_batch
from triplecast.match.views import scan_views
from triplecast.model.entailment import EntailmentMode
from triplecast.model.events import TaxonomyVersion
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import Taxonomies, read_taxonomy

TAXONOMY = read_taxonomy(
    [
        b"<http://e/Fox> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/Animal> .\n"
        b"<http://e/title> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <http://e/name> .\n"
    ]
)
PUBLICATION = publication('e:a a e:Fox ; e:title "The red fox", "An animal"@en ; e:note "red" ; e:weight 7')


def _has(word: str) -> str:
    return f"ft:contains(?t, '\"{word}\"')"


QUERIES = (
    (f"SELECT ?x {{ ?x e:title ?t FILTER({_has('red')}) }}", None),
    (f"SELECT ?x {{ ?x e:note ?t FILTER({_has('red')} && LANG(?t) = '') }}", None),
    (f"SELECT ?x {{ ?x e:title ?t FILTER({_has('fox')} && tc:descendant(?x, e:Animal)) }}", None),
    (f"SELECT ?x {{ ?x e:name ?t ; a e:Animal FILTER({_has('animal')} && LANG(?t) = 'en') }}", "rdfs"),
    (f"SELECT ?x {{ ?x ?p ?t ; a e:Animal FILTER({_has('red')} && ?t > 'a') }}", "rdfs"),
    (f"SELECT ?x {{ ?x e:name ?t ; e:weight ?w FILTER({_has('note')} && ?w < 9) }}", "rdfs"),
)


def _segments() -> list[Any]:
    given = [
        Registration(RegistrationId(number), Subscription(f"s{number}", PREFIXES + text, entailment=entailment))
        for number, (text, entailment) in enumerate(QUERIES, 1)
    ]
    return build_segments(given)


def _read(closures: ClosureCache, segments: list[Any], views: Views) -> list[EncodedBatch]:
    return list(encode_batch(segments, views, closures.entail(segments, TAXONOMY, views)))


def test_every_reading_finds_its_words_and_values() -> None:
    taxonomies = Taxonomies((TaxonomyVersion(0, TAXONOMY.lines, False),))
    batch = matcher().match(snapshot_of(_segments()), [PUBLICATION], taxonomies)
    assert batch.registration.tolist() == [1, 2, 3, 4, 5]


def test_terms_are_looked_up_once_a_segment_and_words_cut_once_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, int] = {}

    def counted(module: ModuleType, name: str) -> Callable[..., Any]:
        wrapped = getattr(module, name)

        def count(*given: Any) -> Any:
            calls[name] = calls.get(name, 0) + 1
            return wrapped(*given)

        return count

    segments, closures, views = _segments(), ClosureCache(), scan_views([PUBLICATION])
    assert [segment.mode for segment in segments] == [
        EntailmentMode.PLAIN,
        EntailmentMode.TAXONOMY,
        EntailmentMode.RDFS,
        EntailmentMode.RDFS_BARE,
    ]
    _read(closures, segments, views)
    counted_functions = (
        (segment_module, "find_identity"),
        (entailed_module, "find_identity"),
        (segment_module, "cut_texts"),
        (entailed_module, "entail_views"),
    )
    for module, name in counted_functions:
        monkeypatch.setattr(module, name, counted(module, name))
    _read(closures, segments, views)
    assert calls == {"find_identity": len(segments), "cut_texts": 1, "entail_views": 3}


def test_a_batch_read_beside_others_is_encoded_as_alone() -> None:
    segments, views = _segments(), scan_views([PUBLICATION, PUBLICATION])
    for read in _read(ClosureCache(), segments, views):
        alone = encode(read.segment, read.views)
        for field, shared, own in zip(alone._fields, read.encoded, alone, strict=True):
            assert np.array_equal(shared, own, equal_nan=shared.dtype.kind == "f"), (read.segment.mode, field)


def test_views_of_any_size_are_read_whole() -> None:
    """The kernel begins with room for 256 triples of a view; a small view stands before and behind the large ones."""
    query = Registration(
        RegistrationId(1), Subscription("s", PREFIXES + "SELECT ?x { ?x a e:Animal }", entailment="rdfs")
    )
    sizes = (1, 200, 300, 3000, 2)
    publications = [publication(" ".join(f"e:a{number} a e:Fox ." for number in range(size))) for size in sizes]
    taxonomies = Taxonomies((TaxonomyVersion(0, TAXONOMY.lines, False),))
    batch = matcher().match(snapshot_of(build_segments([query])), publications, taxonomies)
    rows = [len(json.loads(batch.bindings_of(row))) for row in range(len(batch))]
    assert (batch.publication.tolist(), rows) == ([0, 1, 2, 3, 4], list(sizes))
