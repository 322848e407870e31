"""Whether a subscription can be taken, and what it will cost, before it is registered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.compile.compiled import (
    PLANS_LIMIT,
    CompiledSubscription,
    compile_subscription,
    graphs_of,
    matches_nothing,
)
from triplecast.compile.constants import Constant, constant_text
from triplecast.compile.plan import Cost, Plan
from triplecast.compile.refusals import TEMPLATES_LIMIT, called_operators, refuse_two_graphs
from triplecast.errors import InputError, QueryRefused, QuerySyntaxError
from triplecast.evaluate.scope import parts_of
from triplecast.incremental import StandingQuery, compile_standing
from triplecast.incremental.compiled import WHOLE
from triplecast.languages import Template, place_of_argument, sources_of, unread_directive
from triplecast.languages.rewriting import calls_in
from triplecast.model.algebra import Produce, Slot, from_ntriples
from triplecast.model.entailment import Entailment
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet
from triplecast.model.printable import printable_name, shortened
from triplecast.model.subscription import PUBLICATION, REPOSITORY, Registration, Subscription, SubscriptionCounts
from triplecast.operators.asking.argument_checks import shared_checker
from triplecast.query_warnings import find_warnings
from triplecast.registry.bulk import paused_collection
from triplecast.registry.hearing import refuse_updates, settle_hearing
from triplecast.registry.lines import LoadedSubscriptions, SubscriptionFault
from triplecast.registry.rule_bindings import bind_all
from triplecast.registry.taxonomy_warnings import concerns_taxonomy, warn_taxonomy
from triplecast.schema import NO_SCHEMA, RdfSchema

WARNINGS_SHOWN = 20
"""Most warnings that are shown of many subscriptions."""
_LONGEST_SHOWN = 200
"""Characters of an id that a message shows."""
_PREDICATE_WARNING = (
    "nothing in it is rarer than a predicate: it is joined with every publication that uses that predicate; "
    "a constant subject or object would narrow it"
)
_BROAD_WARNING = (
    "it is broad: no key (an IRI or literal that every match contains in a triple) narrows it, so it is tried against "
    "every publication"
)
_DATASET_WARNING = (
    "it needs a publication that holds the named graphs {}: only a dataset does, a document that was published whole "
    "(`dataset=True`, `--dataset`); to ask for any of them, use UNION"
)
_WHOLE_WARNING = (
    "its answer is evaluated as a whole whenever it may have changed, because of LIMIT, an aggregate of everything, "
    "GRAPH, a function of the taxonomy, or a path that repeats or may have length zero"
)
_COMMON_STARS = MappingProxyType(
    {
        Cost.PREDICATE.value: "nothing in one of its patterns is rarer than a predicate: it is compared with each "
        "resource that changes and has that predicate; a constant subject or object would narrow it",
        Cost.BROAD.value: "it is compared with each resource that changes: one of its patterns has variables only",
    }
)
_EMPTY_WARNING = (
    "it matches every publication on which it finds nothing, because it has a result on the empty graph; "
    "add HAVING (COUNT(*) > 0), or a triple pattern that has to hold"
)
_OPERATORS_WARNING = (
    "no triple has to be there for it to match: what its operators say of a publication may be enough, whatever it "
    "holds; add a triple pattern that has to hold"
)
_DIRECTIVE_WARNING = "line {}: `{}` has no effect there: write it once, as the first line"
_SOURCE_WARNING = "FROM {} is noted, not fetched: a subscription is evaluated against each publication"


@dataclass(frozen=True, slots=True)
class Admission:
    """What `subscribe` reports of a subscription."""

    cost: str
    """``narrow``, ``predicate`` or ``broad`` (see `Cost`)."""
    warnings: tuple[str, ...]
    broad: str
    """What makes it broad; empty where it is not."""
    decided: bool
    """Whether the index decides it; else the evaluator decides every candidate."""
    entailment: Entailment
    bounded: bool
    """Whether a pair beyond the index's bounds is undecided: where one join decides the query. Where several do, the
    evaluator decides such a pair."""

    @property
    def decider(self) -> str:
        """As `SubscriptionCounts` counts it."""
        return ("index" if self.bounded else "combined") if self.decided else "evaluator"

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings that are not about its cost: the query may be mistaken."""
        return tuple(warning for warning in self.warnings if warning not in (_PREDICATE_WARNING, _BROAD_WARNING))


