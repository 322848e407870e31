from __future__ import annotations

import random
import struct
from itertools import product

import pytest
from pyoxigraph import Literal, NamedNode

from triplecast.kernels import scan as scanning
from triplecast.kernels.literals import PENDING
from triplecast.kernels.scan import scan
from triplecast.terms.values import ValueClass, order_key


def words(text: str) -> list[str]:
    return text.split()


XSD = "http://www.w3.org/2001/XMLSchema#"
INTEGERS = words(
    "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte"
)
NUMBERS = [*INTEGERS, "decimal", "float", "double"]
TIMES = ["dateTime", "date", "time", "gYear", "gYearMonth"]
OTHERS = ["boolean", "string", "duration", "yearMonthDuration", "dayTimeDuration", "anyURI", "integers", "in", "dat"]

NUMBER_FORMS = words(
    "0 -0 +0 00 01 -01 +1 1. .5 -.5 . +. - + 1.0 +1.0 01.50 1.50 0.1 -0.1 1e0 1E0 1e+0 1e-0 1e 1e+ e1 1e22 1e23 1e-22 "
    "1e-23 1e400 -1e400 1e-400 1e0000 1e00001 1e2147483648 INF -INF +INF NaN inf nan -NaN 127 128 -128 -129 255 256 "
    "32767 32768 -32768 -32769 65535 65536 2147483647 2147483648 -2147483648 -2147483649 4294967295 4294967296 "
    "9007199254740991 9007199254740992 9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 "
    "-9223372036854775809 18446744073709551615 123456789012345 1234567890123456 12345678901234567 123456789012345678 "
    "1234567890123456789 99999999999999999999999999999 999999999999999.5 99999999999999.5 0.000000000000000000000001 "
    "0.0000000000000000000001 100000000000000000000000 1000000000000000000 0.1234567890123456 3.14159265358979 "
    "16777216 16777217 16777219 16777217.5 0.1000000014901161 1.17549435e-38 1.17549428e-38 3.4028235e38 3.4028236e38 "
    "1e-45 1e-46 7.006492321624085e-46 8388608.5 8388609.5 4.4501477170144023e-308 1_0 0x1 1,5 ١ ½ 1\u00a0 1f"
)
NUMBER_FORMS += ["", " 1", "1 ", "1\n", "1 2"]
TIME_FORMS = [
    f"{date}{time}{zone}"
    for date, time, zone in product(
        words(
            "2026-11-21 0000-01-01 0001-01-01 1900-02-29 2000-02-29 2024-02-30 2026-00-10 2026-13-01 2026-04-31 "
            "9999-12-31 -0001-01-01 12026-01-01 026-01-01 2026-1-01 2026-01-1 2026/01/01"
        ),
        ["", *words("T00:00:00 T23:59:59.999 T24:00:00 T24:00:01 T12:60:00 T12:00:60 T1:00:00 T12:00:00. t12:00:00")],
        ["", *words("Z z +00:00 -14:00 +14:00 +14:01 +13:59 +13:60 -15:00 +1:00 0100 +0100")],
    )
]
TIME_FORMS += [
    f"2026-11-21T12:00:00.{digits}{zone}"
    for digits in words("0 1 12 123 1234 1230 123000 1230001 000000001 0000000000000000000000000001")
    for zone in ("", "Z", "-05:30")
]
CLOCK_FORMS = [text.partition("T")[2] for text in TIME_FORMS]
PARTS = [text.partition("T")[0] + zone for text in TIME_FORMS[::13] for zone in ("", "Z", "+02:00", "x")]
YEARS = words(
    "2026 0000 9999 202 20266 -2026 +2026 2026Z 2026+01:00 2026-01 2026-13 2026-01Z 2026-12-05:00 2026-00 2026-"
)
BOOLEANS = words("true false 1 0 TRUE True 2 00 01 tru truee falsey fals")
BOOLEANS += ["", " true"]


def bits(number: float) -> bytes:
    """Tells -0.0 from 0.0; all NaN are one."""
    return b"nan" if number != number else struct.pack("<d", number)


def assert_scanned_as_ordered(literals: list[str]) -> None:
    """The scan gives each literal, in N-Triples form, the class, number and tie that `order_key` gives."""
    lines = [f"<x:s> <x:p> {literal} .\n".encode() for literal in literals]
    batch = scan(lines)
    for publication, literal in enumerate(literals):
        row = batch.term_offsets[publication] + 2
        found = (ValueClass(batch.term_class[row]), bits(batch.term_number[row]), int(batch.term_tie[row]))
        kind, number, tie = order_key(literal)
        assert found == (kind, bits(number), tie), literal


