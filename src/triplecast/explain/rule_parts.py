"""Decomposes a rule as MDV does (Keidl, Kreutz, Kemper, Kossmann: ICDE 2002, section 3.3) and counts what it shares.

A *triggering* part is about one class and at most one constant; a *join* is about two parts. Joins that differ in their
parts only are a group. Each alternative of ``or`` is decomposed by itself. In the index the parts of one subject are
one star and the joins a join graph (docs/matching.md): equal ones are one there as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from lark.lexer import Token

from triplecast.languages.rule_algebra import Scope, searched_rule, unfold
from triplecast.languages.rule_given import given_of
from triplecast.languages.rule_syntax import Path, PathStep, RuleComparison, read_rule, term_of
from triplecast.languages.tokens import unescape_string
from triplecast.schema import RdfSchema

RULES_COMPARED = 20_000
"""Other rules among which shared parts are counted; of more, the first."""
_ANY = "any resource"
_IRI = re.compile(r"<([^<>\s]*[/#:])([A-Za-z_][\w-]*)>")


@dataclass(frozen=True, slots=True)
class RulePart:
    """One part of a decomposition."""

    name: str
    """Within it: ``T1`` is the first triggering part, ``J1`` the first join."""
    text: str
    """As a rule; of a join it searches other parts by their names."""
    group: str
    """Of a join: what it has in common with the others of its group; empty for a triggering part."""
    shared: int = 0
    """How many other rules have the same part."""
    grouped: int = 0
    """How many other rules have a join of its group."""
    key: str = field(default="", repr=False)
    """Equal for equal parts of any rules."""


@dataclass(frozen=True, slots=True)
class RuleDecomposition:
    """How a rule is taken apart."""

    id: str
    alternatives: tuple[tuple[RulePart, ...], ...]
    """The parts of each alternative, each after those that it searches; the last one gives the result."""
    compared: int = 0
    """Among how many other rules parts were counted."""

    def __str__(self) -> str:
        lines = [f"{self.id}: shared parts are counted among {self.compared} other rules"]
        for number, parts in enumerate(self.alternatives, 1):
            if len(self.alternatives) > 1:
                lines.append(f"alternative {number}")
            lines += [f"  {part.name}  {part.text}{_counted(part)}" for part in parts]
        return "\n".join(lines)


def decompose(id: str, text: str, schema: RdfSchema, others: Iterable[str] = ()) -> RuleDecomposition:
    """Take a bound rule apart, and count the `others`, bound too, that share each part."""
    found = _alternatives(text, schema)
    shared: Counter[str] = Counter()
    grouped: Counter[str] = Counter()
    compared = 0
    for other in others:
        parts = [part for alternative in _alternatives(other, schema) for part in alternative]
        shared.update({part.key for part in parts})
        grouped.update({part.group for part in parts if part.group})
        compared += 1
        if compared == RULES_COMPARED:
            break
    prefixes = read_rule(text).namespace.prefixes
    counted = (
        tuple(
            replace(part, text=_shortened(part.text, prefixes), shared=shared[part.key], grouped=grouped[part.group])
            for part in parts
        )
        for parts in found
    )
    return RuleDecomposition(id, tuple(counted), compared)


def _shortened(text: str, prefixes: Mapping[str, str]) -> str:
    """With the rule's own prefixes; a bare name has that of ``prefix :``."""
    starts = sorted(((start, name) for name, start in prefixes.items()), reverse=True)

    def shorten(match: re.Match[str]) -> str:
        for start, name in starts:
            if match[1] == start:
                return f"{name}:{match[2]}" if name else match[2]
        return match[0]

    return _IRI.sub(shorten, text)


def _counted(part: RulePart) -> str:
    told = [f"{part.shared} share it"] if part.shared else []
    told += [f"{part.grouped} in its group"] if part.group else []
    return f"  ({', '.join(told)})" if told else ""


def _alternatives(text: str, schema: RdfSchema) -> list[tuple[RulePart, ...]]:
    registered, found = unfold(read_rule(text), given_of(text))
    return [tuple(_Decomposition(schema, scopes, registered.name).parts()) for scopes in found]


@dataclass(frozen=True, slots=True)
class _Join:
    """A condition about two nodes, which may be one."""

    left: str
    right: str
    text: str
    """With ``{0}`` and ``{1}`` in their places."""


