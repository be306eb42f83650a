# SPDX-License-Identifier: Apache-2.0
"""Makes tables of what Python programs hold data in."""

from __future__ import annotations

import os
from typing import Any, TypeGuard, cast

from . import _nearscan
from .errors import NotSupportedError, ProgrammingError


def is_location(data: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether it is a path, a pattern or a URL."""
    return isinstance(data, (str, os.PathLike))


def is_data(data: object) -> bool:
    """Whether a table can be made of it."""
    from .relation import Relation

    if isinstance(data, (Relation, _nearscan.Batches)) or _exports(data):
        return True
    if _module(data) == "pandas":
        return type(data).__name__ == "DataFrame"
    if _module(data) == "polars":
        return type(data).__name__ in ("DataFrame", "LazyFrame")
    return _is_rows(data)


def table_of(data: object) -> _nearscan.Table:
    """Returns a table of data.

    Raises:
        ProgrammingError: It is no data.
    """
    from .relation import Relation

    if isinstance(data, Relation):
        return data.planned.table()
    if _module(data) == "pandas" and type(data).__name__ == "DataFrame":
        arrow = pyarrow("a frame of pandas")
        data = arrow.Table.from_pandas(data, preserve_index=False)
    elif _module(data) == "polars" and type(data).__name__ == "LazyFrame":
        data = cast("Any", data).collect()
    elif _is_rows(data):
        data = pyarrow("a list of dicts").Table.from_pylist(data)
    if _exports(data):
        return _nearscan.Table.of_arrow(data)
    raise ProgrammingError(
        f"no table can be made of a {type(data).__name__}",
        None,
        "pass a path, a frame, a list of dicts, or an object with __arrow_c_stream__",
    )


def pyarrow(what: str) -> Any:  # noqa: ANN401 - it has no types of its own
    """Returns the package ``pyarrow``.

    Raises:
        NotSupportedError: It is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise NotSupportedError(
            f"{what} needs the package pyarrow", str(error), "pip install pyarrow"
        ) from error
    return pyarrow


def _exports(data: object) -> bool:
    names = ("__arrow_c_stream__", "__arrow_c_array__")
    return not isinstance(data, type) and any(hasattr(data, name) for name in names)


def _module(data: object) -> str:
    return type(data).__module__.partition(".")[0]


def _is_rows(data: object) -> bool:
    if not isinstance(data, list):
        return False
    rows = cast("list[object]", data)
    return bool(rows) and all(isinstance(row, dict) for row in rows)
