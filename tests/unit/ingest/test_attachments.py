"""What may come with a document, and what is told of what may not."""

from __future__ import annotations

from array import array

import pytest

from triplecast.errors import InputError
from triplecast.ingest import attachments
from triplecast.ingest.attachments import LONGEST_SHOWN, check_attachments, decode_attachments


def test_bytes_count_whatever_a_memoryview_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "LARGEST", 64)
    numbers = memoryview(array("q", range(16)))
    check_attachments({"urn:a": numbers[::2]})
    with pytest.raises(InputError, match="have 72 bytes") as raised:
        check_attachments({"urn:a": numbers[:9]})
    assert "64 bytes are allowed" in str(raised.value)
    with pytest.raises(InputError, match="have 65 bytes"):
        check_attachments({"urn:a": bytes(64), "urn:b": bytearray(1)})


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"urn:" + "x" * 100_000: "no base64!"}, "the attachment <urn:xxx"),
        ({"x " * 100_000: ""}, "cannot name an attachment"),
    ],
)
def test_a_long_name_is_told_short(written: dict[str, str], told: str) -> None:
    with pytest.raises(InputError, match=told) as raised:
        decode_attachments(written)
    assert len(str(raised.value)) < LONGEST_SHOWN + 200


def test_what_is_no_bytes_is_told_short() -> None:
    with pytest.raises(InputError, match="is str") as raised:
        check_attachments({"urn:" + "x" * 100_000: "text"})
    assert len(str(raised.value)) < LONGEST_SHOWN + 200
