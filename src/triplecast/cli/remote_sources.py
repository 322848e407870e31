"""The sources of a service, for `triplecast sources`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NoReturn

from triplecast.client import Client, calls
from triplecast.errors import InputError
from triplecast.sources import NewSource, write_opml
from triplecast.sources.source import Provenance


class RemoteSources:
    """What `SourceList` is of a folder. Methods raise `ServiceRefused`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def rows(self) -> list[dict[str, Any]]:
        return list(self._ask("GET")["sources"])

    def export(self) -> bytes:
        return self._client.ask(calls.sources("GET", "/outline")).body

    def add(self, wanted: Sequence[NewSource], _: int) -> list[tuple[str, bool]]:
        """Those of an outline in one request, which has all their folders."""
        is_one = len(wanted) == 1 and len(wanted[0].folders) < 2
        if is_one or any(each.split or each.identity != "guid" for each in wanted):
            folders = ({"folder": next(iter(each.folders), ()), "folders": None} for each in wanted)
            rows = [self._ask("POST", **asdict(each) | of) for each, of in zip(wanted, folders, strict=True)]
        else:
            rows = self._ask("POST", "/outline", write_opml(wanted))["sources"]
        return [(row["url"], row["added"]) for row in rows]

    def named(self, _: object) -> NoReturn:
        raise InputError("a service counts what is held, and does not list it", "list it where its folder is")

    held = named

    def remove(self, url: str) -> None:
        self._client.ask(calls.sources("DELETE", url=url))

    def check(self, url: str, _: int) -> str:
        return str(self._ask("POST", "/check", url=url)["url"])

    def release(self, url: str, _: int) -> int:
        return int(self._ask("POST", "/release", url=url)["released"])

    def provenance(self, graph: str) -> list[Provenance]:
        return [Provenance(**row) for row in self._ask("GET", "/provenance", graph=graph)["provenance"]]

    def _ask(self, method: str, act: str = "", body: bytes | None = None, **params: object) -> Any:
        return self._client.ask(calls.sources(method, act, body, **params)).json()
