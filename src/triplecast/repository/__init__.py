"""The repository: the current documents of a folder as one graph and as named graphs (semantics 2.5)."""

from triplecast.repository.changes import Change, Changes
from triplecast.repository.query import QUERY_STEPS, EntailedCopies, QueryAnswer, query_store
from triplecast.repository.repository import Repository
from triplecast.repository.store import Store

__all__ = ["QUERY_STEPS", "Change", "Changes", "EntailedCopies", "QueryAnswer", "Repository", "Store", "query_store"]
