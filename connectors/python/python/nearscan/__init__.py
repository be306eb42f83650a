# SPDX-License-Identifier: Apache-2.0
"""SQL over Parquet and Arrow data, with scans pushed down to the drive.

>>> import nearscan
>>> con = nearscan.connect()
>>> con.sql("SELECT value, value * value AS square FROM range(1, 4)").fetchall()
[(1, 1), (2, 4), (3, 9)]

The package follows PEP 249 too (``connect``, ``Cursor``, ``Error`` and its subclasses).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    Interrupted,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from .expression import Expression, col, expr, function, lit

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .connection import Connection, connect
    from .cursor import (
        BINARY,
        DATETIME,
        NUMBER,
        ROWID,
        STRING,
        Binary,
        Cursor,
        Date,
        DateFromTicks,
        Time,
        TimeFromTicks,
        Timestamp,
        TimestampFromTicks,
    )
    from .profile import Plan
    from .relation import Relation

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "Expression",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Interrupted",
    "NotSupportedError",
    "OperationalError",
    "Plan",
    "ProgrammingError",
    "Relation",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "col",
    "connect",
    "expr",
    "function",
    "lit",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
"""The version of PEP 249."""

threadsafety = 2
"""Threads may share the module and connections."""

paramstyle = "qmark"
"""Parameters are ``?``; ``$1`` and ``$name`` work too."""

_HOMES = {
    "Connection": "connection",
    "connect": "connection",
    "Plan": "profile",
    "Relation": "relation",
}
"""Where names are that are imported at first use, with the engine; all others are the cursor's."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("nearscan")
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'nearscan' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES.get(name, 'cursor')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Adds ``%sql`` and ``%%sql`` to a notebook: ``%load_ext nearscan``."""
    from .magic import load

    load(shell)
