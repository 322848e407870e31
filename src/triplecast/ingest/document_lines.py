"""One line of a ``.jsonl`` file of publications: ``{"id", "media_type", "data"}``, all text, and maybe
``"attachments"``, an object of IRI to base64."""

from __future__ import annotations

import json

from triplecast.errors import InputError
from triplecast.ingest.attachments import decode_attachments
from triplecast.ingest.document import Document
from triplecast.model.publication import Reject

_WANTED = ("id", "media_type", "data")
_WRITE = 'write one object a line: {"id": …, "media_type": …, "data": …}'


def document_of_line(line: bytes, source: str, number: int, dataset: bool = False) -> Document | Reject:
    """The document in line `number` of the file that is called `source`; whatever the line holds, nothing is raised.

    The document's source is ``source:number``, so a fault inside it has that line's place before its own; a reject of
    the line itself has the file as its source and the number as its line.
    """
    try:
        row = json.loads(line)
    except RecursionError:
        return Reject(source, "gate", "is not JSON that can be read: it nests too deep", _WRITE, number)
    except ValueError as error:
        return Reject(source, "gate", f"is not JSON: {error}", _WRITE, number)
    if not isinstance(row, dict):
        return Reject(source, "gate", "is no JSON object", _WRITE, number)
    for field in _WANTED:
        if not isinstance(row.get(field), str):
            return Reject(source, "gate", f'lacks "{field}" as text', "give all three in each line", number)
    try:
        data = row["data"].encode()
        (row["id"] + row["media_type"]).encode()
    except UnicodeEncodeError:
        mend = "write both halves, or the character itself"
        return Reject(source, "gate", "holds half a surrogate pair", mend, number)
    try:
        attachments = decode_attachments(row.get("attachments"))
    except InputError as error:
        return Reject(source, "gate", error.what, error.mend, number)
    return Document(f"{source}:{number}", data, row["media_type"], row["id"], dataset, attachments)
