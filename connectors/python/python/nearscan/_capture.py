# SPDX-License-Identifier: Apache-2.0
"""Finds the variables that a statement names in FROM.

A name that is a table is never looked up; others are, in the frames of the caller from the inside
to the outside: locals first, then globals, as Python itself would.
"""

from __future__ import annotations

import inspect
from collections import ChainMap
from typing import TYPE_CHECKING

from ._convert import is_data, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from . import _nearscan

_PACKAGE = __name__.rpartition(".")[0]


def of_caller(names: list[str]) -> dict[str, _nearscan.Table]:
    """Returns tables of the variables of these names that the caller of the package sees."""
    return among(variables_of_caller())(names)


def variables_of_caller() -> Mapping[str, object]:
    """Returns the variables that the caller of the package sees: locals, then globals."""
    frame = _caller()
    return {} if frame is None else ChainMap(frame.f_locals, frame.f_globals)


def among(
    variables: Mapping[str, object],
) -> Callable[[list[str]], dict[str, _nearscan.Table]]:
    """Returns a function that makes tables of some variables by their names."""

    def tables(names: list[str]) -> dict[str, _nearscan.Table]:
        found = {name: variables.get(name) for name in names}
        return {name: table_of(value) for name, value in found.items() if is_data(value)}

    return tables


def _caller() -> FrameType | None:
    """The innermost frame that is not of this package."""
    frame = inspect.currentframe()
    while frame is not None and _is_inside(frame):
        frame = frame.f_back
    return frame


def _is_inside(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
