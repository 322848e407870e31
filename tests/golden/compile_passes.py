"""Golden files of the compiler's passes: what each pass makes of a few queries.

``make golden`` writes them to ``tests/golden/compile/``; review what changed before
committing it. `tests/unit/compile/test_passes.py` compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode

from triplecast.compile.comparisons import NamedAtom
from triplecast.compile.passes import PASSES, PlanDraft
from triplecast.compile.plan import Atom
from triplecast.errors import QueryRefused
from triplecast.explain.wording import Wording
from triplecast.languages import parse_template
from triplecast.model.algebra import Query, Slot, TriplePattern, Variable

FOLDER = Path(__file__).parent / "compile"
PREFIX = "PREFIX : <urn:x:> "
OPTIONAL = "SELECT ?s ?t { ?s :price ?p OPTIONAL { ?s :title ?t } FILTER(?p < 20) }"
UNION = "SELECT DISTINCT ?s { { ?s :a ?o } UNION { ?s :b/:c ?o } }"
MINUS = "ASK { ?s :a ?o MINUS { ?s :gone ?t } FILTER(?o IN (1, 2)) }"
CALCULATED = "SELECT ?s ?d { ?s :price ?p ; :cost ?c BIND(?p - ?c AS ?d) FILTER(?p > ?c) }"
ORDERED = "SELECT ?s { ?s :price ?p FILTER(?p < 20 && REGEX(?s, 'x')) } ORDER BY ?p LIMIT 1"
EXISTS = "SELECT ?s { ?s :a* ?o FILTER EXISTS { ?s :b ?x . ?x :c 'y' } }"
TEXT = """SELECT ?s { ?s :title ?t FILTER(ft:contains(?t, '"night" ftand "train"')) }"""
COUNTED = "SELECT (COUNT(*) AS ?n) { ?s :a :b } HAVING(COUNT(*) > 1)"
MANY = f"SELECT ?s {{ ?s :a ?o FILTER(?o IN ({', '.join(map(str, range(65)))})) }}"
WRITTEN = ("query", "constants", "empty_on_empty")
READS = {
    "combine_cases": ("cases",),
    "find_necessary": (*WRITTEN, "reason"),
    "limit_comparisons": ("conjunctions", "reason"),
    "number_terms": ("conjunctions", "kept", "combination", "reason"),
}
"""The fields of a draft that a pass reads; `WRITTEN` for the others."""
MOST_SHOWN = 8
EXAMPLES: dict[str, tuple[str, ...]] = {
    "refuse_unmatchable": (
        "SELECT ?s { ?s :a ?o } LIMIT 0",
        "ASK { ?s :a ?o FILTER(REGEX(?o, '(?=x)')) }",
        "SELECT ?s { ?s :a ?o FILTER(REGEX(?o, 'x')) } LIMIT 1",
    ),
    "find_texts": (TEXT,),
    "split_cases": (OPTIONAL, UNION, MINUS, CALCULATED, TEXT, ORDERED, EXISTS),
    "combine_cases": (OPTIONAL, UNION, MINUS, CALCULATED, TEXT),
    "find_necessary": (ORDERED, EXISTS, COUNTED),
    "limit_comparisons": (MINUS, MANY),
    "number_terms": (OPTIONAL, UNION, CALCULATED, TEXT, ORDERED),
}
"""The queries that show each pass."""


def golden_texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the content of each golden file."""
    for number, compiler_pass in enumerate(PASSES, 1):
        name = compiler_pass.__name__
        purpose = " ".join((compiler_pass.__doc__ or "").split())
        shown = "\n".join(_example(number - 1, text) for text in EXAMPLES[name])
        yield f"{number}_{name}.txt", f"{name}: {purpose}\n\n{shown}"


def _example(place: int, text: str) -> str:
    template, constants = parse_template(PREFIX + text)
    draft = PlanDraft(template.query, template.slots, constants, empty_on_empty=text == COUNTED)
    for compiler_pass in PASSES[:place]:
        draft = compiler_pass(draft)
    lines = [
        text if len(text) < 110 else f"{text[:107]}...",
        "  before",
        *_described(draft, READS.get(PASSES[place].__name__, WRITTEN)),
    ]
    try:
        after = PASSES[place](draft)
    except QueryRefused as refused:
        return "\n".join([*lines, f"  refused: {refused.construct}", ""])
    changed = [each.name for each in fields(draft) if getattr(after, each.name) != getattr(draft, each.name)]
    return "\n".join([*lines, "  after", *(_described(after, changed) or ["    the same"]), ""])


def _described(draft: PlanDraft, names: Iterable[str]) -> list[str]:
    """Those fields of a draft that are set, one item per line."""
    lines: list[str] = []
    for name in names:
        value = getattr(draft, name)
        if name == "constants":
            items = _bounded([f"${at} = {text.replace('urn:x:', ':')}" for at, text in enumerate(value)])
        elif name == "plan":
            set_fields = [each.name for each in fields(value) if not _is_empty(getattr(value, each.name))]
            items = [f"{each}: {_show(getattr(value, each))}" for each in set_fields]
        elif _is_empty(value):
            continue
        else:
            items = [_show(each) for each in value] if isinstance(value, tuple) else [_show(value)]
        lines += (
            [f"    {name}: {items[0]}"] if len(items) == 1 else [f"    {name}:", *(f"      {item}" for item in items)]
        )
    return lines


def _is_empty(value: object) -> bool:
    return value is None or value is False or value in ((), "")


def _bounded(items: list[str]) -> list[str]:
    return items if len(items) <= MOST_SHOWN else [*items[: MOST_SHOWN - 1], f"... {len(items) - MOST_SHOWN + 1} more"]


def _show(value: Any) -> str:
    match value:
        case Variable():
            return f"?{value.name}"
        case Slot(index):
            return f"${index}"
        case NamedNode() | Literal():
            return str(value).replace("urn:x:", ":")
        case TriplePattern(subject, predicate, end):
            return " ".join(map(_show, (subject, predicate, end)))
        case Query(form, pattern, _):
            return f"{form} {Wording().pattern(pattern).replace('slot ', '$')}"
        case NamedAtom(variable, operator, lane, constant) | Atom(variable, operator, lane, constant):
            return f"{_show(variable)} {operator.name} {_show(constant)} ({lane.name})"
        case Enum():
            return value.name
    names = getattr(value, "_fields", None) or ([each.name for each in fields(value)] if is_dataclass(value) else None)
    if names is None:
        return f"[{', '.join(_bounded(list(map(_show, value))))}]" if isinstance(value, tuple) else repr(value)
    if type(value).__module__ == "triplecast.model.algebra":
        return Wording().expression(value).replace("slot ", "$")
    set_fields = [name for name in names if not _is_empty(getattr(value, name))]
    return f"{type(value).__name__}({', '.join(f'{name}={_show(getattr(value, name))}' for name in set_fields)})"


if __name__ == "__main__":
    for file, content in golden_texts():
        (FOLDER / file).write_text(content, "utf-8")
