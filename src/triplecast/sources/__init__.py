"""Sources: addresses that are asked again and again, and what they bring, published once (docs/sources.md)."""

from triplecast.sources.opml import read_opml, write_opml
from triplecast.sources.polling import Polled, Poller
from triplecast.sources.schedule import Bounds
from triplecast.sources.source import NewSource, Source
from triplecast.sources.source_list import SourceList

__all__ = ["Bounds", "NewSource", "Polled", "Poller", "Source", "SourceList", "read_opml", "write_opml"]
