"""JSON-LD contexts named by address: none is ever fetched; bundled ones are written in, others refused."""

from __future__ import annotations

import json
from typing import Any

from triplecast.errors import DocumentRejected

BUNDLED: dict[str, Any] = {}


def inline_contexts(data: bytes) -> bytes:
    """The document with every remote context replaced by its bundled copy. Raises DocumentRejected."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DocumentRejected(stage="parse", reason=f"not JSON: {error}", mend="repair the JSON") from None
    return json.dumps(_inlined(document), ensure_ascii=False).encode()


def _inlined(value: Any) -> Any:
    if isinstance(value, list):
        return [_inlined(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _context(item) if key == "@context" else _inlined(item) for key, item in value.items()}


def _context(value: Any) -> Any:
    if isinstance(value, str):
        bundled = BUNDLED.get(value.rstrip("/#").replace("http://", "https://", 1))
        if bundled is None:
            raise _refused(value)
        return bundled
    if isinstance(value, list):
        return [_context(item) for item in value]
    if isinstance(value, dict):
        if isinstance(imported := value.get("@import"), str):
            raise _refused(imported)
        return {key: _inlined(item) for key, item in value.items()}
    return value


def _refused(address: str) -> DocumentRejected:
    return DocumentRejected(
        stage="gate",
        reason=f"its JSON-LD context {address} is not bundled, and contexts are never fetched",
        mend="write the context's content into the document in place of its address",
    )
