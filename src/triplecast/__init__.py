"""Publish/subscribe for RDF: standing queries matched exactly against every publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplecast.errors import (
    DocumentRejected,
    EgressFailed,
    EgressRefused,
    FolderLocked,
    HistoryPruned,
    InputError,
    PipelineFailed,
    QueryRefused,
    QuerySyntaxError,
    QueryTooLarge,
    QuotaReached,
    ReplicaWritten,
    SandboxFailed,
    ServiceRefused,
    StorageFault,
    StorageFull,
    TaxonomyCycle,
    TriplecastError,
)

if TYPE_CHECKING:
    from triplecast.engine import (
        Engine,
        LiveSubscription,
        Match,
        Preview,
        Receipt,
        Statistics,
        Subscribed,
        UndecidedMatch,
    )
    from triplecast.explain import Explanation
    from triplecast.ingest import Document
    from triplecast.journal import Accepted, Rejected
    from triplecast.local import LocalRepository, Replica
    from triplecast.model.publication import Reject
    from triplecast.model.subscription import FOREVER, Subscription
    from triplecast.outbox import Notification, UndecidedPair

_LAZY = {
    "Accepted": "triplecast.journal",
    "Document": "triplecast.ingest",
    "Engine": "triplecast.engine",
    "Explanation": "triplecast.explain",
    "FOREVER": "triplecast.model.subscription",
    "LiveSubscription": "triplecast.engine",
    "LocalRepository": "triplecast.local",
    "Match": "triplecast.engine",
    "Notification": "triplecast.outbox",
    "Preview": "triplecast.engine",
    "Receipt": "triplecast.engine",
    "Reject": "triplecast.model.publication",
    "Rejected": "triplecast.journal",
    "Replica": "triplecast.local",
    "Statistics": "triplecast.engine",
    "Subscribed": "triplecast.engine",
    "Subscription": "triplecast.model.subscription",
    "UndecidedMatch": "triplecast.engine",
    "UndecidedPair": "triplecast.outbox",
}
"""Where each name is that costs an import of numba or numpy: loaded when it is first asked for."""

__all__ = [
    "FOREVER",
    "Accepted",
    "Document",
    "DocumentRejected",
    "EgressFailed",
    "EgressRefused",
    "Engine",
    "Explanation",
    "FolderLocked",
    "HistoryPruned",
    "InputError",
    "LiveSubscription",
    "LocalRepository",
    "Match",
    "Notification",
    "PipelineFailed",
    "Preview",
    "QueryRefused",
    "QuerySyntaxError",
    "QueryTooLarge",
    "QuotaReached",
    "Receipt",
    "Reject",
    "Rejected",
    "Replica",
    "ReplicaWritten",
    "SandboxFailed",
    "ServiceRefused",
    "Statistics",
    "StorageFault",
    "StorageFull",
    "Subscribed",
    "Subscription",
    "TaxonomyCycle",
    "TriplecastError",
    "UndecidedMatch",
    "UndecidedPair",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("triplecast")
    if name not in _LAZY:
        raise AttributeError(f"module 'triplecast' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
