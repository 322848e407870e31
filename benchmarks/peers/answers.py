"""What engines are compared by: a hash of the set of (publication, subscription) pairs that does not see their order.

Every engine makes it in its own language (`java/Peer.java` has the other one): each pair as the 64-bit number
``publication << 32 | subscription``, mixed by SplitMix64 (Steele, Lea and Flood 2014), all summed modulo 2^64.
"""

from __future__ import annotations

from dataclasses import dataclass

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Answer:
    matches: int
    digest: str
    """16 hexadecimal digits."""


def hash_pairs(pairs: list[tuple[int, int]]) -> Answer:
    """`pairs` without repetition: a pair told twice is another answer."""
    total = sum(_mix(publication << 32 | subscription) for publication, subscription in pairs)
    return Answer(len(pairs), f"{total & _MASK:016x}")


def _mix(number: int) -> int:
    number = number + 0x9E3779B97F4A7C15 & _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31
