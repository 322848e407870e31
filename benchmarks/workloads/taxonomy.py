"""`realtail` with its classes left to a taxonomy: the same interests in the same records, told in two ways.

*stated*: a record states its class and all above it, and an interest in a class is an equality, as in `realtail`.
*known*: a record states its most specific class only, a taxonomy of the 200 classes knows the rest, and an interest in
a class is one of ``?x a C`` under RDFS, ``tc:descendant(?x, C)``, and the path ``a/rdfs:subClassOf*``, in turn. Both
give the same matches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.workloads.catalogue import TAIL, open_catalogue, write_interests, write_records
from benchmarks.workloads.texts import NAMESPACE, Variant, Workload
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import Taxonomy, read_taxonomy

_RDF_TYPE = b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_OWN_TYPE = f"<{NAMESPACE}type>".encode()
_SUB_CLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
_INTEREST = re.compile(r"\?x b:type (b:class\d+)")
_CLASS = re.compile(rb"class(\d+)> \.")


def make_stated(subscriptions: int, publications: int) -> Variant:
    texts = [_INTEREST.sub(r"?x a \1", text) for text in write_interests(open_catalogue(8, TAIL), subscriptions)]
    records = [lines.replace(_OWN_TYPE, _RDF_TYPE) for lines in write_records(open_catalogue(7, 1.0), publications)]
    named = [Subscription(f"s{number}", text) for number, text in enumerate(texts, 1)]
    return Variant(Workload("classes stated", texts, records), named, Taxonomy(()))


def make_known(subscriptions: int, publications: int) -> Variant:
    stated = make_stated(subscriptions, publications)
    parents = open_catalogue(7, 1.0).parents.tolist()
    named = [ask_known(number, given.text) for number, given in enumerate(stated.subscriptions, 1)]
    records = [keep_lowest(lines, parents) for lines in stated.workload.publications]
    workload = Workload("classes known", [given.text for given in named], records)
    return Variant(workload, named, know_classes(parents))


def know_classes(parents: Sequence[int]) -> Taxonomy:
    """The class tree of the catalogue."""
    edges = "".join(
        f"<{NAMESPACE}class{number}> {_SUB_CLASS} <{NAMESPACE}class{parent}> .\n"
        for number, parent in enumerate(parents)
        if number
    )
    return read_taxonomy([edges.encode()])


def ask_known(number: int, text: str) -> Subscription:
    """The subscription whose class, if it names one in ``?x a C``, is entailed; how, says its `number`."""
    found = re.search(r"\?x a (b:class\d+)", text)
    if found is None:
        return Subscription(f"s{number}", text)
    kind = number % 3
    if kind == 0:
        return Subscription(f"s{number}", text, entailment="rdfs")
    if kind == 1:
        rest = re.sub(r"\?x a b:class\d+( \. )?", "", text)
        return Subscription(f"s{number}", f"{rest[:-1]} FILTER(tc:descendant(?x, {found[1]})) }}")
    path = text.replace(found[0], f"?x a/rdfs:subClassOf* {found[1]}")
    return Subscription(f"s{number}", path, entailment="taxonomy")


def keep_lowest(lines: bytes, parents: Sequence[int]) -> bytes:
    """A record without the types that are above another of its types."""
    kept = lines.splitlines(keepends=True)
    typed = {line: int(_CLASS.search(line)[1]) for line in kept if _RDF_TYPE in line}  # type: ignore[index]
    above = {parents[number] for number in typed.values() if number}
    return b"".join(line for line in kept if line not in typed or typed[line] not in above)
