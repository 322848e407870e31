"""What happens while operators are asked: the disk fills, the folder is taken over, the call is interrupted. What was
decided before stands, nothing is told twice, and what waited is told by whoever writes next."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from triplecast import Engine, FolderLocked
from triplecast.errors import StorageFull
from triplecast.model.operators import OperatorSet
from triplecast.operators.asking.workers import Performed, Performer
from triplecast.operators.messages import PublicationCall
from triplecast.outbox import OutboxReader

assert wild_operators
P = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
QUERIES = {
    "cheap": "SELECT ?p { ?p :title ?t }",
    "asking": "SELECT (COUNT(?n) AS ?c) { ?p :title ?t . ?t w:pairs (?l ?n) }",
}


def publish(engine: Engine, number: int, letters: int = 5) -> None:
    title = "x" * letters
    engine.publish(f'<urn:p> <https://example.org/title> "{title}" .', "text/turtle", f"urn:d{number}")


def told(folder: Path) -> list[tuple[str, str]]:
    with OutboxReader.read_only(folder) as outbox:
        outbox.check()
        return [(each.subscription, each.publication) for each in outbox.notifications()]


class Disturbed(Performer):
    """Does something else first, once, after the operators have answered."""

    def __init__(self, disturb: Callable[[], None], operators: OperatorSet) -> None:
        super().__init__(operators)
        self._disturb: Callable[[], None] | None = disturb

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        performed = super().perform(asked)
        disturb, self._disturb = self._disturb, None
        if disturb is not None:
            disturb()
        return performed


def opened(folder: Path, disturb: Callable[[], None]) -> Engine:
    engine = Engine.open(folder)
    for name, text in QUERIES.items():
        engine.subscribe(P + text, id=name)
    engine._asker.performer = Disturbed(disturb, engine._operators)
    return engine


FIRST = [("cheap", "urn:d0")]
BOTH = [("cheap", "urn:d0"), ("asking", "urn:d0"), ("cheap", "urn:d1"), ("asking", "urn:d1")]


def test_an_interrupt_leaves_it_to_the_next_call(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with opened(tmp_path, interrupt) as engine:
        with pytest.raises(KeyboardInterrupt):
            publish(engine, 0)
        assert told(tmp_path) == FIRST
        publish(engine, 1)
        assert told(tmp_path) == BOTH


def test_a_successor_tells_what_the_one_before_was_asking(tmp_path: Path) -> None:
    asked, followed = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert followed.wait(60)

    old = opened(tmp_path, wait)
    with ThreadPoolExecutor(1) as thread:
        task = thread.submit(publish, old, 0)
        try:
            assert asked.wait(60)
            assert told(tmp_path) == FIRST
            with Engine.open(tmp_path, take_over=True) as new:
                assert told(tmp_path) == BOTH[:2]
                followed.set()
                with pytest.raises(FolderLocked):
                    task.result(60)
                publish(new, 1)
        finally:
            followed.set()
    old.close()
    assert told(tmp_path) == BOTH


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_disk_that_fills_while_answers_are_kept(tmp_path: Path) -> None:
    """Ballast is put there while the operator answers: some 10,000 rows do not fit any more."""
    with small_disk(tmp_path / "disk", "16m") as disk:
        ballast, folder = disk / "ballast", disk / "folder"

        def fill() -> None:
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(1 << 12)):
                    continue

        with opened(folder, fill) as engine:
            with pytest.raises(StorageFull):
                publish(engine, 0, 9_000)
            assert told(folder) == FIRST
            with pytest.raises(StorageFull):
                publish(engine, 1)
            ballast.unlink()
            publish(engine, 1)
            assert told(folder) == BOTH
            engine._journal.check()
