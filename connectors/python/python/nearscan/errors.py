# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package, as PEP 249 sorts them.

Each has the parts that the engine's errors have: what is wrong, where and with what, what to do.
"""

from __future__ import annotations

import builtins

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Interrupted",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
]


class Warning(builtins.Warning):  # noqa: A001 - PEP 249 names it so
    """A warning; the package has none today."""


class Error(Exception):
    """The base of all errors of the package.

    Attributes:
        primary: What is wrong.
        detail: Where, and with what; of a syntax error the line with a caret.
        hint: What to do about it.
        position: Line and column in the statement, from 1.

    >>> import nearscan
    >>> try:
    ...     nearscan.connect().sql("SELECT 1 +")
    ... except nearscan.Error as error:
    ...     print(error.primary, error.position)
    syntax error at line 1, column 11 (1, 11)
    """

    def __init__(
        self,
        primary: str,
        detail: str | None = None,
        hint: str | None = None,
        position: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(primary, detail, hint, position)
        self.primary = primary
        self.detail = detail
        self.hint = hint
        self.position = position

    def __str__(self) -> str:
        lines = [self.primary]
        for name, part in (("detail", self.detail), ("hint", self.hint)):
            if part:
                indented = part.replace("\n", "\n          ")
                lines.append(f"  {name}: {indented}")
        return "\n".join(lines)


class InterfaceError(Error):
    """The package was used in a way that it cannot be: after a fork, or when it was closed."""


class DatabaseError(Error):
    """The engine reported an error."""


class DataError(DatabaseError):
    """A value or a file is wrong: an overflow, a cast, a corrupt page."""


class OperationalError(DatabaseError):
    """Something outside of the statement failed: a file, a drive, the memory limit."""


class Interrupted(OperationalError):
    """The query was cancelled."""


class IntegrityError(DatabaseError):
    """PEP 249 asks for it; the engine enforces no constraints."""


class InternalError(DatabaseError):
    """An invariant of the engine was broken, which is a defect."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: its syntax, a name, a type, a parameter, a setting."""


class NotSupportedError(DatabaseError):
    """The statement is SQL that this version does not run."""