class AdmittedSubscription(NamedTuple):
    """A subscription that can be registered."""

    subscription: Subscription
    admission: Admission
    compiled: CompiledSubscription
    replaces: Registration | None = None
    """The registration of the same id and source that ends where this one is registered."""
    named: bool = True
    """Whether it keeps its id; otherwise it is given a free one."""


def examine(
    subscription: Subscription,
    datasets: bool = True,
    operators: OperatorSet = NO_OPERATORS,
    is_live: bool = False,
    has_taxonomy: Callable[[], bool] | None = None,
) -> AdmittedSubscription:
    """Admit a subscription. Raises `QuerySyntaxError` or `QueryRefused`, both with the subscription's name.

    `datasets`: whether publications may hold several named graphs; a query that needs such is refused where not.
    Unless it `is_live` already, its operators check the constants in their arguments (`operator(check=…)`).
    With `has_taxonomy`, it is warned where its entailment and the taxonomy do not fit.
    """
    try:
        compiled = compile_subscription(subscription, operators)
        shared = _describe(subscription, compiled, datasets)
        admission = shared.admission
        subscription = settle_hearing(subscription, compiled.template.query, bool(compiled.template.updates))
        if subscription.scope == REPOSITORY:
            admission = _in_repository(admission, compile_standing(compiled))
        more = find_warnings(compiled.template, compiled.constants, operators)
        if has_taxonomy is not None and shared.concerns_taxonomy:
            more += tuple(warn_taxonomy(compiled.template, compiled.constants, admission.entailment, has_taxonomy))
        if more:
            admission = replace(admission, warnings=admission.warnings + more)
        if shared.calls and not is_live:
            refuse_unanswerable(compiled, subscription, operators)
    except (QuerySyntaxError, QueryRefused) as fault:
        fault.name = fault.name or subscription.name
        raise
    return AdmittedSubscription(subscription, admission, compiled)


def _refuse_offline(subscription: Subscription) -> None:
    """Raises `QueryRefused` for repository scope: files that are matched offline have no order."""
    if subscription.scope == REPOSITORY:
        hint = f'use an `Engine` or `triplecast run`, or scope "{PUBLICATION}"'
        raise QueryRefused(f"scope {REPOSITORY}", "it needs a folder of documents", hint, name=subscription.name)


def _in_repository(admission: Admission, query: StandingQuery) -> Admission:
    """The admission of a query that is asked of all current documents together."""
    cost = query.cost
    notes = tuple(each for each in admission.notes if each not in (_EMPTY_WARNING, _OPERATORS_WARNING))
    if cost == WHOLE:
        return replace(admission, cost=cost, warnings=(*notes, _WHOLE_WARNING), broad=_WHOLE_WARNING)
    common = (_COMMON_STARS[cost],) if cost in _COMMON_STARS else ()
    return replace(
        admission, cost=cost, warnings=(*notes, *common), broad="".join(common if cost == Cost.BROAD.value else ())
    )


def admit(subscription: Subscription, datasets: bool = True, operators: OperatorSet = NO_OPERATORS) -> Admission:
    """The admission of one that is live. Raises what `examine` raises."""
    return examine(subscription, datasets, operators, is_live=True).admission


class _Shared(NamedTuple):
    """What all usual subscriptions of one plan have in common."""

    plan: Plan
    admission: Admission
    """Without what their constants are warned of."""
    concerns_taxonomy: bool
    calls: bool
    """Whether they call operators with constants."""


@cache
def _shared() -> dict[tuple[int, Entailment], _Shared]:
    """By plan and entailment; bounded by `PLANS_LIMIT`."""
    return {}


def _describe(subscription: Subscription, compiled: CompiledSubscription, datasets: bool) -> _Shared:
    template, constants, entailment, plan = compiled
    key = (id(plan), entailment)
    found = _shared().get(key)
    usual = subscription.language == "sparql" and "triplecast:" not in subscription.text
    if usual and found is not None and found.plan is plan:
        return found
    admission = _describe_text(subscription, compiled, datasets)
    made = _Shared(plan, admission, concerns_taxonomy(template), bool(_given(template)))
    if usual and not graphs_of(template, constants, entailment is not Entailment.NONE) and not needs_nothing(plan):
        if len(_shared()) >= PLANS_LIMIT:
            _shared().clear()
        _shared()[key] = made
    return made


