# SPDX-License-Identifier: Apache-2.0
"""Files that pyarrow, DuckDB and Polars write with random options.

A file has a key `id`, a key `k` of few values that other files have too, and up to seven columns. A
writer has options that change how values are laid out in the file and none of them.

Left out, for no fault of a file: differences of 33 bits in a column of INT32, which DuckDB 2.0
writes and no other reader takes, so that its integers stay within 30 bits; and the types that a
writer does not have.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import columns
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from columns import FLOATS, INTEGERS, MOMENTS, TEXTS, Column

WRITERS = ["pyarrow", "pyarrow", "duckdb", "polars"]
COLUMNS_MAX = 7
ROW_COUNTS = [0, 1, 2, 60, 150, 400, 400, 1000, 2500, 6000]
SHARED_KEYS = 25

# The first of each is Parquet's own choice.
ENCODINGS = {
    "integer": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "float": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "boolean": ["PLAIN", "RLE"],
    "bytes": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "fixed": ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"],
}


@dataclass
class Table:
    """What is in a file, and how it is written."""

    name: str
    writer: str
    columns: list[Column]
    options: dict[str, Any]
    # What is given to the writer.
    rows: pa.Table

    @property
    def about(self) -> str:
        kinds = ", ".join(
            f"{each.name} {each.arrow_type} {each.profile} {each.null_percent}%"
            for each in self.columns
        )
        return f"{self.writer} {self.options}, {self.rows.num_rows} rows: {kinds}"

    def kept(self, ranges: Sequence[tuple[int, int]], names: Sequence[str]) -> Table:
        """The same with some of the rows and columns."""
        parts = [self.rows.slice(first, end - first) for first, end in ranges]
        rows = pa.concat_tables(parts) if parts else self.rows.slice(0, 0)
        chosen = [each for each in self.columns if each.name in names]
        return Table(self.name, self.writer, chosen, self.options, rows.select(list(names)))


def keys() -> list[Column]:
    """The columns that every file has beside its own."""
    unique = Column("id", "int64", pa.int64(), "sorted", 0)
    shared = Column("k", "int32", pa.int32(), "some", 10, list(range(SHARED_KEYS)))
    return [unique, shared]


def draw_writer(draw: random.Random) -> str:
    return draw.choice(WRITERS)


def draw_columns(writer: str, draw: random.Random) -> list[Column]:
    """The columns of a new table that `writer` can write."""
    has_not = ("clock", "fixed", "moment_s") if writer == "polars" else ()
    kinds = [kind for kind in columns.KINDS if kind not in has_not]
    made = []
    for index in range(draw.randint(1, COLUMNS_MAX)):
        column = columns.column(f"c{index}", draw, kinds)
        if writer == "duckdb" and column.kind in INTEGERS:
            column.values = sorted({max(-(2**29), min(it, 2**29)) for it in column.values})
        made.append(column)
    return made


def fill(name: str, writer: str, made: list[Column], draw: random.Random) -> Table:
    """A table of these columns with its own rows."""
    row_count = draw.choice(ROW_COUNTS)
    unique, shared = keys()
    every = [unique, shared, *made]
    contents = [list(range(row_count)), *(columns.cells(it, row_count, draw) for it in every[1:])]
    unique.values = list(range(max(row_count, 1)))
    arrays = [pa.array(cells, it.arrow_type) for it, cells in zip(every, contents, strict=True)]
    fields = [
        pa.field(it.name, it.arrow_type, nullable=array.null_count > 0 or it.null_percent > 0)
        for it, array in zip(every, arrays, strict=True)
    ]
    rows = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    if writer == "pyarrow":
        options = pyarrow_options(every, row_count, draw)
    else:
        options = duckdb_options(draw) if writer == "duckdb" else polars_options(draw)
    return Table(name, writer, every, options, rows)


def together(name: str, tables: list[Table]) -> Table:
    """A table of the rows of several that have the same columns, in a folder of their files."""
    first = tables[0]
    schema = pa.schema([field.with_nullable(True) for field in first.rows.schema])
    rows = pa.concat_tables([table.rows.cast(schema) for table in tables])
    return Table(name, "several", first.columns, {}, rows)


def encoding(made: Column, draw: random.Random, *, decimals_are_integers: bool) -> str:
    kind = made.kind
    if kind == "decimal":
        is_integer = decimals_are_integers and made.arrow_type.precision <= 18
        return draw.choice(ENCODINGS["integer" if is_integer else "fixed"])
    if kind in (*TEXTS, "bytes"):
        return draw.choice(ENCODINGS["bytes"])
    if kind in FLOATS:
        return draw.choice(ENCODINGS["float"])
    return draw.choice(ENCODINGS.get(kind, ENCODINGS["integer"]))


def pyarrow_options(made: list[Column], row_count: int, draw: random.Random) -> dict[str, Any]:
    names = [each.name for each in made]
    with_dictionary = draw.choice(
        [[], names, names, draw.sample(names, draw.randrange(len(names)))]
    )
    options: dict[str, Any] = {
        "compression": draw.choice(["none", "snappy", "lz4", "zstd", "gzip", "brotli"]),
        "use_dictionary": with_dictionary,
        "data_page_version": draw.choice(["1.0", "2.0"]),
        "data_page_size": draw.choice([64, 512, 4096, 2**20]),
        "write_batch_size": draw.choice([1, 16, 100, 1024]),
        "row_group_size": draw.choice([1, 17, 100, 500, 2**20]) if row_count < 200 else 700,
        "dictionary_pagesize_limit": draw.choice([64, 1024, 2**20]),
        "write_statistics": draw.choice([True, True, False, names[:1]]),
        "write_page_index": draw.random() < 0.4,
        "write_page_checksum": draw.random() < 0.3,
        "store_schema": draw.random() < 0.7,
        "store_decimal_as_integer": draw.random() < 0.6,
        "version": draw.choice(["2.4", "2.6", "2.6"]),
    }
    if draw.random() < 0.15:
        options["use_deprecated_int96_timestamps"] = True
    as_integers = options["store_decimal_as_integer"]
    is_int96 = options.get("use_deprecated_int96_timestamps", False)
    chosen = {}
    for each in made:
        has_time = each.kind in MOMENTS or each.kind == "zoned"
        if each.name not in with_dictionary and not (is_int96 and has_time):
            chosen[each.name] = encoding(each, draw, decimals_are_integers=as_integers)
    if chosen:
        options["column_encoding"] = chosen
    if draw.random() < 0.3:
        options["sorting_columns"] = [pq.SortingColumn(0)]
    return options


def duckdb_options(draw: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "COMPRESSION": draw.choice(["uncompressed", "snappy", "lz4_raw", "zstd", "gzip", "brotli"]),
        "ROW_GROUP_SIZE": draw.choice([2048, 4096, 122_880]),
        "PARQUET_VERSION": draw.choice(["v1", "v2"]),
        "WRITE_BLOOM_FILTER": draw.choice(["true", "false"]),
    }
    if draw.random() < 0.5:
        options["DICTIONARY_SIZE_LIMIT"] = draw.choice([1, 20, 1000])
    if draw.random() < 0.3:
        options["STRING_DICTIONARY_PAGE_SIZE_LIMIT"] = 200
    return options


def polars_options(draw: random.Random) -> dict[str, Any]:
    return {
        "compression": draw.choice(["uncompressed", "snappy", "lz4", "zstd", "gzip", "brotli"]),
        "row_group_size": draw.choice([None, 50, 333, 1000]),
        "data_page_size": draw.choice([None, 128, 4096]),
        "statistics": draw.choice([True, False, "full"]),
    }


def write(table: Table, path: Path) -> None:
    """Writes the file of a table."""
    if table.writer == "pyarrow":
        names = set(table.rows.column_names)
        pq.write_table(table.rows, path, **options_for(table.options, names))
    elif table.writer == "duckdb":
        words = ", ".join(f"{key} {setting}" for key, setting in table.options.items())
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("source", table.rows)
            connection.execute(f"COPY source TO '{path}' (FORMAT parquet, {words})")
    else:
        pl.from_arrow(table.rows).write_parquet(path, **table.options)


def options_for(options: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Options of pyarrow without the columns that a table does not have (any more)."""
    kept = dict(options)
    for key in ("use_dictionary", "write_statistics"):
        if isinstance(kept[key], list):
            kept[key] = [name for name in kept[key] if name in names]
    if "column_encoding" in kept:
        chosen = kept.pop("column_encoding")
        chosen = {name: encoding for name, encoding in chosen.items() if name in names}
        kept |= {"column_encoding": chosen} if chosen else {}
    if "id" not in names:
        kept.pop("sorting_columns", None)
    return kept
