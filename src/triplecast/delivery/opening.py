"""The delivery of one folder, for its only deliverer, and requests to it from other processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from triplecast.delivery.attempt import Deliver
from triplecast.delivery.deliveries import Deliveries
from triplecast.delivery.requests import TargetRequests
from triplecast.delivery.runner import DeliveryRunner
from triplecast.delivery.sending import sender_of
from triplecast.delivery.store import FOLDER, TargetStore
from triplecast.delivery.target import KINDS
from triplecast.egress import Egress, read_url
from triplecast.errors import FolderLocked
from triplecast.journal import Clock, JournalFile, system_clock, time_text
from triplecast.journal.writer_lock import WriterLock
from triplecast.operators.operator_set import declared_operators
from triplecast.outbox import OutboxReader
from triplecast.registry.control import ControlServer
from triplecast.registry.control_client import Ask, connect, raising
from triplecast.storage_faults import make_folder


class Delivery(NamedTuple):
    """What is open of a folder that is delivered from."""

    deliveries: Deliveries
    requests: TargetRequests
    journal: JournalFile
    outbox: OutboxReader


@contextmanager
def open_delivery(
    folder: Path | str,
    kinds: Collection[str] = KINDS,
    check: Callable[[str], object] = read_url,
    clock: Clock = system_clock,
    answers: bool = True,
) -> Iterator[Delivery]:
    """The targets of a folder, which another process may be writing; `answers` requests of others meanwhile. `check` is
    as `TargetRequests` takes it. Raises `FolderLocked` where another delivers from it, and `StorageFault`."""
    place = Path(folder).absolute() / FOLDER
    make_folder(place)
    with ExitStack() as opened:
        lock = WriterLock(place, time_text(clock()))
        opened.callback(lock.close)
        store = opened.enter_context(closing(TargetStore.writer(place)))
        journal = opened.enter_context(closing(JournalFile.read_only(folder)))
        outbox = opened.enter_context(closing(OutboxReader.read_only(folder)))
        deliveries = Deliveries(store, outbox, journal, clock, random.random, kinds)
        requests = TargetRequests(deliveries, journal, outbox, clock, check=check)
        if answers:
            server = opened.enter_context(closing(ControlServer(place, requests.answer_line)))
            lock.announce(str(server.address))
        yield Delivery(deliveries, requests, journal, outbox)


@contextmanager
def open_runner(
    folder: Path | str, egress: Egress, ways: Mapping[str, Deliver]
) -> Iterator[tuple[DeliveryRunner, TargetRequests]]:
    """What delivers from a folder in some `ways`, by kind of target, to be started and stopped inside. Raises what
    `open_delivery` raises."""
    with open_delivery(folder, ways, egress.check) as delivery:
        journal, operators = delivery.journal, declared_operators()
        sender = sender_of(delivery.deliveries, ways, journal, lambda: operators.with_recorded(journal.operators()))
        yield DeliveryRunner(delivery.deliveries, sender), delivery.requests


@contextmanager
def open_targets(folder: Path) -> Iterator[Ask]:
    """A function that answers requests (`delivery.requests`) for the targets of `folder`: its live deliverer, or the
    folder where nobody delivers. Raises `FolderLocked` and `StorageFault`; an answer that says ``error`` is raised as
    `InputError`."""
    place = folder.absolute() / FOLDER
    with ExitStack() as opened:
        ask = connect(place, opened)
        if ask is None:
            try:
                delivery = opened.enter_context(open_delivery(folder, answers=False))
                ask = _answering(delivery.requests)
            except FolderLocked:
                ask = connect(place, opened)  # a deliverer may have started in between
                if ask is None:
                    raise
        yield raising(ask)


def _answering(requests: TargetRequests) -> Ask:
    def ask(request: Mapping[str, object]) -> dict[str, object]:
        return requests.answer(request)

    return ask
