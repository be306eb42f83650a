# SPDX-License-Identifier: Apache-2.0
"""PEP 249: the module, cursors, parameters, and the libraries that use them."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pytest

import nearscan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def test_module_says_what_it_is() -> None:
    assert nearscan.apilevel == "2.0"
    assert nearscan.threadsafety == 2
    assert nearscan.paramstyle == "qmark"
    assert issubclass(nearscan.ProgrammingError, nearscan.DatabaseError)
    assert issubclass(nearscan.InterfaceError, nearscan.Error)
    assert nearscan.Date(2026, 1, 2) == datetime.date(2026, 1, 2)
    assert nearscan.Binary(b"a") == b"a"
    assert set(nearscan.__all__) <= set(dir(nearscan))
    assert all(getattr(nearscan, name) is not None for name in nearscan.__all__)


def test_description_has_type_objects(con: nearscan.Connection) -> None:
    cursor = con.execute("SELECT 1 AS a, 'x' AS b, DATE '2026-01-02' AS c, X'00' AS d")
    assert cursor.description is not None
    kinds = [column[1] for column in cursor.description]
    types = [nearscan.NUMBER, nearscan.STRING, nearscan.DATETIME, nearscan.BINARY]
    assert [kind == other for kind, other in zip(kinds, types, strict=True)] == [True] * 4
    assert kinds[0] != nearscan.STRING
    assert con.execute("CREATE TABLE t AS SELECT 1 AS a").description is None


def test_rows_come_in_the_ways_of_pep_249(con: nearscan.Connection) -> None:
    with con.cursor() as cursor:
        cursor.execute("SELECT value FROM range(50000) ORDER BY value")
        assert cursor.rowcount == -1
        assert cursor.fetchone() == (0,)
        assert cursor.fetchmany() == [(1,)]
        cursor.arraysize = 3
        assert cursor.fetchmany() == [(2,), (3,), (4,)]
        assert len(cursor.fetchmany(20_000)) == 20_000
        assert next(iter(cursor)) == (20_005,)
        rest = cursor.fetchall()
        assert (len(rest), rest[0], rest[-1]) == (29_994, (20_006,), (49_999,))
        assert cursor.fetchone() is None
    with pytest.raises(nearscan.InterfaceError, match="cursor is closed"):
        cursor.fetchone()


def test_fetch_without_a_statement_is_an_error(con: nearscan.Connection) -> None:
    with pytest.raises(nearscan.ProgrammingError, match="no statement was run"):
        con.cursor().fetchall()


def test_executemany_runs_once_for_each_list(con: nearscan.Connection) -> None:
    con.execute("CREATE TABLE t (a BIGINT, b VARCHAR)")
    con.cursor().executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
    assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "x"), (2, None)]


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("SELECT ?, ? + 1", ["a", 1], ("a", 2)),
        ("SELECT $2, $1", ["a", "b"], ("b", "a")),
        ("SELECT $x + $y", {"x": 1, "y": 2}, (3,)),
        ("SELECT '?' || ? -- ?", ["!"], ("?!",)),
        ("SELECT $1 + $1", (2,), (4,)),
    ],
)
def test_parameters_have_all_styles(
    con: nearscan.Connection,
    text: str,
    values: Sequence[object] | Mapping[str, object],
    expected: tuple[object, ...],
) -> None:
    assert con.execute(text, values).fetchone() == expected


TWO_HOURS = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**63),
        2**64 - 1,
        10**30,
        1.5,
        "käse",
        b"\x00\xff",
        datetime.date(1969, 12, 31),
        datetime.time(23, 59, 59, 999_999),
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=TWO_HOURS),
        datetime.timedelta(days=-3, microseconds=5),
        decimal.Decimal("-12.50"),
        [1, None, 3],
        ["a", "b"],
        {"a": 1, "b": [True]},
    ],
    ids=repr,
)
def test_value_comes_back_as_it_went_in(con: nearscan.Connection, value: object) -> None:
    (found,) = con.execute("SELECT ?", [value]).fetchall()[0]
    assert found == value
    assert isinstance(found, type(value)) or value == 10**30


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.int16(5), 5), (np.float32(0.5), 0.5), (np.str_("a"), "a"), (np.bool_(True), True)],
)
def test_values_of_numpy_are_taken(
    con: nearscan.Connection, value: object, expected: object
) -> None:
    assert con.execute("SELECT ?", [value]).fetchone() == (expected,)


def test_value_is_cast_to_what_the_statement_needs(con: nearscan.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT DATE '2026-01-02' AS d, 5 AS n")
    assert con.execute("SELECT n FROM t WHERE d = ?", ["2026-01-02"]).fetchone() == (5,)
    assert con.execute("SELECT n FROM t WHERE d < ? AND n = ?", ["2026-01-03", "5"]).fetchone()


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("SELECT ?", [], "has no value"),
        ("SELECT ?", [1, 2], "has no parameter"),
        ("SELECT $a", {"b": 1}, "has no value"),
        ("SELECT ?", [object()], "cannot be used"),
        ("SELECT value FROM range(3) WHERE value < ?", ["x"], "wrong type"),
    ],
)
def test_wrong_parameters_are_errors(
    con: nearscan.Connection,
    text: str,
    values: Sequence[object] | Mapping[str, object],
    message: str,
) -> None:
    with pytest.raises(nearscan.ProgrammingError, match=message):
        con.execute(text, values)


def test_closed_connection_is_an_error() -> None:
    con = nearscan.connect()
    con.close()
    con.close()
    for call in (lambda: con.sql("SELECT 1"), con.cursor, con.tables):
        with pytest.raises(nearscan.InterfaceError, match="connection is closed"):
            call()


def test_pandas_reads_by_a_statement(con: nearscan.Connection, numbers: Path) -> None:
    frame = pd.read_sql(f"SELECT n, name FROM '{numbers}' WHERE n < ? ORDER BY n", con, params=[3])
    assert frame["n"].tolist() == [0, 1, 2]
    assert frame["name"].tolist() == ["name 0", "name 1", "name 2"]


def test_polars_reads_by_a_statement(con: nearscan.Connection, numbers: Path) -> None:
    frame = pl.read_database(f"SELECT n, half FROM '{numbers}' WHERE n < 3 ORDER BY n", con)
    assert frame["half"].to_list() == [0.0, 0.5, 1.0]


def test_frames_have_the_rows_that_are_left(con: nearscan.Connection) -> None:
    assert con.execute("SELECT 1 AS a").arrow().to_pylist() == [{"a": 1}]
    assert con.execute("SELECT 1 AS a").df()["a"].tolist() == [1]
    cursor = con.execute("SELECT 1 AS a")
    cursor.fetchone()
    with pytest.raises(nearscan.InterfaceError, match="fetched as tuples already"):
        cursor.pl()
