"""Read what says at which roots documents are cut: a class, or a query."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from triplecast.errors import InputError, QueryRefused, QuerySyntaxError
from triplecast.ingest import Document
from triplecast.languages import parse_query, updates_of
from triplecast.languages.prefixes import Namespace
from triplecast.languages.tokens import IRI_REFERENCE, NAME
from triplecast.languages.vocabularies import DECLARED

_CLASS = re.compile(rf"{IRI_REFERENCE}|{NAME}")
_HINT = "give a class such as dcat:Dataset or <iri>, or a SELECT query with one variable"


def read_roots(document: Document) -> Document:
    """Return the document with its `split` as parsers need it. Raises what `read_split` raises."""
    return document if document.split is None else replace(document, split=read_split(document.split))


@lru_cache(maxsize=64)
def read_split(text: str) -> str:
    """Return ``<iri>`` of a class, or the query with the prefixes that it need not declare; what is read already stays.

    Raises InputError for what is neither."""
    name = text.strip()
    try:
        if _CLASS.fullmatch(name):
            return str(Namespace(DECLARED, None).named(name))
        query = parse_query(text)
        if updates_of(text):
            raise QueryRefused("tc:before", "roots are of one version", "leave the FILTER out")
    except (ValueError, QuerySyntaxError, QueryRefused) as error:
        raise InputError(f"documents cannot be cut by {name[:200]!r}: {error}", _HINT) from error
    if query.form != "select" or len(query.variables) != 1:
        found = f"it has {len(query.variables)} variables" if query.form == "select" else f"it is {query.form.upper()}"
        raise InputError(f"documents cannot be cut by {name[:200]!r}: {found}", _HINT)
    declared = (f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in DECLARED.items() if f"{prefix}:" in text)
    return "".join(declared) + text
