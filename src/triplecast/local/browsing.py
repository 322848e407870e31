"""Looking around at a provider, and a selection made there as the text of a subscription."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyoxigraph import NamedNode

from triplecast.errors import InputError
from triplecast.local.provider import Provider
from triplecast.model.algebra import to_ntriples


class Browser:
    """The classes of a provider's documents, their instances, and what is said of each."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def classes(self, limit: int = 100) -> list[tuple[str, int]]:
        """The IRIs of classes, with how many instances each has; those with most first."""
        found = self._provider.query(
            "SELECT ?class (COUNT(DISTINCT ?item) AS ?count) { ?item a ?class FILTER isIRI(?class) }"
            f" GROUP BY ?class ORDER BY DESC(?count) ?class LIMIT {limit:d}"
        )
        return [
            (str(row[0].value), int(row[1].value)) for row in found.rows if row[0] is not None and row[1] is not None
        ]

    def instances(self, of: str, limit: int = 100, offset: int = 0) -> list[str]:
        """The IRIs of a class's instances, in order."""
        where = f"{{ ?item a {_iri(of)} FILTER isIRI(?item) }}"
        found = self._provider.query(f"SELECT DISTINCT ?item {where} ORDER BY ?item LIMIT {limit:d} OFFSET {offset:d}")
        return [str(item.value) for (item,) in found.rows if item is not None]

    def describe(self, iri: str) -> str:
        """All triples with that subject, and those of the blank nodes that they lead to, as N-Triples."""
        return b"".join(self._provider.describe(_iri(iri))).decode()

    @staticmethod
    def selection(classes: Sequence[str] = (), resources: Iterable[str] = ()) -> str:
        """The text of a subscription to all instances of some classes, and to some resources. Raises `InputError` for
        what is no IRI."""
        parts = [f"{{ ?resource a {_iri(each)} }}" for each in classes]
        chosen = " ".join(map(_iri, resources))
        if chosen:
            parts.append(f"{{ VALUES ?resource {{ {chosen} }} ?resource ?property ?value }}")
        if not parts:
            raise InputError("nothing is selected", "choose classes or resources")
        return f"SELECT DISTINCT ?resource {{ {' UNION '.join(parts)} }}"


def _iri(text: str) -> str:
    try:
        return to_ntriples(NamedNode(text))
    except ValueError:
        raise InputError(f"{text!r} is no absolute IRI", "give one, without < and >") from None
