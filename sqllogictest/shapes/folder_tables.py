# SPDX-License-Identifier: Apache-2.0
"""Folders of files, and single files of odd layouts.

| table | holds |
|---|---|
| `many_small` | 120 files of a few rows |
| `hive` | a folder for each region and year |
| `added`, `lacking`, `reordered`, `required_or_not` | columns that files lack, or have elsewhere |
| `some_empty` | files with rows between files without |
| `no_rows`, `no_rows_in_a_folder` | no row groups at all |
| `one_row_groups` | a row group for each row, all types |
| `nested` | lists, structs and maps between flat columns |
| `no_statistics`, `page_index` | without statistics; with an index of pages |
| `declared/widened` | integers, floats and decimals that grow wider from file to file |
| `declared/sorted_parts` | files that are each sorted by `k`, `id` |
"""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tables import SMALL_PAGES, encoding_rows
from values import DAY, draw

FIRST_DAY = datetime.date(2021, 5, 1)
REGIONS = ["north", "south", "far east"]
YEARS = [2021, 2022, 2023]


def put(path: Path, columns: dict[str, tuple[pa.DataType, list[Any]]], **options: Any) -> None:
    """Writes a file of named columns; a type with `not None` values only stays optional."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: pa.array(values, kind) for name, (kind, values) in columns.items()}
    defaults = {"compression": "snappy", "row_group_size": 64, "store_decimal_as_integer": True}
    pq.write_table(pa.table(arrays), path, **(defaults | options))


def many_small(folder: Path) -> None:
    draw_one = draw("many_small")
    first = 0
    for number in range(120):
        rows = range(first, first + 1 + number % 5)
        first = rows.stop
        columns = {
            "id": (pa.int64(), list(rows)),
            "v": (pa.int32(), [draw_one.choice([None, draw_one.randint(-99, 99)]) for _ in rows]),
            "s": (pa.string(), [draw_one.choice(["a", "b", None, "file"]) for _ in rows]),
            "day": (pa.date32(), [FIRST_DAY + number * DAY for _ in rows]),
        }
        put(folder / "many_small" / f"part-{number:03}.parquet", columns)


def hive(folder: Path) -> None:
    draw_one = draw("hive")
    first = 0
    for region in REGIONS:
        for year in YEARS:
            rows = range(first, first + draw_one.randint(20, 60))
            first = rows.stop
            columns = {
                "id": (pa.int64(), list(rows)),
                "v": (pa.int32(), [draw_one.choice([None, 1, 2, 3, 500]) for _ in rows]),
                "s": (pa.string(), [draw_one.choice(["a", "b", ""]) for _ in rows]),
            }
            put(folder / "hive" / f"region={region}" / f"year={year}" / "part.parquet", columns)


def evolving(folder: Path) -> None:
    """`added` to `required_or_not`: three files of forty rows each."""
    draw_one = draw("evolving")
    for number in range(3):
        rows = range(number * 40, number * 40 + 40)
        columns = {
            "id": (pa.int64(), list(rows)),
            "a": (pa.int32(), [draw_one.choice([None, row % 9]) for row in rows]),
            "b": (pa.string(), [draw_one.choice(["x", "y", None]) for _ in rows]),
            "c": (pa.date32(), [FIRST_DAY + row * DAY for row in rows]),
            "m": (pa.decimal128(9, 2), [decimal.Decimal(row * 7).scaleb(-2) for row in rows]),
        }
        # The last file has all of them, in the order that the table then has.
        added = dict(list(columns.items())[: 3 + number])
        put(folder / "added" / f"{9 - number}.parquet", added)
        lacking = {name: columns[name] for name in columns if name != list(columns)[number + 1]}
        put(folder / "lacking" / f"{number}.parquet", lacking)
        names = list(columns)[number:] + list(columns)[:number]
        put(folder / "reordered" / f"{number}.parquet", {name: columns[name] for name in names})
        fields = [pa.field(n, t, nullable=number > 0) for n, (t, _) in columns.items()]
        values = {n: [v[0] if e is None else e for e in v] for n, (_, v) in columns.items()}
        values["a"] = [0 if each is None else each for each in values["a"]]
        values["b"] = ["x" if each is None else each for each in values["b"]]
        path = folder / "required_or_not" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        rows_of_types = pa.table(values, schema=pa.schema(fields))
        pq.write_table(rows_of_types, path, compression="none")


def empty(folder: Path) -> None:
    schema = {"id": pa.int64(), "v": pa.int32(), "s": pa.string(), "m": pa.decimal128(9, 2)}
    nothing: dict[str, tuple[pa.DataType, list[Any]]] = {n: (t, []) for n, t in schema.items()}
    rows: dict[str, list[Any]] = {
        "id": list(range(30)),
        "v": [row % 4 for row in range(30)],
        "s": ["t" * (row % 3) for row in range(30)],
        "m": [decimal.Decimal(row).scaleb(-2) for row in range(30)],
    }
    put(folder / "no_rows.parquet", nothing)
    for number in range(2):
        put(folder / "no_rows_in_a_folder" / f"{number}.parquet", nothing)
    for number in range(4):
        columns = {name: (kind, rows[name]) for name, kind in schema.items()}
        columns["id"] = (pa.int64(), [row + number * 100 for row in range(30)])
        put(folder / "some_empty" / f"{number}.parquet", columns if number % 2 else nothing)


def nested(folder: Path) -> None:
    draw_one = draw("nested")
    rows = range(200)
    pair = pa.struct([("x", pa.int32()), ("y", pa.string())])
    lists = [draw_one.choice([None, [], [1], [1, None, row]]) for row in rows]
    structs = [draw_one.choice([None, {"x": row, "y": "in"}]) for row in rows]
    maps = [draw_one.choice([None, [("k", row)], []]) for row in rows]
    columns = {
        "id": (pa.int64(), list(rows)),
        "items": (pa.list_(pa.int32()), lists),
        "v": (pa.int32(), [draw_one.choice([None, row % 11]) for row in rows]),
        "pair": (pair, structs),
        "s": (pa.string(), [draw_one.choice(["p", "q", None]) for _ in rows]),
        "names": (pa.map_(pa.string(), pa.int64()), maps),
        "day": (pa.date32(), [FIRST_DAY + row % 50 * DAY for row in rows]),
    }
    put(folder / "nested.parquet", columns)


def layouts(folder: Path) -> None:
    """The rows of the encodings, a row group a row, without statistics, with an index of pages."""
    rows = encoding_rows()
    options = {"compression": "snappy", "store_decimal_as_integer": True}
    pq.write_table(
        rows.slice(0, 40), folder / "one_row_groups.parquet", row_group_size=1, **options
    )
    options |= SMALL_PAGES | {"row_group_size": 150}
    path = folder / "no_statistics.parquet"
    pq.write_table(rows, path, write_statistics=False, store_schema=False, **options)
    pq.write_table(rows, folder / "page_index.parquet", write_page_index=True, **options)


def declared(folder: Path) -> None:
    """Tables whose types or order stand in the statement that makes them."""
    draw_one = draw("declared")
    integers = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    for number, integer in enumerate(integers):
        rows = range(number * 50, number * 50 + 50)
        limit = 2 ** (integer.bit_width - 1)
        precision = [4, 8, 12, 18][number]
        unscaled = [draw_one.randrange(10**precision) for _ in rows]
        columns = {
            "id": (pa.int32() if number < 2 else pa.int64(), list(rows)),
            "i": (
                integer,
                [draw_one.choice([None, draw_one.randrange(-limit, limit)]) for _ in rows],
            ),
            "f": (pa.float32() if number % 2 else pa.float64(), [row / 4 for row in rows]),
            "m": (
                pa.decimal128(precision, 2),
                [decimal.Decimal(value).scaleb(-2) for value in unscaled],
            ),
        }
        put(folder / "widened" / f"{number}.parquet", columns)
    for number in range(4):
        keys = sorted(draw_one.randrange(300) for _ in range(90))
        columns = {
            "id": (pa.int64(), [number + 4 * row for row in range(90)]),
            "k": (pa.int32(), keys),
            "s": (pa.string(), [draw_one.choice(["a", "b", None]) for _ in keys]),
        }
        order = [pq.SortingColumn(1), pq.SortingColumn(0)]
        path = folder / "sorted_parts" / f"{number}.parquet"
        put(path, columns, sorting_columns=order, row_group_size=25)


def broken(folder: Path) -> None:
    """Files that end too soon, or are none."""
    folder.mkdir()
    put(folder / "whole.parquet", {"v": (pa.int32(), list(range(100)))})
    whole = (folder / "whole.parquet").read_bytes()
    (folder / "truncated.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "no_footer.parquet").write_bytes(whole[:-12])
    (folder / "text.parquet").write_bytes(b"id,v\n1,2\n")
    (folder / "empty.parquet").write_bytes(b"")
    (folder / "whole.parquet").unlink()


def write(data: Path) -> None:
    tables = data / "tables"
    for make in (many_small, hive, evolving, empty, nested, layouts):
        make(tables)
    declared(data / "declared")
    broken(data / "broken")
