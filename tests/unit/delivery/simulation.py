"""Delivery in simulated time: receivers that fail in all ways, crashes, cancels, replays, against what must arrive.

``python -m tests.unit.delivery.simulation N [SEED]`` runs N histories; each failure names the seed that repeats it.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import triplecast
from triplecast.delivery.attempt import DELIVERED, REFUSED, Attempt
from triplecast.delivery.deliveries import Deliveries
from triplecast.delivery.requests import TargetRequests
from triplecast.delivery.sending import sender_of, ways_of
from triplecast.delivery.store import FOLDER, TargetStore
from triplecast.egress import HttpAnswer
from triplecast.errors import EgressFailed
from triplecast.journal import JournalFile
from triplecast.model.operators import NO_OPERATORS
from triplecast.outbox import OutboxReader

SECOND = 1_000_000
SUBSCRIPTIONS = 4
TARGETS_EACH = 2
TITLE = "<http://purl.org/dc/elements/1.1/title>"
MODES = ("ok", "ok", "ok", "500", "302", "429", "silent", "deaf", "410")


class World:
    """One folder, its engine, its receivers, and the deliverer, which crashes and starts again."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.now = 1_700_000_000 * SECOND
        self.folder = folder
        self.engine = triplecast.Engine.open(folder, clock=lambda: self.now)
        self.tickets = {}
        for number in range(SUBSCRIPTIONS):
            text = f'SELECT ?x {{ ?x {TITLE} ?t ; <urn:p> "{number}" }}'
            subscribed = self.engine.subscribe(text, id=f"s{number}", lease=triplecast.FOREVER, notify="every")
            self.tickets[f"s{number}"] = subscribed.ticket
        self.mode: dict[str, str] = {}
        self.got: dict[str, list[str]] = defaultdict(list)
        """Ids that a receiver has taken, in order, by URL."""
        self.lost: Counter[str] = Counter()
        """How often a receiver may have got something again: its answer was lost, or the deliverer crashed."""
        self.cancelled: set[str] = set()
        self.letters: set[tuple[str, str]] = set()
        """URL and id of what has been a dead letter."""
        self.published = 0
        self.unrest = chance.choice((0.1, 0.5, 2.0))
        """How often anything changes; a receiver that fails for long makes dead letters."""
        self.flying: list[Attempt] = []
        self.opened = ExitStack()
        self.start()
        self.requests.deliveries.read()
        for number in range(SUBSCRIPTIONS):
            for copy in range(TARGETS_EACH):
                url = f"http://r{number}{copy}.example/{number}"
                self.ask("add", subscription=f"s{number}", delivery={"webhook": url})
                self.mode[url] = "ok"

    def start(self) -> None:
        (self.folder / FOLDER).mkdir(exist_ok=True)
        self.store = self.opened.enter_context(closing(TargetStore.writer(self.folder / FOLDER)))
        journal = self.opened.enter_context(closing(JournalFile.read_only(self.folder)))
        outbox = self.opened.enter_context(closing(OutboxReader.read_only(self.folder)))
        self.deliveries = Deliveries(self.store, outbox, journal, lambda: self.now, self.chance.random)
        self.requests = TargetRequests(self.deliveries, journal, outbox, lambda: self.now, self.chance.randbytes)
        self.deliver = sender_of(self.deliveries, ways_of(self.send, None, False), journal, lambda: NO_OPERATORS)
        self.outbox = outbox

    def ask(self, request: str, **fields: object) -> dict[str, object]:
        answer = self.requests.answer({"request": request, **fields})
        assert "error" not in answer, answer
        return answer

    def send(
        self, method: str, url: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None, **_: object
    ):
        (id,) = [value for name, value in headers if name == "webhook-id"]
        name = f"s{url.rpartition('/')[2]}"
        assert name not in self.cancelled, f"{url} is sent {id} after its subscription was cancelled"
        mode = self.mode[url]
        if mode in ("ok", "deaf"):
            self.got[url].append(id)
        if mode == "deaf":
            self.lost[url] += 1
        if mode in ("deaf", "silent"):
            raise EgressFailed(url, "no answer")
        status = 200 if mode == "ok" else int(mode)
        asked = (("retry-after", str(self.chance.randrange(1, 5_000))),) if self.chance.random() < 0.5 else ()
        return HttpAnswer(status, asked, b"", False)

    # ---- what happens -----------------------------------------------------------------------------------------------

    def publish(self) -> None:
        for _ in range(self.chance.randrange(1, 6)):
            self.published += 1
            which = self.chance.randrange(SUBSCRIPTIONS)
            text = f'<urn:d> {TITLE} "{self.published}" ; <urn:p> "{which}" .'
            self.engine.publish(text, media_type="text/turtle", graph=f"urn:g{self.chance.randrange(8)}")

    def advance(self) -> None:
        due = self.deliveries.next_due()
        if due is not None and self.chance.random() < 0.8:
            self.now = max(self.now, due)
        else:
            self.now += int(SECOND * 10 ** self.chance.uniform(-1, 4.7))

    def attempt(self) -> None:
        self.deliveries.read()
        self.flying += self.deliveries.due()
        self.chance.shuffle(self.flying)
        for attempt in self.flying[: self.chance.randrange(1, 5)]:
            self.settle(attempt)
        if self.chance.random() < 0.5:
            self.deliveries.flush()

    def settle(self, attempt: Attempt) -> None:
        self.flying.remove(attempt)
        outcome = self.deliver(attempt)
        self.deliveries.settle(attempt, outcome)
        for target in self.deliveries.targets(attempt.target.subscription):
            passed = target.id == attempt.target.id and target.sequence >= attempt.notifications[-1].sequence
            if passed and outcome.word not in (DELIVERED, REFUSED):
                self.letters |= {(target.address, each.id) for each in attempt.notifications}

    def crash(self) -> None:
        for target in self.deliveries.targets():
            self.lost[target.address] += 100
        self.flying.clear()
        self.opened.close()
        self.start()

    def set_mode(self) -> None:
        self.mode[self.chance.choice([*self.mode])] = self.chance.choice(MODES)

    def mend(self) -> None:
        for target in self.deliveries.targets():
            if self.chance.random() < 0.5:
                self.ask("enable", target=target.id)
                self.ask("replay", target=target.id)

    def cancel(self) -> None:
        name = f"s{self.chance.randrange(SUBSCRIPTIONS)}"
        if name not in self.cancelled and len(self.cancelled) < SUBSCRIPTIONS - 2:
            self.engine.unsubscribe(name, ticket=self.tickets[name])
            self.cancelled.add(name)

    def step(self) -> None:
        acts = (self.publish, self.advance, self.attempt, self.crash, self.set_mode, self.mend, self.cancel)
        (act,) = self.chance.choices(acts, (self.unrest * 2, 8, 20, 0.3, self.unrest / 2, self.unrest / 10, 0.05))
        act()

    # ---- what must be so in the end ---------------------------------------------------------------------------------

    def settle_all(self) -> None:
        self.mode = dict.fromkeys(self.mode, "ok")
        for _ in range(2_000):
            for attempt in [*self.flying]:
                self.settle(attempt)
            for target in self.deliveries.targets():
                if target.disabled:
                    self.ask("enable", target=target.id)
                self.ask("replay", target=target.id)
            is_behind = self.deliveries.read()
            self.flying += self.deliveries.due()
            due = self.deliveries.next_due()
            if not self.flying and due is None and not is_behind and not self.deliveries.is_behind:
                break
            self.now = max(self.now, due or 0) + SECOND
        else:
            raise AssertionError("it does not come to an end")
        self.deliveries.flush()

    def check(self) -> None:
        expected: dict[str, list[str]] = defaultdict(list)
        for each in self.outbox.notifications():
            expected[each.subscription].append(each.id)
        for url in self.mode:
            name = f"s{url.rpartition('/')[2]}"
            got, all_of = self.got[url], expected[name]
            assert {*got} <= {*all_of}, f"{url} got what is not its own"
            in_order = [id for id in dict.fromkeys(got) if (url, id) not in self.letters]
            wanted = [id for id in all_of if (url, id) not in self.letters]
            if name in self.cancelled:
                assert in_order == wanted[: len(in_order)], f"{url} got {in_order} of {wanted}"
            else:
                assert {*got} == {*all_of}, f"{url} lacks { ({*all_of} - {*got}) }"
                assert in_order == wanted, f"{url} got {in_order}, not {wanted}"
            again = sum(count - 1 for count in Counter(got).values())
            assert again <= self.lost[url], f"{url} got {again} again"
        names = [target.subscription for target in self.deliveries.targets()]
        assert len(names) == TARGETS_EACH * (SUBSCRIPTIONS - len({*names} & self.cancelled)) or self.cancelled

    def close(self) -> None:
        self.opened.close()
        self.engine.close()


def run_history(seed: int, steps: int = 250) -> World:
    """Raises AssertionError with the seed."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), random.Random(seed))
        try:
            for _ in range(steps):
                world.step()
            world.settle_all()
            world.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        finally:
            world.close()
    return world


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    total: Counter[str] = Counter()
    for seed in range(first, first + int(sys.argv[1])):
        done = run_history(seed)
        total += Counter(histories=1, received=sum(map(len, done.got.values())), letters=len(done.letters))
        total += Counter(cancelled=len(done.cancelled), published=done.published)
        print(dict(total), end="\r", flush=True)
    print()
