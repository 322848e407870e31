"""Damages an engine's folder below a reader: nothing wrong is given, nothing twice, and nothing is lost unsaid.

``python -m tests.outbox_damage N`` takes N times a folder that an engine filled, closed or as a kill left it.
It changes bytes of outbox or end marks, cuts, empties or removes files, restores them from older copies, or changes and
deletes rows of either database. Then a reader goes on from its cursor, the folder is repaired as the errors say, an
engine publishes more, and the reader goes on again. ``--seed`` and ``--first`` replay a trial.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from tests.flips import damage, memory_folder
from triplecast.engine import Engine
from triplecast.errors import InputError, StorageFault
from triplecast.journal import Journal
from triplecast.model.match import Learnt
from triplecast.model.subscription import FOREVER, Subscription
from triplecast.outbox import Notification, Outbox

sys.path.insert(0, str(Path(__file__).parent / "unit" / "operators"))

from wild_operators import WILD

AT = 1_800_000_000_000_000
E = "https://example.org/"
QUERIES = {
    "any": f"SELECT * {{ ?s <{E}p> ?o }}",
    "some": f"SELECT * {{ ?s <{E}p> ?o FILTER(?o > 3) }}",
    "long": f"SELECT * {{ ?s <{E}says> ?t FILTER(<{WILD}long>(?t)) }}",
}
"""The last one calls an operator, so sequences depend on which publications were matched together."""
OUTBOX = ("outbox.sqlite", "outbox.sqlite-wal", "outbox.end")
FILES = (*OUTBOX, "journal.end")
VALUES = ("NULL", "'x'", "x'00ff'", "-1", "1e999", "9000000000000000000", "{0} + 1", "{0} || 'x'")
"""What a row's column is set to."""
HIDING = {
    "setting",
    "heard",
    "document",
    "live",
    "lease",
    "ended",
    "undecided",
    "withheld",
    "publication",
    "record_count",
    "content",
    "file",
}
"""Tables of which a missing row may not be seen until `check` is called, or an engine writes it again."""
SHOWN = 5


class Told(NamedTuple):
    """What a notification says, whatever its sequence."""

    id: str
    subscription: str
    publication: str
    version: int
    bindings: str

    @classmethod
    def of(cls, each: Notification) -> Told:
        return cls(each.id, each.subscription, each.publication, each.version, each.bindings)


class Reader(NamedTuple):
    """Who has read up to a cursor."""

    cursor: str
    seen: frozenset[str]


class Folders(NamedTuple):
    """Copies of one folder at several times, and what its readers have and get."""

    older: tuple[Path, ...]
    """Closed, and as a process left it that was killed."""
    last: tuple[Path, ...]
    readers: tuple[Reader, ...]
    expected: Mapping[str, Told]
    """All notifications after `publish_more`, pruned ones among them, by id."""


class Trial(NamedTuple):
    what: str
    outcome: str
    wrong: str | None


class Wrong(AssertionError):
    """A reader was given something that it must not be given, or lost something."""


def fill(place: Path) -> Folders:
    """An engine's life in three openings, with copies of its folder; some notifications are pruned in the last one."""
    folder = place / "life"

    def copy(name: str) -> Path:
        return shutil.copytree(folder, place / name, ignore=shutil.ignore_patterns("*-shm", "*.lock"))

    heard: dict[str, Told] = {}
    with opened(folder) as engine:
        lease = [Subscription(name, text, owner="ada") for name, text in QUERIES.items()]
        engine.subscribe_many(lease, FOREVER)
        engine.subscribe(QUERIES["any"], id="leased", lease=1e6)
        publish(engine, range(4))
    closed = copy("older closed")
    with opened(folder) as engine:
        publish(engine, range(4, 6))
        killed = copy("older killed")
        publish(engine, range(6, 9))
        heard.update((each.id, Told.of(each)) for each in engine.notifications())
        engine.prune(3)
        engine._journal.keep_learnt([Learnt("template", 1.0, 2.0, 3.0, 4.0, 5.0)])
        last = copy("killed")
        rows = list(engine.notifications())
    pruned = frozenset(heard) - {each.id for each in rows}
    readers = tuple(
        Reader(str(row.cursor), pruned | {each.id for each in rows[: place + 1]}) for place, row in enumerate(rows)
    )
    lasts = (copy("closed"), last)
    with opened(folder) as engine:
        publish_more(engine)
        heard.update((each.id, Told.of(each)) for each in engine.notifications())
    return Folders((closed, killed), lasts, readers, heard)


