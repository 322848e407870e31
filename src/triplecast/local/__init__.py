"""Folders that follow another one: local repositories and replicas of a provider."""

from triplecast.local.provider import FolderProvider, Provider
from triplecast.local.replica import Replica, promote
from triplecast.local.repository import Holder, LocalRepository

__all__ = ["FolderProvider", "Holder", "LocalRepository", "Provider", "Replica", "promote"]
