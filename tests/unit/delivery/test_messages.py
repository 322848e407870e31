"""What is sent of a notification."""

from __future__ import annotations

import json

import pytest

import triplecast
from triplecast.delivery import messages
from triplecast.delivery.sending import sign
from triplecast.syndication.rows import notification_row


def test_a_webhook_leaves_out_rows_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with triplecast.Engine() as engine:
        engine.subscribe("SELECT ?title { ?s dct:title ?title }", id="titles")
        document = '<urn:a> <http://purl.org/dc/terms/title> "A night train" .'
        engine.publish(document, "text/turtle", "https://example.org/doc")
        (notification,) = engine.notifications()
    body = json.loads(messages.webhook_body(notification))
    assert body["type"] == "triplecast.match.added"
    assert body["data"] == notification_row(notification)
    monkeypatch.setattr(messages, "MOST_BYTES", 10)
    short = json.loads(messages.webhook_body(notification))["data"]
    assert "answer" not in short
    assert short["omitted"]
    assert short["cursor"] == body["data"]["cursor"]


@pytest.mark.parametrize(
    ("secret", "id", "timestamp", "body", "signature"),
    [
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
         b'{"test": 2432232314}', "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ("whsec_plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", "1731705121",
         b'{"event_type":"ping","data":{"success":true}}', "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="),
    ],
)  # fmt: skip
def test_the_vectors_of_standard_webhooks(secret: str, id: str, timestamp: str, body: bytes, signature: str) -> None:
    assert sign(secret, id, timestamp, body) == signature