def opened(folder: Path) -> Engine:
    return Engine.open(folder, lambda: AT, random.Random(0).randbytes)


def publish(engine: Engine, numbers: Iterable[int]) -> None:
    for number in numbers:
        says = f'<{E}s> <{E}says> "{"long" * (number % 2)} t" .' if number < 9 else ""
        engine.publish(f"<{E}s> <{E}p> {number} . {says}", "text/turtle", f"{E}d{number % 6}")


def publish_more(engine: Engine) -> None:
    publish(engine, range(9, 11))


# ---- damage ----------------------------------------------------------------------------------------------------------


def damage_file(dice: random.Random, folder: Path, older: Path) -> str:
    """Change, cut, empty or remove one file, or restore it, or all of the outbox, from the older copy."""
    name = dice.choice([each for each in FILES if (folder / each).exists()])
    path = folder / name
    way = dice.choice(("bytes", "bytes", "one byte less", "empty", "remove", "older", "older outbox", "older outbox"))
    if way == "bytes":
        content = bytearray(path.read_bytes())
        way = damage(dice, content)
        path.write_bytes(content)
    elif way == "one byte less":
        path.write_bytes(path.read_bytes()[:-1])
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "remove":
        path.unlink()
    elif way == "older":
        restore(folder, older, (name,))
    else:
        name = f"{older.name} with" if dice.random() < 0.5 else f"{older.name} without its mark, with"
        restore(folder, older, OUTBOX if name.endswith("r closed with") else OUTBOX[: 2 + dice.randrange(2)])
    return f"{name}: {way}"


