"""The logs that local repositories follow, kept while they do."""

from __future__ import annotations

from collections import OrderedDict

from triplecast.engine import Engine
from triplecast.local import FolderProvider
from triplecast.service.problems import Problem


class Followers:
    """The logs of one folder, by owner; "" for what needs none. The newest are kept, each with the documents in memory,
    and others made again when they are asked for. For one thread."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._most = most
        self._kept: OrderedDict[str, FolderProvider] = OrderedDict()

    def of(self, owner: str) -> FolderProvider:
        """Raises `Problem` 404 for an engine in memory."""
        if self._engine.serving.folder is None:
            raise Problem(404, "a service in memory has no log", mend="serve a folder")
        found = self._kept.pop(owner, None) or FolderProvider(self._engine)
        self._kept[owner] = found
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)[1].close()
        return found

    def close(self) -> None:
        while self._kept:
            self._kept.popitem()[1].close()
