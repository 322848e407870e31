"""Count the packets that forbidden URLs cause: ``unshare -n python -m tests.unit.egress.packets``.

In the network namespace every address has a route, so a packet to any of them would be seen. It prints how many URLs
were sent to, the packets of these, and those of two allowed URLs, which show that packets are seen at all.
"""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import suppress

from tests.unit.egress.forms import forbidden
from triplecast.egress import Egress, EgressRules
from triplecast.errors import EgressFailed, EgressRefused

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


def main() -> None:
    for line in SETUP:
        subprocess.run(line.split(), check=True)
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    seen.setblocking(False)
    egress = Egress(resolve=lambda host, _: [host])
    urls = forbidden()
    packets(seen)
    for url in urls:
        with suppress(EgressRefused, EgressFailed):
            egress.send("GET", url, seconds=0.5)
    forbidden_packets = packets(seen)
    with suppress(EgressFailed):
        Egress(EgressRules(private=True)).send("GET", "http://127.0.0.1/")
        Egress().send("GET", "http://93.184.216.34/", seconds=0.2)
    print(json.dumps({"urls": len(urls), "forbidden": forbidden_packets, "allowed": packets(seen)}))


if __name__ == "__main__":
    main()
