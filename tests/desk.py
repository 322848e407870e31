"""A folder that is open as a run has it, without Spark."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.journal import Journal
from triplecast.outbox import Outbox
from triplecast.registry.control import ControlServer
from triplecast.registry.registry import Registry
from triplecast.registry.requests import Requests
from triplecast.registry.upkeep import IndexUpkeep


class Desk:
    """A folder that is open as a run has it, with its control socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = Journal.open(folder)
        self.outbox = Outbox.open(folder, self.journal.check_writer, epoch=self.journal.epoch)
        self.upkeep = IndexUpkeep(
            IndexWriter(SegmentFolder(folder / INDEX, self.journal.sole)), self.journal, lambda: 0
        )
        self.registry = Registry(self.journal, self.upkeep, 2)
        self.server = ControlServer(folder, Requests(self.registry, self.journal, self.outbox).answer_line)
        self.journal.announce(str(self.server.address))

    def close(self) -> None:
        self.server.close()
        self.upkeep.close()
        self.outbox.close()
        self.journal.close()

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        client.connect(str(self.server.address))
        return client

    def ask(self, **request: object) -> dict[str, Any]:
        return self.send(json.dumps(request).encode() + b"\n")

    def send(self, line: bytes) -> dict[str, Any]:
        with closing(self.connect()) as client, client.makefile("rb") as answers:
            client.sendall(line)
            answer: dict[str, Any] = json.loads(answers.readline())
            return answer
