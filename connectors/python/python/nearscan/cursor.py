# SPDX-License-Identifier: Apache-2.0
"""Cursors of PEP 249: a statement runs at once, and its rows come as they are fetched."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING

from .errors import InterfaceError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import CapsuleType, Self

    from . import _nearscan
    from .connection import Connection

    Parameters = Sequence[object] | Mapping[str, object]

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Cursor",
    "Date",
    "DateFromTicks",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
]


class Cursor:
    """Runs statements, one after the other.

    >>> import nearscan
    >>> cursor = nearscan.connect().cursor()
    >>> cursor.execute("SELECT value FROM range(3) WHERE value > ?", [0]).fetchall()
    [(1,), (2,)]
    """

    def __init__(self, connection: Connection) -> None:
        self._connection: Connection | None = connection
        self._query: _nearscan.Query | None = None
        self._stream: _nearscan.Stream | None = None
        self._batch: _nearscan.Batches | None = None
        self._offset = 0
        self.arraysize = 1

    @property
    def connection(self) -> Connection:
        """The connection.

        Raises:
            InterfaceError: The cursor is closed.
        """
        if self._connection is None:
            raise InterfaceError("the cursor is closed", None, "make another one")
        return self._connection

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """Name and type of each column; None without a result."""
        if self._query is None or not self._query.columns:
            return None
        pairs = zip(self._query.columns, self._query.types, strict=True)
        return [(name, kind, None, None, None, None, None) for name, kind in pairs]

    @property
    def rowcount(self) -> int:
        """-1: rows are not counted before they are fetched."""
        return -1

    def execute(self, operation: str, parameters: Parameters | None = None) -> Self:
        """Runs a statement, with values for its parameters."""
        connection = self.connection
        self._end()
        self._query = connection.plan(operation, parameters)
        self._stream = self._query.stream()
        if self._query.has_effect or not self._query.columns:
            self._batch = self._stream.collect()
        return self

    def executemany(self, operation: str, parameters: Iterable[Parameters]) -> Self:
        """Runs a statement for each of several lists of parameters."""
        for values in parameters:
            self.execute(operation, values)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row; None behind the last one."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Returns the next rows, ``arraysize`` of them if not said otherwise."""
        left = self.arraysize if size is None else size
        rows: list[tuple[Any, ...]] = []
        while left > 0 and (batch := self._next()) is not None:
            taken = batch.rows(self._offset, left)
            self._offset += len(taken)
            left -= len(taken)
            rows = [*rows, *taken] if rows else taken
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns all rows that are left."""
        rows: list[tuple[Any, ...]] = []
        while (batch := self._next()) is not None:
            taken = batch.rows(self._offset, batch.num_rows)
            self._offset += len(taken)
            rows.extend(taken)
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def arrow(self) -> pa.Table:
        """Returns the rows that are left as a table of pyarrow."""
        from ._convert import pyarrow

        table: pa.Table = pyarrow("arrow()").table(self._rest())
        return table

    fetch_arrow_table = arrow

    def df(self) -> pd.DataFrame:
        """Returns the rows that are left as a frame of pandas."""
        table: Any = self.arrow()
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def pl(self) -> pl.DataFrame:
        """Returns the rows that are left as a frame of Polars."""
        import polars

        return polars.DataFrame(self._rest())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        """Exports the rows that are left as a C stream of Arrow."""
        return self._running().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Ends what runs. Closing twice is no error."""
        self._end()
        self._connection = None

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """PEP 249 asks for it; it does nothing."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """PEP 249 asks for it; it does nothing."""

    def _running(self) -> _nearscan.Stream:
        self.connection  # noqa: B018 - raises if it is closed
        if self._stream is None:
            raise ProgrammingError("no statement was run", None, "call execute() first")
        return self._stream

    def _next(self) -> _nearscan.Batches | None:
        """The batch with the next row; None behind the last one."""
        stream = self._running()
        while self._batch is None or self._offset >= self._batch.num_rows:
            self._batch = stream.next()
            self._offset = 0
            if self._batch is None:
                return None
        return self._batch

    def _rest(self) -> _nearscan.Batches:
        stream = self._running()
        if self._batch is not None and self._offset > 0:
            raise InterfaceError(
                "rows were fetched as tuples already", None, "fetch all of them in one way"
            )
        return stream.collect() if self._batch is None else self._batch

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._query = self._stream = self._batch = None
        self._offset = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Kind:
    """A type object of PEP 249: equal to the names of the types that it is for."""

    def __init__(self, *prefixes: str) -> None:
        self._prefixes = prefixes

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, str) and other.startswith(self._prefixes))

    def __hash__(self) -> int:
        return hash(self._prefixes)


STRING = _Kind("Utf8", "LargeUtf8")
BINARY = _Kind("Binary", "LargeBinary", "FixedSizeBinary")
NUMBER = _Kind("Int", "UInt", "Float", "Decimal", "Boolean")
DATETIME = _Kind("Date", "Time", "Duration", "Interval")
ROWID = _Kind("RowId")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802 - PEP 249 names it so
    """Returns the date of seconds since 1970, here."""
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """Returns the time of seconds since 1970, here."""
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """Returns date and time of seconds since 1970, here."""
    return datetime.datetime(*time.localtime(ticks)[:6])  # noqa: DTZ001 - PEP 249 has no zone
