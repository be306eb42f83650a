# SPDX-License-Identifier: Apache-2.0
"""The same rows as DuckDB and Polars write them, in each of their codecs.

The names are `w_WRITER_CODEC`. What pyarrow writes is in the other tables.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
from tables import encoding_rows

DUCKDB_OPTIONS = {
    "raw": "COMPRESSION uncompressed, ROW_GROUP_SIZE 2048",
    "snappy": "COMPRESSION snappy, PARQUET_VERSION v1",
    "snappy_v2": "COMPRESSION snappy, PARQUET_VERSION v2",
    "lz4": "COMPRESSION lz4_raw, DICTIONARY_SIZE_LIMIT 1",
    "zstd": "COMPRESSION zstd, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1",
    "gzip": "COMPRESSION gzip",
}
POLARS_OPTIONS = {
    "raw": {"compression": "uncompressed", "row_group_size": 100},
    "snappy": {"compression": "snappy", "row_group_size": 170, "data_page_size": 500},
    "lz4": {"compression": "lz4", "statistics": False},
    "zstd": {"compression": "zstd", "statistics": "full"},
}


def rows() -> pa.Table:
    """Rows enough for a row group and a half of DuckDB, whose groups are multiples of 2,048.

    Without the ends of INT32: DuckDB 2.0 writes differences of 33 bits, which readers refuse.
    """
    once = encoding_rows()
    keys = pa.array(range(len(once) * 6), pa.int64())
    small = [None if i is None else i % 10**9 for i in once.column("i").to_pylist()]
    once = once.set_column(1, "i", pa.array(small, pa.int32()))
    return pa.concat_tables([once] * 6).set_column(0, "id", keys)


def write(folder: Path) -> None:
    table = rows()
    connection = duckdb.connect(config={"threads": 1})
    connection.register("source", table)
    for name, options in DUCKDB_OPTIONS.items():
        path = folder / f"w_duckdb_{name}.parquet"
        connection.execute(f"COPY source TO '{path}' (FORMAT parquet, {options})")
    frame = pl.from_arrow(table.slice(0, 600))
    for name, options in POLARS_OPTIONS.items():
        frame.write_parquet(folder / f"w_polars_{name}.parquet", **options)
