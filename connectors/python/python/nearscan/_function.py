# SPDX-License-Identifier: Apache-2.0
"""Describes Python functions to the engine: the types that they take and return."""

from __future__ import annotations

import datetime
import decimal
import inspect
import typing
from typing import TYPE_CHECKING, Any

from ._convert import pyarrow
from .errors import ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def described(
    name: str,
    function: Callable[..., Any],
    parameters: Sequence[object] | None,
    return_type: object | None,
) -> tuple[Callable[[int, tuple[Any, ...]], Any], object, object]:
    """Returns what the engine calls, the schema of the arguments, and the field of the result."""
    arrow = pyarrow("create_function()")
    hints = _hints(function)
    if parameters is None:
        parameters = [hints.get(it) for it in inspect.signature(function).parameters]
    takes = [arrow.field(f"${at + 1}", _type(name, kind)) for at, kind in enumerate(parameters)]
    kind = _type(name, hints.get("return") if return_type is None else return_type)

    def call(rows: int, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - an array of pyarrow
        result = function(*(arrow.array(it) for it in arguments))
        if isinstance(result, arrow.ChunkedArray):
            result = result.combine_chunks()
        if isinstance(result, arrow.Scalar):
            result = [result.as_py()] * rows
        return result if isinstance(result, arrow.Array) else arrow.array(result, kind)

    return call, arrow.schema(takes), arrow.field(name, kind)


def _hints(function: Callable[..., Any]) -> dict[str, object]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        return {}


def _type(name: str, kind: object) -> object:
    """The type of pyarrow for one of Python; one of pyarrow stays."""
    arrow = pyarrow("create_function()")
    types: dict[object, object] = {
        bool: arrow.bool_(),
        int: arrow.int64(),
        float: arrow.float64(),
        str: arrow.string(),
        bytes: arrow.binary(),
        datetime.date: arrow.date32(),
        datetime.datetime: arrow.timestamp("us"),
        decimal.Decimal: arrow.decimal128(38, 9),
    }
    if isinstance(kind, arrow.DataType):
        return kind
    try:
        return types[kind]
    except (KeyError, TypeError):
        raise ProgrammingError(
            f"a type of function '{name}' is missing or unknown",
            f"found: {kind!r}",
            "annotate the function with int, float, str and the like, or pass types of pyarrow",
        ) from None
