"""The awkward terms, in clusters of near relatives: what a query asks about lies near what a publication says.

Each term has one *class*: a row of the census table, which must occur on the matching and on the failing side.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from tests.reference.terms import STRING, XSD, Term, iri, literal


class Member(NamedTuple):
    kind: str
    term: Term


def _typed(kind: str, datatype: str, *lexicals: str) -> list[Member]:
    return [Member(kind, literal(lexical, XSD + datatype)) for lexical in lexicals]


def _strings(kind: str, *texts: str, language: str = "") -> list[Member]:
    return [Member(kind, literal(text, language=language)) for text in texts]


def _iris(kind: str, *texts: str) -> list[Member]:
    return [Member(kind, iri(text)) for text in texts]


ODD = "http://example.org/datatype"
TEXT, ENGLISH, UNSTEMMED = "text", "English text", "text without stems"
"""Texts that full text is asked of: without a tag, tagged English, tagged with a language that has no stems."""
_LONG = "http://example.org/" + "long/" * 120

CLUSTERS: tuple[tuple[Member, ...], ...] = tuple(
    tuple(members)
    for members in (
        # one, in all its clothes
        _typed("integer", "integer", "1", "2", "0", "-1")
        + _typed("integer with zeros or sign", "integer", "01", "+1", "-01", "002")
        + _typed("decimal", "decimal", "1.0", "1.5", "0.9")
        + _typed("decimal with zeros or sign", "decimal", "+1.0", "01.50", "1.00", "1.")
        + _typed("double", "double", "1.0E0", "1.5E0", "1e0")
        + _typed("float", "float", "1.0", "1.5")
        + _typed("derived integer", "byte", "1", "2")
        + _typed("derived integer", "long", "1", "01")
        + _typed("derived integer", "positiveInteger", "1")
        + _typed("beside a double", "decimal", "1.0000000000000001", "0.99999999999999999"),
        # the bounds of the derived types
        _typed("integer", "integer", "200", "199", "201", "127", "128")
        + _typed("out of its type's bounds", "byte", "200", "128")
        + _typed("derived integer", "byte", "127")
        + _typed("derived integer", "unsignedByte", "200", "199")
        + _typed("derived integer", "short", "200", "201")
        + _typed("out of its type's bounds", "unsignedByte", "256", "-1")
        + _typed("ill-formed number", "integer", " 200", "200.0", "two hundred", "")
        + _typed("ill-formed number", "decimal", "2e2", " 200.0")
        + _typed("decimal", "decimal", "200.0", "200.5", "199.5")
        + _typed("beside a double", "decimal", "200.00000000000001", "199.99999999999999"),
        # the end of 64 bits and beyond
        _typed("30 digits", "integer", "123456789012345678901234567890", "123456789012345678901234567891")
        + _typed("30 digits", "decimal", "123456789012345678901234567890.5")
        + _typed("end of 64 bits", "integer", "9223372036854775807", "9223372036854775806", "-9223372036854775808")
        + _typed("beyond 64 bits", "integer", "9223372036854775808", "-9223372036854775809")
        + _typed("beyond 64 bits", "unsignedLong", "9223372036854775808")
        + _typed("double", "double", "9.223372036854775807E18", "1.2345678901234568E29")
        + _typed("float", "float", "9.223372E18"),
        # one tenth, three times
        _typed("float 0.1", "float", "0.1", "0.10", "0.100000001490116")
        + _typed("double 0.1", "double", "0.1", "1.0E-1", "0.10000000000000002", "0.10000000149011612")
        + _typed("decimal 0.1", "decimal", "0.1", "0.10", "0.100000001490116")
        + _typed("beside a double", "decimal", "0.10000000000000001", "0.100000000000000001"),
        # zeros and the ends of the floating-point world
        _typed("negative zero", "double", "-0.0", "-0.0E0")
        + _typed("negative zero", "float", "-0.0")
        + _typed("negative zero", "decimal", "-0.0")
        + _typed("integer", "integer", "0", "-0")
        + _typed("double", "double", "0.0", "0.0E0", "1e400")
        + _typed("NaN", "double", "NaN")
        + _typed("NaN", "float", "NaN")
        + _typed("infinity", "double", "INF", "-INF")
        + _typed("infinity", "float", "INF", "-INF")
        + _typed("ill-formed number", "double", "inf", "nan"),
        # where a double is too coarse
        _typed("16 to 18 digits", "decimal", "0.1234567890123456", "0.12345678901234567", "0.123456789012345678")
        + _typed("16 to 18 digits", "decimal", "0.123456789012345679", "1234567890.12345678", "1234567890.12345679")
        + _typed("16 to 18 digits", "integer", "12345678901234567", "12345678901234568", "123456789012345678")
        + _typed("beyond 18 digits", "decimal", "0.1234567890123456789", "1234567890123456789.5")
        + _typed("19 to 36 digits", "decimal", "1234567890.123456789", "123456789012345678.000000000000000001")
        + _typed("double", "double", "1.2345678901234568E16", "0.12345678901234568", "1.2345678901234568E17")
        + _typed("decimal", "decimal", "0.123456789012345", "1234567890.12345"),
        # moments
        _typed("dateTime with zone", "dateTime", "2024-02-29T12:00:00Z", "2024-02-29T13:00:00+01:00")
        + _typed("dateTime with zone", "dateTime", "2024-02-29T12:00:00.5Z", "2024-02-29T12:00:00.500Z")
        + _typed("dateTime with zone", "dateTime", "2024-02-29T22:00:00-04:00", "2024-03-01T02:00:00.001Z")
        + _typed("dateTime without zone", "dateTime", "2024-02-29T12:00:00", "2024-02-29T12:00:00.0")
        + _typed("dateTime without zone", "dateTime", "2024-03-01T02:00:00", "2024-02-28T22:00:00")
        + _typed("24:00:00", "dateTime", "2024-02-28T24:00:00Z", "2024-02-28T24:00:00")
        + _typed("dateTime with zone", "dateTime", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00-14:00")
        + _typed("ill-formed time", "dateTime", "2023-02-29T12:00:00Z", "2024-02-29", "2024-02-29T25:00:00Z"),
        # moments closer than a millisecond
        _typed("finer than a millisecond", "dateTime", "2024-02-29T12:00:00.0001Z", "2024-02-29T12:00:00.00010Z")
        + _typed("finer than a millisecond", "dateTime", "2024-02-29T12:00:00.0002Z", "2024-02-29T11:59:59.9999Z")
        + _typed("dateTime with zone", "dateTime", "2024-02-29T12:00:00Z", "2024-02-29T13:00:00.000+01:00"),
        # days and hours
        _typed("date with zone", "date", "2024-02-29Z", "2024-02-29+01:00", "2024-03-01+14:00", "2024-03-01Z")
        + _typed("date without zone", "date", "2024-02-29", "2024-03-01", "2024-02-28")
        + _typed("ill-formed time", "date", "2024-02-30", "2024-2-29")
        + _typed("time", "time", "12:00:00Z", "13:00:00+01:00", "12:00:00", "23:59:59.5Z", "00:00:00Z")
        + _typed("24:00:00", "time", "24:00:00Z", "24:00:00")
        + _typed("dateTime with zone", "dateTime", "2024-02-29T00:00:00Z"),
        # years, months and lengths of time
        _typed("gYear", "gYear", "2024", "2024Z", "2023", "2024+14:00", "-0044")
        + _typed("gYearMonth", "gYearMonth", "2024-02", "2024-02Z", "2024-03", "2024-13")
        + _typed("duration", "yearMonthDuration", "P1Y", "P12M", "P13M", "-P1Y")
        + _typed("duration", "dayTimeDuration", "P1D", "PT24H", "PT86400.5S", "-P1D")
        + _typed("unrecognised datatype", "duration", "P1D", "PT24H")
        + _typed("unrecognised datatype", "gMonthDay", "--02-29"),
        # booleans
        _typed("boolean", "boolean", "true", "false")
        + _typed("boolean as digit", "boolean", "1", "0")
        + _typed("ill-formed boolean", "boolean", "TRUE", "yes")
        + _strings("string", "true", "1")
        + _typed("integer", "integer", "1", "0"),
        # texts, their order and their normal forms
        _strings("string", "a", "b", "A", "ab")
        + _strings("empty string", "")
        + _strings("NFC", "caf\u00e9", "\u00e9")
        + _strings("NFD", "cafe\u0301", "e\u0301"),
        # languages
        _strings("language", "a", "b", language="en")
        + _strings("language", "a", "ab", language="en-gb")
        + _strings("language", "a", language="de")
        + _strings("empty language string", "", language="en")
        + _strings("string", "a")
        + _strings("empty string", ""),
        # characters that are written otherwise, or stand beyond the basic plane
        _strings("escapes", 'say "hi"\n', "tab\there\\", "\u0001\u007f", "\r\n")
        + _strings("beyond the basic plane", "\U0001f600", "\uffef", "\uffee\U0001f600")
        + _strings("language", 'say "hi"\n', language="en"),
        # datatypes that nobody knows
        [Member("unrecognised datatype", literal(text, ODD)) for text in ("a", "b", "1")]
        + _typed("unrecognised datatype", "anyURI", "http://example.org/a", "a")
        + _typed("unrecognised datatype", "token", "a")
        + _strings("string", "a", "1")
        + _typed("integer", "integer", "1"),
        # names
        _iris("long IRI", _LONG + "1", _LONG + "2")
        + _iris("IRI", "http://example.org/a", "http://example.org/b", "urn:x:a")
        + _iris("IRI beyond ASCII", "http://example.org/caf\u00e9", "http://example.org/cafe\u0301")
        + _iris("IRI beyond ASCII", "http://example.org/caf%C3%A9")
        + _strings("string", "http://example.org/a"),
        # texts of several words
        _strings(TEXT, "The Olympic Games", "the games, olympic", "rio 2016 – café", "cafe\nCAFÉ cafe", "game game rio")
        + _strings(TEXT, "can't 3.5 (naïve", "cafe\u0301 \u00ab rio")
        + _strings(ENGLISH, "Olympic game", "games; naive", "the Games. the game", language="en")
        + _strings(ENGLISH, "naïve games", language="en-gb")
        + _strings(UNSTEMMED, "the games", "games rio", language="xx")
        + [Member("unrecognised datatype", literal("the olympic games", ODD))]
        + _strings("empty string", ""),
    )
)

_KIND_OF: dict[Term, str] = {member.term: member.kind for cluster in CLUSTERS for member in cluster}
ORDINARY_NUMBER, ORDINARY_TIME = "ordinary number", "ordinary dateTime"
KINDS: tuple[str, ...] = (*dict.fromkeys(_KIND_OF.values()), ORDINARY_NUMBER, ORDINARY_TIME)


def kind_of(term: Term) -> str | None:
    """The class of a term: a row of the census. None for the names of the world and for what a query makes up."""
    kind = _KIND_OF.get(term)
    if kind is None and term[0] == "literal":
        if term[2] in (XSD + "integer", XSD + "decimal", XSD + "double"):
            return ORDINARY_NUMBER
        if term[2] == XSD + "dateTime":
            return ORDINARY_TIME
        if (term[3] or term[2] == STRING) and any(space in term[1] for space in " \n\u3000"):
            return {"": TEXT, "e": ENGLISH, "x": UNSTEMMED}.get(term[3][:1])
    return kind


def ordinary_cluster(random: Random) -> list[Member]:
    """Values as catalogues have them, spread over several orders of magnitude: for windows of all widths."""
    spread = 10 ** random.randrange(1, 8)
    numbers = [random.randrange(-spread // 10, spread) for _ in range(8)]
    members = [Member(ORDINARY_NUMBER, ordinary_number(number, random)) for number in numbers]
    return members + [Member(ORDINARY_TIME, ordinary_time(number, random)) for number in numbers[:4]]


def ordinary_number(number: int, random: Random) -> Term:
    """`number` as an integer, or something within one of it as a decimal or double."""
    kind = random.choice(("integer", "integer", "decimal", "double"))
    if kind == "integer":
        return literal(str(number), XSD + kind)
    fraction = f"{number}.{random.randrange(100):02d}"
    return literal(fraction if kind == "decimal" else f"{fraction}e0", XSD + kind)


def ordinary_time(number: int, random: Random) -> Term:
    """A moment `number` minutes from the beginning of 2024."""
    moment = datetime(2024, 1, 1) + timedelta(minutes=number)
    return literal(moment.isoformat() + random.choice(("Z", "Z", "", "+02:00")), XSD + "dateTime")


def relatives(term: Term) -> tuple[Term, ...]:
    """All terms of the clusters that `term` is in, itself among them; itself alone when it is in none."""
    near = [member.term for cluster in CLUSTERS if any(term == m.term for m in cluster) for member in cluster]
    return tuple(dict.fromkeys(near)) or (term,)


RELATIVES: dict[Term, tuple[Term, ...]] = {term: relatives(term) for term in _KIND_OF}
