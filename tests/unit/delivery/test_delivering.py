"""Mail, commands, the threads that deliver, kills, and the command line."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

import triplecast
from tests.unit.delivery.folders import QUERY, Folder
from tests.unit.egress.receivers import Receiver, answering, receiver
from triplecast.cli import main
from triplecast.delivery import sending
from triplecast.delivery.attempt import Attempt, AttemptOutcome
from triplecast.delivery.opening import open_delivery, open_targets
from triplecast.delivery.runner import DeliveryRunner
from triplecast.delivery.sending import MailServer, read_mail_server, sender_of, ways_of
from triplecast.egress import Egress, EgressRules
from triplecast.errors import FolderLocked, InputError
from triplecast.model.operators import NO_OPERATORS

HERE = Egress(EgressRules(private=True, ports=frozenset()))
OK = b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    opened = Folder(tmp_path / "folder")
    opened.deliveries.read()
    yield opened
    opened.close()


class Mailbox:
    def __init__(self) -> None:
        self.mails: list[Envelope] = []
        self.answer = "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.mails.append(envelope)
        return self.answer


@pytest.fixture
def mailbox() -> Iterator[tuple[Mailbox, MailServer]]:
    box = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield box, MailServer("127.0.0.1", port, "triplecast@example.org", sending.PLAIN)
    controller.stop()


def test_mail_is_a_digest_and_comes_no_more_often_than_asked(
    folder: Folder, mailbox: tuple[Mailbox, MailServer]
) -> None:
    box, server = mailbox
    folder.deliver = sender_of(
        folder.deliveries, ways_of(folder.send, server, False), folder.journal, lambda: NO_OPERATORS
    )
    folder.ask("add", subscription="q", delivery={"email": "ada@example.org", "every": 600})
    folder.publish("one")
    folder.go()
    for title in ("two", "three\u202e\nX-Evil: 1"):
        folder.publish(title.replace("\n", "\\n"))
        folder.go(100)
    assert len(box.mails) == 1
    box.answer = "451 later"
    folder.go(500)
    box.answer = "250 OK"
    folder.go(6)
    first, refused, second = (message_from_bytes(each.content) for each in box.mails)
    assert (first["To"], first["From"], first["Subject"]) == ("ada@example.org", "triplecast@example.org", "q: 1 match")
    assert second["Subject"] == "q: 2 matches"
    assert refused["Message-ID"] == second["Message-ID"] != first["Message-ID"]
    text = second.get_payload(decode=True).decode()
    assert text.splitlines()[0] == 'urn:g v2  ?t="two"  (added)'
    assert "\u202e" not in text
    assert "X-Evil" not in second
    assert folder.target()["delivered"] == 3


def test_a_mail_server_that_is_not_there_is_tried_again(folder: Folder) -> None:
    server = MailServer("127.0.0.1", 1, "triplecast@example.org", sending.PLAIN)
    folder.deliver = sender_of(
        folder.deliveries, ways_of(folder.send, server, False), folder.journal, lambda: NO_OPERATORS
    )
    folder.ask("add", subscription="q", delivery={"email": "ada@example.org"})
    folder.publish("one")
    folder.go()
    assert folder.target()["last_error"].startswith("no answer from the mail server")


def test_mail_servers_are_urls() -> None:
    assert read_mail_server(None, None, None, "") is None
    assert read_mail_server("smtps://mail.example", "a@b.c", "u", "p") == MailServer(
        "mail.example", 465, "a@b.c", sending.TLS, "u", "p"
    )
    for wrong in ("mail.example", "http://mail.example", "smtp://", "smtp://mail.example:x"):
        with pytest.raises(InputError):
            read_mail_server(wrong, "a@b.c", None, "")
    with pytest.raises(InputError, match="comes from"):
        read_mail_server("smtp://mail.example", None, None, "")


def test_a_command_gets_a_line_of_json_and_no_secrets(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPLECAST_SMTP_PASSWORD", "secret")
    script = f"cat >> {tmp_path}/out; env > {tmp_path}/env; echo noise; test ! -e {tmp_path}/broken"
    folder.ask("add", subscription="q", delivery={"command": ["sh", "-c", script]})
    (tmp_path / "broken").touch()
    folder.publish("x")
    folder.go()
    assert folder.target()["last_error"] == "it ended with 1"
    (tmp_path / "broken").unlink()
    folder.go(6)
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["subscription"] for line in lines] == ["q", "q"]
    assert lines[0] == lines[1]
    assert "secret" not in (tmp_path / "env").read_text()
    folder.ask("add", subscription="q", delivery={"command": [str(tmp_path / "nothing")]}, since="start")
    folder.go()
    assert "cannot be started" in folder.ask("list")["targets"][1]["last_error"]


def test_a_command_that_does_not_end_is_ended_with_what_it_started(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "COMMAND_SECONDS", 0.3)
    script = f"sleep 300 & echo $! > {tmp_path}/pid; wait"
    folder.ask("add", subscription="q", delivery={"command": ["sh", "-c", script]})
    folder.publish("x")
    folder.go()
    assert folder.target()["last_error"] == "it did not end within 0.3 s"
    started = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    wait_until(lambda: not started.exists() or started.read_text().rpartition(")")[2].split()[0] == "Z")


def wait_until(holds, seconds: float = 30.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(0.02)


def test_a_runner_delivers_while_another_writes_and_one_hangs(tmp_path: Path) -> None:
    def hang(connection: socket.socket, _: bytes) -> None:
        time.sleep(60)

    with triplecast.Engine.open(tmp_path) as engine, receiver(answering(OK)) as good, receiver(hang) as bad:
        engine.subscribe(QUERY, id="q", notify="every")
        with open_delivery(tmp_path) as delivery, open_targets(tmp_path) as ask:
            for url in (good.url, bad.url):
                ask({"request": "add", "subscription": "q", "delivery": {"webhook": url}})
            ways = ways_of(HERE.send, None, False)
            runner = DeliveryRunner(
                delivery.deliveries, sender_of(delivery.deliveries, ways, delivery.journal, lambda: NO_OPERATORS)
            )
            runner.start()
            with pytest.raises(FolderLocked), open_delivery(tmp_path):
                pass
            for number in range(5):
                engine.publish(_document(number), media_type="text/turtle", graph="urn:g")
            wait_until(lambda: len(good.requests) == 5)
            wait_until(lambda: ask({"request": "list"})["targets"][0]["delivered"] == 5)
            bad.close()
            runner._stopping.set()


def _document(number: int) -> str:
    return f'<urn:a> <http://purl.org/dc/elements/1.1/title> "{number}" .'


def test_an_attempt_that_raises_is_in_vain(folder: Folder) -> None:
    folder.add()
    folder.publish("x")

    def break_off(_: Attempt) -> AttemptOutcome:
        raise RuntimeError("a fault of ours")

    DeliveryRunner(folder.deliveries, break_off, lambda: folder.now).run_once()
    assert folder.target()["last_error"] == "RuntimeError: a fault of ours"


def run_kills(folder: Path, kills: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """What was recorded and what a receiver got, by id, of a deliverer that is killed again and again."""
    points = ("delivery.noted", "delivery.committed", "")
    with triplecast.Engine.open(folder) as engine, receiver(answering(OK)) as there:
        engine.subscribe(QUERY, id="q", notify="every")
        with open_targets(folder) as ask:
            ask({"request": "add", "subscription": "q", "delivery": {"webhook": there.url}})
        for number in range(kills + 1):
            point = points[number % 3]
            armed = {"TRIPLECAST_CRASH": f"{point}:{chance.randrange(1, 4)}"} if point and number < kills else {}
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.unit.delivery.deliverer", str(folder)],
                env={**os.environ, **armed},
                stdout=subprocess.PIPE,
            )
            assert process.stdout is not None
            process.stdout.readline()
            for each in range(6):
                engine.publish(_document(number * 6 + each), media_type="text/turtle", graph="urn:g")
            recorded = [each.id for each in engine.notifications(0)]
            if number < kills and point:
                wait_until(lambda process=process: process.poll() is not None)
            elif number < kills:
                time.sleep(chance.uniform(0, 0.6))
            else:
                wait_until(lambda recorded=recorded: {*ids_of(there)} == {*recorded})
            process.send_signal(signal.SIGKILL)
            process.wait()
        return recorded, ids_of(there)


def ids_of(there: Receiver) -> list[str]:
    found = [
        line for request in [*there.requests] for line in request.split(b"\r\n") if line.startswith(b"webhook-id: ")
    ]
    return [line.decode().removeprefix("webhook-id: ") for line in found]


def test_kills_lose_nothing_and_give_no_second_id(tmp_path: Path, seed: int) -> None:
    recorded, got = run_kills(tmp_path, 3, random.Random(seed))
    assert [*dict.fromkeys(got)] == recorded


def test_the_command_line_adds_delivers_lists_and_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "folder")
    with triplecast.Engine.open(folder) as engine:
        engine.subscribe(QUERY, id="q", notify="every")
        engine.publish(_document(1), media_type="text/turtle", graph="urn:g")
    assert main(["targets", folder, "add", "none", "--webhook", "https://example.org/"]) == 2
    assert "no subscription 'none' is live" in capsys.readouterr().err
    assert main(["targets", folder, "add", "q", "--webhook", "https://a@example.org/"]) == 2
    assert "user name" in capsys.readouterr().err
    assert main(["targets", folder, "enable"]) == 2
    capsys.readouterr()
    with receiver(answering(OK)) as there:
        assert main(["targets", folder, "add", "q", "--from-start", "--webhook", there.url, "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["secret"].startswith("whsec_")
        assert main(["deliver", folder, "--once"]) == 0  # not to this machine
        assert main(["targets", folder, "list", "q"]) == 0
        assert "port" in capsys.readouterr().out
        assert main(["targets", folder, "enable", made["target"]]) == 0
        capsys.readouterr()
        assert main(["deliver", folder, "--once", "--private", "--webhook-port", str(there.port)]) == 0
        assert len(there.requests) == 1
    assert main(["targets", folder, "disable", made["target"]]) == 0
    assert "1 delivered  disabled: by hand" in capsys.readouterr().out
    assert main(["targets", folder, "replay", made["target"]]) == 2
    assert "enable it first" in capsys.readouterr().err
    assert main(["targets", folder, "dead"]) == 0
    assert main(["targets", folder, "remove", made["target"]]) == 0
    assert main(["deliver", str(tmp_path / "none"), "--once"]) == 2


if __name__ == "__main__":
    import tempfile

    for round in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as place:
            recorded, got = run_kills(Path(place), 30, random.Random(round))
            assert [*dict.fromkeys(got)] == recorded, round
            print(f"round {round}: 30 kills, {len(recorded)} recorded, {len(got)} received", flush=True)
