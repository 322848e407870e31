"""Attempts: a request, a mail or a command for each."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import signal
import smtplib
import ssl
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate
from functools import partial

from triplecast.delivery.attempt import BUSY, DELIVERED, FAILED, GONE, REFUSED, Attempt, AttemptOutcome, Deliver
from triplecast.delivery.deliveries import Deliveries
from triplecast.delivery.messages import command_input, mail_subject, mail_text, webhook_body, with_definitions
from triplecast.delivery.target import COMMAND, EMAIL, WEBHOOK, secret_key
from triplecast.egress import HttpAnswer, Send, read_retry_after
from triplecast.errors import EgressFailed, EgressRefused, InputError
from triplecast.journal import JournalFile
from triplecast.model.operators import OperatorSet

COMMAND_SECONDS = 60.0
MAIL_SECONDS = 15.0
"""That a mail server may take for each answer."""
TLS, STARTTLS, PLAIN = "tls", "starttls", "plain"


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed in."""

    host: str
    port: int
    sender: str
    """The address that mail comes from."""
    security: str = STARTTLS
    """`TLS` from the first byte, `STARTTLS`, or `PLAIN`: without encryption."""
    user: str | None = None
    password: str = field(default="", repr=False)


def sender_of(
    deliveries: Deliveries, ways: Mapping[str, Deliver], journal: JournalFile, operators: Callable[[], OperatorSet]
) -> Deliver:
    """What makes attempts, one of `ways` for each kind of target; nothing is sent for a registration that has ended."""

    def deliver(attempt: Attempt) -> AttemptOutcome:
        if not deliveries.are_live(attempt):
            return AttemptOutcome(REFUSED)
        found = with_definitions(attempt.notifications, journal, operators())
        return ways[attempt.target.kind](Attempt(attempt.target, found, attempt.letter, attempt.at))

    return deliver


def ways_of(send: Send, mail: MailServer | None, commands: bool) -> dict[str, Deliver]:
    """What can be delivered to here, by kind of target."""
    ways: dict[str, Deliver] = {WEBHOOK: partial(post_webhook, send)}
    if mail is not None:
        ways[EMAIL] = partial(send_mail, mail)
    if commands:
        ways[COMMAND] = run_command
    return ways


def post_webhook(send: Send, attempt: Attempt) -> AttemptOutcome:
    """A request of Standard Webhooks: its id is the notification's, whatever attempt it is."""
    (notification,) = attempt.notifications
    body, at = webhook_body(notification), str(attempt.at // 1_000_000)
    headers = [
        ("Content-Type", "application/json"),
        ("webhook-id", notification.id),
        ("webhook-timestamp", at),
        ("webhook-signature", sign(attempt.target.secret, notification.id, at, body)),
    ]
    return post(send, attempt, headers, body)


def sign(secret: str, id: str, timestamp: str, body: bytes) -> str:
    """The header ``webhook-signature``, version 1. Source: Standard Webhooks, "Signature scheme"."""
    signed = hmac.digest(secret_key(secret), f"{id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def post(send: Send, attempt: Attempt, headers: Sequence[tuple[str, str]], body: bytes) -> AttemptOutcome:
    try:
        answer = send("POST", attempt.target.address, headers, body)
    except EgressRefused as refusal:
        return AttemptOutcome(FAILED, refusal.reason)
    except EgressFailed as failure:
        return AttemptOutcome(FAILED, failure.reason, answered=False)
    return outcome_of(answer, attempt.at)


def outcome_of(answer: HttpAnswer, now: int) -> AttemptOutcome:
    """A redirection is a failure: nobody vouches for where it leads."""
    asked = read_retry_after(answer.header("retry-after"), now)
    if 200 <= answer.status < 300:
        return AttemptOutcome(DELIVERED)
    if answer.status == 410:
        return AttemptOutcome(GONE, "it answered 410: gone")
    return AttemptOutcome(BUSY if answer.status == 429 else FAILED, f"it answered {answer.status}", asked)


def send_mail(server: MailServer, attempt: Attempt) -> AttemptOutcome:
    """One mail of all that there is."""
    message = EmailMessage()
    message["From"], message["To"] = server.sender, attempt.target.address
    message["Subject"] = mail_subject(attempt.notifications)
    message["Date"] = formatdate(attempt.at / 1_000_000)
    ids = " ".join(each.id for each in attempt.notifications)
    domain = server.sender.rpartition("@")[2]
    message["Message-ID"] = f"<{hashlib.sha256(ids.encode()).hexdigest()[:40]}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail_text(attempt.notifications))
    try:
        with _connect(server) as connected:
            if server.user is not None:
                connected.login(server.user, server.password)
            connected.send_message(message)
    except (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused) as refusal:
        return AttemptOutcome(FAILED, f"the mail server refused it: {refusal}")
    except (OSError, smtplib.SMTPException) as error:
        return AttemptOutcome(FAILED, f"no answer from the mail server: {error}", answered=False)
    return AttemptOutcome(DELIVERED)


def _connect(server: MailServer) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.security == TLS:
        return smtplib.SMTP_SSL(server.host, server.port, timeout=MAIL_SECONDS, context=context)
    connected = smtplib.SMTP(server.host, server.port, timeout=MAIL_SECONDS)
    if server.security == STARTTLS:
        try:
            connected.starttls(context=context)
        except BaseException:
            connected.close()
            raise
    return connected


def run_command(attempt: Attempt) -> AttemptOutcome:
    """The notification as a line of JSON on its standard input; it has taken it where it ends with 0. What it starts is
    ended with it."""
    argv = json.loads(attempt.target.address)
    told = b"".join(map(command_input, attempt.notifications))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR", "TZ") if name in os.environ}
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=kept, start_new_session=True
        )
    except (OSError, ValueError) as error:
        return AttemptOutcome(FAILED, f"it cannot be started: {error}")
    try:
        process.communicate(told, timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        return AttemptOutcome(FAILED, f"it did not end within {COMMAND_SECONDS:g} s")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode == 0:
        return AttemptOutcome(DELIVERED)
    return AttemptOutcome(FAILED, f"it ended with {process.returncode}")


def read_mail_server(where: str | None, sender: str | None, user: str | None, password: str) -> MailServer | None:
    """``smtp://host:587`` (with STARTTLS), ``smtps://host:465`` or ``smtp+plain://host:25``. Raises `InputError`."""
    if where is None:
        return None
    ways = {"smtp": (STARTTLS, 587), "smtps": (TLS, 465), "smtp+plain": (PLAIN, 25)}
    scheme, separator, place = where.partition("://")
    host, colon, port = place.partition(":")
    if scheme not in ways or not separator or not host or (colon and not port.isdecimal()):
        raise InputError(f"{where!r} is no mail server", "give smtp://host:587, smtps://host:465, smtp+plain://host:25")
    if sender is None or "@" not in sender or not sender.isprintable():
        raise InputError("mail needs the address that it comes from", "give one with --mail-from")
    security, usual = ways[scheme]
    return MailServer(host, int(port) if port else usual, sender, security, user, password)
