"""Plans: what is decided, what is necessary, what is refused."""

from __future__ import annotations

import pytest

from tests.unit.match.match_samples import PREFIXES
from triplecast.compile.compiled import plan_of
from triplecast.compile.plan import BRANCHES_LIMIT, CASES_LIMIT, Plan
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import parse_template
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit


def _plan(query: str) -> tuple[Plan, tuple[str, ...]]:
    template, constants = parse_template(PREFIXES + query)
    return plan_of(template, constants), constants


def _branches(query: str) -> list[list[str]]:
    """The patterns of each branch as text: variables as ?0, ?1 …, constants as their last letters."""
    plan, constants = _plan(query)

    def node(number: int) -> str:
        if number < 0:
            return f"?{-number - 1}"
        return plan.reference(constants, number).removeprefix("<http://e/").removesuffix(">")

    return [[" ".join(map(node, pattern)) for pattern in branch.patterns] for branch in plan.branches]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT ?x { ?x e:p ?y }", ""),
        ("SELECT ?x { ?x e:p ?y . { ?y e:q ?z FILTER(?z > 1) } }", ""),
        ("SELECT ?x { ?x e:p/^e:q ?y }", ""),
        ("SELECT ?x { ?x e:p ?y FILTER(?y > 1 && (?x = e:a || ?y IN (2, 3))) }", ""),
        ("SELECT ?x { ?x e:p ?y FILTER(!(?y = 1 || ?y = 2)) }", ""),
        ("ASK { ?x e:p ?y }", ""),
        ("CONSTRUCT { ?x e:q ?y } { ?x e:p ?y }", ""),
        ("CONSTRUCT { ?y e:q ?x } { ?x e:p ?y }", "CONSTRUCT"),
        ("SELECT ?x { ?x e:p ?y FILTER(!(?y < 1)) }", ""),
        ("SELECT ?x { ?x e:p ?y FILTER(?y > 0.1234567890123456) }", ""),
        ("SELECT ?x { ?x e:p ?y FILTER(REGEX(?y, 'a')) }", "FILTER"),
        ("SELECT ?x { ?x e:p ?y FILTER(?z > 1) }", "FILTER on"),
        ("SELECT ?x { ?x e:p ?y . { ?y e:q ?z FILTER(?x = 1) } }", "FILTER on"),
        ("SELECT ?x { ?x e:p ?y FILTER(?x = ?y) }", ""),
        ("SELECT ?x { ?x e:p ?y ; e:q ?z FILTER(?y > 2 * ?z) }", ""),
        ("SELECT ?x { ?x e:p ?y BIND(?y + 1 AS ?z) ?x e:q ?z }", "?z, which BIND"),
        ("SELECT ?x { ?x e:p ?y BIND(?y + 1 AS ?z) MINUS { ?x e:q ?z } }", "?z, which BIND"),
        ("SELECT ?x { ?x e:p ?y BIND(MD5(?y) AS ?z) }", "BIND"),
        ("SELECT ?x { ?x e:p ?y FILTER EXISTS { ?y e:q ?z } }", ""),
        ("SELECT ?x { ?x e:p ?y FILTER EXISTS { ?y e:q ?z FILTER(?x = e:a) } }", "EXISTS with a FILTER"),
        ("SELECT ?x { ?x e:p ?y FILTER EXISTS { ?y e:q ?z OPTIONAL { ?z e:q ?x } } }", "OPTIONAL or MINUS within"),
        ("SELECT ?x { ?x e:p ?y FILTER NOT EXISTS { ?y e:q ?z FILTER NOT EXISTS { ?z e:q ?x } } }", "EXISTS within"),
        ("SELECT ?x { ?x e:p ?y OPTIONAL { ?y e:q ?z } }", ""),
        ("SELECT ?x { ?x e:p ?y OPTIONAL { ?y e:q ?z OPTIONAL { ?z e:q ?x } } }", "OPTIONAL within OPTIONAL"),
        ("SELECT ?x { ?x e:p ?y OPTIONAL { ?y e:q ?z } FILTER(!BOUND(?z)) }", ""),
        ("SELECT ?x { { ?x e:p ?y } UNION { ?x e:q ?y } }", ""),
        ("SELECT ?x { ?x e:p|e:q ?y }", ""),
        ("SELECT ?x { ?x (e:p|^e:q)/e:r ?y }", ""),
        ("SELECT ?x { ?x e:p+ ?y }", "path"),
        ("SELECT ?x { GRAPH ?g { ?x e:p ?y } }", "GRAPH"),
        ("SELECT ?x { ?x e:p ?y } LIMIT 3", "LIMIT"),
        ("SELECT ?x { ?x e:p ?y } ORDER BY ?y", "ORDER BY"),
        ("SELECT (?y + 1 AS ?z) { ?x e:p ?y }", ""),
        ("SELECT ?x { ?x e:p ?y } GROUP BY ?x", "GROUP BY"),
        ("SELECT ?x { VALUES ?x { e:a } ?x e:p ?y }", ""),
        ("SELECT ?x { VALUES (?x ?y) { (e:a UNDEF) (UNDEF 1) } ?x e:p ?y }", ""),
        ("SELECT ?x { VALUES ?z { e:a } ?x e:p ?y }", "VALUES of ?z"),
        ("SELECT ?x { VALUES ?x { e:a } OPTIONAL { ?x e:p ?y } }", "VALUES of ?x"),
        ("SELECT ?x { ?x e:p ?y MINUS { ?x e:q ?z } }", ""),
        ("SELECT ?x { ?x e:p ?y MINUS { ?x e:q ?z MINUS { ?z e:q ?y } } }", "MINUS of what has"),
    ],
)
def test_decided_or_why_not(query: str, reason: str) -> None:
    plan, _ = _plan(query)
    assert plan.decided == (not reason)
    assert plan.reason.startswith(reason) if reason != "path" else "path" in plan.reason


