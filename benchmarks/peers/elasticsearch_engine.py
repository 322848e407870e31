"""``python -m benchmarks.peers.elasticsearch_engine JAVA FOLDER``: Elasticsearch's percolator as a server, over HTTP.

`java/Percolator.java` is the node, on this machine and of one core; JAVA is its command as JSON. A publication is JSON
with its tokens in one field, a subscription a query with three filters on it. Subscriptions are durable, results are
ids.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.costs import descendants
from benchmarks.peers.protocol import Greeting, resident_bytes, serve
from benchmarks.peers.workload import read_given

_AT_ONCE = 5_000
_MOST = 10_000
"""Of results, which the server allows."""


class Elasticsearch:
    def __init__(self, command: list[str], folder: Path) -> None:
        given = read_given(folder)
        rows = [[f"{name}:{value}" for name, value in row] for row in given.publications.tolist()]
        self._publications = [json.dumps({"token": row}).encode() for row in rows]
        home = tempfile.mkdtemp(dir=folder)
        self._node = subprocess.Popen([*command, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._node.stdout is not None
        port = next(int(line.split()[1]) for line in self._node.stdout if line.startswith("port "))
        self._connection = HTTPConnection("127.0.0.1", port)
        before, start = self._resident(), time.perf_counter()
        kinds = {"query": {"type": "percolator"}, "token": {"type": "keyword"}}
        settings = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
        self._ask("PUT", "/w", {"settings": settings, "mappings": {"_source": {"enabled": False}, "properties": kinds}})
        stars = given.subscriptions.tolist()
        for first in range(0, len(stars), _AT_ONCE):
            lines = []
            for number, star in enumerate(stars[first : first + _AT_ONCE], first):
                terms = [{"term": {"token": f"{name}:{value}"}} for name, value in star]
                lines += [{"index": {"_id": str(number)}}, {"query": {"bool": {"filter": terms}}}]
            body = "".join(json.dumps(line) + "\n" for line in lines).encode()
            if self._send("POST", "/w/_bulk", body)["errors"]:
                raise RuntimeError("Elasticsearch refused a subscription")
        self._ask("POST", "/w/_forcemerge?max_num_segments=1", None)
        self._ask("POST", "/w/_refresh", None)
        seconds = time.perf_counter() - start
        version = self._ask("GET", "/", None)["version"]["number"]
        told = f"Elasticsearch {version}"
        self.greeting = Greeting(told, len(stars), seconds, self._resident() - before)

    def prepare(self, first: int, count: int) -> None:
        """Nothing: publications come as bytes."""

    def match(self, first: int, count: int, way: str) -> tuple[list[int], list[int]]:
        publications: list[int] = []
        subscriptions: list[int] = []
        head = b'{"size":%d,"query":{"constant_score":{"filter":{"percolate":{"field":"query","document":' % _MOST
        for publication in range(first, first + count):
            body = head + self._publications[publication] + b"}}}}}"
            found = self._send("POST", "/w/_search?filter_path=hits.hits._id", body)
            numbers = [int(hit["_id"]) for hit in found.get("hits", {}).get("hits", ())]
            publications += [publication] * len(numbers)
            subscriptions += numbers
        return publications, subscriptions

    def _ask(self, method: str, path: str, body: object) -> Any:
        return self._send(method, path, b"" if body is None else json.dumps(body).encode())

    def _send(self, method: str, path: str, body: bytes) -> Any:
        kind = "application/x-ndjson" if path.endswith("_bulk") else "application/json"
        self._connection.request(method, path, body, {"Content-Type": kind} if body else {})
        answer = self._connection.getresponse()
        told = json.loads(answer.read())
        if answer.status >= 300:
            raise RuntimeError(f"Elasticsearch answered {answer.status}: {told}")
        return told

    def _resident(self) -> int:
        return sum(map(resident_bytes, [os.getpid(), *descendants()]))


if __name__ == "__main__":
    serve(Elasticsearch(json.loads(sys.argv[1]), Path(sys.argv[2])))