def typed(text: str, name: str) -> str:
    return str(Literal(text, datatype=NamedNode(XSD + name)))


def test_awkward_literals() -> None:
    forms = [*NUMBER_FORMS, *TIME_FORMS, *CLOCK_FORMS, *PARTS, *YEARS, *BOOLEANS]
    literals = [typed(text, name) for text in NUMBER_FORMS for name in [*NUMBERS, "boolean", "dateTime", "gYear"]]
    literals += [typed(text, name) for text in {*TIME_FORMS, *CLOCK_FORMS, *PARTS, *YEARS} for name in TIMES]
    literals += [typed(text, name) for text in BOOLEANS for name in ("boolean", "integer")]
    literals += [typed(text, name) for text in forms[::11] for name in OTHERS]
    assert_scanned_as_ordered(literals)


@pytest.mark.parametrize(
    "literal",
    [
        '"plain"',
        '""',
        '"tab\\t quote\\" \\u0001"',
        '"tagged"@en-gb',
        '"5"^^<http://example.org/type>',
        '"5"^^<http://www.w3.org/2001/XMLSchema>',
        '"5"^^<http://www.w3.org/2001/XMLSchema#>',
        '"5"^^<http://www.w3.org/2001/XMLSchema/integer>',
        '"5"^^<http://www.w3.org/2001/XMLschema#integer>',
        '"5"^^<x:integer>',
        '"5\\n"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '"5\\n"^^<x:y>',
        '"P1Y"^^<http://www.w3.org/2001/XMLSchema#yearMonthDuration>',
        '"\\"5"^^<http://www.w3.org/2001/XMLSchema#double>',
        "<x:o>",
        "_:b",
    ],
)
def test_every_kind_of_term(literal: str) -> None:
    assert_scanned_as_ordered([literal])


def test_random_literals(seed: int) -> None:
    source = random.Random(seed)
    literals = []
    for _ in range(20_000):
        name = source.choice(NUMBERS + TIMES)
        text = source.choice(NUMBER_FORMS[:60] if name in NUMBERS else TIME_FORMS + CLOCK_FORMS + YEARS)
        if name in NUMBERS and source.random() < 0.6:
            text = source.choice(("", "-", "+", "0")) + str(source.randrange(10 ** source.randrange(1, 21)))
            text += source.choice(("", ".", f".{source.randrange(10**6)}", f"e{source.randrange(-40, 40)}"))
        if source.random() < 0.3 and text:
            place = source.randrange(len(text))
            text = text[:place] + source.choice("0123456789+-.:TZe") + text[place + source.randrange(2) :]
        literals.append(typed(text, name))
    assert_scanned_as_ordered(literals)


def test_a_float_halfway_between_two_singles(seed: int) -> None:
    source = random.Random(seed)
    literals = []
    for _ in range(2_000):
        single = struct.unpack("<f", struct.pack("<I", source.randrange(0x3F000000, 0x4B000000)))[0]
        halfway = single + (struct.unpack("<f", struct.pack("<f", single * (1 + 2**-23)))[0] - single) / 2
        text = f"{halfway:.40f}".rstrip("0")
        literals += [typed(text, "float"), typed(text[: source.randrange(4, 17)], "float")]
    assert_scanned_as_ordered(literals)


def test_frequent_forms_are_decided_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    literals = [typed(text, "integer") for text in ("0", "-17", "2026", "999999999999999")]
    literals += [typed(text, "decimal") for text in ("0.5", "-12.25", "9999.9", "42")]
    literals += [typed(text, "double") for text in ("0.5", "1.5E3", "1e-7", "-0.0")]
    literals += [typed(text, "float") for text in ("0.5", "19.99")]
    literals += [typed(text, "boolean") for text in ("true", "false", "1")]
    literals += [typed("2026-11-21T08:00:00.123456Z", "dateTime"), typed("2026-11-21", "date"), typed("2026", "gYear")]
    literals += [typed("300", "byte"), typed("08:00:00+01:00", "time"), typed("2026-11", "gYearMonth")]
    literals += ['"text"', '"Text"@de', '"5"^^<x:y>']
    monkeypatch.setattr(scanning, "_finish_pending", lambda batch: None)
    batch = scan([f"<x:s> <x:p> {literal} .\n".encode() for literal in literals])
    assert [literal for literal, kind in zip(literals, batch.term_class[2::3], strict=True) if kind == PENDING] == []
