# SPDX-License-Identifier: Apache-2.0
"""Relations: statements that run when their rows are asked for, and chain.

A chain is planned as one statement. Rows that were fetched as a whole are kept: showing a relation
twice runs it once.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Literal

from . import _nearscan
from ._convert import pyarrow, table_of
from ._progress import Shown
from ._show import as_html, as_text
from .errors import NotSupportedError, ProgrammingError
from .expression import Expression, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike
    from typing import Any

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import CapsuleType

    from .connection import Connection
    from .profile import Plan

    Column = str | Expression

__all__ = ["Relation"]

How = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]

_SHOWN_ROWS = 40
"""Rows that are shown of a long result."""


class Relation:
    """Rows that a statement returns, or tables hold.

    >>> from nearscan import col, connect
    >>> con = connect()
    >>> squares = con.sql("SELECT value AS n, value * value AS square FROM range(1, 6)")
    >>> squares.filter(col("n") > 2).select("square").order("square DESC").limit(2).fetchall()
    [(25,), (16,)]
    """

    def __init__(
        self,
        connection: Connection,
        query: _nearscan.Query,
        *,
        unordered: _nearscan.Query | None = None,
        order: str | None = None,
    ) -> None:
        self._connection = connection
        self._query = query
        # What an order is of, so that later steps can keep it: a subquery has none.
        self._unordered = query if unordered is None else unordered
        self._order = order
        self._rows: _nearscan.Batches | None = None
        self._profile: dict[str, Any] | None = None
        self._fetched = 0

    # Steps

    def filter(self, condition: Column) -> Relation:
        """Keeps the rows for which a condition is true; ``where`` of SQL."""
        text = f"SELECT * FROM rel WHERE {condition}"
        return self._with_order(self._plan(text, self._unordered))

    def select(self, *columns: Column) -> Relation:
        """Computes columns: names, SQL, or expressions."""
        listed = _listed(columns) or "*"
        if self._order is None:
            return Relation(self._connection, self._plan(f"SELECT {listed} FROM rel"))
        text = f"SELECT {listed} FROM rel ORDER BY {self._order}"
        return Relation(self._connection, self._plan(text, self._unordered))

    def aggregate(
        self, columns: Column | Sequence[Column], by: Column | Sequence[Column] = ()
    ) -> Relation:
        """Computes aggregates, for each group of the columns ``by`` if there are any.

        >>> from nearscan import connect
        >>> rows = connect().sql("SELECT value % 2 AS odd, value AS n FROM range(6)")
        >>> rows.aggregate("sum(n) AS total", by="odd").order("odd").fetchall()
        [(0, 6), (1, 9)]
        """
        keys = _many(by)
        listed = _listed([*keys, *_many(columns)])
        grouped = f" GROUP BY {', '.join(_bare(key) for key in keys)}" if keys else ""
        return Relation(self._connection, self._plan(f"SELECT {listed} FROM rel{grouped}"))

    def join(
        self, other: object, on: Column | Sequence[str] | None = None, how: How = "inner"
    ) -> Relation:
        """Joins with a relation or data: ``on`` is a column that both have, several of them, or a
        condition over ``lhs`` and ``rhs``. A name that both sides have gets a number at the right.

        >>> from nearscan import connect
        >>> con = connect()
        >>> people = con.from_data([{"id": 1, "name": "Ada"}, {"id": 2, "name": "Alan"}])
        >>> born = con.from_data([{"id": 1, "year": 1815}])
        >>> people.join(born, on="id").select("name", "year").fetchall()
        [('Ada', 1815)]
        """
        right = other if isinstance(other, Relation) else self._connection.from_data(other)
        tables = {"lhs": self._query.table(), "rhs": right.planned.table()}
        kind = {"semi": "LEFT SEMI", "anti": "LEFT ANTI"}.get(how, how.upper())
        kept = "*" if how in ("semi", "anti") else self._joined_columns(right, on)
        text = f"SELECT {kept} FROM lhs {kind} JOIN rhs{_joined(on, how)}"
        return Relation(self._connection, self._connection.engine.plan(text, None, tables))

    def order(self, *columns: Column) -> Relation:
        """Orders the rows: ``"a DESC"``, ``col("a").desc()``; steps behind it keep the order."""
        order = _listed(columns)
        query = self._plan(f"SELECT * FROM rel ORDER BY {order}", self._unordered)
        return Relation(self._connection, query, unordered=self._unordered, order=order)

    def limit(self, count: int, offset: int = 0) -> Relation:
        """Keeps at most so many rows, from an offset on, in their order."""
        return Relation(self._connection, self._query.limit(offset, count))

    def distinct(self) -> Relation:
        """Keeps one of equal rows."""
        return Relation(self._connection, self._plan("SELECT DISTINCT * FROM rel"))

    def union(self, other: object, *, distinct: bool = False) -> Relation:
        """Adds the rows of a relation or of data with the same columns."""
        return self._set("UNION" if distinct else "UNION ALL", other)

    def intersect(self, other: object) -> Relation:
        """Keeps the rows that another relation has too."""
        return self._set("INTERSECT", other)

    def except_(self, other: object) -> Relation:
        """Keeps the rows that another relation has not."""
        return self._set("EXCEPT", other)

    def query(self, name: str, text: str) -> Relation:
        """Plans a statement in which this relation has a name.

        >>> from nearscan import connect
        >>> connect().sql("SELECT 1 AS a").query("t", "SELECT a + 1 AS b FROM t").fetchall()
        [(2,)]
        """
        planned = self._connection.engine.plan(text, None, {name: self._query.table()})
        return Relation(self._connection, planned)

    # Columns

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._query.columns

    @property
    def dtypes(self) -> list[str]:
        """Types of the columns, as Arrow names them."""
        return self._query.types

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]]:
        """Name and type of each column, as PEP 249 wants them."""
        pairs = zip(self.columns, self.dtypes, strict=True)
        return [(name, kind, None, None, None, None, None) for name, kind in pairs]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; it runs the statement."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return self._all().num_rows

    # Rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns all rows that were not fetched, as tuples."""
        rows = self._all()
        taken = rows.rows(self._fetched, rows.num_rows)
        self._fetched += len(taken)
        return taken

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Returns the next rows, at most so many."""
        taken = self._all().rows(self._fetched, size)
        self._fetched += len(taken)
        return taken

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row; None behind the last one."""
        return next(iter(self.fetchmany(1)), None)

    def arrow(self) -> pa.Table:
        """Returns the rows as a table of pyarrow, without a copy."""
        table: pa.Table = pyarrow("arrow()").table(self._all())
        return table

    def df(self) -> pd.DataFrame:
        """Returns the rows as a frame of pandas."""
        table: Any = self.arrow()
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def pl(self) -> pl.DataFrame:
        """Returns the rows as a frame of Polars, without a copy."""
        try:
            import polars
        except ImportError as error:
            raise NotSupportedError(
                "pl() needs the package polars", str(error), "pip install polars"
            ) from error
        return polars.DataFrame(self._all())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Returns the rows batch by batch, while the statement runs; nothing holds them all."""
        table = pyarrow("batches()").table
        stream = self._query.stream()
        try:
            while (batch := stream.next()) is not None:
                yield from table(batch).to_batches()
        finally:
            stream.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        """Exports the rows as a C stream of Arrow, while the statement runs."""
        if self._rows is not None:
            return self._rows.__arrow_c_stream__(requested_schema)
        return self._query.stream().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> CapsuleType:
        """Exports the schema."""
        return self._query.__arrow_c_schema__()

    # Files

    def write_parquet(self, path: str | PathLike[str], **options: object) -> None:
        """Writes a Parquet file; options are those of ``COPY``, such as
        ``compression="zstd(3)"``.
        """
        self._write(path, "PARQUET", options)

    def write_csv(self, path: str | PathLike[str], **options: object) -> None:
        """Writes a CSV file; options are those of ``COPY``, such as ``delimiter=";"``."""
        self._write(path, "CSV", options)

    # Showing

    def show(self, max_rows: int = _SHOWN_ROWS) -> None:
        """Prints the first rows."""
        sys.stdout.write(f"{self._text(max_rows)}\n")

    def explain(self, *, analyze: bool = False) -> Plan:
        """Returns the plan, with drive and host apart; with ``analyze``, after it ran."""
        from .profile import Plan

        if analyze:
            return self.profile()
        return Plan(self._query.profile(), text=self._query.explain())

    def profile(self) -> Plan:
        """Runs the statement if it did not run, and returns what was done, by which operator."""
        from .profile import Plan

        if self._profile is None:
            rows = self._run()
            self._rows = rows if self._rows is None else self._rows
        return Plan(self._profile or {})

    def __repr__(self) -> str:
        return self._text(_SHOWN_ROWS)

    def _repr_html_(self) -> str:
        rows = self._all()
        shown = rows.rows(0, _SHOWN_ROWS)
        return as_html(self.columns, self.dtypes, shown, rows.num_rows)

    # Inside

    @property
    def planned(self) -> _nearscan.Query:
        """The planned statement, which is private to the package."""
        return self._query

    def _text(self, max_rows: int) -> str:
        rows = self._all()
        return as_text(self.columns, self.dtypes, rows.rows(0, max_rows), rows.num_rows)

    def _all(self) -> _nearscan.Batches:
        if self._rows is None:
            self._rows = self._run()
        return self._rows

    def _run(self) -> _nearscan.Batches:
        stream = self._query.stream()
        with Shown(stream, when=self._connection.progress):
            rows = stream.collect()
        self._profile = stream.profile()
        return rows

    def _plan(self, text: str, over: _nearscan.Query | None = None) -> _nearscan.Query:
        query = self._query if over is None else over
        return self._connection.engine.plan(text, None, {"rel": query.table()})

    def _joined_columns(self, right: Relation, on: Column | Sequence[str] | None) -> str:
        """The columns of a join: shared keys once, and other names twice with a number."""
        keys = _keys(on)
        taken = set(self.columns)
        listed = [quoted(it) if it in keys else f"lhs.{quoted(it)}" for it in self.columns]
        for name in right.columns:
            if name in keys:
                continue
            new = next(it for it in _numbered(name) if it not in taken)
            taken.add(new)
            listed.append(f"rhs.{quoted(name)} AS {quoted(new)}")
        return ", ".join(listed)

    def _with_order(self, unordered: _nearscan.Query) -> Relation:
        if self._order is None:
            return Relation(self._connection, unordered)
        query = self._plan(f"SELECT * FROM rel ORDER BY {self._order}", unordered)
        return Relation(self._connection, query, unordered=unordered, order=self._order)

    def _set(self, operator: str, other: object) -> Relation:
        tables = {"lhs": self._query.table(), "rhs": table_of(other)}
        text = f"SELECT * FROM lhs {operator} SELECT * FROM rhs"
        return Relation(self._connection, self._connection.engine.plan(text, None, tables))

    def _write(self, path: str | PathLike[str], form: str, options: dict[str, object]) -> None:
        import os

        from .expression import literal

        listed = ", ".join(f"{name} {literal(value)}" for name, value in options.items())
        listed = f" OPTIONS ({listed})" if listed else ""
        order = f" ORDER BY {self._order}" if self._order else ""
        target = f"{literal(os.fspath(path))} STORED AS {form}{listed}"
        text = f"COPY (SELECT * FROM rel{order}) TO {target}"
        self._plan(text, self._unordered).stream().collect()


def _many(columns: Column | Sequence[Column]) -> Sequence[Column]:
    return (columns,) if isinstance(columns, (str, Expression)) else columns


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(str(column) for column in columns)


def _bare(key: Column) -> str:
    return key.bare if isinstance(key, Expression) else key


def _keys(on: Column | Sequence[str] | None) -> Sequence[str]:
    """The columns that both sides of a join share."""
    if on is None or isinstance(on, Expression):
        return ()
    if isinstance(on, str):
        return (on,) if on.isidentifier() else ()
    return on


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in itertools.count(1):
        yield f"{name}_{number}"


def _joined(on: Column | Sequence[str] | None, how: How) -> str:
    if how == "cross":
        return ""
    if on is None:
        raise ProgrammingError("a join needs a condition", None, "pass on=, or how='cross'")
    keys = _keys(on)
    return f" USING ({', '.join(quoted(name) for name in keys)})" if keys else f" ON {on}"
