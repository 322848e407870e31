"""Folders that follow another one: local repositories and replicas of a provider."""

from triplecast.local.browsing import Browser
from triplecast.local.holding import Holder, collect_garbage, read_held
from triplecast.local.http_provider import HttpProvider
from triplecast.local.provider import FolderProvider, Provider
from triplecast.local.replica import Replica, promote
from triplecast.local.repository import LocalRepository

__all__ = [
    "Browser",
    "FolderProvider",
    "Holder",
    "HttpProvider",
    "LocalRepository",
    "Provider",
    "Replica",
    "collect_garbage",
    "promote",
    "read_held",
]
