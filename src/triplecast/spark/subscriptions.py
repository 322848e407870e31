"""Subscriptions as a plan of Spark carries them: their texts, to be compiled where they are used."""

from __future__ import annotations

import hashlib
import json
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from triplecast.errors import InputError, QueryRefused, QuerySyntaxError
from triplecast.journal import Journal
from triplecast.journal.records import DATABASE
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import PUBLICATION, Subscription
from triplecast.registry.admission import Admitted, admit_all, examine, fault_of, first_of
from triplecast.registry.files import join_contents, load_subscriptions
from triplecast.registry.lines import LoadedSubscriptions, SubscriptionFault, subscription_of
from triplecast.schema import RdfSchema
from triplecast.taxonomy import NO_TAXONOMY, Taxonomy
from triplecast.taxonomy.read import restore_taxonomy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Given: TypeAlias = "str | Path | Sequence[str | Path] | DataFrame"
    """Paths of subscription files, the folder of an engine, or a DataFrame of subscriptions."""

CARRIED_BYTES = 64 << 20
"""Of compressed texts in a plan, which travels to each executor."""
FIELDS = ("id", "language", "text", "entailment", "scope", "owner", "notify")
"""Columns of a DataFrame of subscriptions; `id` and `text` have to be there."""


@dataclass(frozen=True, slots=True)
class CarriedSubscriptions:
    """Subscriptions that were admitted, equal by `digest`."""

    digest: str
    """Of the texts, and of the operators that they may call."""
    texts: bytes = field(compare=False, repr=False)
    """Compressed JSON: id, text, language and entailment of each."""
    operators: OperatorSet = field(compare=False, repr=False)
    taxonomy: bytes = field(compare=False, repr=False)
    """`Taxonomy.lines`, compressed."""
    broader: bool = field(compare=False)

    @classmethod
    def of(
        cls, subscriptions: Sequence[Subscription], operators: OperatorSet, taxonomy: Taxonomy
    ) -> CarriedSubscriptions:
        """Raises InputError where their texts are too long together."""
        rows = [(each.name, each.text, each.language, each.entailment) for each in subscriptions]
        texts = zlib.compress(json.dumps(rows).encode(), 1)
        if len(texts) > CARRIED_BYTES:
            raise InputError(
                f"{len(rows)} subscriptions have {len(texts)} bytes of compressed text, more than {CARRIED_BYTES}",
                "match with `triplecast run`, or with fewer at a time",
            )
        state = hashlib.sha256(texts)
        state.update(repr([(each.iri, each.signature) for each in operators]).encode())
        return cls(state.hexdigest()[:32], texts, operators, zlib.compress(taxonomy.lines, 1), taxonomy.broader)

    def read_texts(self) -> list[Subscription]:
        """The subscriptions, in order."""
        rows = json.loads(zlib.decompress(self.texts))
        return [
            Subscription(name, text, language, PUBLICATION, entailment) for name, text, language, entailment in rows
        ]

    def read_taxonomy(self) -> Taxonomy:
        """What they are matched with."""
        return restore_taxonomy(zlib.decompress(self.taxonomy), self.broader)


def carry_subscriptions(
    given: Given, operators: OperatorSet, dataset: bool, taxonomy: Taxonomy | None, schema: RdfSchema
) -> CarriedSubscriptions:
    """Read and admit subscriptions. Those of an engine's folder are the live ones of publication scope, with the
    folder's taxonomy unless another is given. Those that are refused are warned of; raises InputError where none is
    left."""
    folder = _folder_of(given)
    if folder is not None:
        taken, faults, known = _read_folder(folder, dataset, operators)
        admitted = Admitted(tuple(taken), tuple(faults))
        taxonomy = known if taxonomy is None else taxonomy
    else:
        has_taxonomy = None if taxonomy is None else bool(taxonomy.lines)
        admitted = admit_all(_load(given), dataset, operators, has_taxonomy, schema)
    for line in first_of([str(each) for each in admitted.faults]):
        warnings.warn(line, stacklevel=4)
    for line in first_of(admitted.warnings):
        warnings.warn(line, stacklevel=4)
    if not admitted.subscriptions:
        raise InputError("no valid subscription found", "fix those that were warned of, or give others")
    return CarriedSubscriptions.of(admitted.subscriptions, operators, taxonomy or NO_TAXONOMY)


def _folder_of(given: Given) -> Path | None:
    if isinstance(given, str | Path) and (Path(given) / DATABASE).is_file():
        return Path(given)
    return None


def _read_folder(
    folder: Path, dataset: bool, operators: OperatorSet
) -> tuple[list[Subscription], list[SubscriptionFault], Taxonomy]:
    """The live subscriptions of a folder, what is wrong with the others, and its taxonomy."""
    taken: list[Subscription] = []
    faults: list[SubscriptionFault] = []
    with Journal.read_only(folder) as journal:
        head = journal.head()
        for each in journal.live_registrations(head):
            subscription = each.subscription
            try:
                if subscription.scope != PUBLICATION:
                    raise QueryRefused(f"scope {subscription.scope}", "a DataFrame has no order", "ask the folder")
                examine(subscription, dataset, operators, is_live=True)
                taken.append(subscription)
            except (QuerySyntaxError, QueryRefused) as error:
                faults.append(fault_of(error, subscription.name, str(folder)))
        return taken, faults, journal.taxonomies(head, head).before(head + 1)


def _load(given: Given) -> LoadedSubscriptions:
    if isinstance(given, str | Path):
        return load_subscriptions([Path(given)])
    if hasattr(given, "selectExpr"):
        return _read_rows(given)
    return load_subscriptions([Path(each) for each in given])


def _read_rows(rows: DataFrame) -> LoadedSubscriptions:
    """The subscriptions of a DataFrame, collected here."""
    present = set(rows.columns)
    if not {"id", "text"} <= present:
        raise InputError(
            f"a DataFrame of subscriptions has the columns {', '.join(rows.columns)}", "name two of them id and text"
        )
    fields = [name for name in FIELDS if name in present]
    found = rows.selectExpr(*(f"cast({name} AS STRING) AS {name}" for name in fields)).collect()
    return join_contents([_of_row(row.asDict(), f"row {number}") for number, row in enumerate(found, 1)])


def _of_row(fields: dict[str, str | None], place: str) -> LoadedSubscriptions:
    given = {name: value for name, value in fields.items() if value is not None}
    found = subscription_of(given, place)
    if isinstance(found, Subscription):
        return LoadedSubscriptions((found,), (place,), ())
    return LoadedSubscriptions((), (), (found,))


def paths_of(given: str | Path | Iterable[str | Path]) -> list[Path]:
    """One path, or several."""
    return [Path(given)] if isinstance(given, str | Path) else [Path(each) for each in given]
