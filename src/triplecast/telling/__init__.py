"""What subscriptions are told of what was found: all of it, what differs from what they were told, or what is new."""

from triplecast.telling.earlier import Pair
from triplecast.telling.open_events import OpenEvents
from triplecast.telling.telling import Telling, Told

__all__ = ["OpenEvents", "Pair", "Telling", "Told"]
