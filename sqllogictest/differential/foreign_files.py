# SPDX-License-Identifier: Apache-2.0
"""Makes files with random contents and random options of pyarrow, DuckDB and Polars.

A file has a key `id` and up to eight columns. A column has a type, a profile of its values and a
profile of its NULLs; a writer has options that change how values lie in the file and none of them.
File n depends on the seed and n only.

Left out, for no fault of a file: NaN, which statistics do not know of, so that readers that trust
them differ; and differences of 33 bits in a column of INT32, which DuckDB 2.0 writes and no other
reader takes, so that its integers stay within 30 bits.
"""

from __future__ import annotations

import datetime
import decimal
import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

WRITERS = ["pyarrow", "pyarrow", "duckdb", "polars"]
COLUMNS_MAX = 8
EPOCH = datetime.datetime(1970, 1, 1)
FIRST_DAY = datetime.date(1970, 1, 1)
DIGITS = decimal.Context(prec=40)
PARTS = ["", "a", "b", "ab", "Zeile", "ß", "日本", "🌊", "%", "_", " ", "0"]
PROFILES = ["constant", "few", "few", "some", "many", "many", "runs", "sorted", "ends"]
NULL_PERCENT = [0, 0, 3, 10, 50, 50, 95, 100]

INTEGERS = {
    **{f"int{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
}
MOMENTS = {f"moment_{unit}": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")}
KINDS = [
    *(*INTEGERS, "int32", "int64", *MOMENTS, "moment_us", "zoned", "clock", "boolean", "boolean"),
    *("float", "double", "double", "decimal", "decimal", "decimal", "date", "date"),
    *("text", "text", "text", "large_text", "bytes", "fixed"),
]
# The first of each is Parquet's own choice.
ENCODINGS = {
    "integer": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "float": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "boolean": ["PLAIN", "RLE"],
    "bytes": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "fixed": ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"],
}


@dataclass
class Column:
    """A column, and the values that it may hold in ascending order."""

    name: str
    kind: str
    arrow_type: pa.DataType
    profile: str
    null_percent: int
    values: list[Any] = field(default_factory=list)

    @property
    def is_summed(self) -> bool:
        """Whether its sum is exact, and far from the ends of its type."""
        is_number = self.kind in INTEGERS or self.kind in ("float", "double", "decimal")
        return is_number and self.profile != "ends"

    @property
    def has_few(self) -> bool:
        return len(self.values) <= 12

    @property
    def has_infinity(self) -> bool:
        return any(isinstance(value, float) and math.isinf(value) for value in self.values)


@dataclass
class File:
    """A file that is written, and how."""

    name: str
    writer: str
    row_count: int
    columns: list[Column]
    options: dict[str, Any]
    # What was given to the writer.
    rows: pa.Table

    @property
    def about(self) -> str:
        kinds = ", ".join(
            f"{each.name} {each.arrow_type} {each.profile} {each.null_percent}%"
            for each in self.columns
        )
        return f"{self.writer} {self.options}, {self.row_count} rows: {kinds}"


# ---------------------------------------------------------------------------------------------
# Values.


def arrow_type(kind: str, draw: random.Random) -> pa.DataType:
    if kind == "decimal":
        precision = draw.choice([1, 4, 9, 10, 15, 18, 19, 30, 38])
        return pa.decimal128(precision, draw.randint(0, min(precision, 6)))
    others = {
        **{"zoned": pa.timestamp("us", "UTC"), "clock": pa.time64("us"), "boolean": pa.bool_()},
        **{"float": pa.float32(), "double": pa.float64(), "date": pa.date32()},
        **{"text": pa.string(), "large_text": pa.large_string(), "bytes": pa.binary()},
        "fixed": pa.binary(draw.choice([1, 4, 8, 16, 20])),
    }
    return (INTEGERS | MOMENTS | others)[kind]


def ends(column: Column, writer: str) -> list[Any]:
    """The ends of a type, as far as two engines agree on them."""
    kind = column.kind
    if kind in INTEGERS:
        bits = column.arrow_type.bit_width
        bits = min(bits, 30) if writer == "duckdb" else bits
        is_signed = not kind.startswith("u")
        low = -(2 ** (bits - 1)) if is_signed else 0
        high = 2 ** (bits - 1) - 1 if is_signed else 2**bits - 1
        # Keys beyond 63 bits are no integers of the test's own texts.
        return [low, low + 1, min(high, 2**63 - 1), 0]
    if kind == "float":
        return [float("inf"), float("-inf"), 2.0**100, -(2.0**-100), 1.5]
    if kind == "double":
        return [float("inf"), float("-inf"), 1e300, -1e-300, 1.5]
    if kind == "decimal":
        largest = 10**column.arrow_type.precision - 1
        return [scaled(value, column) for value in (largest, -largest, 0, 1)]
    if kind == "date":
        return [datetime.date.min, datetime.date.max, FIRST_DAY]
    if kind in ("text", "large_text"):
        return ["", "x" * 300, "\x01", "日" * 40, "~"]
    if kind == "bytes":
        return [b"", b"\xff" * 70, b"\x00", b"\x7f\x80"]
    return []


def scaled(value: int, column: Column) -> decimal.Decimal:
    return decimal.Decimal(value).scaleb(-column.arrow_type.scale, DIGITS)


def value(column: Column, draw: random.Random) -> Any:
    """A value from the middle of a type."""
    kind = column.kind
    if kind in INTEGERS:
        width = min(column.arrow_type.bit_width - 1, 30)
        low = 0 if kind.startswith("u") else -(2**width) // 4
        return draw.randint(low, 2**width // 4)
    if kind in ("float", "double"):
        return (2 * draw.randint(-4000, 4000) + 1) / 4
    if kind == "decimal":
        digits = max(1, min(column.arrow_type.precision - 1, 12))
        return scaled(draw.randint(-(10**digits) + 1, 10**digits - 1), column)
    if kind == "boolean":
        return draw.random() < 0.5
    if kind == "date":
        return FIRST_DAY + datetime.timedelta(days=draw.randrange(-5000, 20000))
    if kind in MOMENTS or kind == "zoned":
        step = {"moment_s": 10**6, "moment_ms": 1000}.get(kind, 1)
        microseconds = draw.randrange(-(10**14), 10**15) // step * step
        return EPOCH + datetime.timedelta(microseconds=microseconds)
    if kind == "clock":
        moment = EPOCH + datetime.timedelta(microseconds=draw.randrange(86_400 * 10**6))
        return moment.time()
    if kind == "bytes":
        return draw.randbytes(draw.randrange(10))
    if kind == "fixed":
        return draw.randbytes(column.arrow_type.byte_width)
    return "".join(draw.choices(PARTS, k=draw.randint(0, 6)))


def column(name: str, writer: str, draw: random.Random) -> Column:
    kind = draw.choice(KINDS)
    while writer == "polars" and kind in ("clock", "fixed", "moment_s"):
        # It has no such type, or one of another unit.
        kind = draw.choice(KINDS)
    profile, null_percent = draw.choice(PROFILES), draw.choice(NULL_PERCENT)
    made = Column(name, kind, arrow_type(kind, draw), profile, null_percent)
    counts = {"constant": 1, "few": draw.randint(2, 9), "some": 60}
    pool = {value(made, draw) for _ in range(counts.get(profile, 2000))}
    if profile == "ends":
        pool = {value(made, draw) for _ in range(6)} | set(ends(made, writer))
    made.values = sorted(pool)
    return made


def cells(made: Column, row_count: int, draw: random.Random) -> list[Any]:
    """The cells of a column."""
    chosen: list[Any] = []
    while len(chosen) < row_count:
        repeats = draw.choice([1, 1, 8, 9, 40]) if made.profile == "runs" else 1
        chosen += [draw.choice(made.values)] * repeats
    chosen = chosen[:row_count]
    if made.profile == "sorted":
        chosen.sort()
    if made.profile == "runs" and made.null_percent == 50:
        # NULLs in long runs, so that whole pages and row groups have no value.
        return [None if row // 70 % 2 else cell for row, cell in enumerate(chosen)]
    is_null = [draw.randrange(100) < made.null_percent for _ in chosen]
    return [None if null else cell for null, cell in zip(is_null, chosen, strict=True)]


# ---------------------------------------------------------------------------------------------
# Writers.


def encoding(made: Column, draw: random.Random, *, decimals_are_integers: bool) -> str:
    kind = made.kind
    if kind == "decimal":
        is_integer = decimals_are_integers and made.arrow_type.precision <= 18
        return draw.choice(ENCODINGS["integer" if is_integer else "fixed"])
    if kind in ("text", "large_text", "bytes"):
        return draw.choice(ENCODINGS["bytes"])
    if kind in ("float", "double"):
        return draw.choice(ENCODINGS["float"])
    return draw.choice(ENCODINGS.get(kind, ENCODINGS["integer"]))


def pyarrow_options(columns: list[Column], row_count: int, draw: random.Random) -> dict[str, Any]:
    names = [each.name for each in columns]
    with_dictionary = draw.choice(
        [[], names, names, draw.sample(names, draw.randrange(len(names)))]
    )
    options: dict[str, Any] = {
        "compression": draw.choice(["none", "snappy", "lz4", "zstd", "gzip", "brotli"]),
        "use_dictionary": with_dictionary,
        "data_page_version": draw.choice(["1.0", "2.0"]),
        "data_page_size": draw.choice([64, 512, 4096, 2**20]),
        "write_batch_size": draw.choice([1, 16, 100, 1024]),
        "row_group_size": draw.choice([1, 17, 100, 500, 2**20]) if row_count < 200 else 300,
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
    for each in columns:
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


def write(folder: Path, seed: int, number: int) -> File:
    """Writes file `number` into `folder`."""
    draw = random.Random(f"foreign/{seed}/{number}")
    writer = draw.choice(WRITERS)
    row_count = draw.choice([0, 1, 2, 60, 150, 400, 400, 1000, 2500])
    names = [f"c{index}" for index in range(draw.randint(1, COLUMNS_MAX))]
    columns = [column(name, writer, draw) for name in names]
    fields = [pa.field("id", pa.int64(), nullable=False)]
    fields += [pa.field(it.name, it.arrow_type, nullable=it.null_percent > 0) for it in columns]
    arrays = [pa.array(range(row_count), pa.int64())]
    arrays += [pa.array(cells(each, row_count, draw), each.arrow_type) for each in columns]
    for index, each in enumerate(columns, start=1):
        has_nulls = arrays[index].null_count > 0
        fields[index] = fields[index].with_nullable(has_nulls or each.null_percent > 0)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    name = f"file_{number:05}"
    path = folder / f"{name}.parquet"
    if writer == "pyarrow":
        options = pyarrow_options(columns, row_count, draw)
        pq.write_table(table, path, **options)
    elif writer == "duckdb":
        options = duckdb_options(draw)
        words = ", ".join(f"{key} {setting}" for key, setting in options.items())
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("source", table)
            connection.execute(f"COPY source TO '{path}' (FORMAT parquet, {words})")
    else:
        options = polars_options(draw)
        pl.from_arrow(table).write_parquet(path, **options)
    return File(name, writer, row_count, columns, options, table)
