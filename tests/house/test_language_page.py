"""docs/language.md says who decides what: the compiler is asked for every row, and no reason is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triplecast.compile import cases
from triplecast.compile.compiled import entailment_of, plan_of
from triplecast.errors import QueryRefused
from triplecast.languages import parse_template
from triplecast.languages.tokens import FUNCTIONS
from triplecast.model.entailment import Entailment
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "language.md").read_text("utf-8")
TABLE = PAGE.split("|construct|example|decided by|\n|---|---|---|\n")[1].split("\n\n")[0]
ROWS = [
    tuple(cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
    for line in TABLE.splitlines()
]
EXAMPLES = [(example.strip("`"), decider.strip("`")) for _, example, decider in ROWS if example]
BOUNDS = ("more than ",)
"""Reasons that are counts: `tests/unit/compile/test_plans.py` asks at each bound."""


def asked(example: str) -> str:
    return f"PREFIX : <http://e/> {example}"


def reason_of(example: str) -> str:
    subscription = Subscription("s", asked(example))
    template, constants = parse_template(subscription.text)
    return plan_of(template, constants, entailment_of(subscription, template) is not Entailment.NONE).reason


@pytest.mark.parametrize(("example", "decider"), EXAMPLES)
def test_each_construct_is_decided_where_the_page_says(example: str, decider: str) -> None:
    assert admit(Subscription("s", asked(example))).decider == decider


def test_all_three_occur() -> None:
    assert {decider for _, decider in EXAMPLES} == {"index", "combined", "evaluator"}
    assert len(EXAMPLES) == len(ROWS) - 1 > 35


def test_every_reason_of_the_compiler_has_a_row() -> None:
    """Each text that `Undecidable` is raised with, but counts, is the reason of some row."""
    sources = [
        (ROOT / "src/triplecast/compile" / f"{name}.py").read_text("utf-8") for name in ("cases", "conjunctions")
    ]
    written = {text for source in sources for text in re.findall(r'Undecidable\(f?"([^"]+)"\)', source)}
    written |= {text for source in sources for text in re.findall(r'self\._plain\([^"]+"([^"]+)"\)', source)}
    assert len(written) > 15
    found = {reason_of(example) for example, decider in EXAMPLES if decider == "evaluator"}
    patterns = {text: re.escape(re.sub(r"\{[^}]+\}", "@", text)).replace("@", ".+") for text in written}
    missing = [
        text
        for text, pattern in patterns.items()
        if not text.startswith(BOUNDS) and not any(re.fullmatch(pattern, reason) for reason in found)
    ]
    assert missing == []
    assert {cases._NAMES[name] for name in cases._NAMES} <= found | {"DISTINCT", "REDUCED"}


def test_the_functions_that_are_calculated_after_the_join_are_those_it_names() -> None:
    (named,) = re.findall(r"calculated after the join has .*?\bof functions (.*?)\.", PAGE, re.S)
    names = set(re.findall(r"`([A-Z]+)`", named))
    taken = set()
    for name, (fewest, _) in FUNCTIONS.items():
        arguments = ", ".join(["?n", "?t", "?x"][:fewest])
        try:
            admission = admit(
                Subscription("s", asked(f"SELECT ({name}({arguments}) AS ?v) {{ ?x :n ?n ; dc:title ?t }}"))
            )
        except QueryRefused:
            continue
        if admission.decider == "combined":
            taken.add(name)
    assert taken == names
