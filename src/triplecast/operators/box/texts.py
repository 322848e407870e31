"""Texts: how much two are about the same (docs/built-in-operators.md). What is compared: `likeness`."""

from __future__ import annotations

from collections.abc import Sequence

from pyoxigraph import Literal, NamedNode

from triplecast.operators import PublicationView, Unanswerable, operator

OP = "urn:triplecast:op:"
SHIPPED = "pages-1"
"""The name of the vocabulary in the box: paragraphs of this project's own pages, in English."""
LONGEST = 1_000_000
"""Characters of a text."""


@operator(
    OP + "similarity", version=f"1/{SHIPPED}", arguments=("bound", "bound", "free"), cost=0.0005, batch=True, seconds=60
)
def similarity(
    events: Sequence[PublicationView], texts: Sequence[object], others: Sequence[object]
) -> list[float | Unanswerable]:
    """How much two texts are about the same, from 0.0 to 1.0."""
    return [_compare(*each) for each in zip(events, texts, others, strict=True)]


def _compare(event: PublicationView, one: object, other: object) -> float | Unanswerable:
    from triplecast.operators.box.likeness import compare_texts, shipped_vocabulary

    try:
        return compare_texts(read_text(event, one), read_text(event, other), shipped_vocabulary(SHIPPED))
    except Unanswerable as refused:
        return refused


def read_text(event: PublicationView, term: object) -> str:
    """A literal's text, or that of the attachment which an IRI names. Raises `Unanswerable` for any other term, where
    there is no such attachment or it is not UTF-8, and beyond `LONGEST`."""
    if isinstance(term, Literal):
        text = term.value
    elif isinstance(term, NamedNode):
        text = _read_attachment(event, term)
    else:
        raise Unanswerable(f"a text is a literal or the IRI of an attachment, and {term} is neither")
    if len(text) > LONGEST:
        raise Unanswerable(f"a text has {len(text):,} characters, {LONGEST:,} at most; compare parts of it")
    return text


def _read_attachment(event: PublicationView, term: NamedNode) -> str:
    try:
        return event.attachment(term).decode("utf-8")
    except KeyError as error:
        known = ", ".join(f"<{iri}>" for iri in sorted(event.attachments)[:5]) or "none"
        hint = "publish the text with it, under this IRI, or give a literal"
        raise Unanswerable(f"no attachment <{term.value}>; the publication has {known}; {hint}") from error
    except UnicodeDecodeError as error:
        raise Unanswerable(
            f"the attachment <{term.value}> is no text in UTF-8 (byte {error.start:,}); publish it in UTF-8"
        ) from error