@pytest.mark.parametrize(
    ("query", "branches"),
    [
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } } LIMIT 9", [["?0 p ?1"]]),
        ("SELECT * { ?x e:p ?y MINUS { ?x e:q ?z } } LIMIT 9", [["?0 p ?1"]]),
        ("SELECT * { { ?x e:p e:o } UNION { ?x e:q ?z } } LIMIT 9", [["?0 p o"], ["?0 q ?1"]]),
        ("SELECT * { { ?x e:p ?y } UNION {} } LIMIT 9", [[]]),
        ("SELECT * { ?x e:p ?y FILTER EXISTS { ?y e:q ?z } } LIMIT 9", [["?0 p ?1", "?1 q ?2"]]),
        (
            "SELECT * { ?x e:p ?y FILTER EXISTS { ?x e:q ?z } FILTER EXISTS { ?x e:r ?z } } LIMIT 9",
            [["?0 p ?1", "?0 q ?2", "?0 r ?3"]],
        ),
        ("SELECT * { ?x e:p ?y FILTER NOT EXISTS { ?y e:q ?z } } LIMIT 9", [["?0 p ?1"]]),
        ("SELECT * { ?x e:p+ ?y }", [["?0 p ?1", "?2 p ?3"]]),
        ("SELECT * { ?x e:p* ?y }", [[]]),
        ("SELECT * { ?x e:p/e:q* ?y }", [["?0 p ?1"]]),
        ("SELECT * { ?x (e:p|^e:q) ?y } LIMIT 9", [["?0 p ?1"], ["?0 q ?1"]]),
        ("SELECT * { ?x !e:p ?y }", [["?0 ?1 ?2"]]),
        ("SELECT * { ?x e:p ?y { SELECT ?y { ?y e:q ?x } } }", [["?0 p ?1", "?1 q ?2"]]),
        ("SELECT * { GRAPH e:g { ?x e:p ?y } }", [["?0 p ?1"]]),
        ("SELECT ?x (COUNT(*) AS ?n) { ?x e:p ?y } GROUP BY ?x", [["?0 p ?1"]]),
        ("SELECT (COUNT(*) AS ?n) { ?x e:p ?y }", [[]]),
        ("SELECT (COUNT(*) AS ?n) { ?x e:p ?y } HAVING (COUNT(*) > 2)", [["?0 p ?1"]]),
        ("SELECT (COUNT(*) AS ?n) { ?x e:p ?y } HAVING (COUNT(*) > -2)", [[]]),
        ("SELECT * { VALUES ?x { e:a e:b } BIND(1 AS ?z) ?x e:p ?y }", [["?0 p ?1"]]),
    ],
)
def test_necessary_patterns(query: str, branches: list[list[str]]) -> None:
    assert _branches(query) == branches


