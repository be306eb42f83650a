# SPDX-License-Identifier: Apache-2.0
"""Python functions in SQL."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import nearscan

if TYPE_CHECKING:
    from pathlib import Path


def test_function_has_the_types_of_its_annotations(con: nearscan.Connection, numbers: Path) -> None:
    def shifted(number: int, by: float) -> float:
        return pc.add(pc.cast(number, "double"), by)  # type: ignore[no-any-return, call-overload]

    con.create_function("shifted", shifted)
    rows = con.sql(f"SELECT max(shifted(n, 0.5)) FROM '{numbers}'")
    assert rows.fetchone() == (99_999.5,)
    assert rows.dtypes == ["Float64"]


def test_function_takes_types_of_pyarrow(con: nearscan.Connection) -> None:
    day = datetime.timedelta(days=1)

    def next_days(days: pa.Array) -> list[datetime.date | None]:
        return [it.as_py() + day if it.is_valid else None for it in days]

    con.create_function("next_day", next_days, [pa.date32()], pa.date32())
    rows = con.sql("SELECT next_day(d) FROM (VALUES (DATE '2026-01-31'), (NULL)) AS t (d)")
    assert rows.fetchall() == [(datetime.date(2026, 2, 1),), (None,)]


def test_function_without_arguments_is_called_for_each_batch(con: nearscan.Connection) -> None:
    con.create_function("one", lambda: pa.scalar(1), [], int, volatile=True)
    assert con.sql("SELECT sum(one()) FROM range(20000)").fetchone() == (20_000,)


def test_what_a_function_raises_is_the_error_of_the_query(con: nearscan.Connection) -> None:
    def broken(number: int) -> int:
        raise ValueError(f"no luck with {len(number)} rows")  # type: ignore[arg-type]

    con.create_function("broken", broken)
    with pytest.raises(nearscan.DataError, match="no luck with 3 rows"):
        con.sql("SELECT broken(value) FROM range(3)").fetchall()


def test_result_of_another_length_is_an_error(con: nearscan.Connection) -> None:
    con.create_function("short", lambda number: number[:1], [int], int)
    with pytest.raises(nearscan.DataError, match="returned 1 rows for 3"):
        con.sql("SELECT short(value) FROM range(3)").fetchall()


def test_missing_type_is_an_error(con: nearscan.Connection) -> None:
    with pytest.raises(nearscan.ProgrammingError, match="missing or unknown"):
        con.create_function("f", lambda number: number)


def test_function_cannot_run_a_query(con: nearscan.Connection) -> None:
    con.create_function("f", lambda it: con.sql("SELECT 1").fetchall(), [int], int)
    with pytest.raises(nearscan.DataError, match="cannot run queries"):
        con.sql("SELECT f(value) FROM range(3)").fetchall()