def restore(folder: Path, older: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
        if (older / name).exists():
            shutil.copy(older / name, folder / name)


def damage_row(dice: random.Random, folder: Path, _: Path) -> str:
    """Change a column of a random row of a random table, or delete the row."""
    database = dice.choice(("journal.sqlite", "outbox.sqlite"))
    with closing(sqlite3.connect(folder / database, isolation_level=None)) as raw:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        table = dice.choice([name for name in tables if raw.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()])
        columns = [name for _, name, *_ in raw.execute(f"PRAGMA table_info({table})")]
        column = dice.choice([name for name in columns if name != "one"])
        values = raw.execute(f"SELECT DISTINCT {columns[0]} FROM {table} ORDER BY 1").fetchall()
        (key,) = dice.choice(values)
        value = dice.choice((*VALUES, "", "")).format(column)
        statement = f"UPDATE OR REPLACE {table} SET {column} = {value}" if value else f"DELETE FROM {table}"
        try:
            raw.execute(f"{statement} WHERE {columns[0]} = ?", (key,))
        except sqlite3.Error as refused:  # as NULL is, where none may be
            statement = f"{statement}, which SQLite refuses: {refused}"
    return f"{database}: {statement} of {key!r}"


# ---- what is given ---------------------------------------------------------------------------------------------------


def follow(read: Callable[..., Iterator[Notification]], reader: Reader, folders: Folders) -> set[str]:
    """Go on from the reader's cursor, or, where that is refused, again from 0. Return what it has then. Raises `Wrong`
    for what it must not be given, and `StorageFault`."""
    try:
        new = [*each_right(read(reader.cursor), folders)]
    except InputError as lost:
        if "read again from 0" not in lost.hint:
            raise Wrong(f"{lost}") from lost
        new = [each for each in each_right(read(0), folders) if each not in reader.seen]
    if len({*new}) < len(new) or not reader.seen.isdisjoint(new):
        raise Wrong(f"given twice: {Counter([*reader.seen, *new]).most_common(1)}")
    return {*reader.seen, *new}


def each_right(rows: Iterator[Notification], folders: Folders) -> Iterator[str]:
    for each in rows:
        if folders.expected.get(each.id) != Told.of(each):
            raise Wrong(f"given {each}, instead of {folders.expected.get(each.id)}")
        yield each.id


def go_on(folder: Path, reader: Reader, folders: Folders) -> str:
    """Open the folder, publish, and read on; repair the outbox as its errors say. Return how it went; raises `Wrong`
    and, where the journal is damaged, `StorageFault`."""
    outcome = "nothing was lost"
    for removed in ((), OUTBOX[2:], OUTBOX):
        for name in removed:
            (folder / name).unlink(missing_ok=True)
            outcome = "matched again"
        try:
            with opened(folder) as engine:
                publish_more(engine)
                has = follow(engine.notifications, reader, folders)
                engine._journal.check()
                engine._outbox.check()
            break
        except StorageFault as fault:
            if "outbox.sqlite" not in fault.path:
                raise
            if "outbox.end" not in fault.hint or removed == OUTBOX:
                raise Wrong(f"{fault} does not say how to repair the outbox") from fault
    if has != folders.expected.keys():
        raise Wrong(f"lost: {folders.expected.keys() - has}")
    return outcome


def is_refused_by_check(folder: Path) -> bool:
    try:
        with Journal.read_only(folder) as journal, Outbox.read_only(folder) as outbox:
            journal.check()
            outbox.check()
    except StorageFault:
        return True
    return False


def run_trial(seed: int, number: int, folders: Folders, work: Path) -> Trial:
    dice = random.Random(f"{seed} {number}")
    base, reader = dice.choice(folders.last), dice.choice(folders.readers)
    change = damage_row if dice.random() < 0.5 else damage_file
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folders.last[0] if change is damage_row else base, work)
    what = f"{base.name}: {change(dice, work, dice.choice(folders.older))}, reader at {reader.cursor}"
    told_by_check = is_refused_by_check(shutil.copytree(work, work.with_name("checked"), dirs_exist_ok=True))
    shutil.rmtree(work.with_name("checked"))
    try:
        with suppress(StorageFault), Outbox.read_only(work) as outbox:
            follow(outbox.notifications, reader, folders)
        outcome = go_on(work, reader, folders)
    except StorageFault as fault:
        outcome = "refused by name" if fault.hint else "WRONG"
        return Trial(what, outcome, None if fault.hint else str(fault))
    except Exception as error:
        if told_by_check and any(f" {table} " in f"{what} " or f"{table}:" in what for table in HIDING):
            return Trial(what, "told by check() alone", None)
        return Trial(what, "WRONG", repr(error))
    return Trial(what, outcome, None)


def run_trials(seed: int, first: int, count: int, place: Path) -> Iterator[Trial]:
    folders = fill(place)
    for number in range(first, first + count):
        yield run_trial(seed, number, folders, place / "work")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.outbox_damage", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1_000, help="trials")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial, to replay one")
    arguments = parser.parse_args()
    outcomes: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="triplecast-outbox-", dir=memory_folder()) as place:
        trials = run_trials(arguments.seed, arguments.first, arguments.count, Path(place))
        for number, trial in enumerate(trials, arguments.first):
            outcomes[trial.outcome] += 1
            if trial.wrong is not None and outcomes["WRONG"] <= SHOWN:
                print(f"trial {number}: {trial.what}\n  {trial.wrong}", file=sys.stderr, flush=True)
    for outcome, count in sorted(outcomes.items()):
        print(f"{outcome:40} {count:8,}")
    print(json.dumps({"seed": arguments.seed, "trials": arguments.count, "wrong": outcomes["WRONG"]}))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if outcomes["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
