"""Damages stored files at random: never a wrong answer, always the right one or a fault by name.

``python -m tests.flips N`` takes N times a folder that an engine filled, closed or as a kill left it, flips bits in one
of its files, overwrites a stretch of it or cuts it, and then asks, as a start after a crash would, everything that this
file can change: the index (opened, or made again from the journal where it must be), journal and outbox. Each answer
must be the undamaged folder's, or a `StorageFault`. ``--seed`` and ``--first`` replay a trial. A table of outcomes by
kind of file stands at the end.

So that many trials are cheap, a trial copies the damaged file alone: the others are links to the undamaged ones, and
what it reads beside its own is open already. A snapshot whose files are, byte by byte, those of one that was asked
before is not asked again, but for each `IN_FULL`-th.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triplecast.driver import check_progress
from triplecast.engine import Engine
from triplecast.errors import StorageFault
from triplecast.evaluate import Evaluator
from triplecast.index import INDEX, IndexWriter, SegmentFolder, Snapshot
from triplecast.index.snapshot import read_manifest
from triplecast.ingest import Document
from triplecast.journal import Journal, JournalFile
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.subscription import FOREVER, Subscription
from triplecast.operators import declared_operators
from triplecast.outbox import Cursor, Outbox
from triplecast.outbox.reader import END
from triplecast.registry.upkeep import open_index

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
SUBSCRIPTIONS = 7
PUBLICATIONS = 5
"""Of each of the steps in which a folder is filled."""
KINDS = (
    "journal.sqlite",
    "journal.sqlite-wal",
    "journal.end",
    "outbox.sqlite",
    "outbox.sqlite-wal",
    "outbox.end",
    "manifest-",
    "segment-",
)
"""Of files, by how their names begin."""
WEIGHTS = (5, 3, 1, 3, 2, 1, 4, 6)
PROBES = 4
"""Publications that each folder is asked of."""
LOOKUPS = ("live", "leases", "undecided", "rejects", "counts")
"""Questions that SQLite answers from a table or index of its own, of which damage may hide a row until `check` is
called, and how many rows there are. A publication, a registration, a match or a notification is never hidden."""
IN_FULL = 20
REFUSED = "refused by name"
SHOWN = 5
"""Trials with a wrong answer that are told in full."""


class Trial(NamedTuple):
    kind: str
    """Of the file that was damaged."""
    what: str
    outcome: str
    wrong: str | None


Questions = Iterator[tuple[str, Callable[[], object]]]
"""(name, question); a question may raise."""


# ---- the folder ------------------------------------------------------------------------------------------------------


def fill(folder: Path, killed: Path) -> None:
    """An engine's folder with several segments, cancellations, a lease, a taxonomy, rejects and notifications; and
    `killed`, the same at a moment when the write-ahead logs still hold its second half."""
    with Engine.open(folder, lambda: AT, random.Random(0).randbytes) as engine:
        engine.load_taxonomy(f"<{E}C1> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{E}C0> .", "text/turtle")
        _fill_step(engine, 0)
        engine.publish("not Turtle", "text/turtle", graph=f"{E}bad")
    with Engine.open(folder, lambda: AT, random.Random(1).randbytes) as engine:
        _fill_step(engine, 1)
        engine.renew("s1-4", until=FOREVER)
        shutil.copytree(folder, killed, ignore=shutil.ignore_patterns("*-shm", "*.lock"))


def _fill_step(engine: Engine, step: int) -> None:
    engine.subscribe_many(
        [
            Subscription(f"s{step}-{n}", QUERIES[n % len(QUERIES)].replace("p0", f"p{n % 5}"), owner="ada")
            for n in range(SUBSCRIPTIONS)
        ],
        lease=1e6 if step else FOREVER,
    )
    documents = [_document(step * PUBLICATIONS + n) for n in range(PUBLICATIONS)]
    engine.publish_many(documents[1:])
    engine.unsubscribe(f"s{step}-3")
    engine.publish_many(documents[:1])


def _document(number: int) -> Document:
    dice = random.Random(number)
    lines = [f"<{E}n{dice.randrange(4)}> <{E}p{dice.randrange(5)}> <{E}n{dice.randrange(4)}> ." for _ in range(8)]
    lines += [f"<{E}n{dice.randrange(4)}> <{E}p{dice.randrange(5)}> {dice.randrange(12)} ." for _ in range(4)]
    lines += [f'<{E}n0> <{E}says> "a night train" .', f"<{E}n1> a <{E}C{dice.randrange(3)}> ."]
    return Document(f"d{number}", "\n".join(lines).encode(), "text/turtle", f"{E}d{number}")


# ---- what it answers -------------------------------------------------------------------------------------------------


def ask_journal(journal: JournalFile) -> Questions:
    yield "head", journal.head
    yield "publications", lambda: journal.publications(0, 1 << 40)
    yield "registrations", lambda: journal.registry_changes(0, 1 << 40)
    yield "rejects", journal.rejects
    yield "leases", journal.lease_ends
    yield "taxonomies", lambda: journal.taxonomies(0, 1 << 40)
    yield "live", lambda: [journal.live_registration(f"s1-{n}") for n in (0, 3, 6)]


def ask_outbox(outbox: Outbox) -> Questions:
    yield "notifications", lambda: [replace(each, cursor=Cursor(0, each.sequence)) for each in outbox.notifications()]
    yield "undecided", outbox.undecided


class Asking:
    """Asks snapshots of a few publications, one with the same files and taxonomies once."""

    def __init__(self) -> None:
        self._evaluator = Evaluator()
        self._matcher = Matcher(self._evaluator)
        self._known: dict[tuple[object, ...], object] = {}

    def __call__(self, folder: Path, journal: JournalFile, matched: int, in_full: bool) -> object:
        """What a start in `folder` matches; its index is brought up to the journal, or made again, where it must."""
        snapshot = open_index(IndexWriter(SegmentFolder(folder / INDEX)), journal, matched, declared_operators())
        head = journal.head()
        found = journal.publications(0, head)[:PROBES]
        taxonomies = journal.taxonomies(head, head)
        key = (head, *_said(folder / INDEX, snapshot), taxonomies, *found)
        if in_full or key not in self._known:
            probes = [of._replace(position=head + 1 + at) for at, of in enumerate(found)]
            answer = _rows(self._matcher.match(snapshot, probes, taxonomies))
            assert self._known.setdefault(key, answer) == answer, "one snapshot, two answers"
        return self._known[key]

    def close(self) -> None:
        self._evaluator.close()


def _said(folder: Path, snapshot: Snapshot) -> Iterator[object]:
    """All that a snapshot consists of; its segments by their bytes."""
    yield snapshot.covers
    yield from (values.tobytes() for values in snapshot.removals)
    for name in read_manifest(folder, snapshot.manifest).segments:
        yield hashlib.blake2b((folder / name).read_bytes()).digest()


def _rows(matched: MatchedBatch) -> object:
    return (
        matched.publication.tolist(),
        matched.registration.tolist(),
        [matched.bindings_of(row) for row in range(len(matched))],
        matched.undecided,
    )


class Whole:
    """An undamaged folder and what it answers; `place` is for its own copy and for the damaged ones."""

    def __init__(self, source: Path, place: Path, asking: Asking) -> None:
        self.source = source
        self._work = place / "work"
        self._asking = asking
        own = shutil.copytree(source, place / "own")
        self._opened = ExitStack()
        self._journal = self._opened.enter_context(Journal.open(own, lambda: AT))
        self._outbox = self._opened.enter_context(Outbox.open(own))
        everything = (
            *ask_journal(self._journal),
            *ask_outbox(self._outbox),
            *self._ask_together(own, self._journal, self._outbox, True),
        )
        self._expected = {name: question() for name, question in everything}
        self._files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())

    def close(self) -> None:
        self._opened.close()

    def files(self, kind: str) -> list[Path]:
        """Those of one kind, within the folder."""
        return [path for path in self._files if path.name == kind or (kind[-1] == "-" and path.name.startswith(kind))]

    def damage(self, damaged: Path, content: bytes) -> Path:
        """The folder with this content of one file. The index is linked, since its files are never written to again;
        of journal and outbox only the database whose file is damaged is there."""
        shutil.rmtree(self._work, ignore_errors=True)
        (self._work / INDEX).mkdir(parents=True)
        for file in self._files:
            if file.parent.name == INDEX and file != damaged:
                os.link(self.source / file, self._work / file)
        if damaged.parent.name != INDEX:
            self._copy_database(damaged.name.partition(".")[0])
        (self._work / damaged).write_bytes(content)
        return self._work

    def ask(self, folder: Path, damaged: Path, in_full: bool) -> tuple[set[str], tuple[str, str] | None]:
        """The outcomes of all questions that were not answered as expected, and the first wrong answer, by its name."""
        outcomes: set[str] = set()
        with ExitStack() as opened:
            try:
                for name, question in self._questions(folder, damaged, in_full, opened, outcomes):
                    try:
                        answer = question()
                    except StorageFault:
                        outcomes.add(REFUSED)
                    else:
                        if answer != self._expected[name]:
                            return outcomes, (name, f"{answer!r:.300} instead of {self._expected[name]!r:.300}")
            except StorageFault:
                outcomes.add(REFUSED)
            except Exception as error:
                return outcomes, ("start", repr(error))
        return outcomes, None

    def _questions(
        self, folder: Path, damaged: Path, in_full: bool, opened: ExitStack, outcomes: set[str]
    ) -> Questions:
        """All that the damaged file can change, asked of what a start finds."""
        journal, outbox = self._journal, self._outbox
        if damaged.name.startswith("journal."):
            journal = opened.enter_context(Journal.open(folder, lambda: AT))
            yield from ask_journal(journal)
        elif damaged.name.startswith("outbox."):
            try:
                outbox = opened.enter_context(Outbox.open(folder))
            except StorageFault as fault:
                outcomes.add(REFUSED)
                if END not in fault.hint:
                    raise
                (folder / END).unlink()
                self._match_again()
                outcomes.add("matched again, answered as before")
                outbox = opened.enter_context(Outbox.open(folder))
                assert outbox.state.epoch > self._outbox.state.epoch, "a lost end is told to readers"
            if outbox.progress < self._outbox.progress:  # it lost commits that were not synced
                outbox.close()
                self._match_again()
                outcomes.add("matched again, answered as before")
                outbox = opened.enter_context(Outbox.open(folder))
                assert outbox.state.epoch == self._outbox.state.epoch, "they are told as they were"
            assert outbox.progress >= self._outbox.progress, "a lost end is noticed"
            yield from ask_outbox(outbox)
        yield from self._ask_together(folder, journal, outbox, in_full)

    def _ask_together(self, folder: Path, journal: JournalFile, outbox: Outbox, in_full: bool) -> Questions:
        yield "progress", lambda: check_progress(journal, outbox)
        yield "matches", lambda: self._asking(folder, journal, outbox.progress, in_full)

    def _match_again(self) -> None:
        """What an engine does as it opens a folder whose outbox is behind its journal."""
        self._copy_database("journal")
        Engine.open(self._work, lambda: AT).close()

    def _copy_database(self, name: str) -> None:
        for file in self._files:
            if file.name.partition(".")[0] == name:
                shutil.copyfile(self.source / file, self._work / file)


def checks_refuse(folder: Path, damaged: Path) -> bool:
    """Whether `check` of the journal or outbox that was damaged tells of a fault."""
    try:
        if damaged.name.startswith("journal."):
            with Journal.open(folder, lambda: AT) as journal:
                journal.check()
        else:
            with Outbox.open(folder) as outbox:
                outbox.check()
    except StorageFault:
        return True
    return False


# ---- trials ----------------------------------------------------------------------------------------------------------


def damage(dice: random.Random, data: bytearray) -> str:
    """Changes the bytes; tells how."""
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
    return f"{way} at {at}"


def run_trial(seed: int, number: int, wholes: Sequence[Whole]) -> Trial:
    dice = random.Random(f"{seed} {number}")
    (kind,) = dice.choices(KINDS, WEIGHTS)
    whole = dice.choice([whole for whole in wholes if whole.files(kind)])
    damaged = dice.choice(whole.files(kind))
    content = bytearray((whole.source / damaged).read_bytes())
    what = f"{whole.source.name}/{damaged}: {damage(dice, content)}"
    folder = whole.damage(damaged, content)
    before = sorted(entry.name for entry in (folder / INDEX).iterdir())
    outcomes, wrong = whole.ask(folder, damaged, number % IN_FULL == 0)
    if wrong is not None:
        name, said = wrong
        if name not in LOOKUPS or not checks_refuse(folder, damaged):
            return Trial(kind, what, "WRONG", f"{name}: {said}")
        outcomes = {"told by check() alone"}
    if REFUSED in outcomes:
        outcomes = {REFUSED}
    if not outcomes:
        after = sorted(entry.name for entry in (folder / INDEX).iterdir())
        outcomes = {"answered as before" if before == after else "index made again, answered as before"}
    return Trial(kind, what, *outcomes, None)


def run_trials(seed: int, first: int, count: int, place: Path) -> Iterator[Trial]:
    closed, killed = place / "closed", place / "killed"
    fill(closed, killed)
    with ExitStack() as opened:
        asking = Asking()
        opened.callback(asking.close)
        wholes = [Whole(source, place / f"of-{source.name}", asking) for source in (closed, killed)]
        for whole in wholes:
            opened.callback(whole.close)
        for number in range(first, first + count):
            yield run_trial(seed, number, wholes)


def memory_folder() -> str | None:
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
    with tempfile.TemporaryDirectory(prefix="triplecast-flips-", dir=memory_folder()) as place:
        trials = run_trials(arguments.seed, arguments.first, arguments.count, Path(place))
        for number, trial in enumerate(trials, arguments.first):
            table[trial.kind, trial.outcome] += 1
            if trial.wrong is not None:
                wrong += 1
                if wrong <= SHOWN:
                    print(f"trial {number}: {trial.what}\n  {trial.wrong}", file=sys.stderr, flush=True)
    for (kind, outcome), count in sorted(table.items()):
        print(f"{kind:18} {outcome:40} {count:8,}")
    print(json.dumps({"seed": arguments.seed, "trials": arguments.count, "wrong": wrong}))
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
