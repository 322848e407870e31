"""Receipts as the service tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triplecast.engine import Receipt
from triplecast.journal import Accepted
from triplecast.model.publication import Reject

MOST = 1_000
"""Publications, and rejects, that a receipt names."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": [
        *("position", "publications", "rejects", "removals", "matched", "matches", "undecided", "pending", "warnings")
    ],
    "properties": {
        "id": {"type": ["string", "null"], "description": "of a bulk line; null of one that is no document"},
        "line": {"type": "integer", "description": "of a bulk line: its number, from 1"},
        "position": {"type": ["integer", "null"], "description": "the last journal position of these publications"},
        "publications": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["graph", "version", "position", "accepted_at", "outcome"],
                "properties": {
                    "graph": {"type": "string"},
                    "version": {"type": "integer"},
                    "position": {"type": "integer"},
                    "accepted_at": {"type": "string"},
                    "outcome": {"enum": ["accepted", "unchanged"]},
                },
            },
            "description": f"the first {MOST}",
        },
        "count": {"type": "integer", "description": "of publications"},
        "rejects": {"type": "array", "items": {"$ref": "#/components/schemas/Reject"}},
        "removals": {"type": "integer"},
        "matched": {"type": "boolean", "description": "false where matches and what follows are recorded later"},
        "matches": {"type": "integer"},
        "undecided": {"type": "integer"},
        "pending": {"type": "integer", "description": "pairs that wait for operators"},
        "warnings": {"type": "array", "items": {"type": "string"}},
    },
}
REJECT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["stage", "reason", "hint"],
    "properties": {
        "stage": {"type": "string"},
        "reason": {"type": "string"},
        "hint": {"type": "string"},
        "line": {"type": ["integer", "null"]},
        "column": {"type": ["integer", "null"]},
    },
}


def receipt_row(receipt: Receipt) -> dict[str, object]:
    positions = [each.position for each in receipt.publications] + [each.position for each in receipt.removals]
    return {
        "position": max(positions, default=None),
        "publications": [_publication(each) for each in receipt.publications[:MOST]],
        "count": len(receipt.publications),
        "rejects": [reject_row(each) for each in receipt.rejects[:MOST]],
        "removals": len(receipt.removals),
        "matched": receipt.is_matched,
        "matches": len(receipt.matches),
        "undecided": len(receipt.undecided),
        "pending": len(receipt.pending),
        "warnings": list(receipt.warnings),
    }


def _publication(accepted: Accepted) -> dict[str, object]:
    return {name: getattr(accepted, name) for name in ("graph", "version", "position", "accepted_at", "outcome")}


def reject_row(reject: Reject) -> dict[str, object]:
    return {name: getattr(reject, name) for name in ("stage", "reason", "hint", "line", "column")}
