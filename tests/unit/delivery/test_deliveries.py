"""Order, retries, dead letters, and what ends a delivery, in stepped time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest
from standardwebhooks import Webhook

import triplecast
from tests.unit.delivery.folders import HOOK, QUERY, SECOND, Folder, answer
from tests.unit.delivery.simulation import run_history
from triplecast.delivery import deliveries, reading
from triplecast.delivery.live import Live
from triplecast.delivery.retrying import ATTEMPTS, WAITS, wait_after
from triplecast.egress import HttpAnswer, read_retry_after
from triplecast.errors import EgressFailed, EgressRefused
from triplecast.outbox import Cursor, Notification, OutboxReader


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    opened = Folder(tmp_path / "folder")
    opened.deliveries.read()
    yield opened
    opened.close()


def titles(folder: Folder) -> list[str]:
    said = [json.loads(body)["data"] for _, _, body in folder.sent]
    return [each["answer"]["results"]["bindings"][0]["t"]["value"] for each in said]


@pytest.mark.parametrize("number", range(5))
def test_random_histories_deliver_everything_in_order_and_nothing_after_a_cancel(seed: int, number: int) -> None:
    run_history(seed + number)


def test_requests_are_those_of_standard_webhooks(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    made = folder.ask("add", subscription="q", delivery={"webhook": HOOK})
    folder.publish("x")
    assert folder.go() == 1
    ((url, headers, body),) = folder.sent
    (recorded,) = folder.engine.notifications(0)
    monkeypatch.setattr("standardwebhooks.webhooks.datetime", _Clock(folder.now))
    assert Webhook(made["secret"]).verify(body.decode(), headers)["data"]["id"] == recorded.id
    assert (url, headers["webhook-id"], headers["Content-Type"]) == (HOOK, recorded.id, "application/json")
    said = json.loads(body)
    assert (said["type"], said["timestamp"]) == ("triplecast.match.added", recorded.accepted_at)
    assert said["data"] == json.loads("".join(line for _, line in folder.outbox.json_lines(definitions=_of(folder))))
    assert "secret" not in folder.target()


def _of(folder: Folder):
    from triplecast.model.operators import NO_OPERATORS
    from triplecast.outbox import Definitions

    return Definitions(folder.journal.registrations, NO_OPERATORS)


class _Clock:
    """Stands for `datetime.datetime` in the verifier."""

    def __init__(self, now: int) -> None:
        from datetime import UTC, datetime

        self._now = datetime.fromtimestamp(now / SECOND, UTC)
        self.fromtimestamp = datetime.fromtimestamp

    def now(self, **_: object) -> object:
        return self._now


def test_only_what_comes_later_is_delivered_unless_all_is_asked_for(folder: Folder) -> None:
    folder.publish("before")
    folder.add()
    folder.publish("after")
    folder.go_until_quiet()
    assert titles(folder) == ["after"]
    folder.add("https://other.example/", since="start")
    folder.go_until_quiet()
    assert titles(folder) == ["after", "before", "after"]


def test_what_was_delivered_is_not_delivered_again_after_a_restart(folder: Folder) -> None:
    folder.add()
    for number in range(3):
        folder.publish(str(number))
        folder.go_until_quiet()
        folder.start()
        assert folder.go_until_quiet() == 0
    assert titles(folder) == ["0", "1", "2"]


def test_one_in_vain_is_tried_ten_times_in_75_hours_and_holds_the_others_up(folder: Folder) -> None:
    id = folder.add()
    for title in ("one", "two"):
        folder.publish(title)
    folder.reply = lambda: answer(500)
    begun, times = folder.now, []
    for _ in range(ATTEMPTS):
        assert folder.go() == 1
        times.append((folder.now - begun) // SECOND)
        folder.now = folder.deliveries.next_due() or 0
    assert times == [sum(WAITS[:count]) for count in range(ATTEMPTS)]
    assert 74 * 3600 < times[-1] < 77 * 3600
    assert {*titles(folder)} == {"one"}
    assert len({headers["webhook-id"] for _, headers, _ in folder.sent}) == 1
    (letter,) = folder.ask("dead", target=id)["dead"]
    assert (letter["attempts"], letter["reason"]) == (ATTEMPTS, "it answered 500")
    folder.reply = lambda: answer(200)
    folder.go_until_quiet()
    assert titles(folder)[ATTEMPTS:] == ["two"]
    assert folder.ask("replay", target=id) == {"replayed": 1}
    folder.start()  # what is to be replayed survives
    folder.go_until_quiet()
    assert titles(folder)[ATTEMPTS:] == ["two", "one"]
    assert folder.ask("dead")["dead"] == []
    assert folder.target()["delivered"] == 2


def test_what_was_to_be_replayed_as_a_target_was_disabled_can_be_replayed_again(folder: Folder) -> None:
    id = folder.add()
    for number, title in enumerate(("one", "two"), 1):
        folder.publish(title)
        folder.reply = lambda: answer(500)
        while len(folder.ask("dead")["dead"]) < number:
            folder.go()
            folder.now = folder.deliveries.next_due() or folder.now
        folder.reply = lambda: answer(200)
        folder.publish("between")
        folder.go_until_quiet()
    assert [each["again"] for each in folder.ask("dead")["dead"]] == [False, False]
    folder.ask("replay", target=id)
    folder.reply = lambda: answer(410)
    folder.go()
    assert folder.target()["disabled"]
    assert [each["again"] for each in folder.ask("dead")["dead"]] == [False, False]
    sent = len(folder.sent)
    folder.reply = lambda: answer(200)
    folder.ask("enable", target=id)
    assert folder.ask("replay", target=id) == {"replayed": 2}
    folder.go_until_quiet()
    assert titles(folder)[sent:] == ["one", "two"]
    assert folder.ask("dead")["dead"] == []


def test_a_replay_in_vain_stays_a_dead_letter_and_holds_nothing_up(folder: Folder) -> None:
    id = folder.add()
    folder.publish("one")
    folder.reply = lambda: answer(400)
    for _ in range(ATTEMPTS):
        folder.go()
        folder.now = folder.deliveries.next_due() or folder.now
    folder.publish("two")
    folder.ask("replay", target=id, sequence=1)
    answers = iter([answer(400), answer(200)])
    folder.reply = lambda: next(answers)
    folder.go_until_quiet()
    assert titles(folder)[ATTEMPTS:] == ["one", "two"]
    assert [each["again"] for each in folder.ask("dead")["dead"]] == [False]


@pytest.mark.parametrize("status", [301, 302, 307, 404, 500, 503])
def test_all_but_2xx_is_in_vain(folder: Folder, status: int) -> None:
    folder.add()
    folder.publish("x")
    folder.reply = lambda: answer(status)
    assert folder.go() == 1
    assert (folder.target()["attempts"], folder.target()["last_error"]) == (1, f"it answered {status}")


def test_gone_disables_and_one_call_undoes_it(folder: Folder) -> None:
    id = folder.add()
    folder.publish("x")
    folder.reply = lambda: answer(410)
    folder.go()
    folder.start()
    assert folder.target()["disabled"] == "it answered 410: gone"
    folder.publish("y")
    assert folder.go(10**6) == 0
    folder.reply = lambda: answer(200)
    assert folder.ask("enable", target=id)["disabled"] is None
    folder.go_until_quiet()
    assert titles(folder)[1:] == ["x", "y"]


def test_five_days_without_success_disable(folder: Folder) -> None:
    folder.add()
    for number in range(3):
        folder.publish(str(number))
    folder.reply = lambda: answer(500)
    begun = folder.now
    while folder.target()["disabled"] is None:
        folder.go()
        folder.now = folder.deliveries.next_due() or folder.now
    assert 5 * 86_400 <= (folder.now - begun) / SECOND < 7 * 86_400
    assert folder.target()["disabled"] == "no success for 5 days; the last error: it answered 500"


def test_429_lowers_the_rate_counts_as_no_attempt_and_is_heeded(folder: Folder) -> None:
    folder.add()
    for number in range(8):
        folder.publish(str(number))
    folder.reply = lambda: answer(429, ("retry-after", "100"))
    assert folder.go() == 1
    assert (folder.go(99), folder.go(1)) == (0, 1)
    assert folder.target()["attempts"] == 0
    folder.reply = lambda: answer(200)
    assert folder.go(100) == 1
    waits = []
    while (due := folder.deliveries.next_due()) is not None:
        waits.append((due - folder.now) / SECOND)
        folder.now = due
        folder.go()
    assert waits == sorted(waits, reverse=True)
    assert 1 / waits[0] < 5 < 1 / waits[-1]
    assert [*dict.fromkeys(titles(folder))] == [*map(str, range(8))]


def test_retry_after_is_seconds_or_a_date_and_has_a_bound() -> None:
    now = 1_700_000_000 * SECOND
    assert read_retry_after("120", now) == 120
    assert read_retry_after("Tue, 14 Nov 2023 22:14:20 GMT", now) == 60
    assert read_retry_after("Tue, 14 Nov 2000 22:14:20 GMT", now) == 0
    assert [read_retry_after(odd, now) for odd in (None, "", "-1", "soon", "١٢", "Tue, 99 Nov")] == [None] * 6
    assert wait_after(1, read_retry_after("9" * 400, now), lambda: 0.5) == 86_400 * 1.2
    assert wait_after(1, 7_000, lambda: 0.5) == 7_000
    assert (wait_after(99, None, lambda: 0.0), wait_after(1, None, lambda: 0.75)) == (86_400 * 0.8, 5.5)


def test_no_attempt_begins_after_a_cancel(folder: Folder) -> None:
    folder.add()
    folder.publish("x")
    folder.deliveries.read()
    (attempt,) = folder.deliveries.due()
    folder.engine.unsubscribe("q", ticket=folder.ticket)
    folder.deliveries.settle(attempt, folder.deliver(attempt))
    assert folder.sent == []
    folder.deliveries.flush()
    folder.start()
    assert folder.ask("list") == {"targets": []}


def test_no_attempt_begins_after_a_lease_is_over(folder: Folder) -> None:
    folder.engine.subscribe(QUERY, id="short", lease=60, notify="every")
    folder.ask("add", subscription="short", delivery={"webhook": HOOK})
    folder.publish("x")
    folder.reply = lambda: answer(500)
    assert folder.go() == 1
    assert folder.go(61) == 1
    assert len(folder.sent) == 1


def test_another_subscription_of_the_same_id_gets_no_targets_of_the_one_before(folder: Folder) -> None:
    folder.add()
    folder.engine.unsubscribe("q", ticket=folder.ticket)
    folder.engine.subscribe(QUERY, id="q", notify="every")
    folder.publish("x")
    assert folder.go_until_quiet() == 0


def test_a_clock_set_back_stops_nobody(folder: Folder) -> None:
    folder.add()
    folder.publish("x")
    folder.reply = lambda: answer(500)
    folder.go()
    folder.now -= 10 * 365 * 86_400 * SECOND
    assert folder.go() == 1  # in the same process, and in the next
    folder.now -= 10 * 365 * 86_400 * SECOND
    folder.start()
    assert folder.go() == 1


def test_an_outbox_that_begins_again_is_delivered_again_under_the_same_ids(folder: Folder, tmp_path: Path) -> None:
    folder.publish("before")
    folder.add()
    folder.publish("x")
    folder.go_until_quiet()
    folder.engine.close()
    for name in ("outbox.sqlite", "outbox.end", "outbox.sqlite-wal", "outbox.sqlite-shm"):
        (folder.path / name).unlink(missing_ok=True)
    folder.engine = triplecast.Engine.open(folder.path, clock=lambda: folder.now)
    folder.publish("y")
    folder.go_until_quiet()
    assert [*dict.fromkeys(titles(folder))] == ["x", "y"]
    by_title = {
        title: headers["webhook-id"] for title, (_, headers, _) in zip(titles(folder), folder.sent, strict=True)
    }
    assert len({headers["webhook-id"] for _, headers, _ in folder.sent}) == len(by_title) == 2


def test_targets_of_another_deliverer_miss_nothing(folder: Folder) -> None:
    folder.ask("add", subscription="q", delivery={"email": "ada@example.org"})
    folder.go()
    folder.kinds = ("webhook",)
    folder.start()
    folder.publish("x")
    folder.go()
    folder.kinds = ("webhook", "email")
    folder.start()
    folder.deliveries.read()
    folder.deliveries.due()
    folder.deliveries.read()
    (attempt,) = folder.deliveries.due()
    assert len(attempt.notifications) == 1


def test_a_target_far_behind_keeps_little_in_memory(folder: Folder) -> None:
    folder.add()
    documents = [
        triplecast.Document(
            str(n), f'<urn:a> <http://purl.org/dc/elements/1.1/title> "{n}" .'.encode(), "text/turtle", f"urn:{n}"
        )
        for n in range(1_200)
    ]
    folder.engine.publish_many(documents)
    folder.reply = lambda: answer(500)
    folder.go()
    (live,) = folder.deliveries._lives.values()
    assert len(live.feed.queue) == 0
    folder.reply = lambda: answer(200)
    longest = 0
    while (due := folder.deliveries.next_due()) is not None:
        folder.now = max(folder.now, due)
        folder.go()
        longest = max(longest, len(live.feed.queue))
    assert titles(folder)[1:] == [*map(str, range(1_200))]
    assert longest <= 100


def test_what_waits_for_all_targets_is_bounded_but_for_one_notification_each(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what waits for those that were being read for was counted, and only after a page: 90,000 that are full took
    as many megabytes."""
    folder.reply = lambda: answer(500)
    ids = [folder.add(f"{HOOK}{number}") for number in range(6)]
    for number in range(60):
        folder.publish(f"{number}")
    folder.start()
    most = 20_000
    monkeypatch.setattr(reading, "MOST_HELD", most)
    for each in range(4):
        while folder.deliveries.read():
            pass
        folder.deliveries.due()
        feeds = [live.feed for live in folder.deliveries._lives.values()]
        held = sum(reading._size(told) for feed in feeds for told in feed.queue)
        assert held == folder.deliveries._held.count
        assert most // 2 < held < most + (len(ids) + 1) * 1_200, each
    folder.reply = lambda: answer(200)
    folder.start()
    folder.go()
    while (due := folder.deliveries.next_due()) is not None or folder.deliveries.is_behind:
        folder.now = max(folder.now, due or 0)
        folder.go()
    assert [folder.deliveries.targets("q")[place].delivered for place in range(6)] == [60] * 6
    assert folder.deliveries._held.count == 0
    for id in ids:
        folder.deliveries.remove(id)
    assert folder.deliveries.targets("q") == folder.deliveries.targets() == []


