"""Eight bytes at a time: the few machine operations that numba does not offer by itself.

A *padded text* is a uint8 array that ends with at least `PADDING` zero bytes, so that every load below that starts
inside the text stays inside the array, and every search for a byte stops at the latest at the first padding byte.
Words are read in the machine's byte order; the formats built on them are little-endian, and so are all machines that
numba supports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from triplecast.kernels import inlined

Text: TypeAlias = NDArray[np.uint8]

PADDING = 16
"""Zero bytes after a text."""

_ONES = np.uint64(0x0101010101010101)
_LOWS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGHS = np.uint64(0x8080808080808080)


def _load_word(typing_context: Any, text: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.intp), generate


def _multiply_fold(typing_context: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, double = ir.IntType(64), ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], double), builder.zext(arguments[1], double))
        high = builder.trunc(builder.lshr(product, ir.Constant(double, 64)), word)
        return builder.xor(builder.trunc(product, word), high)

    return types.uint64(types.uint64, types.uint64), generate


def _count_low_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _count_ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        offset = builder.mul(arguments[1], builder.extract_value(stored.strides, 0))
        place = builder.gep(builder.bitcast(stored.data, byte), [offset])
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.none(array, types.intp), generate


def _copy_numbers(typing_context: Any, target: Any, at: Any, source: Any, first: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, size = ir.IntType(8).as_pointer(), ir.IntType(64)
        into = context.make_array(signature.args[0])(context, builder, arguments[0])
        origin = context.make_array(signature.args[2])(context, builder, arguments[2])
        left = builder.bitcast(builder.gep(into.data, [arguments[1]]), byte)
        right = builder.bitcast(builder.gep(origin.data, [arguments[3]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, byte, size, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, size], kind)
        length = builder.mul(arguments[4], ir.Constant(size, signature.args[0].dtype.bitwidth // 8))
        builder.call(function, [left, right, length, ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp, types.intp), generate


load_word = cast(Callable[[Text, int], np.uint64], intrinsic(_load_word))
"""``load_word(text, index)``: the eight bytes from `index`, unaligned, unchecked."""

multiply_fold = cast(Callable[[np.uint64, np.uint64], np.uint64], intrinsic(_multiply_fold))
"""``multiply_fold(left, right)``: the two halves of the 128-bit product, xored."""

count_low_zeros = cast(Callable[[np.uint64], int], intrinsic(_count_low_zeros))
"""``count_low_zeros(word)``: zero bits below the lowest set bit; 64 for zero."""

count_ones = cast(Callable[[np.uint64], int], intrinsic(_count_ones))
"""``count_ones(word)``: set bits."""


copy_numbers = cast(Callable[[Any, int, Any, int, int], None], intrinsic(_copy_numbers))
"""``copy_numbers(target, at, source, first, count)``: copy a slice between arrays of one type, unchecked."""

prefetch = cast(Callable[[NDArray[Any], Any], None], intrinsic(_prefetch))
"""``prefetch(array, row)``: prefetch a row that will be read soon. Never faults; changes only speed."""


@inlined
def count_equal(word: np.uint64, repeated: np.uint64) -> int:
    """How many bytes of `word` equal `repeated`'s, exactly."""
    difference = word ^ repeated
    return 8 - count_ones((((difference & _LOWS) + _LOWS) | difference) & _HIGHS)


@inlined
def mark_equal(word: np.uint64, repeated: np.uint64) -> np.uint64:
    """High bits of the bytes of `word` that equal `repeated`'s (one byte eight times); exact up to the lowest set
    bit.
    """
    difference = word ^ repeated
    return (difference - _ONES) & ~difference & _HIGHS


@inlined
def mark_less(word: np.uint64, repeated: np.uint64) -> np.uint64:
    """High bits of the bytes of `word` that are less than `repeated`'s (at most 0x80); exact up to the lowest set
    bit.
    """
    return (word - repeated) & ~word & _HIGHS


@inlined
def keep_low(word: np.uint64, count: int) -> np.uint64:
    """The first `count` bytes (0 to 8) of `word`, the others zero."""
    if count >= 8:
        return word
    return word & ((np.uint64(1) << np.uint64(8 * count)) - np.uint64(1))


@inlined
def same_bytes(text: Text, left: int, right: int, length: int) -> bool:
    """Whether two slices of one padded text hold the same bytes."""
    while length >= 8:
        if load_word(text, left) != load_word(text, right):
            return False
        left += 8
        right += 8
        length -= 8
    return bool(keep_low(load_word(text, left) ^ load_word(text, right), length) == np.uint64(0))


def pad(parts: list[bytes]) -> Text:
    """The padded text of all `parts`, one after the other; a new array that may be written to."""
    return np.frombuffer(bytearray().join([*parts, bytes(PADDING)]), dtype=np.uint8)
