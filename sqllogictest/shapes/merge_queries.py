# SPDX-License-Identifier: Apache-2.0
"""Queries that merge sorted rows: of row groups, of files, of unions, with and without duplicates.

Where an order would fill a page, the place of each row is added up instead.
"""

from __future__ import annotations

from slt_files import SltFile
from sorted_tables import KEYS, Key

CONDITIONS = ["", "WHERE id % 3 > 0", "WHERE k > 0 OR k IS NULL", "WHERE id < 0"]


def place_by(order: str) -> str:
    return f"CAST(row_number() OVER (ORDER BY {order}) AS BIGINT) AS place"


def places(key: Key, rows: str) -> str:
    """The rows' places in the order of the key and `id`, in one row."""
    place = place_by(f"{key.order}, id")
    sums = "count(*) AS c, sum(place * id) AS s, max(place) AS last"
    return f"SELECT {sums}\nFROM (SELECT id, {place} FROM {rows})"


def of_key(key: Key) -> SltFile:
    name = key.name
    file = SltFile(
        f"merge/by_{name}", f"Merges of rows that are sorted by {key.order} in every row group."
    )
    one, parts = f"by_{name}", f"by_{name}_parts"
    for table in (one, parts):
        file.ordered(f"SELECT {name}\nFROM {table}\nORDER BY {key.order}")
        for condition in CONDITIONS:
            of_condition = f"(SELECT id, {name} FROM {table} {condition}) AS x"
            file.rows(places(key, of_condition))
        file.ordered(
            f"SELECT {name}, count(*) AS c, min(id) AS low, max(m) AS high\nFROM {table}\n"
            f"GROUP BY {name}\nORDER BY {key.order}"
        )
        file.ordered(f"SELECT DISTINCT {name}\nFROM {table}\nORDER BY {key.order}")
        # Orders that the files do not have.
        other = "ASC NULLS LAST" if key.descending else "DESC NULLS FIRST"
        file.rows(
            f"SELECT sum(place * id) AS s\n"
            f"FROM (SELECT id, {place_by(f'{name} {other}, id')} FROM {table})"
        )
        file.rows(
            f"SELECT sum(place * id) AS s\n"
            f"FROM (SELECT id, {place_by(f'{key.order}, id DESC')} FROM {table})"
        )
    for word in ("UNION ALL", "UNION"):
        union = f"SELECT {name} FROM {one}\n{word}\nSELECT {name} FROM {parts}"
        file.ordered(f"{union}\nORDER BY {key.order}")
        pairs = f"SELECT {name}, id FROM {parts} {word} SELECT {name}, id FROM {parts}"
        file.rows(places(key, f"({pairs}) AS x"))
        pairs = f"SELECT {name}, id FROM {parts} {word} SELECT {name}, id + 500 FROM {parts}"
        file.rows(places(key, f"({pairs}) AS x"))
        three = f"\n{word}\n".join(
            f"SELECT {name} FROM {table} WHERE id % 2 = {odd}"
            for table, odd in ((one, 0), (parts, 1), (parts, 0))
        )
        file.ordered(f"{three}\nORDER BY {key.order}")
        file.ordered(f"{three}\nORDER BY {key.order}\nLIMIT 7 OFFSET 3")
    file.rows(
        f"SELECT count(*) AS c, sum(a.id) AS s\nFROM {one} AS a JOIN {parts} AS b "
        f"ON a.{name} = b.{name}"
    )
    return file


def files() -> list[SltFile]:
    return [of_key(key) for key in KEYS]
