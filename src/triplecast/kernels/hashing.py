"""The 64-bit hash of a term's canonical N-Triples bytes: the same in the scan, in the dictionary and in segment files.

Multiply-and-fold over 16 bytes at a time (the construction of wyhash: Wang Yi, "wyhash final version 4", 2023) with the
protected step, in which no input can cancel the state. The seed is a constant, because segment files hold these
hashes: so collisions can be made on purpose, and whoever compares hashes compares the bytes as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import inlined, njit
from triplecast.kernels.words import Text, keep_low, load_word, multiply_fold, pad

HASH_MASK = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Which bits of a hash are kept: all. Read at every call, so that a test can force collisions."""

_SEED = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_LAST = np.uint64(0xA0761D6478BD642F)
_LENGTH = np.uint64(0xE7037ED1A0B428DB)


@inlined
def _absorb(state: np.uint64, low: np.uint64, high: np.uint64, step: np.uint64) -> np.uint64:
    left = low ^ step
    right = high ^ state
    return multiply_fold(left, right) ^ left ^ right


@inlined
def hash_slice(text: Text, start: int, length: int) -> np.uint64:
    """The hash of ``text[start:start + length]`` of a padded text."""
    return hash_under(text, start, length, _SEED, _STEP)


@inlined
def hash_under(text: Text, start: int, length: int, seed: np.uint64, step: np.uint64) -> np.uint64:
    """As `hash_slice`, under secret constants, for which nobody can construct collisions."""
    state = seed
    rest = length
    while rest > 16:
        state = _absorb(state, load_word(text, start), load_word(text, start + 8), step)
        start += 16
        rest -= 16
    if rest > 8:
        state = _absorb(state, load_word(text, start), keep_low(load_word(text, start + 8), rest - 8), step)
    else:
        state = _absorb(state, keep_low(load_word(text, start), rest), np.uint64(0), step)
    return multiply_fold(state ^ _LAST, np.uint64(length) ^ _LENGTH)


@njit
def hash_slices(text: Text, offsets: NDArray[np.int64], mask: np.uint64) -> NDArray[np.uint64]:
    """The hashes, under `mask`, of the slices ``text[offsets[i]:offsets[i + 1]]`` of a padded text."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = hash_slice(text, offsets[i], offsets[i + 1] - offsets[i]) & mask
    return hashes


def hash_terms(terms: Sequence[bytes]) -> NDArray[np.uint64]:
    """The hashes of terms given in canonical N-Triples form."""
    offsets = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, terms), np.int64, len(terms)), out=offsets[1:])
    return hash_slices(pad(list(terms)), offsets, HASH_MASK)


def warm_up() -> None:
    hash_terms([b"<x:y>"])
