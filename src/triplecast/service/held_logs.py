"""The logs of what owners' subscriptions hold, kept while they are followed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from triplecast.engine import Engine
from triplecast.local import FolderProvider
from triplecast.service.problems import Problem


class _KeptLog:
    def __init__(self, provider: FolderProvider) -> None:
        self.provider = provider
        self.lock = Lock()
        self.users = 0
        """Threads that have it, or wait for it."""


class HeldLogs:
    """The logs of one folder, by owner. The newest are kept, each with the documents in memory; another one is made
    again when it is asked for. May be used from any thread."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._most = most
        self._lock = Lock()
        self._shared: FolderProvider | None = None
        self._kept: OrderedDict[str, _KeptLog] = OrderedDict()

    @property
    def shared(self) -> FolderProvider:
        """For what needs no log of an owner. Raises `Problem` 404 for an engine in memory."""
        with self._lock:
            if self._shared is None:
                self._shared = self._open()
            return self._shared

    @contextmanager
    def of(self, owner: str) -> Iterator[FolderProvider]:
        """For one thread at a time. Raises as `shared` does."""
        with self._lock:
            kept = self._kept.pop(owner, None) or _KeptLog(self._open())
            self._kept[owner] = kept
            kept.users += 1
        try:
            with kept.lock:
                yield kept.provider
        finally:
            with self._lock:
                kept.users -= 1
                self._let_go(self._most)

    def close(self) -> None:
        """When no thread uses it any more."""
        with self._lock:
            self._let_go(0)
            if self._shared is not None:
                self._shared.close()

    def _open(self) -> FolderProvider:
        if self._engine.serving.folder is None:
            raise Problem(404, "a service in memory has no log", mend="serve a folder")
        return FolderProvider(self._engine)

    def _let_go(self, most: int) -> None:
        unused = [owner for owner, each in self._kept.items() if not each.users]
        for owner in unused[: max(0, len(self._kept) - most)]:
            self._kept.pop(owner).provider.close()
