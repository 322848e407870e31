"""What the documents say of bounds is what the code holds to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engine.test_peak_memory import PEAK
from triplecast.compile.cases import RESIDUAL_LIMIT
from triplecast.compile.plan import ATOMS_LIMIT, BRANCHES_LIMIT, CASES_LIMIT, PATTERNS_LIMIT
from triplecast.compile.refusals import LARGEST
from triplecast.evaluate import DEFAULT_STEPS
from triplecast.evaluate.evaluator import QUERIES_A_REQUEST
from triplecast.incremental.asked_graph import MOST_HELD
from triplecast.incremental.standing_answer import STEPS
from triplecast.ingest import GATE
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.languages.refusals import MAX_CHARACTERS, MAX_DEPTH, MAX_NESTING, MAX_TOKENS
from triplecast.model.match import ANSWER_LIMITS, INDEX_SOLUTIONS
from triplecast.model.subscription import BROAD_PER_OWNER
from triplecast.repository import QUERY_STEPS
from triplecast.repository.held import HELD_TRIPLES
from triplecast.taxonomy import TRIPLES_LIMIT
from triplecast.text.needed import ALTERNATIVES_LIMIT

DOCS = Path(__file__).resolve().parents[2] / "docs"
STATED = (
    ("language.md", f"|characters of a query|{MAX_CHARACTERS:,}|"),
    ("language.md", f"|tokens, comments included|{MAX_TOKENS:,}|"),
    ("language.md", f"|brackets open at once|{MAX_NESTING}|"),
    ("language.md", f"|levels of the algebra|{MAX_DEPTH}|"),
    ("language.md", f"|constants of a subscription (IRIs, literals, `UNDEF`)|{LARGEST.constants:,}|"),
    ("language.md", f"and clauses such as `FILTER`, `VALUES`, `OPTIONAL`|{LARGEST.patterns:,}|"),
    ("language.md", f"|operators, functions and mentions of variables in expressions|{LARGEST.operators:,}|"),
    ("language.md", f"multiplied out into at most {CASES_LIMIT} conjunctions"),
    ("language.md", f"{PATTERNS_LIMIT} triple patterns or {ATOMS_LIMIT} comparisons of one"),
    ("language.md", f"|more than {CASES_LIMIT} conjunctions, {PATTERNS_LIMIT} triple patterns or {ATOMS_LIMIT} comp"),
    ("language.md", f"calculated after the join has at most {RESIDUAL_LIMIT} parts"),
    ("language.md", f"a `UNION` with more than {BRANCHES_LIMIT} alternatives"),
    ("language.md", f"`ftor`: at most {ALTERNATIVES_LIMIT} alternatives"),
    ("language.md", f"Beyond {DEFAULT_STEPS:,} steps the evaluator decides"),
    ("language.md", f"A request holds up to {QUERIES_A_REQUEST} queries"),
    ("language.md", f"An owner may hold {BROAD_PER_OWNER} broad subscriptions"),
    ("language.md", f"|solutions that the index finds for one conjunction|{INDEX_SOLUTIONS:,}|"),
    ("language.md", f"|triples that its join tries|{STEPS_LIMIT:,}|"),
    ("language.md", f"order of registration|{ANSWER_LIMITS.publication >> 20} MiB|undecided: `answers: …`|"),
    ("language.md", f"operators, likewise|{ANSWER_LIMITS.waiting >> 20} MiB|undecided: `operators: …`|"),
    ("language.md", f"Publishing takes at most {PEAK} MiB for that"),
    ("matching.md", f"cut where its answers exceed {ANSWER_LIMITS.publication >> 20} MiB"),
    ("matching.md", f"`STEPS_LIMIT` {STEPS_LIMIT:,} triples tried and `SOLUTIONS_LIMIT` {INDEX_SOLUTIONS:,} solutions"),
    ("follow-changes.md", f"An evaluation may take {STEPS:,} steps"),
    ("query.md", f"A query takes at most {QUERY_STEPS:,} steps"),
    ("follow-changes.md", f"of at most {MOST_HELD} events, and {HELD_TRIPLES:,} triples for each"),
    ("follow-changes.md", f"each resource with at most {TRIPLES_LIMIT:,} triples"),
    ("split-documents.md", f"A document has {GATE.publications:,} roots at most"),
    ("split-documents.md", f"whose descriptions together have {GATE.expanded_bytes >> 20} MiB"),
    ("taxonomy.md", f"An entailed graph has at most {TRIPLES_LIMIT:,} triples"),
)


@pytest.mark.parametrize(("page", "statement"), STATED)
def test_the_page_states_the_bound(page: str, statement: str) -> None:
    assert statement in " ".join((DOCS / page).read_text("utf-8").split())
