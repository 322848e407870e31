"""Namespaces that are written wrongly again and again, and what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from triplecast.languages.prefixes import DECLARED
from triplecast.terms.nearness import nearest_names

KNOWN: Mapping[str, str] = MappingProxyType(
    {
        **{prefix: namespace for prefix, namespace in DECLARED.items() if namespace.startswith("http")},
        "prov": "http://www.w3.org/ns/prov#",
        "vcard": "http://www.w3.org/2006/vcard/ns#",
        "org": "http://www.w3.org/ns/org#",
        "adms": "http://www.w3.org/ns/adms#",
        "locn": "http://www.w3.org/ns/locn#",
        "void": "http://rdfs.org/ns/void#",
        "sioc": "http://rdfs.org/sioc/ns#",
        "wgs": "http://www.w3.org/2003/01/geo/wgs84_pos#",
        "dcmitype": "http://purl.org/dc/dcmitype/",
        "media": "http://search.yahoo.com/mrss/",
    }
)
"""Prefixes in common use; those that no query has to declare are among them."""
_ALIASES = MappingProxyType({"dct": "dcterms", "terms": "dcterms", "sdo": "schema", "dce": "dc", "wgs84": "wgs"})
_ELEMENTS = frozenset(
    {"contributor", "coverage", "creator", "date", "description", "format", "identifier", "language", "publisher"}
    | {"relation", "rights", "source", "subject", "title", "type"}
)


def suggest_prefix(prefix: str, declared: Mapping[str, str]) -> str | None:
    """What to write for a prefix that is not declared: a declared one that is like it, or its usual declaration."""
    meant = _ALIASES.get(prefix.lower(), prefix.lower())
    if meant in declared and meant != prefix:
        return f"{meant}:"
    if meant in KNOWN:
        return f"PREFIX {prefix}: <{KNOWN[meant]}>"
    near = nearest_names(prefix, sorted(declared), 1)
    return f"{near[0]}:" if near and near[0] else None


def doubt_iri(iri: str) -> str | None:
    """What is to be said of an IRI in a namespace that is nearly a known one; None for all others."""
    namespace = iri[: 1 + max(iri.rfind("/"), iri.rfind("#"))]
    meant, unended = _suspects(namespace)
    if namespace == KNOWN["dc"] and iri[len(namespace) :] not in _ELEMENTS:
        local = iri[len(namespace) :]
        return f"the 15 elements of dc: have no {local!r}; dcterms:{local} is another name" if local else None
    for candidate in unended:  # http://purl.org/dc/termstitle: the namespace's last sign was forgotten
        if iri.startswith(candidate[1][:-1]) and len(iri) >= len(candidate[1]):
            meant = candidate
    if meant is None:
        return None
    prefix, known = meant
    told = f"<{iri}> is not in {prefix}: <{known}>, which differs from it by little"
    if iri.startswith("http://schema.org/"):
        return told + "; publications use one of the two: ask for both with UNION, or for the one they use"
    return told + f"; write {prefix}:… if that was meant"


@lru_cache(maxsize=16_384)
def _suspects(namespace: str) -> tuple[tuple[str, str] | None, tuple[tuple[str, str], ...]]:
    """The known namespace that this one differs from by little, and those that lie right below it."""
    below = tuple((prefix, known) for prefix, known in KNOWN.items() if _parent(known) == namespace)
    if namespace in KNOWN.values():
        return None, below
    for prefix, known in KNOWN.items():
        if _bare(namespace) == _bare(known) or _one_apart(namespace, known):
            return (prefix, known), below
    return None, below


def _parent(known: str) -> str:
    return known[: 1 + max(known.rfind("/", 0, -1), known.rfind("#", 0, -1))]


def _bare(namespace: str) -> str:
    """Without what is most often confused: scheme, ``www.``, letter case, the last sign."""
    _, _, rest = namespace.partition("://")
    return rest.removeprefix("www.").rstrip("/#").lower()


def _one_apart(left: str, right: str) -> bool:
    """Whether one character was changed, added or left out."""
    if abs(len(left) - len(right)) > 1:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    return left[start + (len(left) >= len(right)) :] == right[start + (len(right) >= len(left)) :]