def _describe_text(subscription: Subscription, compiled: CompiledSubscription, datasets: bool) -> Admission:
    """Describe a subscription without what its constants are warned of."""
    template, constants, entailment, plan = compiled
    graphs = graphs_of(template, constants, entailment is not Entailment.NONE)
    if not datasets:
        refuse_two_graphs(graphs)
    empty = needs_nothing(plan) and not matches_nothing(template, constants)
    by_operators = empty and bool(called_operators(template))
    sources = sources_of(subscription.text, subscription.language)
    unread = unread_directive(subscription.text, subscription.language)
    reason = (_OPERATORS_WARNING if by_operators else _EMPTY_WARNING) if empty else ""
    return Admission(
        plan.cost.value,
        (
            *template.notes,
            *(() if unread is None else (_DIRECTIVE_WARNING.format(unread[0], shortened(unread[1], _LONGEST_SHOWN)),)),
            *_warnings(plan.cost, graphs, reason, sources),
        ),
        _why_broad(plan, empty and not by_operators),
        plan.decided,
        entailment,
        plan.decided and plan.combination is None,
    )


def refuse_unanswerable(compiled: CompiledSubscription, subscription: Subscription, operators: OperatorSet) -> None:
    """Raises `QueryRefused` where an operator's own check says that it can never answer a constant argument."""
    text, language = subscription.text, subscription.language
    for operator, given in _given(compiled.template):
        declared = operators.find(operator)
        if declared is None or not declared.check:
            continue
        arguments = tuple(None if each is None else constant_text(each, compiled.constants) for each in given)
        objection = shared_checker().objection(declared, arguments)
        if objection is not None:
            at = from_ntriples(_culprit(declared, arguments))
            reason, _, hint = objection.rpartition("; ")
            if not reason:
                reason, hint = objection, "give it something else"
            line, column = place_of_argument(text, language, operator, at, operators) or (None, None)
            raise QueryRefused(f"operator <{operator}>", f"it can never answer: {reason}", hint, line, column)


def _culprit(declared: Operator, arguments: tuple[str | None, ...]) -> str:
    """The argument that is at fault by itself, or the first one."""
    places = [place for place, each in enumerate(arguments) if each is not None]
    for place in places if len(places) > 1 else ():
        alone = tuple(each if at == place else None for at, each in enumerate(arguments))
        if shared_checker().objection(declared, alone) is not None:
            return str(arguments[place])
    return str(arguments[places[0]])


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _given(template: Template) -> tuple[tuple[str, tuple[Constant | None, ...]], ...]:
    """Each operator call with a constant argument: the operator and its arguments, None for those of a publication."""
    pattern = template.query.pattern
    calls: list[tuple[str, Iterable[object]]] = []
    for part in parts_of(pattern):
        if isinstance(part, Produce):
            bound = (node for node, free in zip(part.arguments, part.free, strict=True) if not free)
            calls.append((part.operator, bound))
    calls += [(call.function, call.arguments) for call in calls_in(pattern) if call.of_operator]
    given = [(operator, tuple(map(_constant, arguments))) for operator, arguments in calls]
    return tuple(each for each in dict.fromkeys(given) if set(each[1]) != {None})


def _constant(node: object) -> Constant | None:
    return node if isinstance(node, NamedNode | Literal | Slot) else None


def needs_nothing(plan: Plan) -> bool:
    """Whether some alternative of the plan holds on every publication, the empty one too."""
    return any(not branch.patterns for branch in plan.branches)


def _warnings(cost: Cost, graphs: tuple[str, ...], empty: str, sources: tuple[str, ...]) -> Iterator[str]:
    if cost is Cost.PREDICATE:
        yield _PREDICATE_WARNING
    elif cost is Cost.BROAD:
        yield _BROAD_WARNING
    if len(graphs) > 1:
        yield _DATASET_WARNING.format(" and ".join(graphs))
    if empty:
        yield empty
    if sources:
        yield _SOURCE_WARNING.format(", ".join(sources))


