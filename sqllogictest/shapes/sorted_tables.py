# SPDX-License-Identifier: Apache-2.0
"""Tables that say that they are sorted.

For each key X of `KEYS`:

| table | holds |
|---|---|
| `by_X` | one file whose row groups are each sorted by X and `id`, and overlap |
| `by_X_parts` | two files, each sorted by X and `id` from its first row to its last |

All say so in their footers (`sorting_columns`), in the direction that `KEYS` has. DataFusion takes
the order of the first row group for that of the file, which is wrong for `by_X`.
"""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from values import DAY, draw

ROWS = 66
GROUP_ROWS = 11
FIRST_DAY = datetime.date(2022, 2, 20)
WORDS = ["", "a", "ab", "abc", "b", "beech", "beech tree", "long enough for more than one word"]


@dataclass(frozen=True)
class Key:
    """A column that tables are sorted by, and which way."""

    name: str
    descending: bool = False
    nulls_first: bool = False

    @property
    def order(self) -> str:
        direction = "DESC" if self.descending else "ASC"
        return f"{self.name} {direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


KEYS = [
    Key("k"),
    Key("wide", descending=True, nulls_first=True),
    Key("day"),
    Key("m", descending=True),
    Key("s"),
    Key("t", nulls_first=True),
    Key("f"),
    Key("g", descending=True),
]


def rows(name: str, count: int, first_id: int) -> pa.Table:
    draw_one = draw(f"sorted {name} {first_id}")

    def some(make: Any) -> list[Any]:
        return [None if draw_one.random() < 0.1 else make(draw_one) for _ in range(count)]

    noon = datetime.datetime(2022, 2, 20, 12)
    columns = {
        "id": (pa.int64(), list(range(first_id, first_id + count))),
        "k": (pa.int32(), some(lambda of: of.randint(-20, 20))),
        "wide": (pa.int64(), some(lambda of: of.choice([-1, 1]) * of.randrange(2**62))),
        "day": (pa.date32(), some(lambda of: FIRST_DAY + of.randrange(30) * DAY)),
        "m": (pa.decimal128(12, 2), some(lambda of: decimal.Decimal(of.randrange(900)).scaleb(-2))),
        "s": (pa.string(), some(lambda of: of.choice(WORDS))),
        "t": (pa.timestamp("us"), some(lambda of: noon + of.randrange(40) * DAY / 24)),
        "f": (pa.float64(), some(lambda of: of.randrange(-40, 40) / 4)),
        "g": (pa.bool_(), some(lambda of: of.random() < 0.5)),
    }
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


def in_order(table: pa.Table, key: Key) -> pa.Table:
    is_null = pc.is_null(table[key.name])
    if key.nulls_first:
        is_null = pc.invert(is_null)
    keys = [
        ("is_null", "ascending"),
        (key.name, "descending" if key.descending else "ascending"),
        ("id", "ascending"),
    ]
    order = pc.sort_indices(table.append_column("is_null", is_null), sort_keys=keys)
    return table.take(order)


def put(path: Path, groups: list[pa.Table], key: Key) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = groups[0].schema.names
    sorting = [
        pq.SortingColumn(names.index(key.name), key.descending, key.nulls_first),
        pq.SortingColumn(names.index("id"), False, False),
    ]
    options = {"compression": "snappy", "store_decimal_as_integer": True}
    schema = groups[0].schema
    with pq.ParquetWriter(path, schema, sorting_columns=sorting, **options) as writer:
        for group in groups:
            writer.write_table(group)


def write(tables: Path) -> None:
    for key in KEYS:
        table = rows(key.name, ROWS, 0)
        groups = [
            in_order(table.slice(at, GROUP_ROWS), key) for at in range(0, ROWS, GROUP_ROWS)
        ]
        put(tables / f"by_{key.name}.parquet", groups, key)
        for part in range(2):
            table = in_order(rows(key.name, ROWS // 2, 1000 * (part + 1)), key)
            groups = [table.slice(at, GROUP_ROWS) for at in range(0, ROWS // 2, GROUP_ROWS)]
            put(tables / f"by_{key.name}_parts" / f"{part}.parquet", groups, key)
