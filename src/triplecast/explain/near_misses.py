"""The triples of a publication nearest to one that a query looks for and does not find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.graphs import Triple
from triplecast.explain.trace import SHOWN
from triplecast.explain.wording import Wording
from triplecast.languages.refusals import HOW_TO_DECLARE, warn_undeclared
from triplecast.languages.vocabularies import KNOWN
from triplecast.model.algebra import Term
from triplecast.terms.nearness import likeness_of, nearest_names, split_name

LOOKED_AT = 20_000
"""The first triples of a publication, among which near misses are looked for."""
COMPARED = 2_000
"""How many triples with the predicate looked for are compared with the object looked for."""
PREDICATES_SHOWN = 12


def find_near_misses(
    subject: Term | None, predicates: Sequence[Term], object_: Term | None, triples: Iterable[Triple], words: Wording
) -> tuple[str, ...]:
    """Describe the triples nearest to one with these terms, the nearest first; None is any term, as is an empty
    `predicates`, and several predicates are alternatives.

    They are other values of the same predicate, else similar predicates, else the predicates of the subject or of the
    publication.
    """
    distinct = list(dict.fromkeys(triples))[:LOOKED_AT]
    if not distinct:
        return ("the publication is empty",)
    about = [triple for triple in distinct if triple[0] == subject] if subject is not None else distinct
    if subject is not None and not about:
        return _unknown_subject(subject, distinct, words)
    if not predicates:
        return tuple(words.stated(triple) for triple in _by_object(object_, about)[:SHOWN])
    stated = [triple for triple in about if triple[1] in predicates]
    if stated:
        return tuple(words.stated(triple) for triple in _by_object(object_, stated)[:SHOWN])
    return _other_predicates(subject, predicates, distinct, about, words)


def _other_predicates(
    subject: Term | None,
    predicates: Sequence[Term],
    distinct: Sequence[Triple],
    about: Sequence[Triple],
    words: Wording,
) -> tuple[str, ...]:
    elsewhere = [triple for triple in distinct if triple[1] in predicates]
    if elsewhere:
        whose = "on another subject" if subject is not None else "elsewhere"
        lines = [f"{words.stated(triple)} ({whose})" for triple in elsewhere[: SHOWN - 1]]
    else:
        lines = [_absent(predicate, distinct, words) for predicate in predicates[:SHOWN]]
    near = [
        triple
        for predicate in predicates
        for name in nearest_names(predicate.value, _predicates(about), SHOWN)
        for triple in about
        if triple[1].value == name
    ]
    if near:
        return (*lines, *(words.stated(triple) for triple in near[:SHOWN]))
    names = _predicates(about)
    listed = ", ".join(words.node(NamedNode(name)) for name in names[:PREDICATES_SHOWN])
    more = f" and {len(names) - PREDICATES_SHOWN} more" if len(names) > PREDICATES_SHOWN else ""
    whose = words.node(subject) if subject is not None else "the publication"
    return (*lines, f"predicates of {whose}: {listed}{more}")


def _absent(predicate: Term, distinct: Sequence[Triple], words: Wording) -> str:
    """Describe a predicate that no triple has, which may be an undeclared operator."""
    line = f"no triple has the predicate {words.node(predicate)}"
    namespace, _ = split_name(predicate.value)
    strange = namespace not in KNOWN.values() and all(
        split_name(each)[0] != namespace for each in _predicates(distinct)
    )
    if strange or warn_undeclared(predicate.value, words.operators) is not None:
        return f"{line}; if it is an operator, {HOW_TO_DECLARE}"
    return line


def _unknown_subject(subject: Term, distinct: Sequence[Triple], words: Wording) -> tuple[str, ...]:
    subjects = list(dict.fromkeys(triple[0] for triple in distinct))
    near = nearest_names(subject.value, [node.value for node in subjects if isinstance(node, NamedNode)], SHOWN)
    shown = [NamedNode(name) for name in near] or subjects[:SHOWN]
    more = f" and {len(subjects) - len(shown)} more" if len(subjects) > len(shown) else ""
    listed = ", ".join(words.node(node) for node in shown)
    return (f"no triple has the subject {words.node(subject)}", f"subjects of the publication: {listed}{more}")


def _predicates(triples: Iterable[Triple]) -> list[str]:
    return list(dict.fromkeys(triple[1].value for triple in triples))


def _by_object(wanted: Term | None, triples: Sequence[Triple]) -> Sequence[Triple]:
    """Nearest value first: the same text in another form, then like texts; ties by the triple's text."""
    if wanted is None:
        return triples
    text = wanted.value

    def distance(triple: Triple) -> tuple[float, tuple[str, ...]]:
        found = triple[2]
        likeness = likeness_of(text, found.value)
        if isinstance(found, Literal) is not isinstance(wanted, Literal):
            likeness /= 2
        return -likeness, tuple(map(str, triple))

    return sorted(triples[:COMPARED], key=distance)
