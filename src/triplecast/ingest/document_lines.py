"""Read one line of a ``.jsonl`` file of publications: ``{"id", "media_type", "data"}``, all text, and optionally
``"attachments"``, an object of IRI to base64."""

from __future__ import annotations

import json

from triplecast.errors import InputError
from triplecast.ingest.attachments import decode_attachments
from triplecast.ingest.document import Document
from triplecast.model.publication import Reject
from triplecast.terms.nearness import nearest_names

_WANTED = ("id", "media_type", "data")
_ATTACHED = "attachments"
_WRITE = 'write one object a line: {"id": …, "media_type": …, "data": …}'


def document_of_line(line: bytes, source: str, number: int, dataset: bool = False) -> Document | Reject:
    """Read the document in line `number` of the file `source`. Raises nothing, whatever the line holds.

    The document's source is ``source:number``; a reject of the line itself has the file as its source and the number
    as its line. Other fields are ignored, but for one that resembles a missing ``attachments``.
    """
    try:
        row = json.loads(line)
    except RecursionError:
        return Reject(source, "gate", "is not JSON: it nests too deep", _WRITE, number)
    except ValueError as error:
        return Reject(source, "gate", f"is not JSON: {error}", _WRITE, number)
    if not isinstance(row, dict):
        return Reject(source, "gate", "is no JSON object", _WRITE, number)
    for field in _WANTED:
        if not isinstance(row.get(field), str):
            near = nearest_names(field, sorted(row.keys() - set(_WANTED)), 1)
            hint = f'was "{near[0]}" meant as "{field}"?' if near else "give all three in each line"
            return Reject(source, "gate", f'lacks "{field}" as text', hint, number)
    slips = nearest_names(_ATTACHED, sorted(row.keys() - set(_WANTED)), 1) if _ATTACHED not in row else []
    if slips:
        reason = f'has an unknown field "{slips[0]}"'
        return Reject(source, "gate", reason, f'write "{_ATTACHED}" if that was meant, or rename it', number)
    try:
        data = row["data"].encode()
        (row["id"] + row["media_type"]).encode()
    except UnicodeEncodeError:
        return Reject(source, "gate", "holds half a surrogate pair", "write both halves, or the character", number)
    try:
        attachments = decode_attachments(row.get(_ATTACHED))
    except InputError as error:
        return Reject(source, "gate", error.what, error.hint, number)
    return Document(f"{source}:{number}", data, row["media_type"], row["id"], dataset, attachments)
