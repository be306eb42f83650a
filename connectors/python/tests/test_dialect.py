# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/sql.md says the truth about the extensions of SQL in other engines.

Each example of the table there runs in DuckDB and DataFusion too. Rows are compared without regard
to their order.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import datafusion
import duckdb
import pytest

import nearscan

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
TABLES = re.findall(r"^CREATE TABLE .*;$", PAGE, re.MULTILINE)
EXAMPLES = re.findall(r"^\| [^|`]+ \| `(.*)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)

Rows = list[tuple[str, ...]]


def sorted_rows(run: Callable[[], list[tuple[object, ...]]]) -> Rows | None:
    """Returns the rows as text, or nothing if the statement fails."""
    try:
        return sorted(tuple(str(value) for value in row) for row in run())
    except Exception:  # noqa: BLE001 - each engine has errors of its own
        return None


def in_nearscan(sql: str) -> list[tuple[object, ...]]:
    with nearscan.connect() as con:
        for table in TABLES:
            con.execute(table)
        return con.execute(sql).fetchall()


def in_duckdb(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as con:
        for table in TABLES:
            con.execute(table)
        return con.execute(sql).fetchall()


def in_datafusion(sql: str) -> list[tuple[object, ...]]:
    context = datafusion.SessionContext()
    for table in TABLES:
        context.sql(table.rstrip(";")).collect()
    batches = context.sql(sql).collect()
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def word(own: Rows | None, other: Rows | None, *, is_random: bool) -> str:
    """Returns what the table says about an engine that returns these rows."""
    if other is None:
        return "no"
    return "same rows" if own == other and not is_random else "other rows"


def test_page_has_examples_and_tables() -> None:
    assert len(TABLES) == 2
    assert len(EXAMPLES) >= 31


@pytest.mark.parametrize(("sql", "duck", "fusion"), EXAMPLES)
def test_page_says_what_other_engines_do(
    sql: str, duck: str, fusion: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows_of(run: Callable[[str], list[tuple[object, ...]]]) -> Rows | None:
        # Examples write files.
        folder = tmp_path / run.__name__
        folder.mkdir()
        monkeypatch.chdir(folder)
        return sorted_rows(lambda: run(sql))

    own = rows_of(in_nearscan)
    assert own is not None
    is_random = "SAMPLE" in sql and "count(*)" not in sql
    found = (
        word(own, rows_of(in_duckdb), is_random=is_random),
        word(own, rows_of(in_datafusion), is_random=is_random),
    )
    assert found == (duck, fusion)
