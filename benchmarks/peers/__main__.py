"""``python -m benchmarks.peers``: Triplecast and its peers in turns on the same input; prints a table, writes it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.machine import describe_machine
from benchmarks.peers import triplecast_door
from benchmarks.peers.cache import LeftOut, fetch_clips, fetch_mokaccino
from benchmarks.peers.contest import Contest, Contestant, Limits, hold_contest
from benchmarks.peers.elasticsearch import find_elasticsearch
from benchmarks.peers.lucene import find_lucene
from benchmarks.peers.triplecast_engine import BYTES, IDS, SINGLY
from benchmarks.peers.verdict import (
    CLIPS,
    DOOR_DURABLE,
    DOOR_MEMORY,
    ELASTICSEARCH,
    LUCENE,
    MOKACCINO,
    MONITOR_BYTES,
    OXIGRAPH,
    TRIPLECAST,
    TRIPLECAST_BYTES,
    TRIPLECAST_SINGLY,
    to_door_figures,
    to_figures,
)
from benchmarks.plan import FRONT_DOOR, QUICK_FRONT_DOOR
from benchmarks.report import show, to_markdown, write_results
from benchmarks.scenarios.frontdoor import measure_front_door

ROOT = Path(__file__).resolve().parents[2]
SIZES = (10_000, 100_000, 1_000_000)
LIMITS = Limits(build=300.0, warm=15.0, shortest=0.5, turn=8.0, turns=5)
DOOR_LIMITS = Limits(build=300.0, warm=1.0, shortest=0.5, turn=1.2, turns=3)
PUBLICATIONS = 4_000
QUICK_SIZES = (10_000,)
QUICK_LIMITS = Limits(build=30.0, warm=1.0, shortest=0.1, turn=0.5, turns=3)
QUICK_PUBLICATIONS = 500
ASKED = 500
DOOR_ASKED = 100
"""Subscriptions that pyoxigraph is asked, and through its front door."""
_WAYS = {IDS: TRIPLECAST, BYTES: TRIPLECAST_BYTES, SINGLY: TRIPLECAST_SINGLY}


def gather(limits: Limits) -> tuple[list[Contestant], dict[str, str]]:
    """Who takes part, and who is left out with the reason."""
    contestants = [Contestant(name, partial(_python, "triplecast_engine", way)) for way, name in _WAYS.items()]
    left_out: dict[str, str] = {}
    try:
        lucene = find_lucene()
        contestants += [Contestant(name, partial(lucene.command, way)) for way, name in LUCENE.items()]
    except LeftOut as reason:
        left_out["Lucene"] = str(reason)
    contestants.append(Contestant(OXIGRAPH, partial(_python, "oxigraph_engine", str(ASKED))))
    try:
        path = os.pathsep.join([str(fetch_clips()), *sys.path])
        command = partial(_python, "clips_engine", str(limits.build))
        contestants.append(Contestant(CLIPS, command, {"PYTHONPATH": path}))
    except LeftOut as reason:
        left_out["CLIPS"] = str(reason)
    return contestants, left_out


def gather_doors() -> tuple[list[Contestant], dict[str, str]]:
    """As `gather`, each engine through what its users call, with documents as bytes."""
    places = {DOOR_MEMORY: triplecast_door.MEMORY, DOOR_DURABLE: triplecast_door.DURABLE}
    ways = (triplecast_door.SINGLY, triplecast_door.BULK)
    contestants = [
        Contestant(name, partial(_python, "triplecast_door", place), ways=ways) for name, place in places.items()
    ]
    left_out: dict[str, str] = {}
    try:
        path = os.pathsep.join([str(fetch_mokaccino()), *sys.path])
        command = partial(_python, "mokaccino_engine", "")
        contestants.append(Contestant(MOKACCINO, command, {"PYTHONPATH": path}))
    except LeftOut as reason:
        left_out["mokaccino"] = str(reason)
    try:
        contestants.append(Contestant(MONITOR_BYTES, partial(find_lucene().command, "bytes")))
    except LeftOut as reason:
        left_out["Lucene"] = str(reason)
    try:
        command = partial(_python, "elasticsearch_engine", json.dumps(find_elasticsearch()))
        contestants.append(
            Contestant(ELASTICSEARCH, command, gives_up_above=100_000)
        )  # 1,000,000 take minutes to index
    except LeftOut as reason:
        left_out["Elasticsearch"] = str(reason)
    contestants.append(Contestant(OXIGRAPH, partial(_python, "oxigraph_engine", str(DOOR_ASKED))))
    return contestants, left_out


def _python(module: str, argument: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.peers.{module}", argument, str(folder)]


def measure(
    sizes: Sequence[int],
    publications: int,
    contestants: Sequence[Contestant],
    limits: Limits,
    judge: Callable[[Contest], Iterator[Figure]] = to_figures,
) -> tuple[list[Figure], list[str]]:
    """Figures, and what is to be said of those that gave up."""
    figures: list[Figure] = []
    said: list[str] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="triplecast-peers-") as folder:
            contest = hold_contest(size, publications, contestants, limits, Path(folder))
        for figure in judge(contest):
            figures.append(figure)
            print(f"  {figure.scenario}: {show(figure.value)} {figure.unit}", file=sys.stderr, flush=True)
        said += [f"{name} at {size:,} subscriptions: {reason}" for name, reason in contest.given_up.items()]
        contestants = [
            replace(contestant, gives_up_above=min(contestant.gives_up_above, size))
            if contestant.name in contest.given_up
            else contestant
            for contestant in contestants
        ]
    return figures, said


def _measure_ours(quick: bool) -> Iterator[Figure]:
    """What users of `Engine` get, by part."""
    for figure in measure_front_door(*(QUICK_FRONT_DOOR if quick else FRONT_DOOR)):
        print(
            f"  {figure.scenario}, {figure.workload}: {show(figure.value)} {figure.unit}", file=sys.stderr, flush=True
        )
        yield figure


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 subscriptions, about a minute; writes no results")
    parser.add_argument("--size", type=int, action="append", help="subscriptions; may be repeated")
    parser.add_argument("--only", action="append", help="names of contestants that hold this text; may be repeated")
    parser.add_argument(
        "--front-door",
        action="store_true",
        help="first `Engine` by part, then each engine as users call it",
    )
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    arguments = parser.parse_args()
    limits = QUICK_LIMITS if arguments.quick else DOOR_LIMITS if arguments.front_door else LIMITS
    sizes = arguments.size or (QUICK_SIZES if arguments.quick else SIZES)
    busy = os.getloadavg()[0]
    contestants, left_out = gather_doors() if arguments.front_door else gather(limits)
    wanted = arguments.only or [""]
    chosen = [contestant for contestant in contestants if any(text in contestant.name for text in wanted)]
    publications = QUICK_PUBLICATIONS if arguments.quick else PUBLICATIONS
    judge = to_door_figures if arguments.front_door else to_figures
    ours = [*_measure_ours(arguments.quick)] if arguments.front_door and not arguments.only else []
    figures, given_up = measure(sorted(sizes), publications, chosen, limits, judge)
    figures = [*ours, *figures]
    machine, day = describe_machine(ROOT), datetime.now(UTC).date().isoformat()
    notes = [f"{name} left out: {reason}." for name, reason in left_out.items()] + [f"{text}." for text in given_up]
    load = " ".join([f"Load average before the run {busy:.1f}.", *notes])
    print(to_markdown(figures, machine, day, load))
    if not arguments.quick:
        table, _ = write_results(
            arguments.results, figures, machine, day, load, "-doors" if arguments.front_door else "-peers"
        )
        print(f"written to {table}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