class _Decomposition:
    """One alternative: nodes, what constants say of each, and what joins them."""

    def __init__(self, schema: RdfSchema, scopes: tuple[Scope, ...], registered: str) -> None:
        self._schema = schema
        self._same: dict[str, str] = {}
        self._registered = registered
        self._classes: dict[str, str] = {}
        self._constants: dict[str, list[str]] = {}
        self._joins: list[_Join] = []
        self._steps: dict[tuple[int, str, str], str] = {}
        self._parts: list[RulePart] = []
        for scope in scopes:
            for each in scope.rule.searched:
                node = scope.variables[each.variable].name
                self._constants.setdefault(node, [])
                if searched_rule(scope.rule, scope.given, each) is None:
                    self._classes[node] = term_of(scope.rule, each.token)
        for scope in scopes:
            for comparison in scope.comparisons:
                self._add(scope, comparison)

    def parts(self) -> Iterator[RulePart]:
        """Triggering parts by node, their joins, and the joins of nodes towards the one that is registered."""
        joins = [replace(each, left=self._root(each.left), right=self._root(each.right)) for each in self._joins]
        nodes = [*dict.fromkeys(map(self._root, self._constants))]
        of_node: dict[str, RulePart] = {}
        for node in nodes:
            kind = next((kind for name, kind in self._classes.items() if self._root(name) == node), _ANY)
            constants = [text for name, some in self._constants.items() if self._root(name) == node for text in some]
            triggers = [self._trigger(kind, text) for text in dict.fromkeys(constants or [""])]
            of_node[node] = triggers[0]
            for other in triggers[1:]:
                of_node[node] = self._join(of_node[node], other, "{0} = {1}", kind, kind)
        kinds = {node: self._kind(node) for node in nodes}
        self._fold(self._root(self._registered), joins, of_node, kinds, set())
        root = self._root(self._registered)
        for node in nodes:
            if node != root and node in of_node:  # nothing joins it
                self._fold(node, joins, of_node, kinds, {root})
                of_node[root] = self._join(of_node[root], of_node.pop(node), "", kinds[root], kinds[node])
        yield from self._parts

    def _fold(
        self, node: str, joins: list[_Join], of_node: dict[str, RulePart], kinds: Mapping[str, str], met: set[str]
    ) -> None:
        """Join a node with all that lead on from it, each folded before."""
        met.add(node)
        while joins:
            place = next((n for n, each in enumerate(joins) if node in (each.left, each.right)), None)
            if place is None:
                return
            join = joins.pop(place)
            other = join.right if join.left == node else join.left
            if other in of_node and other not in met:
                self._fold(other, joins, of_node, kinds, met)
            own, that = of_node[node], of_node.get(other) if other != node else None
            text = (
                join.text
                if join.left == node
                else join.text.replace("{0}", "{2}").replace("{1}", "{0}").replace("{2}", "{1}")
            )
            of_node[node] = self._join(own, that or own, text, kinds[node], kinds[other])
            if other != node:
                of_node.pop(other, None)

    # ---- reading ----------------------------------------------------------------------------------------------------

    def _add(self, scope: Scope, comparison: RuleComparison) -> None:
        left, right, operator = comparison.left, comparison.right, comparison.operator
        if isinstance(left, Token) or isinstance(right, Token):
            path, constant = (right, left) if isinstance(left, Token) else (left, right)
            assert isinstance(path, Path)
            assert isinstance(constant, Token)
            node, property = self._end(scope, path)
            written = _constant(scope, constant)
            sides = (written, f"x{property}") if isinstance(left, Token) else (f"x{property}", written)
            self._constants[node].append(f"{sides[0]} {operator} {sides[1]}")
            return
        (one, first), (two, second) = self._end(scope, left), self._end(scope, right)
        if operator == "=" and not first and not second:
            self._unify(one, two)
        else:
            self._joins.append(_Join(one, two, f"{{0}}{first} {operator} {{1}}{second}"))

    def _end(self, scope: Scope, path: Path) -> tuple[str, str]:
        """The node that has a path's last property, and that property after a point; empty for the node itself."""
        node = scope.variables[path.variable].name
        for step in path.steps[:-1]:
            node = self._step(scope, node, step)
        if not path.steps:
            return node, ""
        return node, f".{path.steps[-1].property}{'?' if path.steps[-1].any else ''}"

    def _step(self, scope: Scope, node: str, step: PathStep) -> str:
        key = (id(scope), node, step.property)
        found = None if step.any else self._steps.get(key)
        if found is None:
            found = f"step {len(self._constants)}"
            self._constants[found] = []
            ranges = self._schema.ranges.get(step.property, frozenset())
            if len(ranges) == 1:
                self._classes[found] = next(iter(ranges))
            self._joins.append(_Join(node, found, f"{{0}}.{step.property}{'?' if step.any else ''} = {{1}}"))
            if not step.any:
                self._steps[key] = found
        return found

    def _unify(self, one: str, two: str) -> None:
        one, two = self._root(one), self._root(two)
        if one != two:
            kept = one if one == self._root(self._registered) else two
            self._same[two if kept == one else one] = kept

    def _root(self, node: str) -> str:
        while node in self._same:
            node = self._same[node]
        return node

    def _kind(self, node: str) -> str:
        return next((kind for name, kind in self._classes.items() if self._root(name) == node), _ANY)

    # ---- making -----------------------------------------------------------------------------------------------------

    def _trigger(self, kind: str, condition: str) -> RulePart:
        text = f"search {kind} x register x{f' where {condition}' if condition else ''}"
        return self._made("T", text, "", text)

    def _join(self, one: RulePart, two: RulePart, condition: str, kind: str, other: str) -> RulePart:
        written = condition.format("x", "y")
        where = f" where {written}" if written else ""
        text = f"search {one.name} x, {two.name} y register x{where}"
        group = f"search {kind} x, {other} y register x{where}"
        return self._made("J", text, group, f"{group}\n{one.key}\n{two.key}")

    def _made(self, letter: str, text: str, group: str, key: str) -> RulePart:
        for part in self._parts:
            if part.key == key:
                return part
        name = f"{letter}{1 + sum(part.name[0] == letter for part in self._parts)}"
        part = RulePart(name, text, group, key=key)
        self._parts.append(part)
        return part


def _constant(scope: Scope, token: Token) -> str:
    if token.type == "BOOLEAN":
        return str(token).lower()
    if token.type == "STRING":
        return repr(unescape_string(str(token)))
    return term_of(scope.rule, token) if token.type == "IRI" else str(token)
