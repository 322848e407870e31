"""Property paths: multiplicity, zero length, bound ends."""

from __future__ import annotations

import pytest

from tests.unit.evaluate.evaluate_samples import answers, published

DOC = published(":a :p :b ; :q :b . :b :p :c ; :q :d . :c :p :a . :x :q :x , 5 .")


def ends(path: str, subject: str = "?s", object_: str = "?o") -> list[str]:
    return [" ".join(row.values()) for row in answers(f"SELECT * {{ {subject} {path} {object_} }}", DOC)]


@pytest.mark.parametrize(
    ("path", "subject", "object_", "expected"),
    [
        (":p|:q", ":a", "?o", [":b", ":b"]),
        (":p/:q", "?s", "?o", [":b :c", ":d :a"]),
        ("(:p|:q)/:p", ":a", "?o", [":c", ":c"]),
        ("^:p", ":b", "?o", [":a"]),
        ("^(:p/:q)", "?s", "?o", [":a :d", ":c :b"]),
        (":p+", ":a", "?o", [":a", ":b", ":c"]),
        (":p+", "?s", ":c", [":a", ":b", ":c"]),
        (":p*", ":a", "?o", [":a", ":b", ":c"]),
        (":p?", ":a", "?o", [":a", ":b"]),
        (":p?", "?s", ":b", [":a", ":b"]),
        (":p*", ":absent", "?o", [":absent"]),
        (":p?", "?s", ":absent", [":absent"]),
        (":p*", ":absent", ":absent", [""]),
        (":p+", ":absent", ":absent", []),
        (":p*", ":a", ":absent", []),
        ("(:p|:q)+", ":b", ":d", [""]),
        ("(:p*)/(:q*)", ":absent", "?o", []),
        (":q*", "5", "?o", ["5"]),
        (":q+", "?s", "5", [":x"]),
        ("!:p", ":a", "?o", [":b"]),
        ("!(:p|:q)", "?s", "?o", []),
        ("!^:p", "?s", ":a", [":b"]),
        ("!(:p|^:q)", ":b", "?o", [":a", ":d"]),
        ("(:p/:p)*", ":a", "?o", [":a", ":b", ":c"]),
        ("(:p*)*", ":a", "?o", [":a", ":b", ":c"]),
        ("(:p?)+", ":a", "?o", [":a", ":b", ":c"]),
        ("(:p?)+", ":absent", "?o", [":absent"]),
        ("(:p*)+", ":absent", "?o", [":absent"]),
        ("(:p*)+", "?s", ":absent", [":absent"]),
        ("(:p?|:q)+", ":absent", "?o", [":absent"]),
        ("((:p?)+)?", ":absent", ":absent", [""]),
        ("(:p/:q?)+", ":absent", "?o", []),
    ],
)
def test_path(path: str, subject: str, object_: str, expected: list[str]) -> None:
    assert ends(path, subject, object_) == expected


def test_zero_length_over_all_nodes() -> None:
    assert ends(":none*") == ["5 5", ":a :a", ":b :b", ":c :c", ":d :d", ":x :x"]
    assert len(ends(":p*")) == 6 + 6


def test_one_variable_at_both_ends() -> None:
    assert ends(":p+", "?s", "?s") == [":a", ":b", ":c"]
    assert ends(":q?", "?s", "?s") == ["5", ":a", ":b", ":c", ":d", ":x"]
    assert ends(":q", "?s", "?s") == [":x"]


def test_a_variable_bound_elsewhere_ranges_over_the_nodes() -> None:
    assert answers("SELECT * { VALUES ?s { :absent :a } ?s :none* ?o }", DOC) == [{"o": ":a", "s": ":a"}]
    assert answers("SELECT * { VALUES ?s { :absent } ?s :none* :absent }", DOC) == [{"s": ":absent"}]


def test_exists_makes_its_variable_a_written_term() -> None:
    assert answers("SELECT * { VALUES ?s { :absent } FILTER EXISTS { ?s :none* ?o } }", DOC) == [{"s": ":absent"}]


def test_cycles_end() -> None:
    ring = published("".join(f":n{i} :p :n{(i + 1) % 30} . " for i in range(30)))
    assert len(answers("SELECT * { ?s :p+ ?o }", ring)) == 900