def test_verified_queries_keep_usable_conditions() -> None:
    plan, _ = _plan(
        "SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } FILTER(?y > 3) FILTER(?z > 4) FILTER(?y < ?x) } LIMIT 9"
    )
    (branch,) = plan.branches
    assert [[atom.variable for atom in clause] for clause in branch.clauses] == [[1]]


def test_too_many_alternatives_say_nothing() -> None:
    several = " UNION ".join(f"{{ ?x e:p{number} ?y }}" for number in range(BRANCHES_LIMIT + 1))
    assert _branches(f"SELECT * {{ {several} }} LIMIT 9") == [[]]
    assert _branches(f"SELECT * {{ ?x e:q ?y . {several} }} LIMIT 9") == [["?0 q ?1"]]


@pytest.mark.parametrize(
    ("query", "branches"),
    [
        ("SELECT * { { ?x e:p ?y } UNION { ?x e:q ?z } ?x e:r 1 }", [["?0 p ?1", "?0 r 1"], ["?0 q ?1", "?0 r 1"]]),
        ("SELECT * { ?x (e:p|e:q)/e:r ?y }", [["?0 p ?1", "?1 r ?2"], ["?0 q ?1", "?1 r ?2"]]),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } }", [["?0 p ?1", "?0 q ?2"], ["?0 p ?1"]]),
        ("SELECT * { ?x e:p ?y FILTER EXISTS { ?y e:q ?z } }", [["?0 p ?1"], ["?0 p ?1", "?1 q ?2"]]),
        ("SELECT * { ?x e:p ?y MINUS { ?z e:q ?w } }", [["?0 p ?1"]]),
        ("SELECT * { { ?x e:p ?y } UNION { ?x e:q ?z } FILTER(?y = 1) }", [["?0 p ?1"]]),
    ],
)
def test_conjunctions_of_decided_queries(query: str, branches: list[list[str]]) -> None:
    assert _plan(query)[0].decided
    assert [
        [line.replace('"1"^^<http://www.w3.org/2001/XMLSchema#integer', "1") for line in branch]
        for branch in _branches(query)
    ] == branches


@pytest.mark.parametrize("more", [0, 1])
def test_the_bound_on_conjunctions(more: int) -> None:
    several = " UNION ".join(f"{{ ?x e:p{number} ?y }}" for number in range(CASES_LIMIT + more))
    assert _plan(f"SELECT * {{ {several} }}")[0].decided == (not more)
    optional = " ".join(f"OPTIONAL {{ ?x e:o{number} ?z{number} }}" for number in range(5 + more))
    assert _plan(f"SELECT * {{ ?x e:p ?y {optional} }}")[0].decided == (not more)
    rows = " ".join(f"({number} UNDEF)" for number in range(CASES_LIMIT + more))
    assert _plan(f"SELECT * {{ ?x e:p ?y VALUES (?y ?x) {{ {rows} }} }}")[0].decided == (not more)


