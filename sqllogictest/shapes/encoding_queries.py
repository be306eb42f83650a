# SPDX-License-Identifier: Apache-2.0
"""Queries over the tables `e_ENCODING_CODEC_vN`: one file an encoding and page version.

All tables have the same rows, so the results are the same too: what differs is how they lie in the
file. The questions touch every column, and skip, filter and take rows in the middle of pages.
"""

from __future__ import annotations

from slt_files import SltFile
from tables import CODECS, ENCODING_COLUMNS, ENCODINGS, PAGE_VERSIONS

QUESTIONS = [
    "SELECT {counts}\nFROM {table}",
    "SELECT {integers}\nFROM {table}",
    "SELECT {others}\nFROM {table}",
    "SELECT count(*) AS c, sum(id) AS s, min(t) AS low\nFROM {table}\n"
    "WHERE i > 0 AND (f < 100 OR f IS NULL)",
    "SELECT count(*) AS c, max(d) AS high, max(day) AS last\nFROM {table}\n"
    "WHERE day BETWEEN DATE '1992-01-15' AND DATE '1996-06-30' AND b",
    "SELECT count(*) AS c, sum(m) AS s\nFROM {table}\n"
    "WHERE m IN (CAST('0' AS DECIMAL(16, 4)), CAST('10' AS DECIMAL(16, 4))) OR s = 'North'",
    "SELECT b, count(*) AS c, sum(i) AS s, count(DISTINCT u) AS d\nFROM {table}\n"
    "WHERE i BETWEEN -50 AND 60\nGROUP BY b",
    "SELECT s, count(*) AS c, min(l) AS low\nFROM {table}\n"
    "WHERE s LIKE '%o%' OR s IS NULL\nGROUP BY s",
    "SELECT id, i, l, u, f, d\nFROM {table}\n"
    "WHERE id % 57 = 3 OR i IS NULL AND id > 370\nORDER BY id",
    "SELECT id, day, t, m, b, s\nFROM {table}\nWHERE id BETWEEN 166 AND 174\nORDER BY id",
]
INTEGERS = ["i", "l", "u"]
OTHERS = ["f", "d", "day", "t", "m", "s"]


def extremes(columns: list[str]) -> str:
    return ", ".join(f"min({name}) AS low_{name}, max({name}) AS high_{name}" for name in columns)


def files() -> list[SltFile]:
    counts = ", ".join(f"count({name}) AS c_{name}" for name in ENCODING_COLUMNS)
    words = {"counts": counts, "integers": extremes(INTEGERS), "others": extremes(OTHERS)}
    made = []
    for encoding in ENCODINGS:
        for version in PAGE_VERSIONS:
            about = f"Encoding {encoding}, data pages {version}, every codec."
            file = SltFile(f"encoding/matrix_{encoding}_{version}", about)
            for codec in CODECS:
                for question in QUESTIONS:
                    table = f"e_{encoding}_{codec}_{version}"
                    sql = question.format(table=table, **words)
                    (file.ordered if "ORDER BY" in sql else file.rows)(sql)
            made.append(file)
    return made
