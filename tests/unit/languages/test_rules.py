"""The rules of a grammar have functions of their names, and no helper takes such a name."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from triplecast.languages import expressions, fulltext, groups, patterns, rdql, solutions
from triplecast.languages.dialect import _grammar, _rules_of

SPARQL = (expressions, fulltext, patterns, groups, solutions)


@pytest.mark.parametrize(("grammar", "modules"), [("sparql.lark", SPARQL), ("rdql.lark", (expressions, rdql))])
def test_every_rule_that_a_tree_can_hold_has_a_function(grammar: str, modules: tuple[ModuleType, ...]) -> None:
    functions = _rules_of(modules)
    rules = {str(rule.alias or rule.origin.name): rule for rule in _grammar(grammar, "query").rules}
    always = {name for name, rule in rules.items() if rule.alias or not rule.options.expand1}
    names = [name for name in rules if not name.startswith("_") and (name in always or name in functions)]
    assert len(names) >= 20
    for name in names:
        translation, children, *more = inspect.signature(functions[name]).parameters.values()
        assert (translation.name, children.name) == ("translation", "children"), name
        assert all(each.default is not each.empty for each in more), name
