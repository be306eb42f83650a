# SPDX-License-Identifier: Apache-2.0
"""Data of Python as tables: registered, captured, without a copy."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nearscan

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
ROWS = [(1, "x"), (2, None), (3, "z")]


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
        TABLE.to_pandas(),
        pl.DataFrame(TABLE),
        pl.DataFrame(TABLE).lazy(),
        TABLE.to_pylist(),
        TABLE.to_batches()[0].to_struct_array(),
    ],
    ids=lambda data: type(data).__module__.partition(".")[0] + "." + type(data).__name__,
)
def test_every_holder_of_data_is_a_table(con: nearscan.Connection, data: object) -> None:
    con.register("t", data)
    assert con.sql("SELECT * FROM t ORDER BY a").fetchall() == ROWS
    assert con.tables() == ["t"]
    con.unregister("t")
    assert con.tables() == []


def test_paths_folders_and_patterns_are_tables(
    con: nearscan.Connection, numbers: Path
) -> None:
    for name, location in [
        ("file", numbers),
        ("text", str(numbers)),
        ("folder", numbers.parent),
        ("pattern", f"{numbers.parent}/*.parquet"),
    ]:
        con.register(name, location)
        assert con.table(name).aggregate("count(*)").fetchone() == (100_000,)


def test_variables_of_the_caller_are_tables(con: nearscan.Connection) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    assert con.sql("SELECT sum(a) FROM frame").fetchone() == (3,)
    assert con.sql("SELECT sum(a) FROM TABLE_OF_MODULE").fetchone() == (6,)
    relation = con.sql("SELECT a + 1 AS b FROM frame")
    assert con.sql("SELECT max(b) FROM relation").fetchone() == (3,)
    with pytest.raises(nearscan.ProgrammingError, match="'unknown' not found"):
        con.sql("SELECT * FROM unknown")
    assert frame.shape == (2, 1)


table_of_module = TABLE


def test_variable_never_hides_a_table(con: nearscan.Connection) -> None:
    con.sql("CREATE TABLE data AS SELECT 10 AS a")
    data = pl.DataFrame({"a": [1]})
    assert con.sql("SELECT a FROM data").fetchone() == (10,)
    assert data.shape == (1, 1)


def test_variable_is_captured_when_the_statement_is_planned(con: nearscan.Connection) -> None:
    frame = pl.DataFrame({"a": [1]})
    rows = con.sql("SELECT a FROM frame")
    frame = pl.DataFrame({"a": [2]})
    assert rows.fetchone() == (1,)
    assert con.sql("SELECT a FROM frame").fetchone() == (2,)
    assert con.tables() == []
    assert frame.shape == (1, 1)


def test_table_can_be_made_of_a_variable(con: nearscan.Connection) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    con.sql("CREATE TABLE kept AS SELECT a * 10 AS b FROM frame")
    con.sql("INSERT INTO kept SELECT a FROM frame")
    assert sorted(con.table("kept").fetchall()) == [(1,), (2,), (10,), (20,)]
    assert frame.shape == (2, 1)


def test_table_may_have_the_name_of_the_variable_that_it_is_made_of(
    con: nearscan.Connection,
) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    con.sql("CREATE TABLE frame AS SELECT a * 10 AS a FROM frame")
    assert con.table("frame").aggregate("sum(a)").fetchone() == (30,)
    assert frame.shape == (2, 1)


def test_capture_can_be_turned_off() -> None:
    frame = pl.DataFrame({"a": [1]})
    with nearscan.connect(capture=False) as con, pytest.raises(nearscan.ProgrammingError):
        con.sql("SELECT * FROM frame")
    assert frame.shape == (1, 1)


@pytest.mark.parametrize("data", [5, "SELECT", object(), {"a": 1}, [1, 2]])
def test_what_is_no_data_is_an_error(con: nearscan.Connection, data: Any) -> None:  # noqa: ANN401
    with pytest.raises(nearscan.Error):
        con.from_data(data).fetchall()


def addresses(array: pa.ChunkedArray) -> list[int]:
    """Where the values of an array of numbers are."""
    buffers = [(chunk.buffers()[1], chunk.offset) for chunk in array.chunks]
    return [buffer.address + 8 * offset for buffer, offset in buffers if buffer is not None]


def test_numbers_are_not_copied_on_their_way_in_and_out(con: nearscan.Connection) -> None:
    data = pa.table({"a": np.arange(50_000)})
    (start,) = addresses(data["a"])
    out = con.sql("SELECT a FROM data").arrow()
    assert sorted(out["a"].to_pylist()) == data["a"].to_pylist()
    places = [start + 8 * row for row in range(0, 50_000, 8192)]
    assert sorted(addresses(out["a"])) == places
    polars = con.sql("SELECT a FROM data").pl()
    chunks = [chunk.to_arrow() for chunk in polars["a"].get_chunks()]
    assert sorted(addresses(pa.chunked_array(chunks))) == places


def test_data_lives_as_long_as_a_statement_over_it(con: nearscan.Connection) -> None:
    rows = con.from_data(pa.table({"a": np.arange(100_000)}))
    gc.collect()
    assert rows.aggregate("sum(a)").fetchone() == (4_999_950_000,)


def test_data_may_be_released_on_any_thread() -> None:
    def use() -> None:
        with nearscan.connect(threads=2) as con:
            rows = con.from_data(pl.DataFrame({"a": range(50_000)})).filter("a % 2 = 0")
            assert len(rows) == 25_000

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_pandas_objects_and_numpy_types_come_through(con: nearscan.Connection) -> None:
    frame = pd.DataFrame({"t": pd.to_datetime(["2026-01-02"]), "o": ["a"], "f": [np.float32(0.5)]})
    ((time, text, number),) = con.from_data(frame).fetchall()
    assert (time.isoformat(), text, number) == ("2026-01-02T00:00:00", "a", 0.5)
