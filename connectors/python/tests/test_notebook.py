# SPDX-License-Identifier: Apache-2.0
"""The magics of IPython."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from IPython.core.interactiveshell import InteractiveShell

import nearscan

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.extension_manager.load_extension("nearscan")
    yield shell
    InteractiveShell.clear_instance()


def test_line_returns_a_relation(shell: InteractiveShell) -> None:
    rows = shell.run_line_magic("sql", "SELECT 1 AS one")
    assert isinstance(rows, nearscan.Relation)
    assert rows.fetchall() == [(1,)]


def test_cell_keeps_its_rows_in_a_variable(shell: InteractiveShell) -> None:
    cell = "CREATE OR REPLACE TABLE t AS SELECT 5 AS a;\nSELECT a + 1 AS b FROM t;"
    assert shell.run_cell_magic("sql", "-o kept", cell) is None
    assert shell.user_ns["kept"].fetchall() == [(6,)]


def test_variables_are_parameters_and_tables(shell: InteractiveShell) -> None:
    shell.user_ns.update(least=2, frame=pl.DataFrame({"a": [1, 2, 3]}))
    cell = "SELECT a, '$least' AS text FROM frame WHERE a >= $least"
    rows = shell.run_cell_magic("sql", "", cell)
    assert rows.fetchall() == [(2, "$least"), (3, "$least")]


def test_connection_of_a_variable_is_used(shell: InteractiveShell) -> None:
    with nearscan.connect() as con, nearscan.connect() as other:
        con.sql("CREATE TABLE here AS SELECT 1 AS a")
        other.sql("CREATE TABLE there AS SELECT 2 AS a")
        shell.user_ns.update(con=con, other=other)
        assert shell.run_line_magic("sql", "SELECT * FROM here").fetchall() == [(1,)]
        rows = shell.run_cell_magic("sql", "--connect other", "SELECT * FROM there")
        assert rows.fetchall() == [(2,)]
        with pytest.raises(nearscan.ProgrammingError, match="is no connection"):
            shell.run_cell_magic("sql", "--connect nothing", "SELECT 1")
        del shell.user_ns["con"]


def test_unknown_option_is_an_error(shell: InteractiveShell) -> None:
    with pytest.raises(nearscan.ProgrammingError, match="unknown option '--nope'"):
        shell.run_cell_magic("sql", "--nope x", "SELECT 1")
