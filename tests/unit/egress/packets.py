"""Count the packets that forbidden URLs cause: ``unshare -n python -m tests.unit.egress.packets``.

In the network namespace every address has a route, so a packet to any of them would be seen. It prints for each door
how many URLs came to it and the packets of these, and the packets of two allowed URLs, which show that packets are seen
at all. The doors: requests themselves; targets of deliveries; sources; callbacks that a hub is to ask; contexts of
JSON-LD.
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from tests.unit.egress.forms import forbidden
from triplecast import Document, Engine
from triplecast.delivery.hub import Hub
from triplecast.delivery.opening import open_runner
from triplecast.delivery.sending import ways_of
from triplecast.delivery.target import WEBHOOK, Destination
from triplecast.egress import Egress, EgressRules, read_url
from triplecast.errors import EgressFailed, EgressRefused, InputError
from triplecast.sources import NewSource, Poller

SETUP = (
    "ip link set lo up",
    "ip link add wire type veth peer name end",
    "ip link set wire up",
    "ip link set end up",
    "ip address add 198.51.100.2/24 dev wire",
    "ip address add 2606:2800::2/64 dev wire nodad",
    "ip route add default dev wire",
    "ip -6 route add default dev wire",
)
IP = {0x0800, 0x86DD}


def packets(seen: socket.socket) -> int:
    """Those of IP since the last call, but what IPv6 says on its own (ICMP)."""
    found = 0
    with suppress(BlockingIOError):
        while True:
            data, address = seen.recvfrom(65536)
            is_own_icmp = address[1] == 0x86DD and data[14 + 6] in (0, 58)
            found += address[1] in IP and not is_own_icmp
    return found


def send(egress: Egress, urls: list[str]) -> int:
    for url in urls:
        with suppress(EgressRefused, EgressFailed):
            egress.send("GET", url, seconds=0.5)
    return len(urls)


def deliver(egress: Egress, urls: list[str]) -> int:
    """As if each that is a URL had been taken for a target once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(folder) as engine,
        open_runner(folder, egress, ways_of(egress.send, None, commands=False)) as (runner, requests),
    ):
        registration = requests.registration(engine.subscribe("SELECT * { ?s ?p ?o }").registration)
        refused = 0
        for url in urls:
            try:
                read_url(url)
            except EgressRefused:
                refused += 1
            else:
                requests.add_now(registration, Destination(WEBHOOK, url, "whsec_" + "c2VjcmV0" * 4), len(urls))
        engine.publish("<a:s> <a:p> <a:o> .", "text/turtle")
        runner.run_once()
        return refused + sum(each.attempts > 0 for each in requests.deliveries.targets())


def poll(egress: Egress, urls: list[str]) -> int:
    """Those that are no URL at all are refused before."""
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder) as engine:
        added = 0
        with closing(Poller(engine, Path(folder), egress.send)) as poller:
            for url in urls:
                with suppress(InputError, EgressRefused):
                    added += len(poller.sources.add([NewSource(url)], 0))
            poller.poll()
    return added


def call_back(egress: Egress, urls: list[str]) -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(folder) as engine,
        open_runner(folder, egress, {}) as (_, requests),
    ):
        registration = requests.registration(engine.subscribe("SELECT * { ?s ?p ?o }").registration)
        with closing(Hub(egress, requests, lambda topic: registration)) as hub:
            form = {"hub.mode": "subscribe", "hub.topic": "https://here.example/feed"}
            return sum(hub.request(form | {"hub.callback": url}).status in (202, 400) for url in urls)


def publish(egress: Egress, urls: list[str]) -> int:
    """Nothing may be asked for contexts, wherever they are."""
    texts = [json.dumps({"@context": url, "@id": "a:s", "a:p": "o"}) for url in urls]
    with Engine() as engine:
        receipts = engine.publish_many(Document("c.jsonld", text.encode()) for text in texts)
    return sum(bool(each.rejects) for each in receipts)


DOORS: tuple[Callable[[Egress, list[str]], int], ...] = (send, deliver, poll, call_back, publish)


def main() -> None:
    for line in SETUP:
        subprocess.run(line.split(), check=True)
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    seen.setblocking(False)
    egress, urls = Egress(resolve=lambda host, _: [host]), forbidden()
    packets(seen)
    counted = {each.__name__: (each(egress, urls), packets(seen)) for each in DOORS}
    with suppress(EgressFailed):
        Egress(EgressRules(private=True)).send("GET", "http://127.0.0.1/")
        Egress().send("GET", "http://93.184.216.34/", seconds=0.2)
    print(json.dumps({"doors": counted, "allowed": packets(seen)}))


if __name__ == "__main__":
    main()
