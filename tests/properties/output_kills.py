"""Kill -9 of a process that puts notifications at an address, while more are recorded between its lives.

``python -m tests.properties.output_kills N`` kills it N times: before a file is put, after, and at random moments,
among them in the middle of large files in several parts. What stands at the address is, at every time, whole files of
what the outbox has, each notification once; a file never changes. ``--seed`` replays the choices, not the moments.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.bucket import Bucket, running_bucket
from triplecast.engine import Engine
from triplecast.journal import Journal
from triplecast.model.operators import NO_OPERATORS
from triplecast.outbox import Definitions, Outbox
from triplecast.pipeline import output_files
from triplecast.pipeline.output_files import OutputFiles

POINTS = ("output.planned", "output.put", "a random moment")
SMALL, LARGE = 3_000, 24 << 20
"""Bytes of a file: of some lines, and of more than Arrow sends in one part."""


def put_all(folder: Path, address: str, most: int = SMALL) -> None:
    """Put all that the outbox has, in files of so many bytes."""
    output_files.FILE_BYTES, output_files.FILE_SECONDS = most, 0.0
    with Journal.open(folder) as journal, closing(OutputFiles(address, journal)) as files:
        while files.is_behind():
            files.look()


def record(folder: Path, documents: int, first: int = 0, text: str = "") -> None:
    """Versions of ten documents, each told to two subscriptions."""
    with Engine.open(folder) as engine:
        for name in () if first else ("one", "two"):
            engine.subscribe("SELECT * { ?s <http://e/number> ?n ; <http://e/text> ?t }", id=name, notify="every")
        for number in range(first, first + documents):
            graph = f"http://e/{number % 10}"
            engine.publish(f'<{graph}> <http://e/number> {number} ; <http://e/text> "{text}" .', "text/turtle", graph)


def recorded(folder: Path) -> list[str]:
    with Outbox.read_only(folder) as outbox, Journal.read_only(folder) as journal:
        found = outbox.json_lines(definitions=Definitions(journal.registrations, NO_OPERATORS))
        return [line for _, text in found for line in text.split("\n")[:-1]]


def stored(bucket: Bucket, below: str) -> dict[str, bytes]:
    """What is visible, by name and in its order, but for the mark."""
    found = {each.key: each.get()["Body"].read() for each in bucket.bucket.objects.filter(Prefix=f"{below}/")}
    return dict(sorted((name, content) for name, content in found.items() if "/_" not in name))


def check_files(files: dict[str, bytes], lines: list[str]) -> None:
    """Whether the files have, whole and in order, the first lines of the outbox."""
    reached = 0
    for name, content in files.items():
        first, last = map(int, re.findall(r"-([0-9]{15})", name))
        assert first == reached + 1, (name, reached)
        assert content.decode().split("\n")[:-1] == lines[first - 1 : last], name
        reached = last


def kill(folder: Path, address: str, point: str, number: random.Random, most: int) -> bool:
    """Whether a process was killed; another had put all before."""
    command = [sys.executable, "-m", "tests.properties.output_kills", "--put", str(folder), address, str(most)]
    armed = {} if point == POINTS[-1] else {"TRIPLECAST_CRASH": f"{point}:{number.randint(1, 3)}"}
    process = subprocess.Popen(command, env=os.environ | armed, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if not armed and process.stdout.readline():  # it begins now
        time.sleep(number.uniform(0.0, 0.3 if most == SMALL else 1.5))
        process.kill()
    code = process.wait(120)
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def run(folder: Path, bucket: Bucket, seed: int, times: int) -> Counter[str]:
    """Returns how often a process was killed where."""
    number, deaths, before = random.Random(seed), Counter[str](), dict[str, bytes]()
    address = bucket.address("out")
    record(folder, 40)
    for turn in range(times):
        point = POINTS[turn % len(POINTS)]
        most = LARGE if turn % 9 == 8 else SMALL
        record(folder, number.randint(5, 40), 100 * (turn + 1), "t" * 900_000 if most == LARGE else "")
        deaths[point] += kill(folder, address, point, number, most)
        files = stored(bucket, "out")
        check_files(files, recorded(folder))
        assert before.items() <= files.items(), "a file has changed, or is gone"
        before = files
    put_all(folder, address)
    files = stored(bucket, "out")
    check_files(files, lines := recorded(folder))
    assert sum(content.count(b"\n") for content in files.values()) == len(lines)
    return deaths


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.output_kills", description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=9)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--put", nargs=3, metavar=("FOLDER", "ADDRESS", "BYTES"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.put:
        print("begins", flush=True)
        put_all(Path(arguments.put[0]), arguments.put[1], int(arguments.put[2]))
        return 0
    print(f"seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as folder, running_bucket() as bucket:
        print(dict(run(Path(folder), bucket, arguments.seed, arguments.times)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
