"""Rules to atomic rules (section 3.3): normalised, then cut into triggering and join rules.

What the text leaves open: a join rule registers one variable, so that what it joins must be a tree; a rule whose joins
close a circle would lose which resources belong together, and is refused. A tree is joined from its leaves to the
variable that is registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeAlias

from experiments.mdv.rules import OPERATORS, ORDERED, SUBJECT, Path, Rule, Schema, Step


class Triggering(NamedTuple):
    """``search class a register a where a.property operator constant``; all three empty: without a where part."""

    type: str
    """The class of what it registers, as of every atomic rule."""
    attribute: str = ""
    operator: str = ""
    constant: str = ""

    @property
    def text(self) -> str:
        where = f" where a.{self.attribute} {self.operator} {self.constant!r}" if self.operator else ""
        return f"search {self.type} a register a{where}"


class Group(NamedTuple):
    """Where part and classes of a join rule (section 3.3.3): what all join rules of a group share. The first variable
    is the one that is registered."""

    type: str
    attribute: str
    other_type: str
    other_attribute: str

    @property
    def text(self) -> str:
        where = f"{_access('a', self.attribute)} = {_access('b', self.other_attribute)}"
        return f"search group({self.type}) a, group({self.other_type}) b register a where {where}"


class Join(NamedTuple):
    """``search left a, right b register a where a.property = b.property``: a semi-join of two atomic rules' results."""

    group: Group
    left: Atomic
    right: Atomic

    @property
    def type(self) -> str:
        return self.group.type


Atomic: TypeAlias = Triggering | Join


def _access(variable: str, property: str) -> str:
    return variable if property == SUBJECT else f"{variable}.{property}"


@dataclass(frozen=True, slots=True)
class Edge:
    """A predicate between two variables of a normalised rule."""

    left: str
    property: str
    right: str
    other_property: str

    def turned(self) -> Edge:
        return Edge(self.right, self.other_property, self.left, self.property)


class Normalised(NamedTuple):
    """Every class that is used has a variable; there are no paths, only accesses to properties (section 3.3)."""

    extensions: Mapping[str, str]
    constants: tuple[tuple[str, str, str, str], ...]
    """Variable, property, operator, constant."""
    edges: tuple[Edge, ...]


def normalise(rule: Rule, schema: Schema) -> Normalised:
    """Raises ValueError where a path goes on behind a property that refers to no resource, and of a predicate that
    has no such form."""
    extensions = {each.variable: each.extension for each in rule.search}
    constants: list[tuple[str, str, str, str]] = []
    edges: list[Edge] = []
    shared: dict[tuple[str, str], str] = {}

    def follow(path: Path) -> tuple[str, str]:
        """The last variable and the property that is accessed, `SUBJECT` for none."""
        variable = path.variable
        if variable not in extensions:
            raise ValueError(f"rule {rule.name}: {variable} is in no search part")
        for step in path.steps[:-1]:
            variable = go(variable, step)
        return variable, path.steps[-1].property if path.steps else SUBJECT

    def go(variable: str, step: Step) -> str:
        known = None if step.any else shared.get((variable, step.property))
        if known is not None:
            return known
        if step.property not in schema:
            raise ValueError(f"rule {rule.name}: {step.property} refers to no resource: nothing is behind it")
        name = f"{variable}.{step.property}{len(extensions)}"
        extensions[name] = schema[step.property]
        edges.append(Edge(variable, step.property, name, SUBJECT))
        if not step.any:
            shared[variable, step.property] = name
        return name

    for left, operator, right in rule.where:
        variable, property = follow(left)
        if isinstance(right, Path) and operator == "=":
            edges.append(Edge(variable, property, *follow(right)))
        elif isinstance(right, str) and operator in OPERATORS and not (operator in ORDERED and not _is_number(right)):
            constants.append((variable, property, operator, right))
        else:
            raise ValueError(f"rule {rule.name}: {left} {operator} {right} is no predicate")
    return Normalised(extensions, tuple(constants), tuple(dict.fromkeys(edges)))


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def decompose(rule: Rule, schema: Schema, others: Mapping[str, Atomic]) -> Atomic:
    """The end rule of the dependency tree (section 3.3.2), which holds those it depends on. `others` has the end rules
    of rules that an extension may name. Raises ValueError as `normalise`, and where the joins are no tree."""
    normal = normalise(rule, schema)
    reached: set[str] = set()

    def extension(variable: str) -> Atomic:
        """What the triggering rules of one variable register, and the rule that is searched."""
        name = normal.extensions[variable]
        other = others.get(name)
        type = other.type if other else name
        triggers = {
            Triggering(type, property, operator, constant)
            for of, property, operator, constant in normal.constants
            if of == variable
        }
        found: list[Atomic] = [*([other] if other else ()), *sorted(triggers)]  # one order: more is shared
        return reduce(_intersect, found or [Triggering(type)])

    def join(variable: str, without: Edge | None) -> Atomic:
        """The resources for `variable` that have all that is behind it in the tree."""
        if variable in reached:
            raise ValueError(f"rule {rule.name}: its joins are no tree: {variable} is reached twice")
        reached.add(variable)
        found = extension(variable)
        for edge in _edges_at(normal, variable):
            if edge != without:
                other = join(edge.right, edge.turned())
                group = Group(found.type, edge.property, other.type, edge.other_property)
                found = Join(group, found, other)
        return found

    end = join(rule.register, None)
    if missing := normal.extensions.keys() - reached:
        raise ValueError(f"rule {rule.name}: its joins are no tree: {sorted(missing)} are not reached")
    return end


def _edges_at(normal: Normalised, variable: str) -> Iterator[Edge]:
    for edge in normal.edges:
        if edge.left == variable:
            yield edge
        elif edge.right == variable:
            yield edge.turned()


def _intersect(left: Atomic, right: Atomic) -> Atomic:
    """The text's RuleE: ``where a = b``."""
    return Join(Group(left.type, SUBJECT, right.type, SUBJECT), left, right)
