# SPDX-License-Identifier: Apache-2.0
"""Writes the files that the target `files` damages: small ones, by three writers.

    python write.py FOLDER NEARSCAN

NEARSCAN is the program `nearscan`, which writes `ours.parquet`. All files have the same columns, so
one set of queries fits them all. DuckDB writes no row group of fewer than 2048 rows.
"""

import datetime
import decimal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 80


def rows(count: int) -> pa.Table:
    numbers = range(count)
    every = lambda step, value: [None if n % step == 0 else value(n) for n in numbers]
    day = datetime.date(1994, 1, 1)
    return pa.table(
        {
            "k": pa.array(numbers, pa.int64()),
            "v": pa.array(every(7, lambda n: n * 37 % 11), pa.int32()),
            "s": pa.array(every(5, lambda n: f"s{n % 6}"), pa.string()),
            "x": pa.array((n % 16 / 8 for n in numbers), pa.float64()),
            "d": pa.array(every(9, lambda n: decimal.Decimal(n % 20) / 4), pa.decimal128(12, 2)),
            "e": pa.array((day + datetime.timedelta(n % 16) for n in numbers), pa.date32()),
            "b": pa.array(every(4, lambda n: n % 3 == 0), pa.bool_()),
        },
        schema=pa.schema(
            [
                pa.field("k", pa.int64(), nullable=False),
                ("v", pa.int32()),
                ("s", pa.string()),
                ("x", pa.float64()),
                ("d", pa.decimal128(12, 2)),
                ("e", pa.date32()),
                ("b", pa.bool_()),
            ]
        ),
    )


def main(folder: Path, nearscan: str) -> None:
    few = rows(ROWS)
    pq.write_table(few, folder / "pyarrow.parquet", row_group_size=ROWS // 2, compression="snappy")
    # Second version of pages, other encodings, two pages a chunk, indexes and checksums.
    pq.write_table(
        few,
        folder / "pyarrow_v2.parquet",
        row_group_size=ROWS // 2,
        compression="zstd",
        data_page_version="2.0",
        version="2.6",
        use_dictionary=["s"],
        column_encoding={
            "k": "DELTA_BINARY_PACKED",
            "v": "DELTA_BINARY_PACKED",
            "x": "BYTE_STREAM_SPLIT",
            "e": "PLAIN",
            "b": "RLE",
        },
        write_batch_size=10,
        data_page_size=16,
        write_page_index=True,
        write_page_checksum=True,
    )
    many = rows(2 * 2048)  # DuckDB finds it by its name.
    duckdb.sql(
        f"COPY many TO '{folder}/duckdb.parquet' (ROW_GROUP_SIZE 2048, COMPRESSION zstd)"
    )
    source = folder / "pyarrow.parquet"
    options = (
        "'format.max_row_group_size' '40', 'format.data_page_row_count_limit' '20',"
        "'format.write_batch_size' '20', 'format.compression' 'lz4_raw'"
    )
    copy = f"COPY (SELECT * FROM '{source}') TO '{folder}/ours.parquet' OPTIONS ({options})"
    subprocess.run([nearscan, "-c", copy], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
