"""How much a person has to read to follow a path through the source: ``python -m tests.house.reading``.

A path starts at a function and goes on to what its body *reaches*, depth first, in the order of the text:

- a function or method that is called, or passed on to be called;
- a property that is read, ``__enter__`` and ``__exit__`` of a ``with``, ``__iter__`` of a loop;
- of a class that is constructed: its ``__init__`` or, without one, its fields and docstring.

A class that only an annotation names is not reached; nor are errors and the values of `model`, which their names
explain; kernels and grammar are apart. A path stays inside the packages that it is about (`Walk.through`): at the door
of another one a reader takes the docstring's word. Branches that are another story (`Walk.besides`) are left out:
publishing without operators, combinations and entailment is one. Docstrings and comments inside a definition count;
imports do not. ``--definitions`` prints what is read in each file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.house.source import Place, Program, Scope

NOT_READ = ("errors", "faults", "model", "kernels", "languages.tokens")
"""Explained by their names, or apart by the goal: errors, values, kernels, grammar."""


@dataclass(frozen=True)
class Walk:
    """A path that a reader takes."""

    title: str
    starts: tuple[Place, ...]
    through: tuple[str, ...]
    besides: tuple[str, ...] = ()


PASSING_ON = 20
"""A file with fewer lines than these for operators alone passes them on: it is not counted among their files."""


class Reached(NamedTuple):
    """Lines read by file, in the order of reading, and the definitions."""

    files: dict[str, int]
    definitions: dict[Place, int]

    @classmethod
    def of(cls, program: Program, definitions: dict[Place, int]) -> Reached:
        files: dict[str, int] = {}
        for place, lines in definitions.items():
            name = program.file_of(place.module)
            files[name] = files.get(name, 0) + lines
        return cls(files, definitions)

    @property
    def lines(self) -> int:
        return sum(self.files.values())

    def main_files(self) -> list[str]:
        return [name for name, lines in self.files.items() if lines >= PASSING_ON]


PUBLISH = Walk(
    "publish → receipt",
    (Place("engine.engine", "Engine.publish"),),
    ("engine", "driver", "ingest.parser", "ingest.gate", "ingest.document", "journal", "match", "index", "outbox"),
    besides=(
        *("index.folder", "index.memory", "index.merge", "registry"),
        *("residual", "match.members", "match.resolve"),
        *("match.closures", "match.entailed", "journal.operator_data"),
    ),
)
SUBSCRIBE = Walk(
    "subscribe → index",
    (Place("engine.engine", "Engine.subscribe"), Place("registry.upkeep", "IndexUpkeep.update")),
    ("engine", "registry", "compile", "journal", "index"),
)
RUN = Walk(
    "triplecast run, inside pipeline/",
    (
        Place("cli.run", "run"),
        Place("pipeline.stages", "match_slice"),
        Place("pipeline.stages", "ask_slice"),
    ),
    ("cli.run", "pipeline"),
)
WALKS = (PUBLISH, SUBSCRIBE, RUN)


def read_walk(program: Program, walk: Walk) -> Reached:
    """Follow `walk`, depth first, as a reader does."""
    seen: dict[Place, int] = {}

    def visit(place: Place) -> None:
        if place in seen or not _is_below(place, walk.through) or _is_below(place, (*NOT_READ, *walk.besides)):
            return
        seen[place] = program.size(place)
        for each in reached_from(program, place):
            visit(each)

    for start in walk.starts:
        visit(start)
    return Reached.of(program, seen)


def read_operators(program: Program) -> Reached:
    """What exists for operators alone: all of operators/ but `box`; elsewhere the definitions that name something of
    operators/, and those that only these reach. Every engine has a set of operators: making one
    does not count."""
    edges = {place: reached_from(program, place) for place in program.places()}
    inside = {place for place in edges if _is_below(place, ("operators",))}
    theirs = {
        place
        for place in edges
        if place in inside or program.names_package(place, "operators", but="operators.operator_set")
    }
    found, waiting = set(theirs), [*theirs]
    while waiting:
        for place in edges.get(waiting.pop(), ()):
            if place not in found:
                found.add(place)
                waiting.append(place)
    while True:
        shared = {each for place in edges.keys() - found for each in edges[place]} & (found - theirs)
        if not shared:
            break
        found -= shared
    kept = {place: program.size(place) for place in sorted(found) if not _is_below(place, ("operators.box", *NOT_READ))}
    reached = Reached.of(program, kept)
    for name, module in program.modules.items():
        if _is_below(Place(name, ""), ("operators",)) and not _is_below(Place(name, ""), ("operators.box",)):
            reached.files[program.file_of(name)] = module.lines
    return reached


def importers(program: Program, package: str) -> list[str]:
    """Files outside `package` that import from it."""
    return [
        program.file_of(name)
        for name, module in program.modules.items()
        if not _is_below(Place(name, ""), (package,))
        and any(_is_below(Place(source, ""), (package,)) for source in module.sources)
    ]


def _is_below(place: Place, packages: Iterable[str]) -> bool:
    return any(place.module == each or place.module.startswith(f"{each}.") for each in packages)


def reached_from(program: Program, place: Place) -> list[Place]:
    """The definitions that the body of `place` reaches, in the order of the text."""
    function = program.function(place)
    if function is None:
        return []
    owner = Place(place.module, place.name.partition(".")[0]) if "." in place.name else None
    scope = Scope(program, place.module, owner, function)
    annotations = {id(inner) for node in _annotations(scope.nodes) for inner in ast.walk(node)}
    nodes = [node for node in scope.nodes if id(node) not in annotations and isinstance(node, ast.expr | ast.stmt)]
    found: dict[Place, None] = {}
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        found.update(dict.fromkeys(_reached_by(program, scope, node)))
    found.pop(place, None)
    return list(found)


def _reached_by(program: Program, scope: Scope, node: ast.AST) -> Iterator[Place]:
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        shape = scope.shape(node)
        if shape.kind == "function" and shape.definition:
            yield shape.definition
        if isinstance(node, ast.Attribute):
            yield from _methods(program, scope.shape(node.value).classes, node.attr)
    elif isinstance(node, ast.With):
        for item in node.items:
            yield from _methods(program, scope.shape(item.context_expr).classes, "__enter__", "__exit__")
    elif isinstance(node, ast.For):
        yield from _methods(program, scope.shape(node.iter).classes, "__iter__")
    elif isinstance(node, ast.Call):
        shape = scope.shape(node.func)
        if shape.kind == "class" and shape.definition:
            if program.method(shape.definition, "__init__") is None:
                yield shape.definition
            yield from _methods(program, (shape.definition,), "__init__", "__post_init__")


def _methods(program: Program, places: Iterable[Place], *names: str) -> Iterator[Place]:
    for place in sorted(places):
        for name in names:
            found = program.method(place, name)
            if found is not None:
                yield Place(found[0].place.module, f"{found[0].place.name}.{name}")


def _annotations(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            yield node.returns


def _print(program: Program, title: str, reached: Reached, each: bool) -> None:
    print(f"{title}: {reached.lines:,} lines in {len(reached.files)} files")
    for name, lines in reached.files.items():
        print(f"  {lines:5,}  {name}")
        for place, size in reached.definitions.items() if each else ():
            if program.file_of(place.module) == name:
                print(f"           {size:4} {place.name}")


def main(arguments: list[str]) -> None:
    program = Program.read()
    each = "--definitions" in arguments
    for walk in WALKS:
        _print(program, walk.title, read_walk(program, walk), each)
    operators = read_operators(program)
    _print(program, "for operators alone, but box", operators, each)
    print(f"files with {PASSING_ON} or more lines for operators alone: {len(operators.main_files())}")
    print(f"files outside operators/ that import from it: {len(importers(program, 'operators'))}")
    print(f"src: {program.lines:,} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
