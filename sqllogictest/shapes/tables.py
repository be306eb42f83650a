# SPDX-License-Identifier: Apache-2.0
"""Tables of one kind of values each, and of one encoding, codec and page version each.

`t_KIND` has a kind's values in columns of every share of NULL. `e_ENCODING_CODEC_vN` have all the
same rows, so that a query has one result for all of them.
"""

from __future__ import annotations

import decimal
import itertools
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from values import Kind, draw, kinds

TYPE_ROWS = 480
TYPE_GROUP_ROWS = 120
GAP = range(240, 360)

ENCODING_ROWS = 400
ENCODING_GROUP_ROWS = 170
CODECS = ["none", "snappy", "lz4", "zstd", "gzip"]
PAGE_VERSIONS = {"v1": "1.0", "v2": "2.0"}

# Small, so that a column chunk of some hundred rows has several pages.
SMALL_PAGES = {"data_page_size": 256, "write_batch_size": 32}


@dataclass
class Table:
    """Rows of one file, and how they are written."""

    name: str
    rows: pa.Table
    group_rows: int
    options: dict[str, Any] = field(default_factory=dict)


def array(values: list[Any], arrow_type: pa.DataType) -> pa.Array:
    """Makes an array; timestamps and times are given as numbers of their unit."""
    if pa.types.is_timestamp(arrow_type) or pa.types.is_time(arrow_type):
        width = pa.int32() if arrow_type.bit_width == 32 else pa.int64()
        return pa.array(values, width).cast(arrow_type)
    return pa.array(values, arrow_type)


def type_table(kind: Kind) -> Table:
    """One kind: no nulls, few, half (a whole row group among them), nearly all, all."""
    random_values = draw(f"t_{kind.name}")
    numbers = range(TYPE_ROWS)

    def column(pool: list[Any], null_percent: int) -> list[Any]:
        chosen = [random_values.choice(pool) for _ in numbers]
        # The ends stand first in a pool: each of them is in a column without nulls.
        if null_percent == 0:
            chosen[: len(pool)] = pool[:TYPE_ROWS]
        is_null = [random_values.randrange(100) < null_percent for _ in numbers]
        return [None if null else value for null, value in zip(is_null, chosen, strict=True)]

    half = column(kind.many, 50)
    for row in GAP:
        half[row] = None
    every = column(kind.many, 0)
    for place, value in enumerate(kind.outside * 9):
        # Never without the largest value in its row group: statistics do not know of a NaN.
        every[place * 50 + 10] = value
        every[place * 50 + 9] = kind.many[0]
    columns = {
        "v": every,
        "few": column(kind.many, 6),
        "half": half,
        "most": column(kind.many, 95),
        "void": [None] * TYPE_ROWS,
        "pick": column(kind.few, 10),
    }
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("k", pa.int32())]
    fields += [pa.field(name, kind.arrow_type, nullable=name != "v") for name in columns]
    keys = [None if row % 29 == 0 else row * 7 % 5 for row in numbers]
    arrays = [pa.array(numbers, pa.int64()), pa.array(keys, pa.int32())]
    arrays += [array(values, kind.arrow_type) for values in columns.values()]
    options = {"compression": "snappy", "use_dictionary": ["k", "few", "pick", "most"]}
    return Table(
        f"t_{kind.name}",
        pa.Table.from_arrays(arrays, schema=pa.schema(fields)),
        TYPE_GROUP_ROWS,
        options | SMALL_PAGES | kind.options,
    )


def widths_table() -> Table:
    """A decimal of every precision that fits 64 bits, and some beyond."""
    random_values = draw("t_decimal_widths")
    fields = [pa.field("id", pa.int64(), nullable=False)]
    arrays = [pa.array(range(TYPE_ROWS), pa.int64())]
    for precision in [*range(1, 19), 19, 28, 38]:
        scale = precision // 3
        # Sums stay within 18 digits more than the type has: the ends come once.
        largest = 10**precision - 1
        near = 10 ** min(precision, 15) - 1
        values = [random_values.randint(-near, near) for _ in range(TYPE_ROWS)]
        values[7], values[300] = largest, -largest
        nulls = [random_values.randrange(7) == 0 for _ in values]
        wide = pa.decimal128(precision, scale)
        unscaled = [None if null else value for null, value in zip(nulls, values, strict=True)]
        arrays.append(decimal_array(unscaled, wide))
        fields.append(pa.field(f"d{precision}", wide))
    options = {"compression": "none", "store_decimal_as_integer": True} | SMALL_PAGES
    rows = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    return Table("t_decimal_widths", rows, TYPE_GROUP_ROWS, options)


