"""Well-known namespaces and vocabularies, and corrections of names that nearly belong to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from triplecast.terms.nearness import nearest_names, one_apart
from triplecast.terms.values import XSD

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

DECLARED: Mapping[str, str] = MappingProxyType(
    {
        "rdf": RDF,
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "xsd": XSD,
        "owl": "http://www.w3.org/2002/07/owl#",
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "dc": "http://purl.org/dc/elements/1.1/",
        "dct": "http://purl.org/dc/terms/",
        "dcterms": "http://purl.org/dc/terms/",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "rss": "http://purl.org/rss/1.0/",
        "content": "http://purl.org/rss/1.0/modules/content/",
        "dcat": "http://www.w3.org/ns/dcat#",
        "schema": "https://schema.org/",
        "geo": "http://www.opengis.net/ont/geosparql#",
        "geof": "http://www.opengis.net/def/function/geosparql/",
        "adms": "http://www.w3.org/ns/adms#",
        "as": "https://www.w3.org/ns/activitystreams#",
        "bibo": "http://purl.org/ontology/bibo/",
        "cc": "http://creativecommons.org/ns#",
        "csvw": "http://www.w3.org/ns/csvw#",
        "dbo": "http://dbpedia.org/ontology/",
        "dbr": "http://dbpedia.org/resource/",
        "dcatap": "http://data.europa.eu/r5r/",
        "dcmitype": "http://purl.org/dc/dcmitype/",
        "doap": "http://usefulinc.com/ns/doap#",
        "dqv": "http://www.w3.org/ns/dqv#",
        "eli": "http://data.europa.eu/eli/ontology#",
        "georss": "http://www.georss.org/georss",
        "gr": "http://purl.org/goodrelations/v1#",
        "ldp": "http://www.w3.org/ns/ldp#",
        "locn": "http://www.w3.org/ns/locn#",
        "oa": "http://www.w3.org/ns/oa#",
        "odrl": "http://www.w3.org/ns/odrl/2/",
        "org": "http://www.w3.org/ns/org#",
        "prov": "http://www.w3.org/ns/prov#",
        "qb": "http://purl.org/linked-data/cube#",
        "sh": "http://www.w3.org/ns/shacl#",
        "sioc": "http://rdfs.org/sioc/ns#",
        "sosa": "http://www.w3.org/ns/sosa/",
        "spdx": "http://spdx.org/rdf/terms#",
        "ssn": "http://www.w3.org/ns/ssn/",
        "time": "http://www.w3.org/2006/time#",
        "vann": "http://purl.org/vocab/vann/",
        "vcard": "http://www.w3.org/2006/vcard/ns#",
        "void": "http://rdfs.org/ns/void#",
        "wd": "http://www.wikidata.org/entity/",
        "wdt": "http://www.wikidata.org/prop/direct/",
        "wgs": "http://www.w3.org/2003/01/geo/wgs84_pos#",
        "ft": "urn:triplecast:ft:",
        "tc": "urn:triplecast:taxonomy:",
        "op": "urn:triplecast:op:",
        "bif": "bif:",
    }
)
"""Prefixes that every query may use; a declaration of its own replaces them."""
KNOWN: Mapping[str, str] = MappingProxyType(
    {
        **{each: DECLARED[each] for each in DECLARED if re.match("http.*[/#]$", DECLARED[each]) and each != "dct"},
        "media": "http://search.yahoo.com/mrss/",
        "hydra": "http://www.w3.org/ns/hydra/core#",
        "ldes": "https://w3id.org/ldes#",
        "dbp": "http://dbpedia.org/property/",
        "text": "http://jena.apache.org/text#",
        "bds": "http://www.bigdata.com/rdf/search#",
    }
)
"""Prefixes in common use, those that no query has to declare included; each namespace ends in a sign of its own."""
_ALIASES = MappingProxyType({"terms": "dcterms", "sdo": "schema", "dce": "dc", "wgs84": "wgs"})
TERMS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        prefix: frozenset(names.split())
        for prefix, names in {
            "dc": "contributor coverage creator date description format identifier language publisher relation rights "
            "source subject title type",
            "dcterms": "abstract accessRights accrualMethod accrualPeriodicity accrualPolicy alternative audience "
            "available bibliographicCitation conformsTo contributor coverage created creator date dateAccepted "
            "dateCopyrighted dateSubmitted description educationLevel extent format hasFormat hasPart hasVersion "
            "identifier instructionalMethod isFormatOf isPartOf isReferencedBy isReplacedBy isRequiredBy issued "
            "isVersionOf language license mediator medium modified provenance publisher references relation replaces "
            "requires rights rightsHolder source spatial subject tableOfContents temporal title type valid "
            "Agent AgentClass BibliographicResource FileFormat Frequency Jurisdiction LicenseDocument "
            "LinguisticSystem Location LocationPeriodOrJurisdiction MediaType MediaTypeOrExtent MethodOfAccrual "
            "MethodOfInstruction PeriodOfTime PhysicalMedium PhysicalResource Policy ProvenanceStatement "
            "RightsStatement SizeOrDuration Standard Box ISO3166 ISO639-2 ISO639-3 Period Point RFC1766 RFC3066 "
            "RFC4646 RFC5646 URI W3CDTF DCMIType DDC IMT LCC LCSH MESH NLM TGN UDC",
            "rss": "channel image item items textinput title link url description name",
            "rdf": "type Property Statement subject predicate object Bag Seq Alt value List nil first rest XMLLiteral "
            "HTML JSON langString PlainLiteral CompoundLiteral language direction",
            "rdfs": "Resource Class Literal Datatype Container ContainerMembershipProperty subClassOf subPropertyOf "
            "comment label domain range seeAlso isDefinedBy member",
            "skos": "Concept ConceptScheme inScheme hasTopConcept topConceptOf prefLabel altLabel hiddenLabel notation "
            "note changeNote definition editorialNote example historyNote scopeNote semanticRelation broader narrower "
            "related broaderTransitive narrowerTransitive Collection OrderedCollection member memberList "
            "mappingRelation broadMatch narrowMatch relatedMatch exactMatch closeMatch",
            "foaf": "Agent Document Group Image LabelProperty OnlineAccount OnlineChatAccount OnlineEcommerceAccount "
            "OnlineGamingAccount Organization Person PersonalProfileDocument Project account accountName "
            "accountServiceHomepage age aimChatID based_near birthday currentProject depiction depicts dnaChecksum "
            "familyName family_name firstName focus fundedBy geekcode gender givenName givenname holdsAccount homepage "
            "icqChatID img interest isPrimaryTopicOf jabberID knows lastName logo made maker mbox mbox_sha1sum member "
            "membershipClass msnChatID myersBriggs name nick openid page pastProject phone plan primaryTopic "
            "publications schoolHomepage sha1 skypeID status surname theme thumbnail tipjar title topic topic_interest "
            "weblog workInfoHomepage workplaceHomepage yahooChatID",
            "xsd": "anyType anySimpleType anyAtomicType anyURI base64Binary boolean byte date dateTime dateTimeStamp "
            "dayTimeDuration decimal double duration ENTITIES ENTITY error float gDay gMonth gMonthDay gYear "
            "gYearMonth hexBinary ID IDREF IDREFS int integer language long Name NCName negativeInteger NMTOKEN "
            "NMTOKENS nonNegativeInteger nonPositiveInteger normalizedString NOTATION positiveInteger QName short "
            "string time token unsignedByte unsignedInt unsignedLong unsignedShort yearMonthDuration",
        }.items()
    }
)
"""All terms of those vocabularies that get no new ones, by prefix."""
_LISTED = MappingProxyType({KNOWN[prefix]: prefix for prefix in TERMS})


def suggest_prefix(prefix: str, declared: Mapping[str, str]) -> tuple[str, str]:
    """The declared prefix that is probably meant by an undeclared one, if any, and the namespace that it usually stands
    for, … where that is not known."""
    meant = _ALIASES.get(prefix.lower(), prefix.lower())
    if meant in declared and meant != prefix:
        return meant, declared[meant]
    if meant in KNOWN:
        return "", KNOWN[meant]
    return "".join(nearest_names(prefix, sorted(declared), 1)), "…"


@lru_cache(maxsize=16_384)
def doubt_iri(iri: str) -> str | None:
    """Warn of an IRI whose namespace is nearly a known one, or whose name is nearly one of a known vocabulary."""
    namespace = iri[: 1 + max(iri.rfind("/"), iri.rfind("#"))]
    if is_far(namespace):
        return None
    listed = _LISTED.get(namespace)
    if listed is not None and iri[len(namespace) :] not in TERMS[listed]:
        return _doubt_term(listed, iri[len(namespace) :])
    meant, unended = _suspects(namespace)
    for candidate in unended:  # http://purl.org/dc/termstitle: the namespace's last sign was forgotten
        if iri.startswith(candidate[1][:-1]) and len(iri) >= len(candidate[1]):
            meant = candidate
    if meant is None:
        return None
    prefix, known = meant
    warning = f"<{iri}> is not in {prefix}: <{known}>, but differs little from it"
    if iri.startswith("http://schema.org/"):
        return warning + "; publications use one of the two: match both with UNION, or the one they use"
    return warning + f"; write {prefix}:… if that was meant"


def _doubt_term(prefix: str, local: str) -> str | None:
    """Warn of a name that a known vocabulary lacks: always of one in ``dc:``, else only where another was probably
    meant, since publications use undefined names."""
    near = nearest_names(local, sorted(TERMS[prefix]), 1)
    if prefix != "dc":
        return f"{prefix}: has no {local!r}; was {prefix}:{near[0]} meant?" if near else None
    if not local:
        return None
    warning = f"the 15 elements of dc: have no {local!r}"
    if local in TERMS["dcterms"]:
        return f"{warning}; dcterms:{local} is another name"
    others = nearest_names(local, sorted(TERMS["dcterms"]), 1)
    names = [f"dc:{name}" for name in near] or [f"dcterms:{name}" for name in others]
    return f"{warning}; was {names[0] if names else 'another vocabulary'} meant?"


@lru_cache(maxsize=16_384)
def is_far(namespace: str) -> bool:
    """Whether no name in it needs a warning, as in nearly all namespaces."""
    return namespace not in _LISTED and _suspects(namespace) == (None, ())


@lru_cache(maxsize=16_384)
def _suspects(namespace: str) -> tuple[tuple[str, str] | None, tuple[tuple[str, str], ...]]:
    """The known namespace that this one differs little from, and those right below it."""
    below = tuple((prefix, known) for prefix, known in KNOWN.items() if _parent(known) == namespace)
    if namespace in KNOWN.values():
        return None, below
    for prefix, known in KNOWN.items():
        if bare_namespace(namespace) == bare_namespace(known) or one_apart(namespace, known):
            return (prefix, known), below
    return None, below


def _parent(known: str) -> str:
    return known[: 1 + max(known.rfind("/", 0, -1), known.rfind("#", 0, -1))]


def bare_namespace(namespace: str) -> str:
    """A namespace without what is most often confused: scheme, ``www.``, letter case, the last sign."""
    rest = namespace.partition("://")[2]
    return rest.removeprefix("www.").rstrip("/#").lower() or namespace
