"""Attachments: bytes that come with a document, by IRI, for operators."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from pyoxigraph import NamedNode

from triplecast.errors import InputError
from triplecast.model.printable import shortened
from triplecast.model.publication import Attachments, Draft

LARGEST = 64 << 20
"""Most bytes of all attachments of one document."""
LONGEST_SHOWN = 300
"""Characters of a name that an error message shows."""


def check_attachments(given: object) -> None:
    """Raise `InputError` unless `given` maps absolute IRIs to bytes, `LARGEST` at most."""
    if type(given) is dict and not given:
        return
    if not isinstance(given, Mapping):
        raise InputError(f"attachments are {type(given).__name__}", "give a dict of IRI to bytes")
    for iri, content in given.items():
        try:
            NamedNode(iri)
        except (TypeError, ValueError) as error:
            what = f"{shortened(repr(iri), LONGEST_SHOWN)} cannot name an attachment: it is no absolute IRI"
            raise InputError(what, "name it by an IRI") from error
        if not isinstance(content, bytes | bytearray | memoryview):
            raise InputError(f"the attachment {_shown(iri)} is {type(content).__name__}", "give its bytes")
    size = sum(memoryview(content).nbytes for content in given.values())
    if size > LARGEST:
        hint = f"publish fewer at once: {LARGEST:,} bytes are allowed"
        raise InputError(f"the attachments of one document have {size:,} bytes", hint)


def decode_attachments(written: object) -> dict[str, bytes]:
    """Decode attachments from JSON, an object of IRI to base64. Raises `InputError`."""
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise InputError('"attachments" is no JSON object', 'write {"IRI": "base64", …}')
    decoded: dict[str, bytes] = {}
    for iri, text in written.items():
        try:
            decoded[iri] = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error) as error:
            raise InputError(f"the attachment {_shown(iri)} is no base64: {error}", "encode its bytes") from error
    check_attachments(decoded)
    return decoded


def share_attachments(drafts: tuple[Draft, ...], given: Mapping[str, bytes]) -> tuple[Draft, ...]:
    """Attach a document's attachments to its publications: a single one gets all, of several each gets those whose IRI
    occurs in its triples."""
    if not given:
        return drafts
    attachments: Attachments = tuple((iri, bytes(given[iri])) for iri in sorted(given))
    if len(drafts) == 1:
        return (drafts[0].with_attachments(attachments),)
    return tuple(
        draft.with_attachments(tuple(each for each in attachments if f"<{each[0]}>".encode() in draft.quads))
        for draft in drafts
    )


def _shown(iri: str) -> str:
    return f"<{shortened(iri, LONGEST_SHOWN)}>"
