"""Delivery from the folder of a service, for as long as it serves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triplecast.delivery.opening import open_delivery
from triplecast.delivery.requests import TargetRequests
from triplecast.delivery.runner import DeliveryRunner
from triplecast.delivery.sending import sender_of, ways_of
from triplecast.egress import Egress
from triplecast.operators.operator_set import declared_operators
from triplecast.service.settings import ServiceSettings


@contextmanager
def deliver_from(folder: Path, settings: ServiceSettings) -> Iterator[TargetRequests]:
    """Raises `FolderLocked` where another process delivers from the folder, and `StorageFault`; at the end what ended
    delivery before."""
    egress = Egress(settings.egress)
    ways = ways_of(egress.send, settings.mail, commands=True)
    with open_delivery(folder, ways, egress.check) as delivery:
        journal, operators = delivery.journal, declared_operators()
        sender = sender_of(delivery.deliveries, ways, journal, lambda: operators.with_recorded(journal.operators()))
        runner = DeliveryRunner(delivery.deliveries, sender)
        runner.start()
        try:
            yield delivery.requests
        finally:
            runner.stop()
