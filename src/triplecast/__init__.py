"""Publish/subscribe for RDF: standing queries matched exactly against every publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplecast.errors import (
    DocumentRejected,
    FolderLocked,
    InputError,
    PipelineFailed,
    QueryRefused,
    QuerySyntaxError,
    StorageFault,
    StorageFull,
    TriplecastError,
)

if TYPE_CHECKING:
    from triplecast.delivery import Notification
    from triplecast.engine import Engine, Match, Preview, Receipt, Subscribed
    from triplecast.ingest import Document
    from triplecast.model.subscription import Subscription

_LAZY = {
    "Document": "triplecast.ingest",
    "Engine": "triplecast.engine",
    "Match": "triplecast.engine",
    "Notification": "triplecast.delivery",
    "Preview": "triplecast.engine",
    "Receipt": "triplecast.engine",
    "Subscribed": "triplecast.engine",
    "Subscription": "triplecast.model.subscription",
}
"""Where each name is that costs an import of numba or numpy: loaded when it is first asked for."""

__all__ = [
    "Document",
    "DocumentRejected",
    "Engine",
    "FolderLocked",
    "InputError",
    "Match",
    "Notification",
    "PipelineFailed",
    "Preview",
    "QueryRefused",
    "QuerySyntaxError",
    "Receipt",
    "StorageFault",
    "StorageFull",
    "Subscribed",
    "Subscription",
    "TriplecastError",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'triplecast' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
