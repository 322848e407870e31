"""A deliverer in a process of its own, to be killed: ``python -m tests.unit.delivery.deliverer DIR``."""

from __future__ import annotations

import sys
import time

from triplecast.delivery.opening import open_delivery
from triplecast.delivery.runner import DeliveryRunner
from triplecast.delivery.sending import sender_of, ways_of
from triplecast.egress import Egress, EgressRules
from triplecast.model.operators import NO_OPERATORS

if __name__ == "__main__":
    ways = ways_of(Egress(EgressRules(private=True, ports=frozenset())).send, None, commands=True)
    with open_delivery(sys.argv[1], ways) as delivery:
        runner = DeliveryRunner(
            delivery.deliveries, sender_of(delivery.deliveries, ways, delivery.journal, lambda: NO_OPERATORS)
        )
        runner.start()
        print("started", flush=True)
        while runner.is_running:
            time.sleep(0.05)
