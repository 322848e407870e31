"""What subscriptions are told of what was found: all of it, what differs from what they were told, or what is new."""

from triplecast.telling.earlier import Pair
from triplecast.telling.telling import Telling, Told
from triplecast.telling.waiting import Waiting

__all__ = ["Pair", "Telling", "Told", "Waiting"]
