"""The W3C suites of RDF 1.1's syntaxes and of JSON-LD to RDF, through the gate (`parse_document`).

The suites are not part of this repository (../shared/data/conformance): without them these tests are skipped.
An evaluation test passes when the canonical form of what was parsed equals pyoxigraph's own canonical form of the
expected N-Quads, so the names of blank nodes are checked by an independent implementation on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse, serialize

from triplecast.ingest import Document
from triplecast.ingest.parse import parse_document

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "conformance"
RDF11 = DATA / "rdf-tests" / "rdf" / "rdf11"
JSON_LD = DATA / "json-ld-api" / "tests"
ABSENT = "the W3C suites are not at ../shared/data/conformance"

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

MEDIA_TYPES = {
    "rdf-n-triples": "application/n-triples",
    "rdf-n-quads": "application/n-quads",
    "rdf-turtle": "text/turtle",
    "rdf-trig": "application/trig",
    "rdf-xml": "application/rdf+xml",
}

CANONICAL_XML = "pyoxigraph writes inherited namespaces into XML literals that exclusive canonical XML leaves out"
EXCLUDED = {
    "rdf-xml/xml-canon-test001": CANONICAL_XML,
    "rdf-xml/xml-canon-test002": CANONICAL_XML,
}

OLD_PROCESSOR = "asks for a JSON-LD 1.0 processor; ours is a 1.1 processor"
REMOTE = "needs a context from elsewhere, which is refused by name"
ABSENT_FILE = "its input is not in the copy of the suite"
DOTS = "pyoxigraph keeps ./ and ../ segments where a base path already has them"
REMOTE_CONTEXTS = frozenset(
    f"json-ld/{name}"
    for name in ("tc031", "tc034", "te126", "te127", "te128", "tso05", "tso06", "tso08", "tso09", "tso11")
)
"""Their contexts lie beside them and are named by address: rejected by name."""
EXCLUDED_JSON_LD = {
    "json-ld/t0122": DOTS,
    "json-ld/t0123": DOTS,
    "json-ld/te062": DOTS,
    "json-ld/te091": DOTS,
    # pyoxigraph does not fall back to the previous context inside an @index container under a type-scoped one
    "json-ld/tc013": "pyoxigraph: type-scoped context under @index",
    # `expandContext` is an option of the call, which a document in an inbox does not have
    "json-ld/te077": "an option that documents cannot have",
    # an @base that is no IRI is refused, and said so, instead of being ignored
    "json-ld/tli12": "invalid @base is refused",
    # rdfDirection: base directions are left out (the default of JSON-LD 1.1), never turned into datatypes or nodes
    "json-ld/tdi09": "rdfDirection",
    "json-ld/tdi10": "rdfDirection",
    "json-ld/tdi11": "rdfDirection",
    "json-ld/tdi12": "rdfDirection",
}
"""Cases by name; whole classes of cases are excluded by `json_ld_exclusion`."""


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    """``positive``, ``negative`` or ``eval``."""
    source: Path
    expected: Path | None
    media_type: str
    base: str


def cases(suite: str) -> Iterator[Case]:
    folder = RDF11 / suite
    facts: dict[tuple[str, str], list[str]] = {}
    base = "https://example.org/suite/"
    manifest = list(parse((folder / "manifest.ttl").read_bytes(), format=RdfFormat.TURTLE, base_iri=base))
    for quad in manifest:
        facts.setdefault((str(quad.subject), quad.predicate.value), []).append(getattr(quad.object, "value", ""))
    bases = [q.object.value for q in manifest if q.predicate.value == MF + "assumedTestBase"]
    assumed = bases[0] if bases else f"https://w3c.github.io/rdf-tests/rdf/rdf11/{suite}/"
    for quad in manifest:
        if quad.predicate.value != RDF + "type" or "ns/rdftest#Test" not in quad.object.value:
            continue
        subject = str(quad.subject)
        action = facts[subject, MF + "action"][0].removeprefix(base)
        result = facts.get((subject, MF + "result"), [None])[0]
        negative = "Negative" in quad.object.value
        yield Case(
            name=f"{suite}/{quad.subject.value.rpartition('#')[2]}",
            kind="negative" if negative else "eval" if result else "positive",
            source=folder / action,
            expected=folder / result.removeprefix(base) if result else None,
            media_type=MEDIA_TYPES[suite],
            base=assumed + action,
        )


def json_ld_cases() -> Iterator[tuple[Case, dict[str, object]]]:
    manifest = json.loads((JSON_LD / "toRdf-manifest.jsonld").read_text())
    for entry in manifest["sequence"]:
        kind = "negative" if "jld:NegativeEvaluationTest" in entry["@type"] else "positive"
        if "expect" in entry:
            kind = "eval"
        options = entry.get("option", {})
        yield (
            Case(
                name=f"json-ld/{entry['@id'].removeprefix('#')}",
                kind=kind,
                source=JSON_LD / entry["input"],
                expected=JSON_LD / entry["expect"] if "expect" in entry else None,
                media_type="application/ld+json",
                base=options.get("base", manifest["baseIri"] + entry["input"]),
            ),
            options,
        )


@cache
def all_cases() -> dict[str, Case]:
    if not RDF11.exists():
        return {}
    return {case.name: case for suite in MEDIA_TYPES for case in cases(suite)}


@cache
def all_json_ld_cases() -> dict[str, tuple[Case, dict[str, object]]]:
    if not JSON_LD.exists():
        return {}
    return {case.name: (case, options) for case, options in json_ld_cases()}


def canonical(data: bytes, form: RdfFormat, base: str) -> bytes:
    dataset = Dataset(parse(data, format=form, base_iri=base))
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return b"".join(sorted(serialize(dataset, format=RdfFormat.N_QUADS).splitlines(True)))


def failure(case: Case) -> str | None:
    """None when the case passes."""
    document = Document(case.name, case.source.read_bytes(), case.media_type, case.base, dataset=True)
    parsed = parse_document(document)
    if case.kind == "negative":
        return None if parsed.rejects and not parsed.drafts else "accepted"
    if parsed.rejects:
        return f"rejected: {parsed.rejects[0].reason}"
    if case.expected is not None:
        form = RdfFormat.N_TRIPLES if case.expected.suffix == ".nt" else RdfFormat.N_QUADS
        expected = canonical(case.expected.read_bytes(), form, case.base)
        if parsed.drafts[0].quads != expected:
            return f"expected\n{expected.decode()}\nfound\n{parsed.drafts[0].quads.decode()}"
    return None


@pytest.mark.skipif(not RDF11.exists(), reason=ABSENT)
@pytest.mark.parametrize("name", sorted(all_cases()))
def test_rdf_syntaxes(name: str) -> None:
    problem = failure(all_cases()[name])
    if name in EXCLUDED:
        assert problem is not None, f"{name} passes now: take it out of EXCLUDED"
    else:
        assert problem is None, problem


def json_ld_exclusion(case: Case, options: dict[str, object]) -> str | None:
    if not case.source.exists():
        return ABSENT_FILE
    if "json-ld-1.0" in (options.get("specVersion"), options.get("processingMode")):
        return OLD_PROCESSOR
    return EXCLUDED_JSON_LD.get(case.name)


@pytest.mark.skipif(not JSON_LD.exists(), reason=ABSENT)
@pytest.mark.parametrize("name", sorted(all_json_ld_cases()))
def test_json_ld_to_rdf(name: str) -> None:
    case, options = all_json_ld_cases()[name]
    if reason := json_ld_exclusion(case, options):
        if reason not in (ABSENT_FILE, OLD_PROCESSOR):
            assert failure(case) is not None, f"{name} passes now: take it out of EXCLUDED_JSON_LD"
        pytest.skip(reason)
    problem = failure(case)
    if problem and "contexts are never fetched" in problem:
        assert name in REMOTE_CONTEXTS, problem
    else:
        assert problem is None, problem


@pytest.mark.skipif(not JSON_LD.exists(), reason=ABSENT)
def test_how_much_of_json_ld_is_covered() -> None:
    """The classes of exclusions, counted: a new exclusion is a decision, not an accident."""
    counts: dict[str, int] = {}
    for name, (case, options) in all_json_ld_cases().items():
        reason = json_ld_exclusion(case, options) or (REMOTE if name in REMOTE_CONTEXTS else "asked")
        counts[reason] = counts.get(reason, 0) + 1
    assert counts == {
        "asked": 426,
        OLD_PROCESSOR: 19,
        REMOTE: 10,
        DOTS: 4,
        "rdfDirection": 4,
        ABSENT_FILE: 1,
        "pyoxigraph: type-scoped context under @index": 1,
        "an option that documents cannot have": 1,
        "invalid @base is refused": 1,
    }
