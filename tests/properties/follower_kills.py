"""`python -m tests.properties.follower_kills N`: N kills -9 of a server, of what follows it, and of its replica.

`triplecast serve`, `follow` and `replicate` are processes of their own; documents are put and removed meanwhile. At the
end the replica has the provider's records and notifications, and the local repository what its subscriptions select.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.properties.replicas import QUERIES, E, differences, expected_of, held_by
from triplecast import Engine, LocalRepository
from triplecast.journal import JournalFile

TURTLE = {"Content-Type": "text/turtle"}
SUBSCRIPTIONS = {f"q{number}.rq": text for number, text in enumerate(QUERIES[:5])}


class Processes:
    """The three, each killed and started again."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        files = [str(folder / name) for name in SUBSCRIPTIONS]
        self.commands = {
            "serve": ["serve", str(folder / "provider"), "--port", str(port)],
            "follow": ["follow", self.url, "--into", str(folder / "local"), "--subscriptions", *files],
            "replicate": ["replicate", self.url, "--into", str(folder / "replica")],
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *more: str) -> None:
        command = [sys.executable, "-m", "triplecast", *self.commands[name], *more]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        self.running[name].send_signal(number)
        self.running.pop(name).wait(60)

    def finish(self, name: str) -> int:
        self.start(name, "--once")
        return self.running.pop(name).wait(300)

    def end(self) -> None:
        for each in self.running.values():
            each.kill()
            each.wait()


def put(client: httpx.Client, chance: random.Random) -> bool:
    """Change a document; whether that was acknowledged."""
    graph = {"graph": f"{E}d{chance.randrange(6)}"}
    nodes = [f"<{E}n{chance.randrange(9)}>" for _ in range(6)]
    text = f'{nodes[0]} a <{E}C0> ; <{E}p> {nodes[1]} . {nodes[2]} a <{E}C1> ; <{E}s1> {nodes[3]} ; <{E}name> "1" .'
    try:
        if chance.random() < 0.2:
            answer = client.delete("/documents", params=graph)
        else:
            answer = client.put("/documents", params=graph, content=text + f"{nodes[4]} <{E}p> [] .", headers=TURTLE)
    except httpx.TransportError:
        return False
    assert answer.status_code in (200, 201, 404), answer.text
    return True


def check_kills(n: int, number: int) -> Counter[str]:
    chance, seen = random.Random(f"followers {number}"), Counter[str]()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in SUBSCRIPTIONS.items():
            (folder / file).write_text(text)
        with Engine.open(folder / "provider") as engine:
            engine.load_schema(f"<{E}s1> <urn:triplecast:mdv:strong> true .", "text/turtle")
        processes = Processes(folder, port)
        try:
            for each in processes.commands:
                processes.start(each)
            with httpx.Client(base_url=processes.url, trust_env=False, timeout=60) as client:
                for _ in range(n):
                    began, done, least = time.monotonic(), 0, chance.choice((1, 10, 50))
                    while done < least or time.monotonic() < began + 0.3:
                        assert time.monotonic() < began + 120, (folder / "serve.log").read_text()
                        done += put(client, chance)
                        time.sleep(0.02)
                    seen["acknowledged"] += done
                    ended = chance.choice([*processes.commands])
                    processes.kill(ended)
                    seen[ended] += 1
                    time.sleep(chance.choice((0.0, 0.5)))
                    processes.start(ended)
                for each in ("follow", "replicate"):
                    processes.kill(each)
                until = time.monotonic() + 60
                while not put(client, chance) and time.monotonic() < until:
                    time.sleep(0.1)
            for each in ("follow", "replicate"):
                assert processes.finish(each) == 0, (folder / f"{each}.log").read_text()
            processes.kill("serve", signal.SIGTERM)
            check_ends(folder)
        finally:
            processes.end()
    return seen


def check_ends(folder: Path) -> None:
    provider, replica = folder / "provider", folder / "replica"
    with JournalFile.read_only(provider) as ours, JournalFile.read_only(replica) as theirs:
        head = ours.head()
        # a lease or a subscription of `follow --once` may have come after the replica's last look
        upto = theirs.head()
        assert theirs.records(0, upto, 1 << 40) == ours.records(0, upto, 1 << 40)
        assert not [each for each in ours.records(upto, head, 1 << 40) if each.row.kind == 1]
        theirs.check()
    with Engine.open(provider) as engine, Engine.open(replica) as copy:
        told = [{(n.id, n.position, n.json) for n in each.notifications()} for each in (engine, copy)]
    assert told[0] == told[1]
    with LocalRepository.open(folder / "local", provider) as repository:
        found, wanted = held_by(repository), expected_of(provider, SUBSCRIPTIONS)
        assert found == wanted, differences(found, wanted)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    seen = dict(check_kills(n, seed))
    print(f"{n} kills, seed {seed}: {seen}; replica and local repository are as they are to be")


if __name__ == "__main__":
    main()