def _why_broad(plan: Plan, empty: bool) -> str:
    if plan.cost is not Cost.BROAD:
        return ""
    if empty:
        return "it has a result if a publication holds nothing of what it asks for (HAVING (COUNT(*) > 0) fixes that)"
    if needs_nothing(plan):
        return "no triple has to be there for it to match"
    which = "one of its alternatives" if len(plan.branches) > 1 else "it"
    return f"{which} has triple patterns of variables only"


@dataclass(frozen=True, slots=True)
class Admitted:
    """Valid subscriptions, and what is wrong with the others; registration i + 1 is subscription i."""

    subscriptions: tuple[Subscription, ...]
    faults: tuple[SubscriptionFault, ...] = ()
    warnings: tuple[str, ...] = ()
    """`describe_warnings` of each."""
    ignored: tuple[str, ...] = ()
    """Files that were passed over (`FoundFiles.ignored`)."""
    live: SubscriptionCounts = field(default_factory=SubscriptionCounts)


def admit_all(
    loaded: LoadedSubscriptions,
    datasets: bool = True,
    operators: OperatorSet = NO_OPERATORS,
    has_taxonomy: bool | None = None,
    schema: RdfSchema = NO_SCHEMA,
) -> Admitted:
    """The valid subscriptions of some files; the files' faults first, then those of the queries (`examine`)."""
    is_loaded = None if has_taxonomy is None else lambda: has_taxonomy
    taken: list[Subscription] = []
    faults = [*loaded.faults]
    warnings: list[str] = []
    kinds: Counter[tuple[str, str]] = Counter()
    with paused_collection(len(loaded.subscriptions)):
        bound = bind_all(loaded.subscriptions, lambda: schema)
        for written, subscription, place in zip(loaded.subscriptions, bound, loaded.places, strict=True):
            try:
                if not isinstance(subscription, Subscription):
                    raise subscription
                _refuse_offline(subscription)
                examined = examine(subscription, datasets, operators, has_taxonomy=is_loaded)
                refuse_updates(examined.compiled.template, subscription.name)
                admission = examined.admission
            except (QuerySyntaxError, QueryRefused, InputError) as error:
                faults.append(fault_of(error, written.name, place))
                continue
            taken.append(subscription)
            kinds[admission.cost, admission.decider] += 1
            warnings += describe_warnings(admission, subscription.name, place)
    counts: Counter[str] = Counter()
    for (cost, decider), count in kinds.items():
        counts[cost] += count
        counts[decider] += count
    return Admitted(tuple(taken), tuple(faults), tuple(warnings), loaded.ignored, SubscriptionCounts(**counts))


def describe_warnings(admission: Admission, name: str, place: str) -> list[str]:
    """A line for each of the `Admission.notes` of the subscription `name` at `place`."""
    return [f"{place}: note: {_prefix_of(name, place)}{note}" for note in admission.notes]


def first_of(warnings: Sequence[str]) -> list[str]:
    """`WARNINGS_SHOWN` of the lines, then how many more there are."""
    left = len(warnings) - WARNINGS_SHOWN
    more = [f"{left} more notes on subscriptions; `triplecast preview` shows those of one"] if left > 0 else []
    return [*warnings[:WARNINGS_SHOWN], *more]


def fault_of(error: QuerySyntaxError | QueryRefused | InputError, name: str, place: str) -> SubscriptionFault:
    """Why the subscription `name` at `place` cannot be registered. Its place goes on with line and column."""
    prefix = _prefix_of(name, place)
    if isinstance(error, QuerySyntaxError):
        shown = str(replace(error, name=place, expected=()))
        _, _, reason = shown.removeprefix(f"{place}:").partition(" ")
        wanted = f"expected: {', '.join(error.expected)}" if error.expected else ""
        return SubscriptionFault(f"{place}:{error.line}:{error.column}", prefix + reason, wanted)
    if isinstance(error, QueryRefused):
        where = place if error.line is None else f"{place}:{error.line}:{error.column}"
        return SubscriptionFault(where, f"{prefix}{error.construct} is refused: {error.reason}", error.hint)
    return SubscriptionFault(place, error.what, error.hint)


def _prefix_of(name: str, place: str) -> str:
    """Return the start of a message that names the subscription where its place, a line of a file, does not."""
    return "" if place.endswith(name) else f"{printable_name(shortened(name, _LONGEST_SHOWN))}: "
