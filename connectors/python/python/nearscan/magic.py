# SPDX-License-Identifier: Apache-2.0
"""``%sql`` and ``%%sql`` for notebooks.

``%sql SELECT ...`` returns a relation. ``%%sql -o NAME`` keeps it in a variable, ``%%sql --connect
NAME`` uses a connection in a variable. Parameters ``$name`` have the values of variables, and names
in FROM that are no tables may be variables.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from .connection import Connection, connect
from .errors import ProgrammingError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .relation import Relation

_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)")
_STRINGS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def load(shell: InteractiveShell) -> None:
    """Adds the magics to a shell of IPython."""
    untyped: Any = shell
    untyped.register_magic_function(_Magics(untyped).run, "line_cell", "sql")


class _Magics:
    def __init__(self, shell: Any) -> None:  # noqa: ANN401 - IPython has few types
        self._shell = shell
        self._connection: Connection | None = None

    def run(self, line: str, cell: str | None = None) -> Relation | None:
        """Runs the statements of a line or a cell, and returns the rows of the last one."""
        if cell is None:
            return self._run_all(self._default(), line)
        options = self._options(line)
        relation = self._run_all(self._chosen(options.get("connect")), cell)
        name = options.get("output")
        if name is None:
            return relation
        self._shell.push({name: relation})
        return None

    def _options(self, line: str) -> dict[str, str]:
        names = {"-o": "output", "--output": "output", "-c": "connect", "--connect": "connect"}
        words = iter(shlex.split(line))
        options: dict[str, str] = {}
        for word in words:
            value = next(words, None)
            if word not in names or value is None:
                raise ProgrammingError(
                    f"unknown option '{word}'", None, "%%sql [-o NAME] [--connect NAME]"
                )
            options[names[word]] = value
        return options

    def _chosen(self, name: str | None) -> Connection:
        if name is None:
            return self._default()
        chosen = self._variables().get(name)
        if not isinstance(chosen, Connection):
            raise ProgrammingError(f"'{name}' is no connection", None, "con = nearscan.connect()")
        return chosen

    def _default(self) -> Connection:
        """The connection in the variable ``con``, or one of the magics' own."""
        con = self._variables().get("con")
        if isinstance(con, Connection):
            return con
        if self._connection is None:
            self._connection = connect()
        return self._connection

    def _run_all(self, connection: Connection, text: str) -> Relation | None:
        relation = None
        for statement in connection.engine.statements(text):
            relation = connection.sql_with(statement, self._values(statement), self._variables())
        return relation

    def _values(self, statement: str) -> dict[str, object] | None:
        names = set(_PARAMETER.findall(_STRINGS.sub(" ", statement)))
        variables = self._variables()
        values = {name: variables[name] for name in names if name in variables}
        return values or None

    def _variables(self) -> dict[str, Any]:
        variables: dict[str, Any] = self._shell.user_ns
        return variables