def test_one_more_target_costs_the_same_beside_many(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its subscription are looked at, not all."""
    for number in range(5):
        folder.engine.subscribe(QUERY, id=f"s{number}", lease=triplecast.FOREVER)
        folder.add(to=f"s{number}")

    class Counted(dict[str, Live]):
        def values(self) -> object:  # type: ignore[override]
            raise AssertionError("all are looked at")

    monkeypatch.setattr(folder.deliveries, "_lives", Counted(folder.deliveries._lives))
    folder.add()
    assert [each.subscription for each in folder.deliveries.targets("s3")] == ["s3"]


def test_those_who_are_behind_read_the_outbox_once_together(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart, not each for itself after each delivery."""
    pages = list[int]()

    def read(outbox: OutboxReader, epoch: int, after: int) -> list[Notification]:
        pages.append(after)
        return [*outbox.notifications(Cursor(epoch, after), 10)]

    monkeypatch.setattr(deliveries, "read_page", read)
    monkeypatch.setattr(deliveries, "PAGE", 10)
    names = [f"q-{number}" for number in range(200)]
    folder.engine.subscribe_many([triplecast.Subscription(each, QUERY, notify="every") for each in names])
    for each in names:
        folder.ask("add", subscription=each, delivery={"webhook": f"https://hook.example/{each}"})
    folder.publish("x")
    while folder.deliveries.read():
        pass
    folder.deliveries.flush()
    folder.start()
    pages.clear()
    assert folder.deliveries.due() == []
    for _ in range(30):
        folder.deliveries.read()

    def reply() -> HttpAnswer:
        folder.now += SECOND
        return answer(204)

    folder.reply = reply
    folder.go_until_quiet()
    assert sorted(url for url, *_ in folder.sent) == sorted(f"https://hook.example/{each}" for each in names)
    assert len(pages) <= 2 * 21


@pytest.mark.parametrize(
    "delivery",
    [
        None, {}, {"webhook": "http://a@b/"}, {"webhook": 1}, {"webhook": HOOK, "secret": "whsec_x"}, {"email": "a"},
        {"email": "a@example.org\nBcc: b@example.org"}, {"email": "a@example.org", "every": 1}, {"command": "rm"},
        {"command": []}, {"webhook": HOOK, "email": "a@example.org"}, {"webhook": HOOK, "more": 1}, {"command": ["\0"]},
        {"email": "a@example.org", "every": float("nan")}, {"webhook": HOOK, "secret": "whsec_é"},
    ],
)  # fmt: skip
def test_a_delivery_that_cannot_be_is_refused(folder: Folder, delivery: object) -> None:
    answer = folder.ask("add", subscription="q", delivery=delivery)
    assert answer["error"]
    assert answer["hint"]
    assert folder.ask("list") == {"targets": []}


def test_a_subscription_has_so_many_targets(folder: Folder) -> None:
    for number in range(20):
        folder.add(f"https://hook.example/{number}")
    assert "has 20 targets already" in folder.ask("add", subscription="q", delivery={"webhook": HOOK})["error"]


def test_few_requests_at_a_time_go_to_one_host_and_none_to_one_that_answers_nobody(folder: Folder) -> None:
    for number in range(12):
        folder.add(f"https://hook.example/{number}")
    folder.publish("x")
    folder.deliveries.read()
    attempts = folder.deliveries.due()
    assert len(attempts) == 8
    folder.reply = lambda: _raise(EgressFailed("hook.example", "silence"))
    for attempt in attempts:
        folder.deliveries.settle(attempt, folder.deliver(attempt))
    folder.now += 6 * SECOND
    assert folder.deliveries.due() == []  # the circuit is broken
    folder.now += 31 * SECOND
    (probe,) = folder.deliveries.due()
    folder.reply = lambda: answer(200)
    folder.deliveries.settle(probe, folder.deliver(probe))
    folder.go_until_quiet()
    assert all(each["delivered"] == 1 for each in folder.ask("list")["targets"])


def _raise(error: Exception) -> HttpAnswer:
    raise error


def test_half_of_all_attempts_are_kept_for_those_who_answer(folder: Folder) -> None:
    for number in range(20):
        folder.add(f"https://hook{number}.example/")
    folder.publish("x")
    folder.deliveries.read()
    assert len(folder.deliveries.due()) == 16


def test_a_refused_address_is_in_vain_and_says_no_more_than_it_must(folder: Folder) -> None:
    folder.add()
    folder.publish("x")
    folder.reply = lambda: _raise(EgressRefused("https://hook.example", "its address is not a public one", ""))
    folder.go()
    assert folder.target()["last_error"] == "its address is not a public one"


def test_calls_from_many_threads_leave_one_order(folder: Folder) -> None:
    ids = [folder.add(f"https://hook.example/{number}") for number in range(4)]

    def work(id: str) -> None:
        for _ in range(20):
            folder.ask("disable", target=id)
            folder.ask("enable", target=id)

    threads = [Thread(target=work, args=(id,)) for id in ids]
    for thread in threads:
        thread.start()
    for number in range(5):
        folder.publish(str(number))
        folder.go()
    for thread in threads:
        thread.join()
    folder.go_until_quiet()
    for url in {url for url, _, _ in folder.sent}:
        got = [title for (to, _, _), title in zip(folder.sent, titles(folder), strict=True) if to == url]
        assert [*dict.fromkeys(got)] == [*map(str, range(5))]


@pytest.mark.parametrize("column", ["subscription", "sequence", "idle", "every", "last_at", "secret", "address"])
def test_a_target_whose_row_is_damaged_is_named_and_the_others_go_on(folder: Folder, column: str) -> None:
    made = folder.ask("add", subscription="q", delivery={"webhook": HOOK})["target"]
    whole = folder.ask("add", subscription="q", delivery={"webhook": HOOK})["target"]
    folder.deliveries.flush()
    with closing(sqlite3.connect(folder.path / "delivery" / "delivery.sqlite")) as database, database:
        database.execute(f"UPDATE target SET {column} = x'00' WHERE id = ?", (made,))
        database.execute("INSERT INTO dead VALUES (?, 'x', 'y', 1, 2, 3, 4, 'again')", (made,))
    folder.start()
    folder.publish("x")
    assert folder.go() == 1
    rows = {each["target"]: each for each in folder.ask("list")["targets"]}
    assert f"is damaged ({column}); remove it" in rows[made]["disabled"]
    assert not rows[whole]["disabled"]
    assert "error" in folder.ask("enable", target=made)
    folder.ask("disable", target=made)
    folder.start()
    assert {each["target"] for each in folder.ask("list")["targets"]} == {made, whole}
    folder.ask("remove", target=made)
    folder.start()
    assert [each["target"] for each in folder.ask("list")["targets"]] == [whole]


def test_how_far_delivery_is_behind(folder: Folder) -> None:
    folder.ask("add", subscription="q", delivery={"webhook": HOOK})
    assert folder.deliveries.lag() == (0, None, 1, 1)
    folder.publish("x")
    folder.publish("y")
    folder.deliveries.read()
    (first, _) = folder.engine.notifications(0)
    assert folder.deliveries.lag() == (2, first.accepted_at, 1, 1)
    folder.go_until_quiet()
    assert folder.deliveries.lag() == (0, None, 1, 1)
