"""Answers to queries as text: the four forms of SPARQL 1.1 Query Results (W3C, 2013), and triples as N-Triples."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from io import StringIO
from types import MappingProxyType
from xml.sax.saxutils import escape, quoteattr

from pyoxigraph import BlankNode

from triplecast.errors import InputError
from triplecast.model.algebra import Term
from triplecast.model.printable import json_line
from triplecast.repository.query import QueryAnswer
from triplecast.results import term_json

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMESPACE = "http://www.w3.org/2005/sparql-results#"


def json_text(answer: QueryAnswer) -> str:
    if answer.form == "ask":
        return json_line({"head": {}, "boolean": answer.matched}) + "\n"
    bindings = [
        {name: term_json(term) for name, term in zip(answer.variables, row, strict=True) if term is not None}
        for row in answer.rows
    ]
    return json_line({"head": {"vars": list(answer.variables)}, "results": {"bindings": bindings}}) + "\n"


def xml_text(answer: QueryAnswer) -> str:
    """Raises `InputError` for a character that XML 1.0 cannot write."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n', f'<sparql xmlns="{_NAMESPACE}"><head>']
    parts += [f"<variable name={quoteattr(name)}/>" for name in answer.variables]
    if answer.form == "ask":
        parts.append(f"</head><boolean>{'true' if answer.matched else 'false'}</boolean></sparql>\n")
        return "".join(parts)
    parts.append("</head><results>\n")
    for row in answer.rows:
        bound = ((name, term) for name, term in zip(answer.variables, row, strict=True) if term is not None)
        found = (f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>" for name, term in bound)
        parts.append(f"<result>{''.join(found)}</result>\n")
    parts.append("</results></sparql>\n")
    text = "".join(parts)
    if found_wrong := _NOT_XML.search(text):
        raise InputError(f"XML cannot write the character U+{ord(found_wrong[0]):04X}", "ask for JSON")
    return text


def _xml_term(term: Term) -> str:
    row = term_json(term)
    value = escape(row["value"], {"\r": "&#13;"})
    if row["type"] != "literal":
        return f"<{row['type']}>{value}</{row['type']}>"
    kind = f" xml:lang={quoteattr(row['xml:lang'])}" if "xml:lang" in row else ""
    kind = f" datatype={quoteattr(row['datatype'])}" if "datatype" in row else kind
    return f"<literal{kind}>{value}</literal>"


def csv_text(answer: QueryAnswer) -> str:
    """Values without their kinds; lines end in CR LF."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(answer.variables)
    writer.writerows([_value(term) for term in row] for row in answer.rows)
    return text.getvalue()


def _value(term: Term | None) -> str:
    if term is None:
        return ""
    return str(term) if isinstance(term, BlankNode) else term.value


def tsv_text(answer: QueryAnswer) -> str:
    """Terms in N-Triples form."""
    lines = ["\t".join(f"?{name}" for name in answer.variables)]
    lines += ("\t".join("" if term is None else str(term).replace("\t", "\\t") for term in row) for row in answer.rows)
    return "\n".join((*lines, ""))


def ntriples_text(answer: QueryAnswer) -> str:
    return "".join(f"{' '.join(map(str, triple))} .\n" for triple in answer.graph)


WRITERS: Mapping[str, Callable[[QueryAnswer], str]] = MappingProxyType(
    {"json": json_text, "xml": xml_text, "csv": csv_text, "tsv": tsv_text, "ntriples": ntriples_text}
)
