"""Random histories: what a slice gives that travels with its part of the journal, and what it gives in the folder.

``python -m tests.properties.carried_slices N --seed S`` compares N histories, whole or in shards, cut anywhere.
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
from itertools import pairwise
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa

import triplecast
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.journal import Journal
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.subscription import FOREVER
from triplecast.pipeline.carried import DEEP, carry
from triplecast.pipeline.match_jobs import slices_of
from triplecast.pipeline.rows import from_arrow
from triplecast.pipeline.shard_stages import match_routed, route_slice
from triplecast.pipeline.sharding import SnapshotCutter
from triplecast.pipeline.snapshots import SnapshotSharer, fetch
from triplecast.pipeline.stages import MatchSlice, Stage, match_slice
from triplecast.registry.upkeep import open_index

QUERIES = (
    "SELECT ?s ?o { ?s <urn:p> ?o }",
    "SELECT ?s ?o { ?s <urn:p> ?o FILTER(?o > 2) }",
    "SELECT ?s { ?s a <urn:Top> }",
    "SELECT ?s ?n { ?s <urn:p> ?o ; <urn:q> ?n }",
    "SELECT ?s ?o { ?s <urn:p> ?o FILTER(tc:before(?o) < ?o) }",
    "SELECT ?s { ?s <urn:p> ?o FILTER NOT EXISTS { ?s <urn:q> ?o } }",
)


def made(folder: Path, random: Random) -> None:
    """Versions, removals, taxonomies, and subscriptions of all kinds that come and go."""
    with triplecast.Engine.open(folder) as engine:
        live: list[str] = []
        for number in range(60):
            graph = f"urn:g:{random.randrange(5)}"
            chance = random.random()
            if chance < 0.2:
                text, id = random.choice(QUERIES), f"s{number}"
                key = random.choice(([], ["s"])) if "before" not in text else ["s"]
                entailment = "rdfs" if "Top" in text else None
                notify = None if key else random.choice((None, "every", "changed"))
                engine.subscribe(text, id, notify=notify, key=key, entailment=entailment, lease=FOREVER)
                live.append(id)
            elif chance < 0.25 and live:
                engine.unsubscribe(live.pop(random.randrange(len(live))))
            elif chance < 0.3:
                under = random.choice(("Low", "Mid"))
                engine.load_taxonomy(f"<urn:{under}> <{SUB_CLASS}> <urn:Top> .", "text/turtle")
            elif chance < 0.4:
                engine.remove(graph)
            else:
                some = [f"<urn:s:{random.randrange(2)}> <urn:p> {random.randrange(5)} ." for _ in range(2)]
                some += [f"<urn:s:0> a <urn:{random.choice(('Low', 'Mid', 'Top'))}> ."] * (random.random() < 0.5)
                some += [f"<urn:s:1> <urn:q> {random.randrange(5)} ."] * (random.random() < 0.5)
                engine.publish("\n".join(some), "text/turtle", graph)


SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"


def compare(folder: Path, seed: int, shards: int) -> int:
    """Compare one history, whole or in shards; return how many notifications both give."""
    random = Random(seed)
    made(folder / "run", random)
    with Journal.open(folder / "run") as journal:
        snapshot = open_index(IndexWriter(SegmentFolder(folder / "run" / INDEX)), journal, 0)
        sharer = SnapshotSharer(str(folder / "shared"), folder / "run", journal)
        strategy = random.choice(("anchor", "hash", "merging")) if shards else "slices"
        cutter = SnapshotCutter(journal, folder / "run", strategy, shards or 1, sharer.publish)
        manifest = cutter.publish(snapshot).manifest
        cuts = sorted({0, journal.head(), *(random.randint(0, journal.head()) for _ in range(3))})
        found = 0
        for after, upto in pairwise(cuts):
            carried = carry(journal, after, upto, NO_OPERATORS, DEEP)
            assert carried.upto == upto
            here = Stage(folder / "run", shards=shards)
            away = Stage(Path("/nowhere"), snapshots=sharer.place, shards=shards)
            ranges = [(after, upto)]
            told = [
                [row for each in slices for row in _rows(stage, pickle.loads(pickle.dumps(each)))]
                for stage, slices in (
                    (here, slices_of(ranges, manifest)),
                    (away, slices_of(ranges, manifest, carried)),
                )
            ]
            assert told[0] == told[1], f"seed {seed}, positions {after} to {upto}"
            found += len(told[0])
    return found


def _rows(stage: Stage, item: MatchSlice) -> list[object]:
    batches: list[pa.RecordBatch] = []
    if not stage.shards:
        batches += match_slice(stage, item)
    for groups in range(1, stage.shards + 1):
        sent = sorted(route_slice(stage, groups, item))
        for group in range(groups):
            batches += match_routed(stage, groups, [each for each in sent if each[0][0] == group])
    rows = [row for each in batches for row in each.to_pylist()]
    names = ("after", "upto", "left", "undecided", "awaited")
    said: list[object] = [tuple(row[name] for name in names) for row in rows]
    return [*said, *(tuple(each) for row in rows for each in from_arrow(row).rows())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = 0
    for number in range(arguments.number):
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, TRIPLECAST_CACHE=folder):
            fetch.cache_clear()
            found += compare(Path(folder), arguments.seed + number, number % 3)
    print(f"{arguments.number} histories from seed {arguments.seed}: {found} rows, all the same")


if __name__ == "__main__":
    main()
