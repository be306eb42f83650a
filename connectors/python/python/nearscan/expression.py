# SPDX-License-Identifier: Apache-2.0
"""Expressions of columns, for the methods of relations, where Python is handier than SQL.

>>> from nearscan import col
>>> print((col("price") * (1 - col("discount"))).alias("net"))
("price" * (1 - "discount")) AS "net"
"""

from __future__ import annotations

import datetime
import decimal
from typing import TypeAlias, Union

__all__ = ["Expression", "Value", "col", "expr", "function", "lit"]

Value: TypeAlias = Union[
    None, bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.timedelta
]
"""A Python value that has a literal in SQL; ``datetime`` is a ``date``."""


class Expression:
    """An expression of SQL. ``==``, ``<``, ``+``, ``&``, ``|`` and ``~`` make larger ones."""

    __slots__ = ("_name", "_sql")
    __hash__ = None  # type: ignore[assignment]  # == makes an expression

    def __init__(self, sql: str, name: str | None = None) -> None:
        self._sql = sql
        self._name = name

    def __str__(self) -> str:
        return self._sql if self._name is None else f"{self._sql} AS {quoted(self._name)}"

    def __repr__(self) -> str:
        return f"<nearscan.Expression {self}>"

    @property
    def bare(self) -> str:
        """The SQL without a name for its column."""
        return self._sql

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value: use & for and, | for or, ~ for not")

    def alias(self, name: str) -> Expression:
        """Names the column that it makes."""
        return Expression(self._sql, name)

    def cast(self, type_name: str) -> Expression:
        """Casts it to a type of SQL, such as ``BIGINT``."""
        return Expression(f"CAST({self._sql} AS {type_name})")

    def is_null(self) -> Expression:
        """Whether it is NULL."""
        return Expression(f"({self._sql} IS NULL)")

    def is_in(self, *values: Operand) -> Expression:
        """Whether it is one of some values."""
        return Expression(f"({self._sql} IN ({', '.join(_operand(it) for it in values)}))")

    def between(self, least: Operand, greatest: Operand) -> Expression:
        """Whether it is between two values, or one of them."""
        return Expression(f"({self._sql} BETWEEN {_operand(least)} AND {_operand(greatest)})")

    def like(self, pattern: str) -> Expression:
        """Whether it is a text like a pattern with ``%`` and ``_``."""
        return Expression(f"({self._sql} LIKE {literal(pattern)})")

    def asc(self, *, nulls_first: bool = False) -> Expression:
        """Orders by it, ascending."""
        return Expression(f"{self._sql} ASC NULLS {'FIRST' if nulls_first else 'LAST'}")

    def desc(self, *, nulls_first: bool = False) -> Expression:
        """Orders by it, descending."""
        return Expression(f"{self._sql} DESC NULLS {'FIRST' if nulls_first else 'LAST'}")

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: Operand) -> Expression:
        return self._with("<", other)

    def __le__(self, other: Operand) -> Expression:
        return self._with("<=", other)

    def __gt__(self, other: Operand) -> Expression:
        return self._with(">", other)

    def __ge__(self, other: Operand) -> Expression:
        return self._with(">=", other)

    def __add__(self, other: Operand) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: Value) -> Expression:
        return self._behind("+", other)

    def __sub__(self, other: Operand) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: Value) -> Expression:
        return self._behind("-", other)

    def __mul__(self, other: Operand) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: Value) -> Expression:
        return self._behind("*", other)

    def __truediv__(self, other: Operand) -> Expression:
        return self._with("/", other)

    def __rtruediv__(self, other: Value) -> Expression:
        return self._behind("/", other)

    def __mod__(self, other: Operand) -> Expression:
        return self._with("%", other)

    def __and__(self, other: Operand) -> Expression:
        return self._with("AND", other)

    def __or__(self, other: Operand) -> Expression:
        return self._with("OR", other)

    def __invert__(self) -> Expression:
        return Expression(f"(NOT {self._sql})")

    def __neg__(self) -> Expression:
        return Expression(f"(-{self._sql})")

    def _with(self, operator: str, other: object) -> Expression:
        return Expression(f"({self._sql} {operator} {_operand(other)})")

    def _behind(self, operator: str, other: Value) -> Expression:
        return Expression(f"({literal(other)} {operator} {self._sql})")


Operand: TypeAlias = Union[Expression, Value]
"""What an operator takes: an expression, or a value."""


def col(name: str) -> Expression:
    """Returns a column of that name, whose case counts; ``t.a`` is column ``a`` of table ``t``."""
    return Expression(".".join(quoted(part) for part in name.split(".")))


def lit(value: Value) -> Expression:
    """Returns a literal.

    >>> import datetime
    >>> print(lit("it's"), lit(datetime.date(2026, 1, 31)), lit(None))
    'it''s' DATE '2026-01-31' NULL
    """
    return Expression(literal(value))


def expr(sql: str) -> Expression:
    """Returns an expression that SQL says."""
    return Expression(f"({sql})")


def function(name: str, *arguments: Operand) -> Expression:
    """Returns a call of a function.

    >>> print(function("round", col("price"), 2))
    round("price", 2)
    """
    return Expression(f"{name}({', '.join(_operand(it) for it in arguments)})")


def quoted(name: str) -> str:
    """Returns a name in quotes, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Returns a value as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, decimal.Decimal):
        return f"{value:f}" if value.is_finite() else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        return f"INTERVAL '{micros} microseconds'"
    raise TypeError(f"a {type(value).__name__} has no literal in SQL")


def _operand(value: object) -> str:
    return str(value) if isinstance(value, Expression) else literal(value)
