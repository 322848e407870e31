"""Rows to rows without Spark: the same as `triplecast match`, however the rows are cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="DataFrames need the extra [spark]")

import pyarrow as pa

import triplecast
from triplecast.errors import InputError
from triplecast.ingest import Document
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet
from triplecast.model.subscription import FOREVER
from triplecast.offline import OfflineStages, match_documents
from triplecast.registry.admission import admit_all
from triplecast.registry.files import load_subscriptions
from triplecast.schema import NO_SCHEMA
from triplecast.spark import compiled, matching
from triplecast.spark.matching import RowMatching, match_batches
from triplecast.spark.subscriptions import CarriedSubscriptions, carry_subscriptions

QUERIES = {
    "p.rq": "SELECT ?s ?o { ?s <urn:p> ?o }",
    "join.rq": "SELECT ?s { ?s <urn:p> ?o . ?o <urn:p> ?s FILTER NOT EXISTS { ?s <urn:q> ?o } }",
    "ask.rq": "ASK { ?s <urn:q> 1 }",
    "made.rq": "SELECT (BNODE() AS ?b) (NOW() AS ?n) { ?s <urn:q> 2 }",
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of this test's own for what is compiled; what a worker would leave open is closed."""
    opened: list[OfflineStages] = []

    def open_stages(operators: OperatorSet, schedule: str) -> OfflineStages:
        opened.append(OfflineStages(operators, schedule))
        return opened[-1]

    monkeypatch.setattr(compiled, "OfflineStages", open_stages)
    monkeypatch.setattr(compiled, "choose_folder", lambda *_: tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    compiled.open_compiled.cache_clear()
    yield tmp_path / "cache"
    compiled.open_compiled.cache_clear()
    for each in opened:
        each.close()


@pytest.fixture
def carried(tmp_path: Path) -> CarriedSubscriptions:
    folder = tmp_path / "subscriptions"
    folder.mkdir()
    for name, text in QUERIES.items():
        (folder / name).write_text(text)
    return carry_subscriptions(folder, NO_OPERATORS, False, None, NO_SCHEMA)


def _documents(random: Random) -> list[str]:
    return [
        "\n".join(
            f"<urn:s:{random.randrange(3)}> <urn:{random.choice('pq')}> "
            + random.choice(("1", "2", f"<urn:s:{random.randrange(3)}>"))
            + " ."
            for _ in range(random.randrange(6))
        )
        for _ in range(80)
    ]


def test_rows_are_those_of_offline_matching(
    tmp_path: Path, cache: Path, carried: CarriedSubscriptions, seed: int
) -> None:
    random = Random(seed)
    texts = _documents(random)
    texts[7] = "junk <"
    at = 1_700_000_000_000_000
    admitted = admit_all(load_subscriptions([tmp_path / "subscriptions"]), datasets=False)
    documents = [Document(f"{i}", text.encode(), "text/turtle", f"urn:g:{i}") for i, text in enumerate(texts)]
    expected, rejected = [], []
    for outcome in match_documents(admitted, documents, clock=lambda: at):
        expected += [(m.publication, m.subscription, m.recorded.json) for m in outcome.matches(admitted.subscriptions)]
        rejected += [(each.source, f"{each.stage}: {each.reason}; {each.hint}") for each in outcome.rejects]
    ends = sorted(random.sample(range(1, 80), 6))
    work = RowMatching(carried, SCHEDULE, False, None, at)
    found: list[dict[str, str]] = []
    for start, end in zip([0, *ends], [*ends, 80], strict=True):  # each is a task of its own
        numbers = [*range(start, end)]
        batch = pa.record_batch(
            {
                "data": pa.array([texts[i].encode() for i in numbers]),
                "media_type": ["text/turtle"] * len(numbers),
                "graph": [f"urn:g:{i}" for i in numbers],
                "id": [f"{i}" for i in numbers],
            }
        )
        for rows in match_batches(work, [batch]):
            found += rows.to_pylist()
    assert {name for _, name, _ in expected} == {*QUERIES}
    assert [(row["publication"], row["subscription"], row["bindings"]) for row in found if row["bindings"]] == expected
    assert [(row["publication"], row["rejected"]) for row in found if row["rejected"]] == rejected


def test_many_bindings_come_in_several_batches(
    cache: Path, carried: CarriedSubscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "BATCH_BYTES", 100)
    batch = pa.record_batch({"data": [f"<urn:s> <urn:p> {i} ." for i in range(9)], "media_type": ["text/turtle"] * 9})
    rows = [*match_batches(RowMatching(carried, SCHEDULE, False, None, None), [batch])]
    assert len(rows) > 3
    assert sum(each.num_rows for each in rows) == 9


def test_what_is_damaged_is_compiled_again_and_few_are_kept(cache: Path, carried: CarriedSubscriptions) -> None:
    snapshot, names = compiled.open_folder(cache, carried)
    assert (snapshot.covers, names.to_pylist()) == (4, sorted(QUERIES))
    made = cache / carried.digest
    written = made.stat().st_ino
    compiled.open_folder(cache, carried)
    assert made.stat().st_ino == written
    (segment,) = made.rglob("segment-*")
    for file in (segment, made / "names.arrow"):
        file.write_bytes(file.read_bytes()[:-9])
        assert compiled.open_folder(cache, carried)[1].to_pylist() == sorted(QUERIES)
    for number in range(compiled.KEPT + 3):
        (cache / f"other-{number}").mkdir()
    (made / "names.arrow").unlink()
    compiled.open_folder(cache, carried)
    assert len([each for each in cache.iterdir() if each.is_dir()]) == compiled.KEPT


def test_subscriptions_of_a_folder_are_its_live_ones(tmp_path: Path) -> None:
    taxonomy = "<urn:b> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:a> ."
    with triplecast.Engine.open(tmp_path / "engine") as engine:
        for name in ("stays", "ends"):
            engine.subscribe("SELECT * { ?s <urn:p> ?o }", id=name, lease=FOREVER)
        engine.subscribe("SELECT * { ?s <urn:p> ?o }", id="all", scope="repository", lease=FOREVER)
        engine.unsubscribe("ends")
        engine.load_taxonomy(taxonomy, "text/turtle")
    with pytest.warns(UserWarning, match="scope repository"):
        carried = carry_subscriptions(tmp_path / "engine", NO_OPERATORS, False, None, NO_SCHEMA)
    assert [each.name for each in carried.read_texts()] == ["stays"]
    assert b"urn:b" in carried.read_taxonomy().lines


def test_faults_are_warned_of_and_none_left_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.rq").write_text("SELECT")
    with pytest.warns(UserWarning, match="bad.rq"), pytest.raises(InputError, match="no valid subscription"):
        carry_subscriptions([tmp_path / "bad.rq"], NO_OPERATORS, False, None, NO_SCHEMA)
    with pytest.raises(InputError, match="nowhere"):
        carry_subscriptions(str(tmp_path / "nowhere"), NO_OPERATORS, False, None, NO_SCHEMA)
