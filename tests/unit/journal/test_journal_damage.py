"""Flipped bits, torn files and full disks: told, never answered from, nothing acknowledged that is not there."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from journal_samples import draft

from triplecast.errors import StorageFault, StorageFull
from triplecast.journal import FileState, Journal
from triplecast.journal.record import checksum
from triplecast.model.publication import Reject
from triplecast.model.subscription import Subscription


def fill(folder: Path) -> None:
    with Journal.open(folder) as journal:
        journal.commit_documents(
            [draft(f"d{i}", "x" * 50 * i) for i in range(8)],
            [Reject("a", "parse", "reason", "hint", 1, 2)],
            {"a.ttl": FileState(1, 2, b"12", "accepted")},
        )
        journal.subscribe([Subscription("a", "ASK {}"), Subscription("b", "ASK {}")])
        journal.cancel([10])
        journal.remove(draft("d3", "").graph)


def check(folder: Path) -> None:
    with Journal.read_only(folder) as journal:
        journal.check()


def read_all(folder: Path) -> tuple[object, ...]:
    check(folder)
    with Journal.read_only(folder) as journal:
        changes = journal.registry_changes(0, 99)
        return (journal.publications(0, 99), changes, journal.rejects(), journal.sources(), journal.registration(10))


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("record", "body", "body || x'00'"),
        ("record", "name", "name || 'x'"),
        ("record", "number", "number + 1"),
        ("record", "kind", "3 - kind"),
        ("record", "written_at", "written_at + 1"),
        ("record", "flags", "flags + 4"),
        ("record", "digest", "x'00'"),
        ("record", "crc", "crc + 1"),
        ("record", "body", "'text'"),
        ("record", "position", "position + 100"),
        ("document", "version", "version + 1"),
        ("document", "digest", "x'00'"),
        ("live", "registration", "registration + 1"),
        ("ended", "position", "position + 1"),
        ("file", "mtime_ns", "mtime_ns + 1"),
        ("file", "outcome", "'rejected'"),
    ],
)
def test_every_changed_column_is_noticed(tmp_path: Path, table: str, column: str, value: str) -> None:
    fill(tmp_path)
    read_all(tmp_path)
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        raw.execute(f"UPDATE {table} SET {column} = {value} WHERE {_first(table)}")
    raw.close()
    with pytest.raises(StorageFault, match=r"damaged|contradict|missing"):
        check(tmp_path)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM record WHERE position = 1", "record 1 is missing"),
        ("DELETE FROM record WHERE position = 9", "record 9 is missing"),
        ("DELETE FROM record WHERE position = 13", "contradict.*d3"),
        ("DELETE FROM record WHERE position > 11", "contradict.*d3"),
        ("DELETE FROM document WHERE version = 1 AND position = 2", "contradict.*d1"),
        ("DELETE FROM live", "contradict.*subscription b"),
        ("DELETE FROM ended", "contradict.*cancellation of 10"),
        ("UPDATE writer SET written_at = 0", "not the one written last"),
    ],
)
def test_what_is_missing_is_noticed(tmp_path: Path, statement: str, told: str) -> None:
    fill(tmp_path)
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        assert raw.execute(statement).rowcount > 0
    raw.close()
    with pytest.raises(StorageFault, match=told):
        check(tmp_path)


@pytest.mark.parametrize(
    ("table", "values", "text", "numbers"),
    [
        ("document", "digest = x'00'", "https://example.org/d2", (1, 3, "at")),
        ("document", "written_at = 5", "https://example.org/d2", (1, 3, 5)),
        ("live", "registration = 10", "b", (10,)),
        ("ended", "position = 11", "", (10, 11)),
    ],
)
def test_an_entry_that_is_sound_but_says_another_thing_is_noticed(
    tmp_path: Path, table: str, values: str, text: str, numbers: tuple[int | str, ...]
) -> None:
    """As an older page would be: its checksum is right, it is not what the records say."""
    fill(tmp_path)
    where = {"document": f"graph = '{text}'", "live": "name = 'b'", "ended": "registration = 10"}[table]
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        raw.execute(f"UPDATE {table} SET {values} WHERE {where}")
        blobs = ()
        if table == "document":
            ((at, digest),) = raw.execute(f"SELECT written_at, digest FROM document WHERE {where}")
            numbers, blobs = (*numbers[:2], at), (digest,)
        raw.execute(f"UPDATE {table} SET crc = {checksum(text, numbers, *blobs)} WHERE {where}")
    raw.close()
    with pytest.raises(StorageFault, match="contradict"):
        check(tmp_path)


def test_a_check_sees_one_state_while_the_writer_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path)
    with Journal.open(tmp_path) as writer, Journal.read_only(tmp_path) as follower:
        each = follower._database.each

        def disturbed(*asked: object) -> Iterator[tuple[object, ...]]:
            yield from each(*asked)
            writer.accept([draft(f"new-{writer.head()}", "x")])

        monkeypatch.setattr(follower._database, "each", disturbed)
        follower.check()
        assert writer.head() > 13


def _first(table: str) -> str:
    return {
        "record": "position = 8",
        "document": "version = 1",
        "live": "name = 'b'",
        "ended": "registration = 10",
        "file": "path = 'a.ttl'",
    }[table]


def test_a_flipped_byte_is_told_or_does_not_matter(tmp_path: Path, seed: int) -> None:
    fill(tmp_path / "sound")
    truth = read_all(tmp_path / "sound")
    whole = (tmp_path / "sound" / "journal.sqlite").read_bytes()
    dice = random.Random(seed)
    told = 0
    for trial in range(150):
        damaged = bytearray(whole)
        damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        folder = tmp_path / f"trial{trial}"
        folder.mkdir()
        (folder / "journal.sqlite").write_bytes(damaged)
        try:
            assert read_all(folder) == truth
        except StorageFault:
            told += 1
        shutil.rmtree(folder)
    assert told > 0


def test_a_row_that_a_writer_needs_and_misses_is_told(tmp_path: Path) -> None:
    fill(tmp_path)
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        raw.execute("DELETE FROM writer")
    raw.close()
    with pytest.raises(StorageFault, match="0 rows where one belongs"):
        Journal.open(tmp_path)


def test_a_truncated_file_is_told(tmp_path: Path) -> None:
    fill(tmp_path)
    path = tmp_path / "journal.sqlite"
    whole = path.read_bytes()
    for size in (100, 8192, len(whole) // 2, len(whole) - 8192):
        path.write_bytes(whole[:size])
        with pytest.raises(StorageFault):
            read_all(tmp_path)


def test_a_full_disk_acknowledges_nothing_and_then_goes_on(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.accept([draft("first", "x")])
        ((pages,),) = journal._database.ask("PRAGMA page_count")
        journal._database.ask(f"PRAGMA max_page_count={pages + 2}")
        big = [draft(f"d{i}", "x" * 5_000) for i in range(20)]
        with pytest.raises(StorageFull, match="free disk space"):
            journal.accept(big)
        with pytest.raises(StorageFull):
            journal.subscribe([Subscription(f"s{i}", random.Random(i).randbytes(6_000).hex()) for i in range(20)])
        assert journal.head() == 1
        assert journal.live_registrations() == []
        journal._database.ask("PRAGMA max_page_count=1073741823")
        assert [a.position for a in journal.accept(big)] == list(range(2, 22))
        journal.check()


FILL_A_SMALL_DISK = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from journal_samples import draft
from triplecast.errors import StorageFull
from triplecast.journal import Journal
folder = Path(sys.argv[1])
journal = Journal.open(folder / "journal")
ballast = folder / "ballast"
ballast.write_bytes(b"x" * 12_000_000)
told = 0
while not told:
    try:
        journal.accept([draft(f"{journal.head()}-{i}", "x" * 3_000) for i in range(20)])
    except StorageFull:
        told += 1
head = journal.head()
assert head and head % 20 == 0, head
ballast.unlink()
assert len(journal.accept([draft(f"after-{i}", "x" * 3_000) for i in range(20)])) == 20
journal.close()
with Journal.open(folder / "journal") as again:
    again.check()
    assert again.head() == head + 20
print("went on")
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare makes the small disk of this test")
def test_a_really_full_disk(tmp_path: Path) -> None:
    script = tmp_path / "fill.py"
    script.write_text(FILL_A_SMALL_DISK)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = 'mount -t tmpfs -o size=20m tmpfs "$1" || exit 77; exec "$2" "$3" "$1" "$4"'
    ended = subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            mount,
            "sh",
            str(disk),
            sys.executable,
            str(script),
            str(Path(__file__).parent),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if ended.returncode == 77 or "unshare" in ended.stderr:
        pytest.skip("only root may mount the small disk of this test")
    assert ended.stdout == "went on\n", ended.stderr


REACH_A_LIMIT = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from journal_samples import draft
from triplecast.errors import StorageFault
from triplecast.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
told = []
for room in map(int, sys.argv[3:]):
    journal = Journal.open(Path(sys.argv[1]) / str(room))
    size = (Path(sys.argv[1]) / str(room) / "journal.sqlite-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    try:
        journal.accept([draft("d", "x" * 200_000)])
    except StorageFault as fault:
        told.append(type(fault).__name__)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.accept([draft("d", "x" * 200_000)])
    journal.check()
    journal.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    Journal.open(Path(sys.argv[1]) / "none")
except StorageFault as fault:
    told.append(type(fault).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(*told)
"""


