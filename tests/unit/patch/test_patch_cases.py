"""Every case of the published manifest: what a patch does, and where a wrong one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, RdfFormat, Store

from triplecast import DocumentRejected
from triplecast.patch import read_patches

CASES = Path(__file__).parents[2] / "patch_cases"
BASE = "file:///manifest.ttl"
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
PT = "urn:triplecast:patch-test:"


def manifest(kind: str) -> list[dict[str, str]]:
    store = Store()
    store.load(path=CASES / "manifest.ttl", format=RdfFormat.TURTLE, base_iri=BASE)
    found = []
    for case in store.query(f"SELECT ?case {{ ?case a <{PT}{kind}> }}"):
        fields = {}
        for quad in store.quads_for_pattern(case[0], None, None):
            name = quad.predicate.value.removeprefix(MF).removeprefix(PT)
            fields[name] = quad.object.value.removeprefix("file:///")
            assert isinstance(quad.object, Literal | NamedNode)
        found.append(fields)
    return sorted(found, key=lambda fields: fields["name"])


GOOD, BAD = manifest("Good"), manifest("Bad")


def lines(name: str) -> set[bytes]:
    return set((CASES / name).read_bytes().splitlines(keepends=True))


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case["name"])
def test_a_good_patch_changes_what_the_manifest_says(case: dict[str, str]) -> None:
    quads = lines(case["before"])
    for patch in read_patches((CASES / case["action"]).read_bytes()):
        quads = patch.apply(quads)
    assert quads == lines(case["result"])


@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
def test_a_bad_patch_is_refused_at_its_line(case: dict[str, str]) -> None:
    with pytest.raises(DocumentRejected) as caught:
        list(read_patches((CASES / case["action"]).read_bytes()))
    assert caught.value.stage == "patch" or "RDF 1.2" in caught.value.reason
    assert caught.value.line == int(case["line"])
    assert caught.value.reason
    assert caught.value.hint


def test_the_manifest_names_every_file_once() -> None:
    named = [case[name] for case in (*GOOD, *BAD) for name in ("action", "before", "result") if name in case]
    assert sorted(named) == sorted(path.name for path in CASES.iterdir() if path.name != "manifest.ttl")


OTHERWISE_IN_RDFLIB = {
    "what ends with TA is left out": "rdflib applies rows at once, and knows no abort",
    "a blank node is the same wherever its label is, in both forms": "rdflib reads no label after <_: in an object",
    "prefixes are changes of their own and no part of rows": "rdflib takes PD for a line of three parts",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "case", [each for each in GOOD if each["name"] not in OTHERWISE_IN_RDFLIB], ids=lambda case: case["name"]
)
def test_rdflib_reads_the_good_ones_alike(case: dict[str, str]) -> None:
    dataset, wanted = rdflib.Dataset(), rdflib.Dataset()
    dataset.parse(data=(CASES / case["before"]).read_text(), format="nquads")
    dataset.parse(data=(CASES / case["action"]).read_text(), format="patch")
    wanted.parse(data=(CASES / case["result"]).read_text(), format="nquads")
    assert quads_in(dataset) == quads_in(wanted)


def quads_in(dataset: rdflib.Dataset) -> set[tuple[str, ...]]:
    """None of the cases has blank nodes."""
    return {tuple(term.n3() if term is not None else "" for term in quad) for quad in dataset.quads()}
