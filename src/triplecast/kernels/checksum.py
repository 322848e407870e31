"""A checksum of a whole file at memory speed: it finds damage, not forgery."""

from __future__ import annotations

import numpy as np

from triplecast.kernels import njit
from triplecast.kernels.layout import U8
from triplecast.kernels.words import load_word, multiply_fold

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xE7037ED1A0B428DB)
_STEP = np.uint64(0xD6E8FEB86659FD93)


@njit
def checksum(content: U8) -> np.uint64:
    """64 bits over all bytes and their number, two lanes of eight bytes at a time."""
    first = _FIRST ^ np.uint64(len(content))
    second = _SECOND
    at = 0
    while at + 16 <= len(content):
        left, right = load_word(content, at), load_word(content, at + 8)
        first = multiply_fold(first ^ left, _STEP) ^ right
        second = multiply_fold(second ^ right, _STEP) ^ left
        at += 16
    while at < len(content):
        first = multiply_fold(first ^ np.uint64(content[at]), _STEP) ^ np.uint64(at)
        at += 1
    return multiply_fold(first ^ second, _SECOND) ^ first


def warm_up() -> None:
    checksum(np.zeros(20, np.uint8))
