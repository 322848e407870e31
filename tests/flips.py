"""Damages stored files at random: never a wrong answer, always the right one or a fault by name.

``python -m tests.flips N`` makes N copies of a folder that an engine filled, flips bits in one file of each, overwrites
a stretch of it or cuts it, and then asks everything that can be asked: the index (opened as an engine does, and made
again from the journal where it must be), journal and outbox. Each answer must be the undamaged folder's, or a
`StorageFault`. ``--seed`` and ``--first`` replay a trial. A table of outcomes by kind of file stands at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triplecast.delivery import Outbox
from triplecast.engine import Engine
from triplecast.engine.registry import check_progress, open_index
from triplecast.errors import StorageFault
from triplecast.evaluate import Evaluator
from triplecast.index import INDEX, IndexFolder
from triplecast.ingest import Document
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.lease import FOREVER
from triplecast.model.subscription import Subscription

AT = 1_800_000_000_000_000
E = "https://example.org/"
QUERIES = (
    f"SELECT * {{ ?s <{E}p0> ?o }}",
    f"SELECT ?s {{ ?s <{E}p1> ?o . ?o <{E}p2> ?s }}",
    "SELECT * { ?s ?p ?o FILTER(?o > 3 && ?o < 9) }",
    f"SELECT * {{ ?s <{E}says> ?t FILTER(ft:contains(?t, '\"night train\"')) }}",
    f"SELECT * {{ ?s <{E}p0> ?o OPTIONAL {{ ?o <{E}p1> ?x FILTER(STRLEN(STR(?x)) > 3) }} }}",
    f'ASK {{ ?s <{E}says> "a night train" }}',
    "SELECT ?s { ?s a ?c FILTER(tc:instance(?s, <https://example.org/C0>)) }",
)
"""Each is varied by its number, so that structures are shared and values differ."""
SUBSCRIPTIONS = 60
KINDS = ("journal.sqlite", "outbox.sqlite", "manifest-", "segment-")
"""Of files, by how their names begin."""
PROBES = 6
"""Publications that each folder is asked of."""
LOOKUPS = ("live", "leases", "undecided", "rejects")
"""Questions that SQLite answers from a table or index of its own, of which damage may hide a row until `check` is
called. A publication, a registration, a match or a notification is never hidden."""
SHOWN = 5
"""Trials with a wrong answer that are told in full."""


class Trial(NamedTuple):
    kind: str
    """Of the file that was damaged."""
    what: str
    outcome: str
    wrong: str | None


def fill(folder: Path) -> None:
    """An engine's folder with two segments, cancellations, a lease, a taxonomy, rejects and notifications."""
    with Engine.open(folder, lambda: AT, random.Random(0).randbytes) as engine:
        engine.load_taxonomy(f"<{E}C1> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{E}C0> .", "text/turtle")
        for half in range(2):
            engine.subscribe_many(
                [
                    Subscription(f"s{half}-{n}", QUERIES[n % len(QUERIES)].replace("p0", f"p{n % 5}"), owner="ada")
                    for n in range(SUBSCRIPTIONS)
                ],
                lease=FOREVER if half else 1e6,
            )
            engine.publish_many([_document(half * 10 + n) for n in range(10)])
            engine.unsubscribe(f"s{half}-3")
        engine.publish("not Turtle", "text/turtle", graph=f"{E}bad")


def _document(number: int) -> Document:
    dice = random.Random(number)
    lines = [f"<{E}n{dice.randrange(4)}> <{E}p{dice.randrange(5)}> <{E}n{dice.randrange(4)}> ." for _ in range(8)]
    lines += [f"<{E}n{dice.randrange(4)}> <{E}p{dice.randrange(5)}> {dice.randrange(12)} ." for _ in range(4)]
    lines += [f'<{E}n0> <{E}says> "a night train" .', f"<{E}n1> a <{E}C{dice.randrange(3)}> ."]
    return Document(f"d{number}", "\n".join(lines).encode(), "text/turtle", f"{E}d{number}")