def test_values_of_one_variable_are_one_clause_while_they_differ() -> None:
    text = "SELECT * {{ ?x e:p ?y VALUES ?y {{ {} }} }}"
    one, alike = _plan(text.format("1 2 3"))[0], _plan(text.format("1 2 1"))[0]
    assert [len(plan.branches) for plan in (one, alike)] == [1, 3]
    assert _plan(text.format("7 8 9"))[0] is one
    assert _plan(text.format("7 8 8"))[0].combination is not None
    assert _plan(text.format(" ".join(map(str, range(64)))))[0].decided
    assert not _plan(text.format(" ".join(map(str, range(65)))))[0].decided


def test_a_plan_serves_constants_of_the_same_kind_only() -> None:
    text = "SELECT ?x {{ ?x e:p ?y FILTER(?y > {}) }}"
    assert _plan(text.format("1"))[0] is _plan(text.format("2"))[0]
    plans = {constant: _plan(text.format(constant))[0] for constant in ("1", "1e0", "'a'")}
    lanes = {constant: plan.branches[0].clauses[0][0].lane.name for constant, plan in plans.items()}
    assert lanes == {"1": "EXACT", "1e0": "DOUBLE", "'a'": "STRING_ORDER"}
    assert _plan(text.format("1.2345678901234567"))[0].residuals != ((),)


@pytest.mark.parametrize(
    ("query", "cost", "warnings"),
    [
        ("SELECT * { ?x e:p 1 }", "narrow", []),
        ("SELECT * { ?x e:p ?y }", "predicate", ["predicate"]),
        ("SELECT * { ?x ?p ?y }", "broad", ["broad"]),
        ("SELECT * { { ?x e:p 1 } UNION { ?x ?p ?y } }", "broad", ["broad"]),
        ("SELECT (COUNT(*) AS ?n) { ?x e:p 1 }", "broad", ["broad", "HAVING (COUNT(*) > 0)"]),
        ("SELECT (COUNT(*) AS ?n) { ?x e:p 1 } HAVING (COUNT(*) > 0)", "narrow", []),
        ("SELECT * { OPTIONAL { ?x e:p 1 } }", "broad", ["broad", "HAVING (COUNT(*) > 0)"]),
    ],
)
def test_admission(query: str, cost: str, warnings: list[str]) -> None:
    admission = admit(Subscription("s", PREFIXES + query))
    assert admission.cost == cost
    assert len(admission.warnings) == len(warnings)
    assert all(word in warning for word, warning in zip(warnings, admission.warnings, strict=True))


@pytest.mark.parametrize(
    ("subscription", "construct"),
    [
        (Subscription("s", "SELECT * { ?x ?p ?y } LIMIT 0"), "LIMIT 0"),
        (Subscription("s", "ASK { ?x ?p ?y }", scope="galaxy"), "scope galaxy"),
        (Subscription("s", "ASK { ?x ?p ?y }", entailment="owl"), "entailment owl"),
        (Subscription("s", "# triplecast: entailment=owl\r\nASK { ?x ?p ?y }"), "entailment owl"),
        (Subscription("s", "\n#triplecast: Entailment = owl\nASK { ?x ?p ?y }"), "entailment owl"),
        (Subscription("s", "# triplecast: entailement=rdfs\nASK { ?x ?p ?y }"), "directive entailement"),
        (Subscription("s", "ASK { ?x ?p ?y }", language="klingon"), "language klingon"),
    ],
)
def test_refused_by_name(subscription: Subscription, construct: str) -> None:
    with pytest.raises(QueryRefused) as fault:
        admit(subscription)
    assert (fault.value.construct, fault.value.name) == (construct, "s")


