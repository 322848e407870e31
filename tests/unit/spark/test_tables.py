"""The tables of a folder, read in any parts, against what the engine itself says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="DataFrames need the extra [spark]")

import pyarrow as pa

import triplecast
from triplecast.errors import InputError
from triplecast.model.subscription import FOREVER
from triplecast.spark.tables import TABLES, FolderTable, NotificationTable, Offset, Wanted, check_folder

EVERYTHING = Wanted()
GRAPHS = [f"urn:g:{number}" for number in range(4)]


def made(folder: Path, seed: int, documents: int = 60) -> None:
    """A folder with versions, removals, a key and two owners."""
    random = Random(seed)
    with triplecast.Engine.open(folder) as engine:
        engine.subscribe("SELECT ?s ?o { ?s <urn:p> ?o }", id="plain", owner="ann", notify="changed", lease=FOREVER)
        engine.subscribe("SELECT ?s ?o { ?s <urn:p> ?o }", id="keyed", notify="changed", key=["s"], lease=FOREVER)
        engine.subscribe("SELECT ?o { ?s <urn:q> ?o }", id="every", owner="bob", notify="every", lease=FOREVER)
        for _ in range(documents):
            graph = random.choice(GRAPHS)
            if random.random() < 0.15:
                engine.remove(graph)
                continue
            lines = [
                f"<urn:s:{random.randrange(3)}> <urn:{random.choice('pq')}> {random.randrange(4)} ."
                for _ in range(random.randrange(5))
            ]
            engine.publish("\n".join(lines), media_type="text/turtle", graph=graph)


def read(folder: Path, table: FolderTable, random: Random | None = None, wanted: Wanted = EVERYTHING) -> pa.Table:
    """All rows, in parts that are cut anywhere."""
    head = table.head(folder)
    cuts = [0, head.number]
    if random is not None:
        cuts = sorted({*cuts, *(random.randint(0, head.number) for _ in range(5))})
    batches = [
        batch
        for after, upto in pairwise(cuts)
        for batch in table.read(folder, head._replace(number=after), upto, wanted)
    ]
    return pa.Table.from_batches(batches, table.schema)


def test_parts_are_the_whole(tmp_path: Path, seed: int) -> None:
    made(tmp_path, seed)
    for name, table in TABLES.items():
        whole = read(tmp_path, table)
        assert read(tmp_path, table, Random(seed)) == whole
        assert whole.num_rows or name == "undecided"
    with triplecast.Engine.open(tmp_path) as engine:
        told = [*engine.notifications()]
        rows = read(tmp_path, TABLES["notifications"]).to_pylist()
        assert [(row["sequence"], row["id"], row["bindings"], row["owner"], row["change"]) for row in rows] == [
            (each.sequence, each.id, each.json, each.owner, each.change) for each in told
        ]
        some = read(tmp_path, TABLES["notifications"], wanted=Wanted(owner="bob")).to_pylist()
        assert [row["id"] for row in some] == [each.id for each in engine.notifications(owner="bob")]


def test_a_change_feed_adds_up_to_the_answers(tmp_path: Path, seed: int) -> None:
    """Applied one after the other, its rows give the answer of the query over each current document."""
    made(tmp_path, seed)
    state: dict[tuple[str, str], Counter[str]] = {}
    kinds = Counter()
    for row in read(tmp_path, NotificationTable(changes=True)).to_pylist():
        if row["subscription"] == "every":
            continue
        kinds[row["_change_type"]] += 1
        held = state.setdefault((row["subscription"], row["publication"]), Counter())
        solutions = Counter(json.dumps(each, sort_keys=True) for each in json.loads(row["bindings"]))
        if row["_change_type"] in ("delete", "update_preimage"):
            assert solutions <= held
            held.subtract(solutions)
        else:
            held.update(solutions)
        assert row["_commit_version"] == row["sequence"]
    assert min(kinds[kind] for kind in ("insert", "delete", "update_preimage", "update_postimage")) > 0
    with triplecast.Engine.open(tmp_path) as engine:
        for graph in GRAPHS:
            rows = engine.query(f"SELECT ?s ?o {{ GRAPH <{graph}> {{ ?s <urn:p> ?o }} }}")
            expected = Counter(
                json.dumps({name: str(term) for name, term in row.items()}, sort_keys=True) for row in rows
            )
            for name in ("plain", "keyed"):
                assert +state.get((name, graph), Counter()) == expected, (name, graph)


def test_publications_are_the_journals(tmp_path: Path, seed: int) -> None:
    made(tmp_path, seed)
    current: dict[str, str] = {}
    for row in read(tmp_path, TABLES["publications"]).to_pylist():
        if row["change"] == "added":
            assert row["media_type"] == "application/n-triples"
            current[row["graph"]] = row["data"]
        else:
            assert row["data"] is None
            current.pop(row["graph"])
    with triplecast.Engine.open(tmp_path) as engine:
        for graph in GRAPHS:
            found = engine.query(f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")
            assert sorted(f"{each} .\n" for each in found) == sorted(current.get(graph, "").splitlines(keepends=True))


def test_a_folder_without_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no journal in"):
        check_folder(tmp_path / "nothing")
    assert TABLES["notifications"].head(tmp_path) == Offset(0, 0)


def test_spark_looks_at_the_source_without_the_kernels() -> None:
    pytest.importorskip("pyspark", reason="the source needs the extra [spark]")
    program = (
        "import sys, triplecast.spark; assert not {'numba', 'pyspark', 'py4j'} & {*sys.modules};"
        "import pyspark_triplecast; assert 'numba' not in sys.modules; print(pyspark_triplecast.DefaultSource.name())"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert answer.stdout == "triplecast\n", answer.stderr
