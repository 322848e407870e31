"""The package's source as syntax trees: its modules, their definitions, imports, and the types that names stand for.

Only what can be read off the text is known: annotations, constructor calls and attributes. Nothing is imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[2] / "src" / "triplecast"

Function = ast.FunctionDef | ast.AsyncFunctionDef
CONTAINERS = {"Iterator", "Iterable", "Sequence", "Collection", "Generator", "list", "set", "frozenset", "deque"}
WRAPPERS = {"type", "Type", "ClassVar", "Final", "Annotated", "ContextManager"}
MAPPINGS = {"dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "WeakKeyDictionary"}


class Place(NamedTuple):
    """A definition: its module (``engine.engine``) and name (``Engine.publish``)."""

    module: str
    name: str


class Shape(NamedTuple):
    """What a value may be: instances of `classes`; `items` of what it contains, `values` if it is a mapping; or the
    `definition` (class, function, module) itself."""

    classes: frozenset[Place] = frozenset()
    items: tuple[Shape, ...] = ()
    definition: Place | None = None
    kind: str = ""

    def joined(self, other: Shape) -> Shape:
        if not self.kind:
            items = self.items if len(self.items) >= len(other.items) else other.items
            return Shape(self.classes | other.classes, items, other.definition, other.kind)
        return self


UNKNOWN = Shape()


@dataclass(frozen=True)
class Class:
    place: Place
    node: ast.ClassDef

    @cached_property
    def methods(self) -> dict[str, Function]:
        return {node.name: node for node in self.node.body if isinstance(node, Function)}

    @cached_property
    def fields(self) -> dict[str, ast.expr]:
        """Annotations of attributes, of the class's body and of ``self.name: Type`` in its methods."""
        found = {
            node.target.id: node.annotation
            for node in self.node.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for node in ast.walk(self.node):
            if isinstance(node, ast.AnnAssign) and _attribute_of_self(node.target):
                assert isinstance(node.target, ast.Attribute)
                found.setdefault(node.target.attr, node.annotation)
        return found

    @cached_property
    def assigned(self) -> dict[str, list[tuple[Function, ast.expr]]]:
        """Values given to ``self.name`` without an annotation, with the method in which that is done."""
        found: dict[str, list[tuple[Function, ast.expr]]] = {}
        for method in self.methods.values():
            for node in ast.walk(method):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        if _attribute_of_self(target):
                            assert isinstance(target, ast.Attribute)
                            found.setdefault(target.attr, []).append((method, node.value))
        return found

    @cached_property
    def head(self) -> int:
        """Lines of the class that belong to no method."""
        return _lines(self.node) - sum(_lines(method) for method in self.methods.values())


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    tree: ast.Module
    text: str

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def definitions(self) -> dict[str, Class | Function]:
        found: dict[str, Class | Function] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = Class(Place(self.name, node.name), node)
            elif isinstance(node, Function):
                found[node.name] = node
        return found

    @cached_property
    def sources(self) -> set[str]:
        """The modules, or packages, that it imports from, in functions, too."""
        return {source for source, _ in self.imports.values()} | {
            f"{source}.{name}" for source, name in self.imports.values()
        }

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """What names of this module stand for, by module and name there; "" for the module itself. Imports in
        functions, too."""
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triplecast"):
                for alias in node.names:
                    found[alias.asname or alias.name] = ((node.module or "").removeprefix("triplecast."), alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("triplecast.") and alias.asname:
                        found[alias.asname] = (alias.name.removeprefix("triplecast."), "")
        return found


def _attribute_of_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _lines(node: ast.ClassDef | Function) -> int:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return (node.end_lineno or node.lineno) - first + 1


@dataclass(frozen=True)
class Program:
    """All modules, and what names and expressions in them stand for."""

    modules: dict[str, Module]
    _memo: dict[tuple[Place, str], Shape] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        return sum(module.lines for module in self.modules.values())

    @classmethod
    def read(cls, folder: Path = SOURCE) -> Program:
        modules = {}
        for path in sorted(folder.rglob("*.py")):
            name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix("__init__").rstrip(".")
            text = path.read_text("utf-8")
            modules[name] = Module(name, path, ast.parse(text), text)
        return cls(modules)

    def resolve(self, module: str, name: str) -> Place | None:
        """The definition, or the module (with name ""), that `name` stands for in `module`; re-exports are followed."""
        for _ in range(5):
            found = self.modules.get(module)
            if found is None:
                return None
            if name in found.definitions:
                return Place(module, name)
            if name not in found.imports:
                below = f"{module}.{name}".lstrip(".")
                return Place(below, "") if below in self.modules else None
            module, name = found.imports[name]
            if not name or f"{module}.{name}" in self.modules:
                return Place(f"{module}.{name}".rstrip("."), "")
        return None

    def class_of(self, place: Place) -> Class | None:
        found = self.modules[place.module].definitions.get(place.name)
        return found if isinstance(found, Class) else None

    def bases(self, place: Place) -> Iterator[Class]:
        """The class and those that it inherits from."""
        found = self.class_of(place)
        if found is None:
            return
        yield found
        for base in found.node.bases:
            if isinstance(base, ast.Name) and (above := self.resolve(place.module, base.id)) and above.name:
                yield from self.bases(above)

    def method(self, place: Place, name: str) -> tuple[Class, Function] | None:
        for found in self.bases(place):
            if name in found.methods:
                return found, found.methods[name]
        return None

    def function(self, place: Place) -> Function | None:
        first, _, name = place.name.partition(".")
        found = self.modules[place.module].definitions.get(first)
        if isinstance(found, Class):
            return found.methods.get(name)
        return found

    def places(self) -> Iterator[Place]:
        """Every function, class and method."""
        for name, module in self.modules.items():
            for first, found in module.definitions.items():
                yield Place(name, first)
                if isinstance(found, Class):
                    yield from (Place(name, f"{first}.{method}") for method in found.methods)

    def file_of(self, module: str) -> str:
        """The path of a module below the source's folder."""
        return self.modules[module].path.relative_to(self.modules[""].path.parent).as_posix()

    def names_package(self, place: Place, package: str, but: str) -> bool:
        """Whether a definition names something that its module imports from `package`, not counting the module `but`; a
        class: in a field."""
        module = self.modules[place.module]
        theirs = {
            name
            for name, (source, _) in module.imports.items()
            if source != but and (source == package or source.startswith(f"{package}."))
        }
        found = self.class_of(place)
        node: ast.AST | None = self.function(place)
        parts = (
            [node] if node else [each for each in found.node.body if not isinstance(each, Function)] if found else []
        )
        return any(isinstance(each, ast.Name) and each.id in theirs for part in parts for each in ast.walk(part))

    def size(self, place: Place) -> int:
        """Lines of a function, or of a class without its methods."""
        node = self.function(place)
        if node is not None:
            return _lines(node)
        found = self.class_of(place)
        return found.head if found else 0

    # ---- types ------------------------------------------------------------------------------------------------------

    def annotated(self, module: str, node: ast.expr | None, owner: Place | None = None) -> Shape:
        """What an annotation in `module` says."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return UNKNOWN
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name == "Self" and owner:
                return Shape(frozenset({owner}))
            place = self.resolve(module, name)
            if place and place.name and self.class_of(place):
                return Shape(frozenset({place}))
            return self._alias(module, name)
        if isinstance(node, ast.BinOp):
            return self.annotated(module, node.left, owner).joined(self.annotated(module, node.right, owner))
        if isinstance(node, ast.Subscript):
            outer = ast.unparse(node.value).split(".")[-1]
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            shapes = tuple(self.annotated(module, each, owner) for each in inner)
            if outer in MAPPINGS:
                return Shape(items=(shapes[-1],), kind="mapping")
            if outer in CONTAINERS:
                return Shape(items=(shapes[0],), kind="many")
            if outer == "tuple":
                if isinstance(inner[-1], ast.Constant):
                    return Shape(items=(shapes[0],), kind="many")
                return Shape(items=shapes, kind="tuple")
            if outer == "Callable":
                return Shape(items=(shapes[-1],), kind="callable")
            if outer in WRAPPERS:
                return shapes[0]
            return self.annotated(module, node.value, owner)
        return UNKNOWN

    def _alias(self, module: str, name: str) -> Shape:
        """The type that ``name = A | B`` at a module's top says."""
        for _ in range(5):
            if module not in self.modules:
                return UNKNOWN
            for node in self.modules[module].tree.body:
                if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                    if isinstance(node.value, ast.Call):
                        return UNKNOWN
                    return self.annotated(module, node.value)
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                    if ast.unparse(node.annotation) == "TypeAlias":
                        return self.annotated(module, node.value)
                    return self.annotated(module, node.annotation)
            if name not in self.modules[module].imports:
                return UNKNOWN
            module, name = self.modules[module].imports[name]
        return UNKNOWN

    def attribute(self, place: Place, name: str) -> Shape:
        """What the attribute `name` of an instance of the class `place` is."""
        key = (place, name)
        if key not in self._memo:
            self._memo[key] = UNKNOWN
            self._memo[key] = self._find_attribute(place, name)
        return self._memo[key]

    def _find_attribute(self, place: Place, name: str) -> Shape:
        for found in self.bases(place):
            module = found.place.module
            if name in found.methods:
                method = found.methods[name]
                if any("property" in ast.unparse(decorator) for decorator in method.decorator_list):
                    return self.annotated(module, method.returns, place)
                return UNKNOWN
            if name in found.fields:
                return self.annotated(module, found.fields[name], place)
            shape = UNKNOWN
            for method, value in found.assigned.get(name, ()):
                shape = shape.joined(Scope(self, module, found.place, method).shape(value))
            if shape != UNKNOWN:
                return shape
        return UNKNOWN


class Scope:
    """The names in one function, and what they stand for, from its parameters and assignments."""

    def __init__(self, program: Program, module: str, owner: Place | None, function: Function) -> None:
        self.program, self.module, self.owner = program, module, owner
        self.names: dict[str, Shape] = {}
        parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        for parameter in parameters:
            self.names[parameter.arg] = program.annotated(module, parameter.annotation, owner)
        if owner and parameters and parameters[0].arg in {"self", "cls"}:
            is_class = parameters[0].arg == "cls"
            self.names[parameters[0].arg] = (
                Shape(definition=owner, kind="class") if is_class else Shape(frozenset({owner}))
            )
        self.nodes = list(ast.walk(function))
        for _ in range(2):
            for node in self.nodes:
                self._note(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, self.shape(node.value))
        elif isinstance(node, ast.AnnAssign):
            self._bind(node.target, self.program.annotated(self.module, node.annotation, self.owner))
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, self.shape(node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind(node.target, self._item(self.shape(node.iter)))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, self.shape(node.context_expr))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            self.names.setdefault(node.arg, self.program.annotated(self.module, node.annotation, self.owner))

    def _bind(self, target: ast.expr, shape: Shape) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = self.names.get(target.id, UNKNOWN).joined(shape)
        elif isinstance(target, ast.Tuple | ast.List):
            for number, each in enumerate(target.elts):
                if shape.kind == "tuple" and number < len(shape.items):
                    self._bind(each, shape.items[number])
                elif shape.kind == "many":
                    self._bind(each, shape.items[0])

    def _item(self, shape: Shape) -> Shape:
        if shape.kind == "many":
            return shape.items[0]
        for place in shape.classes:
            found = self.program.method(place, "__iter__")
            if found:
                return self._item(self.program.annotated(found[0].place.module, found[1].returns, place))
        return UNKNOWN

    def shape(self, node: ast.expr) -> Shape:
        """What the value of an expression is."""
        if isinstance(node, ast.Name):
            return self.names[node.id] if node.id in self.names else self._global(self.module, node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(self.shape(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.IfExp):
            return self.shape(node.body).joined(self.shape(node.orelse))
        if isinstance(node, ast.BoolOp):
            shape = UNKNOWN
            for each in node.values:
                shape = shape.joined(self.shape(each))
            return shape
        if isinstance(node, ast.Subscript):
            held = self.shape(node.value)
            if held.kind == "mapping" or (held.kind == "many" and not isinstance(node.slice, ast.Slice)):
                return held.items[0]
            return held if isinstance(node.slice, ast.Slice) else UNKNOWN
        if isinstance(node, ast.Tuple):
            return Shape(items=tuple(self.shape(each) for each in node.elts), kind="tuple")
        if isinstance(node, ast.List | ast.Set) and node.elts:
            return Shape(items=(self.shape(node.elts[0]),), kind="many")
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return Shape(items=(self.shape(node.elt),), kind="many")
        if isinstance(node, ast.DictComp):
            return Shape(items=(self.shape(node.value),), kind="mapping")
        if isinstance(node, ast.Await | ast.NamedExpr | ast.Starred):
            return self.shape(node.value)
        return UNKNOWN

    def _global(self, module: str, name: str) -> Shape:
        place = self.program.resolve(module, name)
        if place is None:
            return self.program._alias(module, name)
        if not place.name:
            return Shape(definition=place, kind="module")
        return Shape(definition=place, kind="class" if self.program.class_of(place) else "function")

    def _attribute(self, value: Shape, name: str) -> Shape:
        if value.kind == "module" and value.definition:
            return self._global(value.definition.module, name)
        if value.kind == "class" and value.definition:
            return self._method(value.definition, name) or self.program.attribute(value.definition, name)
        shape = UNKNOWN
        for place in sorted(value.classes):
            found = self.program.attribute(place, name)
            shape = shape.joined(found if found != UNKNOWN else self._method(place, name) or UNKNOWN)
        return shape

    def _method(self, place: Place, name: str) -> Shape | None:
        found = self.program.method(place, name)
        if found is None:
            return None
        if any("property" in ast.unparse(decorator) for decorator in found[1].decorator_list):
            return None
        return Shape(definition=Place(found[0].place.module, f"{found[0].place.name}.{name}"), kind="function")

    def _called(self, node: ast.Call) -> Shape:
        if isinstance(node.func, ast.Attribute):
            value = self.shape(node.func.value)
            if value.kind == "mapping":
                many = Shape(items=(value.items[0],), kind="many")
                pairs = Shape(items=(Shape(items=(UNKNOWN, value.items[0]), kind="tuple"),), kind="many")
                return {"values": many, "items": pairs}.get(node.func.attr, value.items[0])
            if node.func.attr == "enter_context" and node.args:
                return self.shape(node.args[0])
        elif isinstance(node.func, ast.Name) and node.args:
            first = node.func.id
            if first == "super" or first in {"sorted", "list", "tuple", "reversed", "set", "iter"}:
                return self.shape(node.args[0])
            if first in {"next", "max", "min"}:
                return self._item(self.shape(node.args[0]))
            if first == "enumerate":
                return Shape(
                    items=(Shape(items=(UNKNOWN, self._item(self.shape(node.args[0]))), kind="tuple"),), kind="many"
                )
            if first == "zip":
                items = tuple(self._item(self.shape(each)) for each in node.args)
                return Shape(items=(Shape(items=items, kind="tuple"),), kind="many")
            if first == "cast" and len(node.args) == 2:
                return self.program.annotated(self.module, node.args[0], self.owner)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.owner:
            above = [found.place for found in self.program.bases(self.owner)][1:2]
            return Shape(frozenset(above))
        func = self.shape(node.func)
        if func.kind == "class" and func.definition:
            return Shape(frozenset({func.definition}))
        if func.kind == "callable":
            return func.items[0]
        if func.kind == "function" and func.definition:
            function = self.program.function(func.definition)
            owner = func.definition.name.partition(".")[0] if "." in func.definition.name else ""
            place = Place(func.definition.module, owner) if owner else None
            return self.program.annotated(func.definition.module, function.returns if function else None, place)
        return UNKNOWN


def imported_modules(program: Program) -> dict[str, set[str]]:
    """By module, those that it imports, also in functions; of a package, its ``__init__``. Imports for types only are
    left out."""
    found: dict[str, set[str]] = {}
    for name, module in program.modules.items():
        found[name] = set()
        for source, below in _run_imports(module.tree):
            exact = f"{source}.{below}".strip(".")
            found[name].add(exact if exact in program.modules else source)
            parent = source if exact in program.modules else source.rpartition(".")[0]
            while parent and not f"{name}.".startswith(f"{parent}."):
                found[name].add(parent)
                parent = parent.rpartition(".")[0]
        found[name] &= program.modules.keys()
        found[name] -= {name, ""}
    return found


def _run_imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "triplecast":
            for alias in node.names:
                yield (node.module or "").removeprefix("triplecast").lstrip("."), alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("triplecast."):
                    yield alias.name.removeprefix("triplecast."), ""
        yield from _run_imports(node)
