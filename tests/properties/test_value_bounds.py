"""Numbers and times at every bound of semantics 3.3, each pair under each operator, against exact arithmetic.

No test saw that a decimal of more than 18 digits in all was ill-typed, since the reference had the same mistake: it was
written from the code, not from the clause. Literals made at the bounds that the clause names, on both sides of each,
would have shown it; here they go through the scan kernel, the index, the rows of joins and the evaluator.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from pyoxigraph import Literal, NamedNode

from tests.reference.expressions import FUNCTIONS
from tests.reference.terms import XSD, Term, literal, write
from tests.reference.values import (
    DOUBLE,
    EXACT,
    FLOAT,
    ILL,
    NUMERIC,
    TypeFault,
    compare,
    fits_decimal,
    nearest_single,
    value_of,
)
from tests.unit.evaluate.evaluate_samples import answers
from tests.unit.match.match_samples import matcher, registrations, snapshot_of
from triplecast.index import build_segment
from triplecast.kernels.scan import scan
from triplecast.model.publication import Publication
from triplecast.terms.arithmetic import calculate
from triplecast.terms.casts import CASTS
from triplecast.terms.compare import COMPARISONS, ValueFault
from triplecast.terms.values import INTEGER_BOUNDS, ValueClass

FAMILIES = {ValueClass.EXACT: EXACT, ValueClass.FLOAT: FLOAT, ValueClass.DOUBLE: DOUBLE, ValueClass.ILL: ILL}
FAMILIES |= {ValueClass.YEARMONTHDURATION: "yearMonthDuration", ValueClass.DAYTIMEDURATION: "dayTimeDuration"}
TIMES = {"DATETIME": "dateTime", "DATE": "date", "TIME": "time", "GYEAR": "gYear", "GYEARMONTH": "gYearMonth"}
FAMILIES |= {kind: name for start, name in TIMES.items() for kind in (ValueClass[start], ValueClass[start + "_LOCAL"])}
SIDES = (0, 1, 14, 15, 16, 17, 18, 19)
"""Digits of a decimal before and behind its point."""
POWERS = (0, 10, 23, 24, 25, 52, 53, 54, 59, 62, 63, 64, -1, -4, -10, -17, -18, -19, -60)
DAYS = ("0000-02-29", "0001-01-01", "-0001-12-31", "1969-12-31", "1970-01-01", "2000-02-29", "1900-02-29", "9999-12-31")
DAYS += ("10000-01-01", "1" * 18 + "-01-01", "1" * 19 + "-01-01", "2026-11-30", "2026-11-31", "2026-12-01")
CLOCKS = ("00:00:00", "24:00:00", "24:00:01", "23:59:59", "23:59:60", "12:00:00.5", "12:00:00.50", "23:59:59.9995")
CLOCKS += ("12:00:00." + "0" * 17 + "1", "12:00:00." + "0" * 18 + "1")
ZONES = ("", "", "Z", "+00:00", "-00:00", "+14:00", "-14:00", "+13:59", "+14:01", "-00:30")


def digits(chance: Random, count: int) -> str:
    return str(chance.randrange(10 ** (count - 1), 10**count)) if count else ""


def spelt(chance: Random, text: str) -> str:
    """The same number with zeros in front, or a plus sign."""
    bare = text.lstrip("-")
    zeros = "0" * chance.choice((0, 0, 0, 1, 20))
    return ("-" if text[0] == "-" else chance.choice(("", "", "+"))) + zeros + bare


def integers(chance: Random) -> list[Term]:
    """Each derived type at both its bounds and one beyond."""
    made = []
    for name, bounds in INTEGER_BOUNDS.items():
        number = chance.choice(bounds) + chance.choice((-1, 0, 1))
        made.append(literal(spelt(chance, str(number)), name))
    return made + [literal(digits(chance, count), XSD + "integer") for count in (15, 16, 17, 18, 19, 20)]


def decimals(chance: Random) -> list[Term]:
    """Every pair of lengths around the bounds, with zeros that do not count."""
    made = []
    for _ in range(24):
        whole, fraction = digits(chance, chance.choice(SIDES)), digits(chance, chance.choice(SIDES))
        fraction += "0" * chance.choice((0, 0, 1, 20))
        text = spelt(chance, chance.choice(("", "-")) + (whole or "0"))
        made.append(literal(f"{text}.{fraction}" if fraction else text, XSD + "decimal"))
    return made


def beside_doubles(chance: Random) -> list[Term]:
    """Powers of two as double, float and exact number, and their neighbours."""
    made = []
    for power in chance.sample(POWERS, 6):
        number = math.ldexp(chance.choice((1.0, -1.0)), power)
        near = chance.choice((number, math.nextafter(number, 0), math.nextafter(number, math.inf)))
        exact = Decimal(near) + chance.choice((0, 1, -1)) * Decimal(chance.choice(("1e-18", "1e-17", "1")))
        made += [literal(repr(near), XSD + "double"), literal(repr(near), XSD + "float")]
        made.append(literal(f"{exact:f}", XSD + "decimal"))
        if number == int(number):
            made.append(literal(str(int(number) + chance.choice((-1, 0, 1))), XSD + "integer"))
    names = (XSD + "double", XSD + "float")
    return made + [literal(text, chance.choice(names)) for text in ("NaN", "INF", "-INF", "-0.0", "1e400", "1e-400")]


def times(chance: Random) -> list[Term]:
    made = []
    for _ in range(40):
        day, clock, zone = chance.choice(DAYS), chance.choice(CLOCKS), chance.choice(ZONES)
        year, month, _ = day.rsplit("-", 2)
        forms = {"dateTime": f"{day}T{clock}{zone}", "date": day + zone, "time": clock + zone}
        forms |= {"gYear": year + zone, "gYearMonth": f"{year}-{month}{zone}"}
        name = chance.choice(("dateTime", "dateTime", "dateTime", *forms))
        made.append(literal(forms[name], XSD + name))
    for count in (1, 18, 19):
        number = digits(chance, count)
        made += [literal(f"P{number}Y", XSD + "yearMonthDuration"), literal(f"-P{number}M", XSD + "yearMonthDuration")]
        made += [literal(f"PT0.{number}S", XSD + "dayTimeDuration"), literal(f"P{number}D", XSD + "dayTimeDuration")]
    return made


def numbers(chance: Random) -> list[Term]:
    return chance.sample(integers(chance) + decimals(chance) + beside_doubles(chance), 60)


def pools(rounds: int, seed: int) -> list[list[Term]]:
    chance = Random(seed)
    return [list(dict.fromkeys(make(chance))) for _ in range(rounds) for make in (numbers, times)]


ROUNDS = pytest.mark.parametrize("rounds", [2, pytest.param(60, marks=pytest.mark.slow)])


def verdict(operator: str, left: Term, right: Term) -> bool:
    """Whether a filter keeps the pair."""
    try:
        return compare(operator, left, right)
    except TypeFault:
        return False


@ROUNDS
def test_the_kernel_reads_them_as_exact_arithmetic_does(rounds: int, seed: int) -> None:
    kinds = set()
    for pool in pools(rounds, seed):
        batch = scan([f"<x:s> <x:p> {write(term)} .\n".encode() for term in pool])
        places = []
        for at, term in enumerate(pool):
            row = batch.term_offsets[at] + 2
            kind = ValueClass(batch.term_class[row])
            places.append((kind, float(batch.term_number[row]), int(batch.term_tie[row])))
            assert FAMILIES[kind] == value_of(term).family, term
            kinds.add(kind)
        for one, (kind, number, tie) in zip(pool, places, strict=True):
            for two, other in zip(pool, places, strict=True):
                if other[::2] != (kind, 0) or kind == ValueClass.ILL:
                    continue
                for operator, holds in COMPARISONS.items():
                    assert holds((number, tie), (other[1], 0)) == verdict(operator, one, two) or number != number
    assert len(kinds) > 8


@ROUNDS
def test_every_pair_under_every_operator(rounds: int, seed: int) -> None:
    """A constant, by the index; two variables, by the rows of a join and by the evaluator."""
    kept = 0
    for pool in pools(rounds, seed):
        lines = sorted(f"<http://e/{at}> <http://e/p> {write(term)} .\n" for at, term in enumerate(pool))
        published = Publication(1_000_000, "http://g/1", 1, "2026-11-21T08:00:00.000000Z", "".join(lines).encode())
        asked = [(operator, term) for operator in COMPARISONS for term in pool]
        queries = [f"SELECT ?s {{ ?s e:p ?v FILTER(?v {operator} {write(term)}) }}" for operator, term in asked]
        joins = [f"SELECT ?s ?t {{ ?s e:p ?v . ?t e:p ?w FILTER(?v {operator} ?w) }}" for operator in COMPARISONS]
        subscriptions = registrations(*queries, *joins)
        batch = matcher().match(snapshot_of([build_segment(subscriptions)]), [published])
        assert not batch.undecided
        rows = [json.loads(batch.bindings_of(row)) for row in range(len(batch.registration))]
        found = dict(zip(batch.registration.tolist(), rows, strict=True))
        for number, (operator, constant) in enumerate(asked, 1):
            wanted = [f"<http://e/{at}>" for at, term in enumerate(pool) if verdict(operator, term, constant)]
            assert [row["s"] for row in found.get(number, [])] == sorted(wanted), queries[number - 1]
            kept += len(wanted)
        for number, (operator, join) in enumerate(zip(COMPARISONS, joins, strict=True), 1 + len(asked)):
            wanted = [
                (f"<http://e/{one}>", f"<http://e/{two}>")
                for one, left in enumerate(pool)
                for two, right in enumerate(pool)
                if verdict(operator, left, right)
            ]
            assert [(row["s"], row["t"]) for row in found.get(number, [])] == sorted(wanted), join
            slow = answers(join.replace("e:p", "<http://e/p>"), published)
            assert [(row["s"], row["t"]) for row in slow] == sorted(wanted), join
    assert kept > 10_000


@ROUNDS
def test_arithmetic_and_casts_are_exact_or_errors(rounds: int, seed: int) -> None:
    errors = values = 0
    for pool in pools(rounds, seed)[::2]:
        known = [term for term in pool if value_of(term).family in NUMERIC]
        for left in known:
            _check_casts(left)
            for right in known:
                for operator in "+-*/":
                    families = {value_of(left).family, value_of(right).family}
                    if operator == "/" and families != {EXACT}:
                        continue
                    wanted = _outcome(lambda: FUNCTIONS[operator](left, right), TypeFault)  # noqa: B023
                    found = _outcome(lambda: calculate(operator, _ours(left), _ours(right)), ValueFault)  # noqa: B023
                    assert found == wanted, (left, operator, right)
                    errors, values = errors + (wanted is None), values + (wanted is not None)
    assert errors > 300
    assert values > 300


def _ours(term: Term) -> Literal:
    return Literal(term[1], datatype=NamedNode(term[2]))


def _outcome(result, fault: type[Exception]) -> tuple[str, str] | None:
    """The datatype and value, as text in which NaN equals itself; None for an error."""
    try:
        made = result()
    except fault:
        return None
    term = made if isinstance(made, tuple) else literal(made.value, made.datatype.value)
    assert value_of(term).family != ILL, term
    return term[2], str(value_of(term).number)


def _check_casts(term: Term) -> None:
    number = value_of(term).number
    finite = not isinstance(number, float) or math.isfinite(number)
    exact = Fraction(number) if finite else Fraction(0)
    shortest = exact
    if isinstance(number, float) and finite:
        shortest = Fraction(repr(number))
        if value_of(term).family == FLOAT:
            texts = (f"{number:.{count}g}" for count in range(1, 18))
            shortest = Fraction(next(text for text in texts if nearest_single(text) == number))
    rounded = Fraction(round(shortest * 10**18), 10**18)
    wanted = {
        "integer": int(exact) if finite and -(2**63) <= int(exact) < 2**63 else None,
        "decimal": rounded if finite and fits_decimal(rounded) else None,
        "double": float(number),
    }
    for name, value in wanted.items():
        outcome = None if value is None else (XSD + name, str(value))
        assert _outcome(lambda: CASTS[XSD + name](_ours(term)), ValueFault) == outcome, (term, name)  # noqa: B023