@pytest.mark.parametrize(("name", "apart"), [("g", False), ("h", True)])
def test_two_graphs_are_refused_where_no_publication_is_a_dataset(name: str, apart: bool) -> None:
    query = f"SELECT * {{ GRAPH e:g {{ ?x e:p 1 }} GRAPH e:{name} {{ ?x e:p 1 }} }}"
    subscription = Subscription("s", PREFIXES + query)
    warnings = admit(subscription).warnings
    assert [f"{g} and {h}" in warning for warning in warnings for g, h in [("<http://e/g>", "<http://e/h>")]] == (
        [True] if apart else []
    )
    if apart:
        with pytest.raises(QueryRefused, match="both <http://e/g> and <http://e/h>"):
            admit(subscription, datasets=False)
    else:
        assert not admit(subscription, datasets=False).decided


def test_regular_expressions_are_checked_at_the_door() -> None:
    with pytest.raises((QueryRefused, QuerySyntaxError)):
        admit(Subscription("s", PREFIXES + r"SELECT * { ?x e:p ?y FILTER REGEX(?y, '(a)\\1') }"))


# ---- RDQL


def _atoms(constraint: str) -> tuple[bool, list[str]]:
    """Whether the index decides ``(?x, <http://e/p>, ?y) AND constraint``, and its clauses, constants cut short."""
    template, constants = parse_template(f"SELECT ?x WHERE (?x, <http://e/p>, ?y) AND {constraint}", "rdql")
    plan = plan_of(template, constants)
    (branch,) = plan.branches
    clauses = [
        " or ".join(
            f"?{atom.variable} {atom.operator.name} {atom.lane.name} {plan.reference(constants, atom.reference)[:9]}"
            for atom in clause
        )
        for clause in branch.clauses
    ]
    return plan.decided, clauses


@pytest.mark.parametrize(
    ("constraint", "decided", "clauses"),
    [
        ("?x eq <http://e/a>", True, ["?0 EQUAL IDENTITY <http://e"]),
        ("!(?x eq <http://e/a>)", True, ["?0 UNEQUAL IDENTITY <http://e"]),
        ("?y == <http://e/a>", True, ["?1 EQUAL IDENTITY <http://e"]),
        ("?y == 'abc'", True, ['?1 EQUAL STRING "abc"']),
        ("?y != 'abc'@en", True, ['?1 UNEQUAL LANG "abc"@en']),
        ("?y < '2026-01-01'^^xsd:date", True, ['?1 LESS DATE_LOCAL "2026-01-']),
        ("?y > 'abc'", True, ['?1 GREATER STRING_ORDER "abc"']),
        ("?y >= 24", True, ['?1 AT_LEAST EXACT "24"^^<ht or ?1 AT_LEAST STRING_ORDER ""']),
        ("24 != ?y", True, ['?1 UNEQUAL EXACT "24"^^<ht or ?1 AT_LEAST STRING_ORDER ""']),
        (
            "(?y == 2.5e0 || ?x == <http://e/a>)",
            True,
            ['?1 EQUAL DOUBLE "2.5e0"^^ or ?1 AT_LEAST STRING_ORDER "" or ?0 EQUAL IDENTITY <http://e'],
        ),
        ("!(?y < 24)", True, []),
        ("?y == '24'", True, []),
        ("?y eq 'abc'", True, []),
        ("?y eq <http://e/a>", True, []),
        ("?y == ?x", True, []),
        ("?y =~ /a/", False, []),
        ("?y", True, []),
    ],
)
def test_what_the_index_keeps_of_rdqls_constraints(constraint: str, decided: bool, clauses: list[str]) -> None:
    assert _atoms(constraint) == (decided, clauses)


def test_what_re2_cannot_run_is_refused_in_rdql_too() -> None:
    with pytest.raises(QueryRefused, match="regular expression"):
        _atoms("?y =~ /(?=a)b/")


def test_rdqls_sources_are_noted() -> None:
    text = "SELECT ?x FROM <http://e/d> Publications WHERE (?x, <http://e/p>, <http://e/o>)"
    (warning,) = admit(Subscription("a.rdql", text, "rdql")).warnings
    assert warning.startswith("FROM <http://e/d>, Publications is noted, not fetched")
