"""One publication in one kernel call gives what it gives in a batch, and says where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import triplecast.match.matcher as matcher_module
from tests.unit.match.match_samples import (
    matcher,
    matches_of,
    publication,
    random_case,
    random_stars,
    random_trees,
    registrations,
    snapshot_of,
)
from triplecast.index import build_segment
from triplecast.kernels import hashing
from triplecast.kernels.resolve import current_hash_mask
from triplecast.kernels.scan import WALKED_BESIDES
from triplecast.kernels.words import pad
from triplecast.match.members import BatchMatches
from triplecast.match.segment import Scratch, Validity
from triplecast.match.segment_matches import match_single
from triplecast.model.match import ANSWER_LIMITS, AnswerLimits
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration


def _match_alone(
    queries: list[Registration], of: Publication, limits: AnswerLimits = ANSWER_LIMITS
) -> BatchMatches | None:
    """What the one call finds; None where it leaves the publication to the others."""
    snapshot = snapshot_of([build_segment(queries)])
    (segment,) = snapshot.segments
    batch = BatchMatches([of], limits)
    scratch = Scratch(segment)
    found = match_single(segment, pad([of.quads]), scratch, current_hash_mask(), Validity(snapshot, [of]), batch)
    assert found or not batch.parts
    return batch if found else None


def test_alone_as_in_a_batch(seed: int) -> None:
    found = left = 0
    for number in range(seed, seed + 20):
        for queries, publications in (random_case(number), random_stars(number), random_trees(number)):
            snapshot = snapshot_of([build_segment(queries)])
            with matcher() as together, matcher() as alone:
                wanted = matches_of(together.match(snapshot, publications))
                for place, each in enumerate(publications):
                    rows = {
                        (place, registration): bindings
                        for (_, registration), bindings in matches_of(alone.match(snapshot, [each])).items()
                    }
                    assert rows == {pair: row for pair, row in wanted.items() if pair[0] == place}, f"case {number}"
            outcomes = [_match_alone(queries, each) is not None for each in publications]
            found, left = found + sum(outcomes), left + len(outcomes) - sum(outcomes)
    assert found > left / 4


PATTERN = "SELECT ?x {{ ?x e:title ?t {} }}"
QUERIES = (
    PATTERN.format("FILTER(ft:contains(?t, '\"red fox\"'))"),
    PATTERN.format("FILTER(LANG(?t) = 'en')"),
    PATTERN.format("FILTER(?t > 'b' && ?t < 'z')"),
    PATTERN.format("; e:weight ?w FILTER(?w >= 7)"),
)


@pytest.mark.parametrize(
    ("turtle", "matched"),
    [
        ('e:a e:title "The red fox" ; e:weight 8', [1, 4]),
        ('e:a e:title "the RED  fox", "fox"@en', [1, 2, 3]),
        ('e:a e:title "fox" ; e:weight 6.9', [3]),
        ("e:a e:other 1", []),
    ],
)
def test_words_languages_strings_and_numbers(turtle: str, matched: list[int]) -> None:
    found = _match_alone(registrations(*QUERIES), publication(turtle))
    assert found is not None
    assert [number for part in found.parts for number in part.registration.tolist()] == matched


@pytest.mark.parametrize(
    ("query", "turtle"),
    [
        (QUERIES[0], 'e:a e:title "שלום red fox"'),  # its words are cut in Python
        ("SELECT ?x { ?x e:title ?t OPTIONAL { ?x e:weight ?w } FILTER(!BOUND(?w)) }", 'e:a e:title "a"'),
        ("SELECT ?x { ?x e:at ?t FILTER(?t > 1) }", "e:a e:at 1.2345678901234567890123e3"),
    ],
)
def test_what_is_left_to_others_is_matched_by_them(query: str, turtle: str) -> None:
    queries, of = registrations(query), publication(turtle)
    assert _match_alone(queries, of) is None
    with matcher() as others:
        assert len(others.match(snapshot_of([build_segment(queries)]), [of])) == 1


def test_a_fault_in_the_text_is_told() -> None:
    broken = publication("e:a e:title 1")._replace(quads=b"no line\n")
    with matcher() as others, pytest.raises(ValueError, match="publication 0, byte 0"):
        others.match(snapshot_of([build_segment(registrations(QUERIES[0]))]), [broken])


def test_terms_that_crowd_one_place_are_scanned_under_a_secret_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "HASH_MASK", np.uint64(0))
    of = publication(" . ".join(f"e:a{n} e:title 'fox'" for n in range(WALKED_BESIDES)))
    queries = registrations("SELECT ?x { ?x e:title 'fox' }")
    assert _match_alone(queries, of) is None
    with matcher() as others:
        assert len(others.match(snapshot_of([build_segment(queries)]), [of])) == 1


def test_too_large_an_answer_is_left_to_others() -> None:
    of, queries = publication('e:a e:title "fox"'), registrations(PATTERN.format(""))
    assert _match_alone(queries, of) is not None
    assert _match_alone(queries, of, ANSWER_LIMITS._replace(publication=3)) is None


def test_nothing_is_scanned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def scanned(*_: object) -> None:
        raise AssertionError("the publication was scanned with the others")

    monkeypatch.setattr(matcher_module, "scan_views", scanned)
    snapshot = snapshot_of([build_segment(registrations(QUERIES[3]))])
    with matcher() as alone:
        assert len(alone.match(snapshot, [publication('e:a e:title "a" ; e:weight 9')])) == 1
        with pytest.raises(AssertionError):
            alone.match(snapshot, [publication("e:a e:title 1", dataset=True)])
