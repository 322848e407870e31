"""Rules that are registered together are bound before they are examined, each after those that it searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triplecast.errors import InputError, QueryRefused, QuerySyntaxError
from triplecast.languages.rule_binding import DEEPEST, Cycle, bind_rule, is_bound_by_outline, outline_of
from triplecast.model.subscription import PUBLICATION, Subscription, check_fields
from triplecast.schema import NO_SCHEMA, RdfSchema

RULE = "rule"
"""The language."""
LONGEST_OUTLINE = 1_000
"""Tokens of a rule beyond which it is parsed whatever it is like."""
Unbound = QuerySyntaxError | QueryRefused | InputError


def bind_all(
    subscriptions: Sequence[Subscription],
    schema: Callable[[], RdfSchema] = lambda: NO_SCHEMA,
    find_live: Callable[[str], Subscription | None] = lambda id: None,
    scope: str = PUBLICATION,
    named: bool = True,
    within: str = "",
) -> list[Subscription | Unbound]:
    """The subscriptions with their rules bound, or why one cannot be. `scope`: that of rules which state none;
    `find_live`: a subscription that is live already. Unless they are `named`, no rule searches another of them.
    `within`: the beginning of ids that rules may leave out."""
    if all(each.language != RULE for each in subscriptions):
        return [*subscriptions]
    return _Bindings(subscriptions, schema(), find_live, scope, named, within).bound()


class _Bindings:
    def __init__(
        self,
        subscriptions: Sequence[Subscription],
        schema: RdfSchema,
        find_live: Callable[[str], Subscription | None],
        scope: str,
        named: bool,
        within: str,
    ) -> None:
        self._subscriptions = subscriptions
        self._schema = schema
        self._find_live = find_live
        self._scope = scope
        self._named = named
        self._within = within
        self._places = {each.name: place for place, each in enumerate(subscriptions) if named}
        self._written = {*self._places, *(name.removeprefix(within) for name in self._places)}
        """The same as rules may write them."""
        self._bound: dict[int, Subscription | Unbound] = {}
        self._alike: dict[tuple[str, ...], str] = {}
        """What rules are bound to that search no rule, by `outline_of` their texts."""
        self._way: list[str] = []
        """The ids of the rules that are being bound, each for the one before."""

    def bound(self) -> list[Subscription | Unbound]:
        return [self._bind(place) for place in range(len(self._subscriptions))]

    def _bind(self, place: int) -> Subscription | Unbound:
        subscription = self._subscriptions[place]
        if subscription.language != RULE:
            return subscription
        found = self._bound.get(place)
        if found is None:
            self._way.append(subscription.name)
            found = self._bound[place] = self._bind_one(subscription)
            self._way.pop()
        return found

    def _bind_one(self, subscription: Subscription) -> Subscription | Unbound:
        try:
            check_fields(subscription)
            name = subscription.name if self._named else None
            text = self._bound_text(subscription.text, name)
        except (QuerySyntaxError, QueryRefused, InputError) as error:
            return error
        return replace(subscription, text=text, scope=subscription.scope or self._scope)

    def _bound_text(self, text: str, name: str | None) -> str:
        """Rules that differ in constants alone are bound alike, which saves parsing them."""
        outline = outline_of(text)
        line = self._alike.get(outline)
        if line is not None:
            return text + line
        bound = bind_rule(text, name, self._schema, self._find)
        if len(outline) <= LONGEST_OUTLINE and is_bound_by_outline(bound) and self._written.isdisjoint(outline):
            self._alike[outline] = bound[len(text) :]
        return bound

    def _find(self, id: str) -> Subscription | Cycle | Exception | None:
        """What a rule means by an id; its own is that of a class, not of itself."""
        own = self._within + id
        if own in self._places or (self._within and self._find_live(own) is not None):
            id = own
        place = self._places.get(id)
        if place is None:
            return self._find_live(id)
        if id == self._way[-1]:
            return None
        if id in self._way:
            return tuple(self._way[self._way.index(id) :])
        if len(self._way) > DEEPEST:
            return InputError(f"rules search rules more than {DEEPEST} deep", "write one of them out")
        return self._bind(place)
