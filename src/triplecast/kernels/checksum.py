"""Checksums of whole files at memory speed: they find damage, not forgery."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from triplecast.kernels import inlined, njit
from triplecast.kernels.layout import U8
from triplecast.kernels.words import load_word, multiply_fold

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xE7037ED1A0B428DB)
_STEP = np.uint64(0xD6E8FEB86659FD93)
PART = 8 << 20
"""Bytes that one thread reads at a time."""


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


def checksum_of_parts(content: U8) -> np.uint64:
    """64 bits over all bytes and their number, read by two threads: for files of hundreds of megabytes."""
    parts = [content[start : start + PART] for start in range(0, len(content), PART)]
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as threads:
        found = np.array([*threads.map(_checksum_of_part, parts)], np.uint64)
    return checksum(np.append(found, np.uint64(len(content))).view(np.uint8))


@njit
def _checksum_of_part(content: U8) -> np.uint64:
    """64 bits over all bytes and their number, four lanes of sixteen bytes at a time."""
    first, second = _FIRST ^ np.uint64(len(content)), _SECOND
    third, fourth = _FIRST ^ _SECOND, _FIRST ^ _STEP
    at = 0
    while at + 64 <= len(content):
        first = _mix(first, content, at)
        second = _mix(second, content, at + 16)
        third = _mix(third, content, at + 32)
        fourth = _mix(fourth, content, at + 48)
        at += 64
    while at < len(content):
        first = multiply_fold(first ^ np.uint64(content[at]), _STEP) ^ np.uint64(at)
        at += 1
    mixed = multiply_fold(first ^ second, _STEP) ^ first
    mixed = multiply_fold(mixed ^ third, _SECOND) ^ mixed
    return multiply_fold(mixed ^ fourth, _FIRST) ^ mixed


@inlined
def _mix(state: np.uint64, content: U8, at: int) -> np.uint64:
    """As `hashing`, with the protected step."""
    left, right = state ^ load_word(content, at), _STEP ^ load_word(content, at + 8)
    return multiply_fold(left, right) ^ left ^ right


def warm_up() -> None:
    checksum_of_parts(np.zeros(80, np.uint8))
