# SPDX-License-Identifier: Apache-2.0
"""Tables for expressions, group keys and joins: many types beside each other.

| table | holds |
|---|---|
| `x_values` | operands: numbers of all types, booleans, strings, dates, timestamps |
| `x_words` | strings for patterns |
| `g_facts` | 1,500 rows with keys of few and many values |
| `g_kinds`, `g_days` | small dimensions of `g_facts`, joined by number, string and date |
"""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from tables import SMALL_PAGES, Table, array
from values import DAY, draw

X_ROWS = 600
G_ROWS = 1500
FIRST_DAY = datetime.date(1995, 11, 20)
COLOURS = ["red", "green", "blue", "", "dark red", "grün", "青"]
WORDS = [
    *("", "a", "A", "aa", "ab", "abc", "abcabc", "ABC", "b", "ba", "cab", " abc", "abc ", "100%"),
    *("a_b", "a%b", "%", "_", "__", "it's", "tab\there", "äb", "Äb", "aä", "日本語", "日本", "本"),
    *("🌊", "a🌊b", "🌊🌊", "x" * 63, "x" * 64, "x" * 65, "ab" * 60, "forest green", "green tea"),
    *("evergreen", "special packages", "special requests deposits", "pending requests special"),
]


def money(low: int, high: int, scale: int) -> Callable[[random.Random], decimal.Decimal]:
    return lambda random_values: decimal.Decimal(random_values.randint(low, high)).scaleb(-scale)


def between(low: int, high: int) -> Callable[[random.Random], int]:
    return lambda random_values: random_values.randint(low, high)


def quarters(random_values: random.Random) -> float:
    return random_values.randint(1, 400) / 4 * random_values.choice([1, -1])


class Columns:
    """Collects columns, each drawn by its own name."""

    def __init__(self, table: str, row_count: int) -> None:
        self.table = table
        self.row_count = row_count
        self.fields = [pa.field("id", pa.int64(), nullable=False)]
        self.arrays = [pa.array(range(row_count), pa.int64())]

    def add(self, name: str, arrow_type: pa.DataType, null_percent: int, one: Callable) -> None:
        random_values = draw(f"{self.table}.{name}")
        values: list[Any] = []
        for _ in range(self.row_count):
            is_null = random_values.randrange(100) < null_percent
            values.append(None if is_null else one(random_values))
        self.fields.append(pa.field(name, arrow_type, nullable=null_percent > 0))
        self.arrays.append(array(values, arrow_type))

    def table_of(self, group_rows: int, **options: Any) -> Table:
        rows = pa.Table.from_arrays(self.arrays, schema=pa.schema(self.fields))
        defaults = {"compression": "snappy", "store_decimal_as_integer": True} | SMALL_PAGES
        return Table(self.table, rows, group_rows, defaults | options)


def x_values() -> Table:
    columns = Columns("x_values", X_ROWS)
    columns.add("a", pa.int32(), 10, between(-100, 100))
    columns.add("b", pa.int64(), 10, between(-1_000_000, 1_000_000))
    columns.add("c", pa.int32(), 15, between(-3, 3))
    columns.add("n", pa.int32(), 0, between(1, 9))
    columns.add("i8", pa.int8(), 10, between(-128, 127))
    columns.add("i16", pa.int16(), 10, between(-32768, 32767))
    columns.add("u8", pa.uint8(), 10, between(0, 255))
    columns.add("u32", pa.uint32(), 10, between(0, 2**32 - 1))
    columns.add("m", pa.decimal128(9, 2), 10, money(-100_000, 100_000, 2))
    columns.add("w", pa.decimal128(15, 4), 10, money(-(10**9), 10**9, 4))
    columns.add("r", pa.decimal128(4, 2), 0, money(0, 10, 2))
    columns.add("f", pa.float32(), 10, quarters)
    columns.add("d", pa.float64(), 10, quarters)
    columns.add("p", pa.bool_(), 15, lambda each: each.random() < 0.5)
    columns.add("q", pa.bool_(), 15, lambda each: each.random() < 0.2)
    columns.add("s", pa.string(), 10, lambda each: each.choice(COLOURS))
    columns.add("z", pa.string(), 10, lambda each: each.choice(COLOURS))
    columns.add("day", pa.date32(), 10, lambda each: FIRST_DAY + each.randrange(900) * DAY)
    columns.add("due", pa.date32(), 10, lambda each: FIRST_DAY + each.randrange(900) * DAY)
    columns.add("t", pa.timestamp("us"), 10, between(8 * 10**14, 10**15))
    return columns.table_of(170)


def x_words() -> Table:
    columns = Columns("x_words", X_ROWS)
    columns.add("w", pa.string(), 8, lambda each: each.choice(WORDS))
    columns.add("plain", pa.string(), 8, lambda each: each.choice(WORDS))
    columns.add("mixed", pa.string(), 0, lambda each: each.choice(WORDS) + each.choice(WORDS))
    return columns.table_of(150, use_dictionary=["w", "mixed"], dictionary_pagesize_limit=512)


def g_facts() -> Table:
    columns = Columns("g_facts", G_ROWS)
    columns.add("kind", pa.int32(), 5, between(-3, 12))
    columns.add("tiny", pa.int8(), 10, between(-2, 2))
    columns.add("code", pa.int64(), 0, between(0, 999))
    columns.add("wide", pa.int64(), 0, lambda each: each.randrange(40) * 10**15)
    columns.add("colour", pa.string(), 6, lambda each: each.choice(COLOURS))
    columns.add("label", pa.string(), 3, lambda each: f"label {each.randrange(700)}")
    columns.add("flag", pa.bool_(), 12, lambda each: each.random() < 0.4)
    columns.add("day", pa.date32(), 8, lambda each: FIRST_DAY + each.randrange(80) * DAY)
    columns.add("t", pa.timestamp("us"), 8, lambda each: each.randrange(90) * 864 * 10**8)
    columns.add("rate", pa.decimal128(4, 2), 0, money(0, 8, 2))
    columns.add("v", pa.int32(), 10, between(-1000, 1000))
    columns.add("m", pa.decimal128(15, 2), 10, money(-(10**7), 10**7, 2))
    columns.add("d", pa.float64(), 10, quarters)
    return columns.table_of(400)


def g_kinds() -> Table:
    columns = Columns("g_kinds", 12)
    columns.add("kind", pa.int32(), 0, between(0, 15))
    columns.add("colour", pa.string(), 0, lambda each: each.choice(COLOURS))
    columns.add("level", pa.int32(), 20, between(1, 4))
    return columns.table_of(12)


def g_days() -> Table:
    columns = Columns("g_days", 20)
    columns.add("day", pa.date32(), 0, lambda each: FIRST_DAY + each.randrange(120) * DAY)
    columns.add("name", pa.string(), 0, lambda each: each.choice(["feast", "fair", "market"]))
    return columns.table_of(20)


def tables() -> list[Table]:
    return [x_values(), x_words(), g_facts(), g_kinds(), g_days()]
