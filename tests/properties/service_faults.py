"""`python -m tests.properties.service_faults N`: `triplecast serve` on a disk that fails, or is full, from a call on.

strace has the k-th sync or write fail, and all after it, or that one alone, for N values of k each. What was
acknowledged is there after a restart and was told once; what was not is answered 503 or 507, and the process lives.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.properties.service_kills import Served
from triplecast import Engine

FAULTS = (("fdatasync", "EIO"), ("fsync", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"))
DOCUMENTS = 40
QUERY = {"text": "SELECT ?o { <a:s> <a:p> ?o }", "id": "all", "lease": "forever", "notify": "every"}


def check_fault(folder: Path, call: str, error: str, when: str) -> Counter[int]:
    """How often each status was answered; 0: it did not start. Raises AssertionError."""
    served = Served(folder)
    with httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client:
        assert client.post("/subscriptions", json=QUERY).status_code == 201
    assert served.end(signal.SIGTERM) == 0
    statuses, acknowledged = Counter[int](), set[str]()
    try:
        served = Served(folder, under=("strace", "-f", "-qq", "--seccomp-bpf", "-o", f"{folder}.log", "-e",
                                       f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"))  # fmt: skip
    except AssertionError as ended:
        if "Traceback" in str(ended):
            raise
        statuses[0] += 1
    else:
        with httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client:
            for number in range(DOCUMENTS):
                headers = {"Content-Type": "text/turtle"} | (
                    {"Idempotency-Key": str(number)} if number % 4 == 0 else {}
                )
                put = client.put(f"/documents?graph=a:{number}", content=f"<a:s> <a:p> {number} .", headers=headers)
                statuses[put.status_code] += 1
                assert put.status_code in (201, 503, 507), put.text
                if put.status_code == 201:
                    acknowledged.add(f"a:{number}")
            assert client.get("/healthz").status_code == 200
        subprocess.run(["pkill", "-KILL", "-P", str(served.process.pid)], check=False)
        served.process.wait(30)
    with Engine.open(folder) as engine:
        told = Counter(each.publication for each in engine.notifications())
        assert max(told.values(), default=0) <= 1
        assert acknowledged <= told.keys(), (call, error, when, acknowledged - told.keys())
        for graph in acknowledged:
            assert engine.serving.document(graph) is not None
    return statuses


def check_faults(count: int) -> Iterator[str]:
    for number in range(1, count + 1):
        for call, error in FAULTS:
            for when in (str(number), f"{number}+"):
                with tempfile.TemporaryDirectory() as folder:
                    found = check_fault(Path(folder) / "folder", call, error, when)
                yield f"{call} {error} at {when}: {dict(sorted(found.items()))}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.service_faults")
    parser.add_argument("count", type=int, nargs="?", default=3)
    if shutil.which("strace") is None:
        sys.exit("strace is needed: apt-get install strace")
    for line in check_faults(parser.parse_args().count):
        print(line, flush=True)


if __name__ == "__main__":
    main()
