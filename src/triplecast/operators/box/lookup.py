"""Look-ups in an SQL database: any that SQLAlchemy knows. Whoever declares the operator names database and statement; a
subscriber gives values only, and they are bound, never written into the statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.errors import InputError
from triplecast.operators import Unanswerable
from triplecast.operators.worker import MOST_ROWS
from triplecast.terms.values import ValueClass, value_of

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from triplecast.model.algebra import Term

_XSD = "http://www.w3.org/2001/XMLSchema#"
_LARGEST = 2**63
DRIVERS = MappingProxyType({"psycopg": "'psycopg[binary]'", "psycopg2": "psycopg2-binary", "MySQLdb": "mysqlclient"})
"""What to install for a module, where the two have different names."""
_PLAIN = (ValueClass.BOOLEAN, ValueClass.EXACT, ValueClass.FLOAT, ValueClass.DOUBLE)


class Database:
    """A database, by SQLAlchemy's URL (``sqlite:////srv/prices.db``, ``postgresql+psycopg://…``). It is only read: a
    SQLite file is opened so, a transaction of PostgreSQL declared so, and each is rolled back; elsewhere name a user
    who may not write. The process that needs it connects when it is first needed; a SQLite file is opened for each
    statement, because another file may stand there by then."""

    def __init__(self, url: str) -> None:
        self._url = url

    def rows(self, statement: str, iris: Sequence[str] = (), /, **values: Term) -> list[Any]:
        """The rows of a statement whose parameters (``:name``) are bound to terms, as tuples, or as values where it has
        one column; rows with NULL are left out, because nothing is no term. Text in the columns `iris` becomes IRIs.
        Raises `Unanswerable` for a term that stands for no value of a database, and `InputError` for a database that
        does not answer and for a statement, column or value that cannot be used."""
        from sqlalchemy import text
        from sqlalchemy.exc import SQLAlchemyError

        bound = {name: _value(name, term) for name, term in values.items()}
        engine = self._engine
        try:
            with engine.connect() as connection:
                found = connection.execute(text(statement), bound)
                columns = list(found.keys())
                rows = found.fetchmany(MOST_ROWS + 1)
        except SQLAlchemyError as error:
            told = str(getattr(error, "orig", None) or error).partition("\n")[0]
            raise InputError(
                f"the database {self._shown} gives no answer: {told}",
                "see that it is there, that it may be read, and that the statement fits it",
            ) from error
        missing = [name for name in iris if name not in columns]
        if missing:
            raise InputError(
                f"the statement gives no column {', '.join(missing)}", f"name some of {', '.join(columns)} as iris"
            )
        terms = [tuple(_terms(columns, row, iris)) for row in rows if None not in row]
        return [row[0] for row in terms] if len(columns) == 1 else terms

    def holds(self, statement: str, /, **values: Term) -> bool:
        """Whether a statement gives a row without NULL. Raises what `rows` raises."""
        return bool(self.rows(statement, **values))

    @cached_property
    def _shown(self) -> str:
        """The URL as it was given, without its password."""
        from sqlalchemy import make_url

        shown: str = make_url(self._url).render_as_string(hide_password=True)
        return shown

    @cached_property
    def _engine(self) -> Engine:
        from sqlalchemy import NullPool, create_engine, make_url
        from sqlalchemy.exc import SQLAlchemyError

        try:
            url = make_url(self._url)
            kind = url.get_backend_name()
            if kind == "sqlite" and url.database and not url.database.startswith("file:"):
                url = url.set(database="file:" + quote(url.database)).update_query_dict({"mode": "ro", "uri": "true"})
            pooled = {"poolclass": NullPool} if kind == "sqlite" else {"pool_pre_ping": True}
            made = create_engine(url, **pooled)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            raise InputError(
                f"the database {self._shown} needs the driver {missing}, which is not installed",
                f"pip install {DRIVERS.get(missing, missing)}",
            ) from error
        except (SQLAlchemyError, ImportError) as error:
            raise InputError(
                f"the database of a look-up cannot be used: {error}",
                "write SQLAlchemy's URL (sqlite:////srv/prices.db, postgresql+psycopg://…), and install its driver",
            ) from error
        return made.execution_options(postgresql_readonly=True) if kind == "postgresql" else made


def _value(name: str, term: Term) -> object:
    """Numbers and booleans as such; of any other literal and of an IRI the text."""
    if isinstance(term, BlankNode):
        raise Unanswerable(f"a blank node is given for {name}, which no database knows; give an IRI or a literal")
    if isinstance(term, Triple):
        raise Unanswerable(f"a triple term is given for {name}, which no database knows; give an IRI or a literal")
    if isinstance(term, NamedNode):
        return term.value
    if not isinstance(term, Literal):
        raise InputError(
            f"{name} is given {type(term).__name__} {str(term)[:80]!r}, which is no term",
            "give what the operator was given, or Literal(…); columns of IRIs are named behind the statement",
        )
    kind, exact = value_of(term)
    if kind not in _PLAIN:
        return term.value
    if isinstance(exact, int) and not -_LARGEST <= exact < _LARGEST:
        raise Unanswerable(f"{term} does not fit into 64 bits; give a smaller number")
    return float(exact) if isinstance(exact, Decimal) else exact


def _terms(columns: Sequence[str], row: Sequence[Any], iris: Sequence[str]) -> Iterator[object]:
    """Raises `InputError` for what stands for no term."""
    for column, value in zip(columns, row, strict=True):
        if column in iris:
            try:
                yield NamedNode(value)
            except (TypeError, ValueError) as error:
                raise InputError(f"{column} is {value!r}, which is no absolute IRI", "store IRIs there") from error
        elif isinstance(value, datetime):
            yield Literal(value.isoformat(), datatype=NamedNode(_XSD + "dateTime"))
        elif isinstance(value, date):
            yield Literal(value.isoformat(), datatype=NamedNode(_XSD + "date"))
        elif isinstance(value, bool | int | float | Decimal | str):
            yield value
        else:
            raise InputError(
                f"{column} is of {type(value).__name__}, which is no term", "select text, numbers, booleans or dates"
            )
