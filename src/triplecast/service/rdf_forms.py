"""Documents in the forms of RDF that a client asks for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pyoxigraph import RdfFormat, parse, serialize

from triplecast.ingest.media_types import JSON_LD, N_QUADS, N_TRIPLES, RDF_XML, TRIG, TURTLE
from triplecast.languages.vocabularies import KNOWN
from triplecast.service.problems import Problem

GRAPH_FORMS: Mapping[str, RdfFormat] = MappingProxyType(
    {
        TURTLE: RdfFormat.TURTLE,
        N_TRIPLES: RdfFormat.N_TRIPLES,
        RDF_XML: RdfFormat.RDF_XML,
        JSON_LD: RdfFormat.JSON_LD,
        TRIG: RdfFormat.TRIG,
        N_QUADS: RdfFormat.N_QUADS,
    }
)
DATASET_FORMS: Mapping[str, RdfFormat] = MappingProxyType(
    {each: form for each, form in GRAPH_FORMS.items() if form.supports_datasets}
)


TAG_ENDS: Mapping[str, str] = MappingProxyType(
    {TURTLE: "ttl", N_TRIPLES: "nt", RDF_XML: "rdf", JSON_LD: "jsonld", TRIG: "trig", N_QUADS: "nq"}
)
"""What ends the entity tag of each form: two forms are two representations."""


def write_rdf(quads: bytes, media_type: str) -> bytes:
    """Canonical N-Quads, of a graph N-Triples, in another form. Raises `Problem` 406 for what that cannot say."""
    if media_type in (N_TRIPLES, N_QUADS):
        return quads
    prefixes = {name: iri for name, iri in KNOWN.items() if f"<{iri}".encode() in quads}
    form = GRAPH_FORMS[media_type]
    try:
        return serialize(parse(quads, format=RdfFormat.N_QUADS), format=form, prefixes=prefixes) or b""
    except (ValueError, OSError) as error:
        raise Problem(406, f"{media_type} cannot say this", str(error), f"ask for {TURTLE}") from None
