"""Sources: addresses that are asked again and again, and what they bring, published once (docs/sources.md)."""

from triplecast.sources.opml import read_opml, write_opml
from triplecast.sources.polling import Poller
from triplecast.sources.schedule import Bounds
from triplecast.sources.source import KnownSource, NewSource
from triplecast.sources.source_list import SourceList
from triplecast.sources.taking import Polled

__all__ = ["Bounds", "KnownSource", "NewSource", "Polled", "Poller", "SourceList", "read_opml", "write_opml"]
