"""Warnings about subscriptions whose entailment and the loaded taxonomy do not fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from pyoxigraph import NamedNode

from triplecast.compile.refusals import TEMPLATES_LIMIT
from triplecast.languages import Template
from triplecast.languages.rewriting import calls_in, names_of_path, nodes_within
from triplecast.model.algebra import PathPattern, Repeat, Slot
from triplecast.model.entailment import FUNCTION_MARKS, PATH_MARKS, Entailment


def warn_taxonomy(
    template: Template, constants: tuple[str, ...], entailment: Entailment, is_loaded: Callable[[], bool]
) -> Iterator[str]:
    """Warn of a path along a taxonomy that the query does not see, and of functions of one that is not loaded.

    `is_loaded` is called only for queries that concern a taxonomy.
    """
    climbed, functions = _read_template(template)
    names = (constants[each][1:-1] if isinstance(each, int) else each for each in climbed)
    path = next((name for name in names if name in PATH_MARKS), None)
    if entailment is Entailment.NONE and path is not None and is_loaded():
        yield (
            f"a path along <{path}> sees the publication's own triples only, not the taxonomy; "
            "to see both, begin the query with a line `# triplecast: entailment=taxonomy`"
        )
    if functions and not is_loaded():
        yield (
            f"{functions[0]}(…) finds only what a publication states itself, because no taxonomy is loaded; "
            "load one with Engine.load_taxonomy or --taxonomy"
        )


def concerns_taxonomy(template: Template) -> bool:
    """Whether `warn_taxonomy` may have something to say of a query of this template."""
    return _read_template(template) != ((), ())


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _read_template(template: Template) -> tuple[tuple[str | int, ...], tuple[str, ...]]:
    """The predicates under a repetition, IRIs and slots; the functions of G-ToPSS."""
    pattern = template.query.pattern
    paths = [part.path for part in nodes_within(pattern) if isinstance(part, PathPattern)]
    repeated = [node for path in paths for node in nodes_within(path) if isinstance(node, Repeat)]
    names = [name for path in repeated for name in names_of_path(path)]
    climbed = [
        name.index if isinstance(name, Slot) else name.value for name in names if isinstance(name, NamedNode | Slot)
    ]
    called = ["tc:" + call.function.rpartition(":")[2] for call in calls_in(pattern) if call.function in FUNCTION_MARKS]
    return tuple(dict.fromkeys(climbed)), tuple(dict.fromkeys(called))