class Reading:
    """What a folder answers, part by part; an evaluator serves all."""

    def __init__(self, folder: Path) -> None:
        self._evaluator = Evaluator()
        self._matcher = Matcher(self._evaluator)
        with Journal.open(folder, lambda: AT) as journal:
            head = journal.head()
            found = journal.publications(0, head)[:PROBES]
            self._probes = [replace(of, position=head + 1 + at) for at, of in enumerate(found)]

    def __call__(self, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
        """(name, question); a question may raise. The folder is as a start after a crash finds it."""
        with Journal.open(folder, lambda: AT) as journal, Outbox.open(folder) as outbox:
            yield "head", journal.head
            yield "publications", lambda: journal.publications(0, 1 << 40)
            yield "registrations", lambda: journal.registry_changes(0, 1 << 40)
            yield "rejects", journal.rejects
            yield "leases", journal.lease_ends
            yield "taxonomies", lambda: journal.taxonomies(0, 1 << 40)
            yield "live", lambda: [journal.live_registration(f"s1-{n}") for n in (0, 3, 59)]
            yield "notifications", lambda: list(outbox.notifications())
            yield "undecided", outbox.undecided
            yield "counts", outbox.counts
            yield "progress", lambda: check_progress(journal, outbox)
            yield "matches", lambda: self._match(folder, journal, outbox)

    def _match(self, folder: Path, journal: Journal, outbox: Outbox) -> object:
        snapshot = open_index(IndexFolder(folder / INDEX), journal, outbox.progress)
        head = journal.head()
        matched = self._matcher.match(snapshot, self._probes, journal.taxonomies(head, head))
        return (
            matched.publication.tolist(),
            matched.registration.tolist(),
            matched.bindings_offsets.tolist(),
            matched.bindings[: matched.bindings_offsets[-1]].tobytes(),
            matched.undecided,
        )

    def close(self) -> None:
        self._evaluator.close()


def checks_refuse(folder: Path) -> bool:
    """Whether `check` of journal or outbox tells of a fault."""
    try:
        with Journal.open(folder, lambda: AT) as journal, Outbox.open(folder) as outbox:
            journal.check()
            outbox.check()
    except StorageFault:
        return True
    return False


def damage(dice: random.Random, path: Path) -> str:
    """Changes the file; tells how."""
    data = bytearray(path.read_bytes())
    way = dice.choice(("flip", "flip", "flip", "flips", "overwrite", "zeros", "cut", "grow"))
    at = dice.randrange(len(data))
    if way == "flip":
        data[at] ^= 1 << dice.randrange(8)
    elif way == "flips":
        for _ in range(dice.randint(2, 40)):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    elif way in ("overwrite", "zeros"):
        size = min(dice.choice((1, 4, 8, 64, 512, 4096)), len(data) - at)
        data[at : at + size] = bytes(size) if way == "zeros" else dice.randbytes(size)
    elif way == "cut":
        del data[at:]
    else:
        data += dice.randbytes(dice.choice((1, 100, 8192)))
    path.write_bytes(data)
    return f"{way} at {at}"


def run_trial(
    seed: int, number: int, source: Path, folder: Path, reading: Reading, expected: dict[str, object]
) -> Trial:
    dice = random.Random(f"{seed} {number}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    kind = dice.choice(KINDS)
    path = dice.choice(sorted(found for found in folder.rglob(f"{kind}*") if found.stat().st_size))
    what = f"{path.relative_to(folder)}: {damage(dice, path)}"
    before = sorted(entry.name for entry in (folder / INDEX).iterdir())
    outcomes, wrong = ask(folder, reading, expected)
    if wrong is not None:
        name, said = wrong
        if name not in LOOKUPS or not checks_refuse(folder):
            return Trial(kind, what, "WRONG", f"{name}: {said}")
        outcomes = {"told by check() alone"}
    if not outcomes:
        after = sorted(entry.name for entry in (folder / INDEX).iterdir())
        outcomes.add("answered as before" if before == after else "index made again, answered as before")
    return Trial(kind, what, *outcomes, None)


def ask(folder: Path, reading: Reading, expected: dict[str, object]) -> tuple[set[str], tuple[str, str] | None]:
    """The outcomes of all questions that were not answered as expected, and the first wrong answer, by its name."""
    outcomes = set()
    try:
        for name, question in reading(folder):
            try:
                answer = question()
            except StorageFault:
                outcomes.add("refused by name")
            except Exception as error:
                return outcomes, (name, repr(error))
            else:
                if answer != expected[name]:
                    return outcomes, (name, f"{answer!r:.300} instead of {expected[name]!r:.300}")
    except StorageFault:
        outcomes.add("refused by name")
    return outcomes, None


def run_trials(seed: int, first: int, count: int, place: Path) -> Iterator[Trial]:
    source, folder = place / "source", place / "folder"
    fill(source)
    reading = Reading(source)
    try:
        expected = {name: question() for name, question in reading(source)}
        for number in range(first, first + count):
            yield run_trial(seed, number, source, folder, reading, expected)
    finally:
        reading.close()


def _memory() -> str | None:
    """A folder in memory where there is one: what is damaged here need not survive."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flips", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1_000, help="trials")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial, to replay one")
    arguments = parser.parse_args()
    table: Counter[tuple[str, str]] = Counter()
    start = time.monotonic()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="triplecast-flips-", dir=_memory()) as place:
        trials = run_trials(arguments.seed, arguments.first, arguments.count, Path(place))
        for number, trial in enumerate(trials, arguments.first):
            table[trial.kind, trial.outcome] += 1
            if trial.wrong is not None:
                wrong += 1
                if wrong <= SHOWN:
                    print(f"trial {number}: {trial.what}\n  {trial.wrong}", file=sys.stderr, flush=True)
    for (kind, outcome), count in sorted(table.items()):
        print(f"{kind:15} {outcome:40} {count:8,}")
    print(json.dumps({"seed": arguments.seed, "trials": arguments.count, "wrong": wrong}))
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