def test_a_limit_of_file_sizes_is_no_space(tmp_path: Path) -> None:
    script = tmp_path / "limit.py"
    script.write_text(REACH_A_LIMIT)
    rooms = ["0", "1000", "20000", "150000"]
    run = [sys.executable, str(script), str(tmp_path), str(Path(__file__).parent), *rooms]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert ended.stdout.split() == ["StorageFull"] * (len(rooms) + 1), ended.stderr


FAIL_A_SYNC = """
import sys
sys.path.insert(0, sys.argv[2])
from journal_samples import draft
from triplecast.errors import StorageFault
from triplecast.journal import Journal
journal = Journal.open(sys.argv[1])
acknowledged = 0
for i in range(50):
    try:
        journal.accept([draft(f"d{i}", "x")])
        acknowledged += 1
    except StorageFault as fault:
        print(acknowledged, i, type(fault).__name__, fault.hint)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace fails the system call of this test")
def test_after_a_failed_sync_nothing_is_acknowledged_until_a_restart(tmp_path: Path) -> None:
    script = tmp_path / "sync.py"
    script.write_text(FAIL_A_SYNC)
    trace = ["strace", "-f", "-o", str(tmp_path / "trace"), "-e", "trace=fdatasync"]
    fail = ["-e", "inject=fdatasync:error=EIO:when=10"]
    run = [sys.executable, str(script), str(tmp_path / "journal"), str(Path(__file__).parent)]
    ended = subprocess.run([*trace, *fail, *run], capture_output=True, text=True, timeout=60)
    told = ended.stdout.splitlines()
    if not told and "ptrace" in ended.stderr:
        pytest.skip("this machine does not let strace trace")
    acknowledged = int(told[0].split()[0])
    assert told == [
        f"{acknowledged} {i} StorageFault check the disk, then start again" for i in range(acknowledged, 50)
    ]
    with Journal.open(tmp_path / "journal") as journal:
        journal.check()
        assert journal.head() >= acknowledged > 0


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows the system calls of this test")
def test_a_sync_stands_before_every_acknowledgement(tmp_path: Path) -> None:
    script = tmp_path / "sync.py"
    script.write_text(FAIL_A_SYNC.replace("acknowledged += 1", "print('acknowledged', flush=True)"))
    trace = ["strace", "-f", "-o", str(tmp_path / "trace"), "-e", "trace=fdatasync,fsync,write,pwrite64", "-y"]
    run = [sys.executable, str(script), str(tmp_path / "journal"), str(Path(__file__).parent)]
    ended = subprocess.run([*trace, *run], capture_output=True, text=True, timeout=60)
    if not ended.stdout and "ptrace" in ended.stderr:
        pytest.skip("this machine does not let strace trace")
    acknowledged = 0
    unsynced = False
    for line in (tmp_path / "trace").read_text().splitlines():
        if "journal.sqlite-wal" in line:
            unsynced = "pwrite64(" in line
        if "acknowledged" in line:
            acknowledged += 1
            assert not unsynced, f"acknowledgement {acknowledged} came before its sync"
    assert acknowledged == 50
