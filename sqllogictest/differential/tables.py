# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of the differential test: five layouts of a Parquet file, filled by a seed.

Every table has a required key `id` and, for each kind of column, one with few values, one with some
and one with many. Their shares of NULL are 0, 10, 50 and 100 %, dealt out so that no table has more
than three columns without any value.
"""

from __future__ import annotations

import datetime
import decimal
import random
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

KINDS = ["int", "bigint", "date", "decimal", "text"]
# Dealt out one after the other, in another place for each table.
NULL_PERCENT = [10, 0, 50, 10, 0, 50, 100]
FIRST_DAY = datetime.date(1992, 1, 1)

# Small values, so that sums and products seldom leave their type: DuckDB fails where they do, and
# such a query is drawn anew.
MAGNITUDE = {"few": 10, "some": 1_000, "many": 100_000}
BIG_MAGNITUDE = {"few": 10, "some": 1_000_000, "many": 100_000_000_000}
# Precision and scale; up to 9 digits are stored as INT32, up to 18 as INT64.
DECIMALS = {"few": (4, 1), "some": (9, 2), "many": (18, 4)}
VALUE_COUNT = {"few": 5, "some": 60, "many": 100_000}
WORDS = ["", "a", "A", "b ", "delta", "it's", "übel", "zeta"]
LETTERS = "abcdefghijklmnopqrstuvwxyz ABC'ß%_"


@dataclass
class Column:
    """A column and the values it is made of, in ascending order."""

    name: str
    kind: str
    spread: str
    null_percent: int
    values: list

    @property
    def arrow_type(self) -> pa.DataType:
        if self.kind == "decimal":
            return pa.decimal128(*DECIMALS[self.spread])
        types = {"int": pa.int32(), "bigint": pa.int64(), "date": pa.date32(), "text": pa.string()}
        return types[self.kind]


@dataclass
class Layout:
    """How a table is stored."""

    name: str
    row_count: int
    rows_per_group: int
    # Rows are in ascending order of this column.
    sorted_by: str | None = None
    # A row group in which every column but the key is NULL.
    null_group: int | None = None
    # A column without NULLs is a required one, without definition levels.
    is_required: bool = False
    options: dict = field(default_factory=dict)


LAYOUTS = [
    Layout("dictionary", 4000, 1000, options={"compression": "snappy"}),
    Layout(
        "plain",
        3000,
        700,
        sorted_by="int_many",
        options={"compression": "none", "use_dictionary": False},
    ),
    # The dictionary overflows within a chunk: the first pages have codes, the last ones values.
    Layout(
        "fallback",
        6000,
        2000,
        options={
            "compression": "snappy",
            "dictionary_pagesize_limit": 1024,
            "data_page_size": 512,
            "write_batch_size": 64,
        },
    ),
    Layout(
        "sparse",
        4000,
        800,
        null_group=2,
        options={"compression": "none", "data_page_size": 256, "write_batch_size": 50},
    ),
    Layout(
        "mixed",
        3000,
        1500,
        sorted_by="date_some",
        is_required=True,
        options={
            "compression": "snappy",
            "use_dictionary": ["int_few", "bigint_few", "text_few", "decimal_few", "text_many"],
            "write_statistics": False,
        },
    ),
]


def columns(layout: Layout, seed: int) -> list[Column]:
    """Returns the columns of a table beside its key."""
    made = []
    for kind_index, kind in enumerate(KINDS):
        for spread_index, spread in enumerate(["few", "some", "many"]):
            name = f"{kind}_{spread}"
            draw = random.Random(f"{seed}/{layout.name}/{name}")
            place = LAYOUTS.index(layout) * 2 + kind_index * 3 + spread_index
            null_percent = NULL_PERCENT[place % len(NULL_PERCENT)]
            # What a table is sorted by has values.
            null_percent = 10 if name == layout.sorted_by else null_percent
            made.append(Column(name, kind, spread, null_percent, values(kind, spread, draw)))
    return made


def values(kind: str, spread: str, draw: random.Random) -> list:
    count = min(VALUE_COUNT[spread], 3000)
    if kind == "text" and spread == "few":
        return sorted(draw.sample(WORDS, VALUE_COUNT["few"]))
    return sorted({value(kind, spread, draw) for _ in range(count)})


def value(kind: str, spread: str, draw: random.Random) -> object:
    if kind == "int":
        return draw.randint(-MAGNITUDE[spread], MAGNITUDE[spread])
    if kind == "bigint":
        return draw.randint(-BIG_MAGNITUDE[spread], BIG_MAGNITUDE[spread])
    if kind == "date":
        return FIRST_DAY + datetime.timedelta(days=draw.randrange(2500))
    if kind == "decimal":
        precision, scale = DECIMALS[spread]
        # Rarely as large as the type allows.
        digits = precision if draw.random() < 0.05 else precision - 2
        return decimal.Decimal(draw.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-scale)
    length = draw.randrange(20 if spread == "many" else 4)
    return "".join(draw.choice(LETTERS) for _ in range(length))


def rows(column: Column, layout: Layout, draw: random.Random) -> list:
    """Draws the values of a column, of which the first few come up more often than the others."""

    def one() -> object:
        if draw.randrange(100) < column.null_percent:
            return None
        if draw.random() < 0.3:
            return column.values[0]
        return draw.choice(column.values)

    return [one() for _ in range(layout.row_count)]


def table(layout: Layout, made: list[Column], seed: int) -> pa.Table:
    content = {}
    for column in made:
        draw = random.Random(f"{seed}/{layout.name}/{column.name}/rows")
        content[column.name] = rows(column, layout, draw)
    if layout.sorted_by is not None:
        order = content[layout.sorted_by]
        with_value = [row for row in range(layout.row_count) if order[row] is not None]
        ascending = sorted(with_value, key=order.__getitem__)
        ascending += [row for row in range(layout.row_count) if order[row] is None]
        content = {name: [cells[row] for row in ascending] for name, cells in content.items()}
    if layout.null_group is not None:
        start = layout.null_group * layout.rows_per_group
        gap = [None] * layout.rows_per_group
        for cells in content.values():
            cells[start : start + layout.rows_per_group] = gap
    fields = [pa.field("id", pa.int64(), nullable=False)]
    for column in made:
        is_nullable = not layout.is_required or None in content[column.name]
        fields.append(pa.field(column.name, column.arrow_type, nullable=is_nullable))
    content["id"] = list(range(1, layout.row_count + 1))
    arrays = [pa.array(content[each.name], each.type) for each in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def write(folder: Path, seed: int) -> dict[str, list[Column]]:
    """Writes all tables; returns their columns by table."""
    written = {}
    for layout in LAYOUTS:
        made = columns(layout, seed)
        pq.write_table(
            table(layout, made, seed),
            folder / f"{layout.name}.parquet",
            row_group_size=layout.rows_per_group,
            # Otherwise decimals are FIXED_LEN_BYTE_ARRAY, which drives do not read.
            store_decimal_as_integer=True,
            **layout.options,
        )
        written[layout.name] = made
    return written
