# SPDX-License-Identifier: Apache-2.0
"""Writes nullable copies of the TPC-H tables with writers that are not ours.

    python write.py SOURCE TARGET VARIANT

SOURCE holds the eight Parquet files of TPC-H, TARGET is a folder that does not exist yet. All
columns of a copy are nullable; there are about six row groups of lineitem at scale factor 0.01.

| variant | writer | rows of nulls | what is special |
|---|---|---|---|
| duckdb | DuckDB | no | Parquet version V1, its default |
| duckdb_gaps | DuckDB | yes | |
| duckdb_v2 | DuckDB | no | Parquet version V2: DELTA encodings |
| pyarrow | pyarrow | no | dictionaries, decimals as integers |
| pyarrow_gaps | pyarrow | yes | the same |
| pyarrow_plain | pyarrow | yes | no dictionaries, no compression |
| pyarrow_default | pyarrow | no | decimals as FIXED_LEN_BYTE_ARRAY, its default |
| pyarrow_pages_v2 | pyarrow | no | data pages V2 |

Rows of nulls are rows in which every column is NULL, one in eight, and a whole row group of them at
the end. They change no answer: each query drops them by a comparison or a join. The exception is
customer, whose outer join in query 13 would count them, so it never gets any.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
WITHOUT_GAPS = ["customer"]

# DuckDB writes row groups of whole vectors of 2,048 values.
ROWS_PER_GROUP = 5 * 2048
# One row in so many is NULL in every column.
GAP_EVERY = 8

# pyarrow stores decimals as FIXED_LEN_BYTE_ARRAY unless it is told not to.
INTEGERS = {"store_decimal_as_integer": True}
DUCKDB = {
    "duckdb": (False, "V1"),
    "duckdb_gaps": (True, "V1"),
    "duckdb_v2": (False, "V2"),
}
PYARROW = {
    "pyarrow": (False, {**INTEGERS}),
    "pyarrow_gaps": (True, {**INTEGERS}),
    "pyarrow_plain": (True, {**INTEGERS, "use_dictionary": False, "compression": "none"}),
    "pyarrow_default": (False, {}),
    "pyarrow_pages_v2": (False, {**INTEGERS, "data_page_version": "2.0"}),
}


def positions(count: int) -> list[int | None]:
    """Returns the rows of a table in order, with None for each row of nulls."""
    rows: list[int | None] = []
    for row in range(count):
        if len(rows) % GAP_EVERY == GAP_EVERY - 1:
            rows.append(None)
        rows.append(row)
    # Up to the end of the row group, and one more.
    rest = -len(rows) % ROWS_PER_GROUP
    return rows + [None] * (rest + ROWS_PER_GROUP)


def nullable(path: Path, *, gaps: bool) -> pa.Table:
    """Reads a table; all of its columns are nullable."""
    table = pq.read_table(path)
    # Views of strings are what our files ask a reader for; few functions of pyarrow take them.
    kinds = [pa.string() if pa.types.is_string_view(kind) else kind for kind in table.schema.types]
    table = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
    if not gaps or path.stem in WITHOUT_GAPS:
        return table
    return table.take(pa.array(positions(table.num_rows), pa.int64()))


def write_with_duckdb(table: pa.Table, target: Path, version: str) -> None:
    # DuckDB makes a column required if statistics say that it has no NULL.
    config = {"threads": 1, "disabled_optimizers": "statistics_propagation"}
    connection = duckdb.connect(config=config)
    connection.register("source", table)
    connection.execute(
        f"COPY (SELECT * FROM source) TO '{target}' (FORMAT parquet, COMPRESSION snappy, "
        f"ROW_GROUP_SIZE {ROWS_PER_GROUP}, PARQUET_VERSION {version})"
    )


def check(source: Path, target: Path) -> None:
    """Holds that a copy is what its name says."""
    footer = pq.read_metadata(target)
    for index in range(footer.num_columns):
        assert footer.schema.column(index).max_definition_level == 1, footer.schema.column(index)
    row_count = pq.read_metadata(source).num_rows
    assert footer.num_rows >= row_count, f"{target} has {footer.num_rows} rows"
    assert footer.num_row_groups >= row_count / ROWS_PER_GROUP, f"{target} has too few row groups"


def main() -> None:
    source, target, variant = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    target.mkdir(parents=True)
    for name in TABLES:
        original, copy = source / f"{name}.parquet", target / f"{name}.parquet"
        if variant in DUCKDB:
            gaps, version = DUCKDB[variant]
            write_with_duckdb(nullable(original, gaps=gaps), copy, version)
        else:
            gaps, options = PYARROW[variant]
            options = {"compression": "snappy", "row_group_size": ROWS_PER_GROUP, **options}
            pq.write_table(nullable(original, gaps=gaps), copy, **options)
        check(original, copy)


if __name__ == "__main__":
    main()
