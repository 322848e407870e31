"""Replace JSON-LD contexts named by address with bundled ones; none is ever fetched, others are refused by name.

Two are bundled, each in an equivalent form of our own. schema.org: the vocabulary as default, and a type for those
properties whose ranges (schema.org 29.0) hold no text: an IRI for a URL, schema:Date for a Date. ActivityStreams 2.0
with ActivityPub: its classes, and its properties by the range of their values.
"""

from __future__ import annotations

import json
import re
from typing import Any

from triplecast.errors import DocumentRejected

_IRI_VALUED = """
acquireLicensePage actionableFeedbackPolicy afterMedia archivedAt associatedDisease beforeMedia benefitsSummaryUrl
codeRepository colleague colorSwatch constraintProperty contentUrl correctionsPolicy discussionUrl
diseasePreventionInfo diseaseSpreadStatistics diversityPolicy diversityStaffingReport documentation downloadUrl
duringMedia embedUrl ethicsPolicy gameLocation gettingTestedInfo hasGS1DigitalLink hasMap hasMolecularFunction
healthPlanMarketingUrl image inCodeSet inDefinedTermSet installUrl isBasedOn isBasedOnUrl
isInvolvedInBiologicalProcess isLocatedInSubcellularLocation isPartOf labelDetails layoutImage license logo
mainEntityOfPage map maps masthead merchantReturnLink missionCoveragePrioritiesPolicy newsUpdatesAndGuidelines
noBylinesPolicy originalMediaLink paymentUrl prescribingInfo publicTransportClosuresInfo publishingPrinciples
quarantineGuidelines relatedLink replyToUrl sameAs schoolClosuresInfo screenshot sdLicense season serviceUrl
significantLink significantLinks speakable target targetUrl thumbnailUrl tourBookingPage trackingUrl travelBans
unnamedSourcesPolicy url usageInfo verificationFactCheckingPolicy webFeed
"""
_DATE_VALUED = """
applicationStartDate auditDate availabilityEnds availabilityStarts birthDate commentTime dateCreated dateDeleted
dateIssued dateModified datePosted datePublished dateRead dateVehicleFirstRegistered deathDate dissolutionDate endDate
exceptDate expectedArrivalFrom expectedArrivalUntil expires foundingDate guidelineDate lastReviewed legislationDate
legislationDateOfApplicability legislationDateVersion merchantReturnDays modelDate orderDate paymentDueDate
previousStartDate priceValidUntil productionDate purchaseDate releaseDate scheduledPaymentDate scheduledTime
sdDatePublished startDate uploadDate validFrom validThrough validUntil vehicleModelDate
"""
_SCHEMA_ORG: dict[str, Any] = {
    "@vocab": "http://schema.org/",
    "schema": "http://schema.org/",
    "id": "@id",
    "type": "@type",
    "HTML": "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML",
    "csvw": "http://www.w3.org/ns/csvw#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcam": "http://purl.org/dc/dcam/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcmitype": "http://purl.org/dc/dcmitype/",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "dctype": "http://purl.org/dc/dcmitype/",
    "doap": "http://usefulinc.com/ns/doap#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prof": "http://www.w3.org/ns/dx/prof/",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "vann": "http://purl.org/vocab/vann/",
    "void": "http://rdfs.org/ns/void#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "xml": "http://www.w3.org/XML/1998/namespace",
    **{name: {"@id": f"schema:{name}", "@type": "@id"} for name in _IRI_VALUED.split()},
    **{name: {"@id": f"schema:{name}", "@type": "schema:Date"} for name in _DATE_VALUED.split()},
}
_AS_PLAIN = """
Accept Activity Add Announce Application Arrive Article Audio Block Collection CollectionPage Create Delete Dislike
Document Event Flag Follow Group Ignore Image IntransitiveActivity Invite IsContact IsFollowedBy IsFollowing IsMember
Join Leave Like Link Listen Mention Move Note Object Offer OrderedCollection OrderedCollectionPage Organization Page
Person Place Profile Question Read Reject Relationship Remove Service TentativeAccept TentativeReject Tombstone Travel
Undo Update Video View content name summary hreflang mediaType rel units source preferredUsername
"""
_AS_IRI_VALUED = """
Public actor alsoKnownAs anyOf attachment attributedTo audience bcc bto cc context current describes endpoints first
followers following formerType generator href icon image inReplyTo instrument items last liked likes location next
oauthAuthorizationEndpoint oauthTokenEndpoint object oneOf origin outbox partOf prev preview provideClientKey proxyUrl
relationship replies result sharedInbox shares signClientKey streams subject tag target to uploadMedia url
"""
_AS_TYPED = {
    "xsd:dateTime": "closed deleted endTime published startTime updated",
    "xsd:duration": "duration",
    "xsd:float": "accuracy altitude latitude longitude radius",
    "xsd:nonNegativeInteger": "height startIndex totalItems width",
}
_ACTIVITY_STREAMS: dict[str, Any] = {
    "as": "https://www.w3.org/ns/activitystreams#",
    "ldp": "http://www.w3.org/ns/ldp#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "id": "@id",
    "type": "@type",
    **{name: f"as:{name}" for name in _AS_PLAIN.split()},
    **{name: {"@id": f"as:{name}", "@type": "@id"} for name in _AS_IRI_VALUED.split()},
    **{name: {"@id": f"as:{name}", "@type": kind} for kind, names in _AS_TYPED.items() for name in names.split()},
    **{f"{name}Map": {"@id": f"as:{name}", "@container": "@language"} for name in ("content", "name", "summary")},
    "inbox": {"@id": "ldp:inbox", "@type": "@id"},
    "orderedItems": {"@id": "as:items", "@type": "@id", "@container": "@list"},
}
BUNDLED: dict[str, dict[str, Any]] = {
    "schema.org": _SCHEMA_ORG,
    "schema.org/docs/jsonldcontext.json": _SCHEMA_ORG,
    "schema.org/docs/jsonldcontext.jsonld": _SCHEMA_ORG,
    "w3.org/ns/activitystreams": _ACTIVITY_STREAMS,
}
"""By address without scheme, ``www.`` and final slash or hash."""

