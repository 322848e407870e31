"""Look-ups in SQL databases: what is bound, what comes back, and that nothing is written."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.errors import InputError
from triplecast.operators import Unanswerable

pytest.importorskip("sqlalchemy", reason="the extra triplecast[operators] is not installed")

from triplecast.operators.box.lookup import Database

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a shop%20?.db"
    with sqlite3.connect(path) as made:
        made.executescript("""
            CREATE TABLE wares (sku TEXT, price REAL, stock INTEGER, maker TEXT, picture BLOB);
            INSERT INTO wares VALUES ('a', 1.5, 3, 'https://example.org/m', x'00'), ('b', 2.25, 0, 'no iri', NULL),
              ('it''s', 7, NULL, NULL, NULL);
        """)
    made.close()
    return path


@pytest.fixture
def database(path: Path) -> Database:
    return Database(f"sqlite:///{quote(str(path), safe='/ ')}")


def typed(text: str, name: str) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + name))


def test_values_are_bound_and_never_written_into_the_statement(database: Database) -> None:
    price = "SELECT price FROM wares WHERE sku = :sku"
    assert database.rows(price, sku=Literal("a")) == [1.5]
    assert database.rows(price, sku=Literal("it's")) == [7.0]
    assert database.rows(price, sku=Literal("a' OR '1'='1")) == []
    assert database.rows("SELECT sku FROM wares WHERE maker = :m", m=NamedNode("https://example.org/m")) == ["a"]


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        (typed("007", "integer"), "integer"),
        (typed("7", "byte"), "integer"),
        (typed("7.5", "decimal"), "real"),
        (typed("7e0", "double"), "real"),
        (typed("true", "boolean"), "integer"),
        (typed("2026-01-01", "date"), "text"),
        (typed("seven", "integer"), "text"),
        (Literal("x", language="en"), "text"),
    ],
)
def test_what_a_term_is_to_the_database(database: Database, term: Literal, kind: str) -> None:
    assert database.rows("SELECT typeof(:v)", v=term) == [kind]


def test_what_comes_back(database: Database) -> None:
    assert database.rows("SELECT sku, stock FROM wares ORDER BY sku") == [("a", 3), ("b", 0)]  # NULL is no term
    assert database.rows("SELECT maker FROM wares WHERE sku = 'a'", ["maker"]) == [NamedNode("https://example.org/m")]
    assert database.holds("SELECT 1 FROM wares WHERE stock > :n", n=typed("2", "integer"))
    assert not database.holds("SELECT 1 FROM wares WHERE stock > :n", n=typed("3", "integer"))


def test_nothing_is_written(database: Database, path: Path) -> None:
    before = path.read_bytes()
    for statement in ("DELETE FROM wares", "INSERT INTO wares (sku) VALUES ('c')", "DROP TABLE wares"):
        with pytest.raises(InputError, match="attempt to write a readonly database"):
            database.rows(statement)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "values", "told"),
    [
        ("SELECT price FROM goods", {}, "no such table: goods"),
        ("SELECT price FROM wares WHERE sku = :sku", {}, "A value is required for bind parameter 'sku'"),
        ("SELEKT 1", {}, "syntax error"),
        ("SELECT picture FROM wares WHERE sku = 'a'", {}, "picture is of bytes, which is no term; select text"),
    ],
)
def test_statements_that_cannot_be_used(
    database: Database, statement: str, values: dict[str, Literal], told: str
) -> None:
    with pytest.raises(InputError) as caught:
        database.rows(statement, **values)
    assert told in str(caught.value)


def test_columns_of_iris(database: Database) -> None:
    with pytest.raises(InputError, match="maker is 'no iri', which is no absolute IRI"):
        database.rows("SELECT maker FROM wares WHERE sku = 'b'", ["maker"])
    with pytest.raises(InputError, match="gives no column maker; name some of sku as iris"):
        database.rows("SELECT sku FROM wares", ["maker"])


def test_values_that_no_database_holds(database: Database) -> None:
    with pytest.raises(Unanswerable, match="a blank node is given for v"):
        database.rows("SELECT :v", v=BlankNode("b"))


def test_values_that_are_no_terms(database: Database) -> None:
    with pytest.raises(Unanswerable, match="a triple term is given for v, which no database knows"):
        database.rows("SELECT :v", v=Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o")))
    with pytest.raises(InputError, match=r"iris is given tuple \"\('maker',\)\", which is no term; give what the oper"):
        database.rows("SELECT maker FROM wares", iris=("maker",))  # type: ignore[arg-type]


def test_any_name_of_a_parameter_can_be_bound(database: Database) -> None:
    assert database.rows("SELECT price FROM wares WHERE sku = :iris", iris=Literal("a")) == [1.5]
    assert database.holds("SELECT 1 FROM wares WHERE sku = :self", self=Literal("a"))
    assert database.holds("SELECT 1 FROM wares WHERE sku = :statement", statement=Literal("a"))


def test_a_file_that_another_took_the_place_of_is_not_read_on(database: Database, path: Path, tmp_path: Path) -> None:
    assert database.rows("SELECT price FROM wares WHERE sku = 'a'") == [1.5]
    with sqlite3.connect(tmp_path / "new.db") as made:
        made.executescript("CREATE TABLE wares (sku TEXT, price REAL); INSERT INTO wares VALUES ('a', 2.5)")
    made.close()
    (tmp_path / "new.db").rename(path)
    assert database.rows("SELECT price FROM wares WHERE sku = 'a'") == [2.5]


def test_messages_name_the_database_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/none.db"
    with pytest.raises(InputError, match=f"^the database {url} gives no answer: unable"):
        Database(url).rows("SELECT 1")
    for module, wanted in (("psycopg", "'psycopg[binary]'"), ("pymysql", "pymysql")):
        monkeypatch.setitem(sys.modules, module, None)
        kind = "postgresql" if module == "psycopg" else "mysql"
        with pytest.raises(InputError) as caught:
            Database(f"{kind}+{module}://user:secret@localhost/x").rows("SELECT 1")
        assert str(caught.value) == (
            f"the database {kind}+{module}://user:***@localhost/x needs the driver {module}, which is not installed; "
            f"pip install {wanted}"
        )


def test_a_database_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gives no answer: unable to open database file; see that it is there"):
        Database(f"sqlite:///{tmp_path}/none.db").rows("SELECT 1")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(InputError, match="the database of a look-up cannot be used"):
        Database("nonsense").rows("SELECT 1")
    with pytest.raises(InputError, match="the database of a look-up cannot be used") as caught:
        Database("nosuch://user:secret@localhost/x").rows("SELECT 1")
    assert "secret" not in str(caught.value)
