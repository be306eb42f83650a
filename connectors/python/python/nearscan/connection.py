# SPDX-License-Identifier: Apache-2.0
"""Connections: an engine with its drives, tables and settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from . import _nearscan
from ._capture import among, of_caller, variables_of_caller
from ._convert import is_location, table_of
from .errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from .cursor import Cursor
    from .relation import Relation

    Parameters = Sequence[object] | Mapping[str, object]
    LookUp = Callable[[list[str]], dict[str, _nearscan.Table]]

__all__ = ["Connection", "connect"]


def connect(
    *,
    drives: Sequence[str] = (),
    memory_limit: int | str | None = None,
    threads: int | None = None,
    temp_directory: str | PathLike[str] | None = None,
    program: str | PathLike[str] | None = None,
    capture: bool = True,
    progress: bool | None = None,
    **settings: object,
) -> Connection:
    """Opens an engine.

    Args:
        drives: URLs of drives to attach, such as ``"emulated:"`` or ``"fast=xrt:0?xclbin=..."``.
        memory_limit: The most memory that queries may use: bytes, or a size such as ``"4GiB"``.
        threads: Threads that run queries; all cores if not given.
        temp_directory: The folder for temporary files.
        program: The program ``nearscan``, which is started for a drive that runs in a process of
            its own.
        capture: Whether a name in FROM that is no table may be a variable of the caller.
        progress: Whether long statements show how far they have come; on a terminal and in a
            notebook if not given.
        **settings: Settings: ``pushdown_mode="force"`` is ``nearscan.pushdown.mode``, and a name
            with dots is taken as it is (``**{"datafusion.execution.batch_size": 4096}``).

    Raises:
        ProgrammingError: There is no such setting, or its value is wrong.
        OperationalError: A drive cannot be opened.

    >>> con = connect(threads=2, memory_limit="1GiB", pushdown_mode="off")
    >>> con.sql("SELECT 1 + 1 AS two").fetchone()
    (2,)
    """
    return Connection(
        _nearscan.Connection(
            list(drives),
            [(_key(name), _setting(value)) for name, value in settings.items()],
            None if memory_limit is None else str(memory_limit),
            threads,
            temp_directory,
            program,
        ),
        capture=capture,
        progress=progress,
    )


class Connection:
    """An engine. Threads may share it; ``with`` closes it at the end of a block.

    >>> with connect() as con:
    ...     con.sql("SELECT 42 AS answer").fetchall()
    [(42,)]
    """

    def __init__(
        self,
        engine: _nearscan.Connection,
        *,
        capture: bool = True,
        progress: bool | None = None,
    ) -> None:
        self._engine: _nearscan.Connection | None = engine
        self._capture = capture
        self.progress = progress

    # Statements

    def sql(self, text: str, parameters: Parameters | None = None) -> Relation:
        """Plans a statement; its rows are computed when they are asked for.

        Statements that change something (``CREATE``, ``INSERT``, ``COPY``, ``SET``) run at once.

        Args:
            text: One statement.
            parameters: Values for ``?`` and ``$1``, or by name for ``$name``.

        Raises:
            ProgrammingError: The statement is wrong.

        >>> con = connect()
        >>> con.sql("SELECT ? + 1 AS next", [41]).fetchall()
        [(42,)]
        >>> con.sql("SELECT upper($a) AS text", {"a": "near"}).fetchall()
        [('NEAR',)]
        """
        return self._relation(self.plan(text, parameters))

    def sql_async(
        self, text: str, parameters: Parameters | None = None
    ) -> Coroutine[Any, Any, Relation]:
        """Runs a statement without blocking the event loop, and returns its rows.

        A task that is cancelled cancels the query.

        >>> import asyncio
        >>> asyncio.run(connect().sql_async("SELECT 1 AS one")).fetchall()
        [(1,)]
        """
        # A coroutine begins when it is awaited, perhaps by another function.
        look_up = among(variables_of_caller()) if self._capture else None
        return self._run_async(text, parameters, look_up)

    async def _run_async(
        self, text: str, parameters: Parameters | None, look_up: LookUp | None
    ) -> Relation:
        import asyncio

        plan = self.engine.plan
        query = await asyncio.to_thread(plan, text, parameters, None, look_up)
        stream = await asyncio.to_thread(query.stream)
        try:
            rows = await asyncio.to_thread(stream.collect)
        except asyncio.CancelledError:
            stream.cancel()
            raise
        return self._computed(rows)

    def execute(self, text: str, parameters: Parameters | None = None) -> Cursor:
        """Runs a statement with a new cursor, and returns the cursor.

        >>> connect().execute("SELECT 1").fetchone()
        (1,)
        """
        return self.cursor().execute(text, parameters)

    def cursor(self) -> Cursor:
        """Returns a cursor of PEP 249."""
        from .cursor import Cursor

        self.engine  # noqa: B018 - raises if it is closed
        return Cursor(self)

    # Tables

    def register(self, name: str, data: object) -> Self:
        """Makes a table of a path, a folder, a pattern, a URL, or of data.

        Data are objects with ``__arrow_c_stream__`` or ``__arrow_c_array__``, frames of pandas and
        Polars, relations, and lists of dicts. Buffers of Arrow are not copied.

        Raises:
            ProgrammingError: The name is taken, or the object is no data.
            OperationalError: There is no such file.

        >>> con = connect()
        >>> con.register("numbers", con.sql("SELECT value FROM range(5)")).tables()
        ['numbers']
        """
        if is_location(data):
            self.engine.register_path(name, os.fspath(data))
        else:
            self.engine.register_table(name, table_of(data))
        return self

    def unregister(self, name: str) -> Self:
        """Removes a table.

        Raises:
            ProgrammingError: There is no such table.
        """
        self.engine.deregister(name)
        return self

    def table(self, name: str) -> Relation:
        """Returns a table, or the rows of a path."""
        from .expression import literal, quoted

        is_table = name in self.tables()
        return self.sql(f"SELECT * FROM {quoted(name) if is_table else literal(name)}")

    def from_data(self, data: object) -> Relation:
        """Returns the rows of data, or of a path, without a name.

        >>> connect().from_data([{"a": 1}, {"a": 2}]).filter("a > 1").fetchall()
        [(2,)]
        """
        from .expression import literal
        from .relation import Relation

        if is_location(data):
            return self.sql(f"SELECT * FROM {literal(os.fspath(data))}")
        query = self.engine.plan("SELECT * FROM data", None, {"data": table_of(data)})
        return Relation(self, query)

    def tables(self) -> list[str]:
        """Returns the names of all tables, with their schema unless that is ``public``."""
        names = self.engine.tables()
        return [name if schema == "public" else f"{schema}.{name}" for schema, name in names]

    # Functions and settings

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[object] | None = None,
        return_type: object | None = None,
        *,
        volatile: bool = False,
    ) -> Self:
        """Makes a scalar function of SQL of a function over Arrow arrays.

        The function is called with a ``pyarrow.Array`` for each argument, and returns an array or a
        list with as many values. It runs while a query runs, on any thread.

        Args:
            name: Its name in SQL.
            function: The function.
            parameters: Types of the arguments, as Python or ``pyarrow`` has them; those of the
                annotations if not given.
            return_type: The type that it returns, likewise.
            volatile: Whether it may return something else for the same arguments.

        Raises:
            ProgrammingError: A type is missing or unknown.

        >>> import pyarrow.compute as pc
        >>> def double(x: int) -> int:
        ...     return pc.multiply(x, 2)
        >>> connect().create_function("double", double).sql("SELECT double(21) AS n").fetchall()
        [(42,)]
        """
        from ._function import described

        call, takes, returns = described(name, function, parameters, return_type)
        self.engine.create_function(name, call, takes, returns, volatile)
        return self

    def set(self, name: str, value: object) -> Self:
        """Changes a setting, as ``SET`` does: ``con.set("pushdown_mode", "off")``."""
        from .expression import literal

        self.sql(f"SET {_key(name)} = {literal(_setting(value))}")
        return self

    # The connection

    def close(self) -> None:
        """Closes it for new statements; relations and cursors that run keep what they need.

        Closing twice is no error.
        """
        self._engine = None

    def commit(self) -> None:
        """PEP 249 asks for it; every statement takes effect at once."""

    @property
    def engine(self) -> _nearscan.Connection:
        """The engine, which is private to the package.

        Raises:
            InterfaceError: The connection is closed.
        """
        if self._engine is None:
            raise InterfaceError("the connection is closed", None, "connect again")
        return self._engine

    def sql_with(
        self, text: str, parameters: Parameters | None, variables: Mapping[str, object]
    ) -> Relation:
        """Plans a statement that may name some variables; it is private to the package."""
        look_up = among(variables) if self._capture else None
        return self._relation(self.engine.plan(text, parameters, None, look_up))

    def _relation(self, query: _nearscan.Query) -> Relation:
        from .relation import Relation

        if query.has_effect:
            return self._computed(query.stream().collect())
        return Relation(self, query)

    def _computed(self, rows: _nearscan.Batches) -> Relation:
        """A relation of rows that were computed: the statement never runs again."""
        from .relation import Relation

        tables = {"data": _nearscan.Table.of_batches(rows)}
        return Relation(self, self.engine.plan("SELECT * FROM data", None, tables))

    def plan(self, text: str, parameters: Parameters | None = None) -> _nearscan.Query:
        """Plans a statement, which is private to the package."""
        return self.engine.plan(text, parameters, None, of_caller if self._capture else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _key(name: str) -> str:
    """``pushdown_mode`` is ``nearscan.pushdown.mode``."""
    if "." in name:
        return name
    for group in ("pushdown", "io"):
        if name.startswith(f"{group}_"):
            return f"nearscan.{group}.{name[len(group) + 1:]}"
    return f"nearscan.{name}"


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(it) for it in cast("list[object]", value))
    return str(value)