_MOST_CONTEXTS = 1000
_CONTEXT_KEY = re.compile(r'(?<!\\)"(?:@|\\u0040)context"\s*:\s*')
"""The key, but for forms that nobody writes, which in JSON no string contains: there its quotes are escaped."""
_DECODER = json.JSONDecoder()


def inline_contexts(data: bytes) -> bytes:
    """Replace every remote context of a document by its bundled copy, in the text, so that a large document is held
    once; a repeated member of a context counts as its last one. Raises DocumentRejected."""
    if data.count(b'"@context"') > _MOST_CONTEXTS:
        reason = f"it names contexts in more than {_MOST_CONTEXTS} places"
        raise DocumentRejected("gate", reason, "name the context once, at the top of the document")
    text = data.decode("latin-1")  # a character a byte: the JSON decoder only finds where a context ends
    parts: list[bytes] = []
    done = 0
    for key in _CONTEXT_KEY.finditer(text):
        if key.start() < done:  # inside the context before
            continue
        try:
            _, end = _DECODER.raw_decode(text, key.end())
            value = _context(json.loads(data[key.end() : end]))
        except (ValueError, RecursionError) as error:
            raise DocumentRejected("parse", f"not JSON: {error}", "repair the JSON") from None
        parts += (data[done : key.end()], json.dumps(value).encode())
        done = end
    return b"".join((*parts, data[done:]))


def _inlined(value: Any) -> Any:
    if isinstance(value, list):
        return [_inlined(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _context(item) if key == "@context" else _inlined(item) for key, item in value.items()}


def _context(value: Any) -> Any:
    if isinstance(value, str):
        address = value.partition("://")[2].removeprefix("www.").rstrip("/#")
        if not value.startswith(("http://", "https://")) or address not in BUNDLED:
            raise _refused(value)
        return BUNDLED[address]
    if isinstance(value, list):
        return [_context(item) for item in value]
    if isinstance(value, dict):
        if isinstance(imported := value.get("@import"), str):
            raise _refused(imported)
        return {key: _inlined(item) for key, item in value.items()}
    return value


def _refused(address: str) -> DocumentRejected:
    reason = f"its JSON-LD context {address} is not bundled, and contexts are never fetched"
    return DocumentRejected("gate", reason, "replace the address in the document by the context's content")