def decimal_array(unscaled: list[int | None], arrow_type: pa.DataType) -> pa.Array:
    """Makes decimals from their digits, given without the point."""
    context = decimal.Context(prec=40)
    scale = -arrow_type.scale
    return pa.array(
        [None if it is None else decimal.Decimal(it).scaleb(scale, context) for it in unscaled],
        arrow_type,
    )


# ---------------------------------------------------------------------------------------------
# Encodings.

ENCODING_COLUMNS = {
    "i": "int32",
    "l": "int64",
    "u": "uint16",
    "f": "float",
    "d": "double",
    "day": "date",
    "t": "moment_us",
    "m": "decimal_int64",
    "b": "boolean",
    "s": "text",
}
INTEGER_COLUMNS = ["id", "i", "l", "u", "day", "t", "m"]
FLOAT_COLUMNS = ["f", "d"]

# A writer's options by the name of the encoding.
ENCODINGS: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False},
    "dictionary": {"use_dictionary": True},
    # The dictionary overflows within a chunk: the first pages have codes, the last ones values.
    "fallback": {"use_dictionary": True, "dictionary_pagesize_limit": 128},
    "delta": {
        "use_dictionary": False,
        "column_encoding": {
            **dict.fromkeys(INTEGER_COLUMNS, "DELTA_BINARY_PACKED"),
            "s": "DELTA_BYTE_ARRAY",
        },
    },
    "split": {
        "use_dictionary": False,
        "column_encoding": {
            **dict.fromkeys(INTEGER_COLUMNS + FLOAT_COLUMNS, "BYTE_STREAM_SPLIT"),
            "s": "DELTA_LENGTH_BYTE_ARRAY",
        },
    },
    "rle": {"use_dictionary": False, "column_encoding": {"b": "RLE"}},
}


def encoding_rows() -> pa.Table:
    """The rows of all tables `e_*`."""
    by_name = {kind.name: kind for kind in kinds()}
    random_values = draw("e")
    fields = [pa.field("id", pa.int64(), nullable=False)]
    arrays = [pa.array(range(ENCODING_ROWS), pa.int64())]
    for place, (name, kind_name) in enumerate(ENCODING_COLUMNS.items()):
        kind = by_name[kind_name]
        # In runs, so that there are runs to be packed: as long as 20 rows, as short as one.
        values: list[Any] = []
        while len(values) < ENCODING_ROWS:
            pool = kind.few if random_values.random() < 0.4 else kind.many
            value = None if random_values.randrange(8) == 0 else random_values.choice(pool)
            values += [value] * random_values.choice([1, 1, 1, 2, 3, 9, 20])
        values = values[:ENCODING_ROWS]
        is_required = place % 5 == 1
        if is_required:
            values = [kind.few[0] if value is None else value for value in values]
        arrays.append(array(values, kind.arrow_type))
        fields.append(pa.field(name, kind.arrow_type, nullable=not is_required))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def encoding_tables() -> list[Table]:
    rows = encoding_rows()
    made = []
    for encoding, codec, version in itertools.product(ENCODINGS, CODECS, PAGE_VERSIONS):
        options = ENCODINGS[encoding] | {
            "compression": codec,
            "data_page_version": PAGE_VERSIONS[version],
            "store_decimal_as_integer": True,
        }
        name = f"e_{encoding}_{codec}_{version}"
        made.append(Table(name, rows, ENCODING_GROUP_ROWS, options | SMALL_PAGES))
    return made


def type_tables() -> list[Table]:
    return [*(type_table(kind) for kind in kinds()), widths_table()]
