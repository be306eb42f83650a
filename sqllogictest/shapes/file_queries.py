# SPDX-License-Identifier: Apache-2.0
"""Queries over folders, odd layouts and files of other writers."""

from __future__ import annotations

from encoding_queries import QUESTIONS, extremes
from foreign_tables import DUCKDB_OPTIONS, POLARS_OPTIONS
from slt_files import SltFile
from tables import ENCODING_COLUMNS


def ask(file: SltFile, table: str, questions: list[str]) -> None:
    for question in questions:
        sql = question.format(table=table)
        (file.ordered if "ORDER BY" in sql else file.rows)(sql)


SMALL = [
    "SELECT count(*) AS c, count(v) AS n, sum(v) AS s, min(v) AS low, max(v) AS high\nFROM {table}",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE v > 0",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE v IS NULL OR s = 'a'",
    "SELECT s, count(*) AS c, sum(v) AS t\nFROM {table}\nGROUP BY s",
    "SELECT id, v, s\nFROM {table}\nORDER BY v DESC NULLS LAST, id\nLIMIT 8",
    "SELECT id, v\nFROM {table}\n"
    "WHERE s LIKE '%t%' OR id IN (3, 77, 130, 500)\nORDER BY id\nLIMIT 9",
    "SELECT DISTINCT s FROM {table}",
    "SELECT count(DISTINCT v) AS d, min(s) AS low, max(s) AS high\nFROM {table}",
]
DATED = [
    "SELECT min(day) AS low, max(day) AS high\nFROM {table}",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE day = DATE '2021-06-15'",
    "SELECT day, count(*) AS c\nFROM {table}\n"
    "WHERE day > DATE '2021-06-15' AND v > 0\nGROUP BY day",
]
HIVE = [
    "SELECT CAST(region AS VARCHAR) AS r, CAST(year AS VARCHAR) AS y, count(*) AS c, sum(v) AS s\n"
    "FROM hive\nGROUP BY region, year",
    "SELECT count(*) AS c, sum(id) AS s\nFROM hive\nWHERE region = 'north'",
    "SELECT count(*) AS c, sum(id) AS s\nFROM hive\nWHERE region = 'far east' AND v > 1",
    "SELECT count(*) AS c, sum(id) AS s\nFROM hive\nWHERE year = '2022' OR v = 500",
    "SELECT count(*) AS c, sum(id) AS s\nFROM hive\nWHERE CAST(year AS INTEGER) >= 2022",
    "SELECT count(*) AS c, sum(id) AS s\nFROM hive\nWHERE region IN ('south', 'none') AND s = 'a'",
    "SELECT count(*) AS c\nFROM hive\nWHERE region = 'nowhere'",
    "SELECT count(*) AS c\nFROM hive\nWHERE region LIKE '%t%' AND year <> '2021'",
    "SELECT CAST(region AS VARCHAR) AS r, id\nFROM hive\nWHERE v IS NULL\nORDER BY id\nLIMIT 6",
    "SELECT s, CAST(max(region) AS VARCHAR) AS high\nFROM hive\nWHERE year = '2023'\nGROUP BY s",
    "SELECT count(DISTINCT region) AS r, count(DISTINCT year) AS y FROM hive WHERE v = 2",
]
EVOLVED = [
    "SELECT count(*) AS c, count(a) AS a, count(b) AS b, count(c) AS d, count(m) AS m\n"
    "FROM {table}",
    "SELECT min(a) AS low, max(c) AS high, sum(m) AS s, max(b) AS last\nFROM {table}",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE c IS NULL",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE m > 3 AND a > 2",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE c > DATE '2021-07-01' OR b = 'x'",
    "SELECT count(*) AS c, sum(id) AS s\nFROM {table}\n"
    "WHERE (m IS DISTINCT FROM 7) AND b IS NOT NULL",
    "SELECT b, count(*) AS c, count(m) AS n, sum(m) AS s, min(c) AS first\n"
    "FROM {table}\nGROUP BY b",
    "SELECT a, b, count(c) AS c\nFROM {table}\nWHERE a < 3\nGROUP BY a, b",
    "SELECT id, a, b, c, m\nFROM {table}\nWHERE id % 17 = 2\nORDER BY id",
    "SELECT id, m\nFROM {table}\nORDER BY m DESC NULLS LAST, id\nLIMIT 5",
    "SELECT count(DISTINCT a) AS a, count(DISTINCT b) AS b\nFROM {table}",
    "SELECT coalesce(c, DATE '2000-01-01') AS d, count(*) AS n\nFROM {table}\n"
    "WHERE c < DATE '2021-05-04' OR c IS NULL\nGROUP BY 1",
]
NESTED = [
    "SELECT count(*) AS c, count(v) AS n, sum(v) AS s\nFROM nested\nWHERE v > 3",
    "SELECT s, count(*) AS c, max(day) AS last\nFROM nested\nGROUP BY s",
    "SELECT id, v, s, day\nFROM nested\nWHERE day > DATE '2021-06-15' AND s = 'p'\nORDER BY id",
    "SELECT count(*) AS c, count(items) AS i, count(pair) AS p, count(names) AS n\nFROM nested",
    "SELECT count(*) AS c, sum(v) AS s\nFROM nested\nWHERE items IS NULL",
    "SELECT count(*) AS c, sum(v) AS s\nFROM nested\nWHERE pair IS NOT NULL AND s IS NULL",
    "SELECT sum(pair['x']) AS x, count(pair['y']) AS y\nFROM nested\nWHERE v < 5",
    "SELECT count(*) AS c\nFROM nested\nWHERE pair['x'] > 100 AND v IN (1, 2, 3)",
    "SELECT max(items[1]) AS i, count(*) AS c\nFROM nested\nWHERE s = 'q'",
]
WIDENED = [
    "SELECT count(*) AS c, count(i) AS n, min(i) AS low, max(i) AS high\nFROM widened",
    "SELECT sum(m) AS s, min(m) AS low, max(m) AS high\nFROM widened",
    "SELECT sum(f) AS s, max(f) AS high, avg(f) AS a\nFROM widened",
    "SELECT count(*) AS c, sum(id) AS s\nFROM widened\nWHERE i > 100",
    "SELECT count(*) AS c, sum(id) AS s\nFROM widened\nWHERE i BETWEEN -128 AND 127",
    "SELECT count(*) AS c, sum(id) AS s\nFROM widened\nWHERE i > 5000000000 OR i IS NULL",
    "SELECT count(*) AS c, sum(id) AS s\nFROM widened\nWHERE m > CAST('99.99' AS DECIMAL(18, 2))",
    "SELECT count(*) AS c, sum(id) AS s\nFROM widened\nWHERE f < 20 AND id > 40",
    "SELECT id, i, f, m\nFROM widened\nWHERE id % 23 = 1\nORDER BY id",
    "SELECT id % 4 AS k, count(i) AS n, sum(m) AS s, max(f) AS high\nFROM widened\nGROUP BY id % 4",
    "SELECT id, m\nFROM widened\nORDER BY m, id\nLIMIT 5",
]
SORTED = [
    "SELECT k, id, s\nFROM sorted_parts\nORDER BY k, id\nLIMIT 20",
    "SELECT k, id\nFROM sorted_parts\nORDER BY k, id\nLIMIT 10 OFFSET 200",
    "SELECT k, id\nFROM sorted_parts\nWHERE k > 150 AND s = 'a'\nORDER BY k, id",
    "SELECT k, id\nFROM sorted_parts\nORDER BY k DESC, id DESC\nLIMIT 10",
    "SELECT k, count(*) AS c\nFROM sorted_parts\nGROUP BY k\nORDER BY k\nLIMIT 20",
    "SELECT count(*) AS c, min(k) AS low, max(k) AS high\nFROM sorted_parts\nWHERE s IS NULL",
    "SELECT DISTINCT k\nFROM sorted_parts\nWHERE k < 40\nORDER BY k",
    "SELECT k, id FROM sorted_parts WHERE k < 30\nUNION ALL\n"
    "SELECT k, id FROM sorted_parts WHERE k > 290\nORDER BY k, id",
    "SELECT k FROM sorted_parts WHERE k < 60\nUNION\n"
    "SELECT k FROM sorted_parts WHERE k < 30\nORDER BY k",
    "SELECT s, k, id\nFROM sorted_parts\nORDER BY s NULLS FIRST, k, id\nLIMIT 9",
]


def folders() -> list[SltFile]:
    many = SltFile("file/many_small", "A hundred and twenty files of a few rows.")
    ask(many, "many_small", SMALL + DATED)
    hive = SltFile("file/hive", "A folder for each region and year; their names are texts.")
    ask(hive, "hive", SMALL + HIVE)
    evolved = SltFile("file/evolved", "Files that lack columns, or have them elsewhere.")
    for table in ("added", "lacking", "reordered", "required_or_not"):
        ask(evolved, table, EVOLVED)
    empty = SltFile("file/without_rows", "Files without rows, alone and between others.")
    for table in ("no_rows", "no_rows_in_a_folder", "some_empty"):
        ask(empty, table, SMALL)
        empty.rows(f"SELECT sum(m) AS s, avg(v) AS a, max(m) AS high\nFROM {table}\nWHERE id <> 5")
    nested = SltFile("file/nested", "Lists, structs and maps beside flat columns.")
    ask(nested, "nested", NESTED)
    return [many, hive, evolved, empty, nested]


def declared() -> list[SltFile]:
    widened = SltFile("file/widened", "Columns whose type is narrower in older files.")
    columns = "id BIGINT, i BIGINT, f DOUBLE, m DECIMAL(18, 2)"
    widened.ours(
        f"CREATE EXTERNAL TABLE widened ({columns})\n"
        "STORED AS PARQUET LOCATION 'data/declared/widened/'"
    )
    ask(widened, "widened", WIDENED)
    ordered = SltFile("file/sorted_parts", "Four files, each in order, and declared to be.")
    columns = "id BIGINT, k INTEGER, s VARCHAR"
    ordered.ours(
        f"CREATE EXTERNAL TABLE sorted_parts ({columns})\nSTORED AS PARQUET WITH ORDER (k, id)\n"
        "LOCATION 'data/declared/sorted_parts/'"
    )
    ask(ordered, "sorted_parts", SORTED)
    return [widened, ordered]


def broken() -> SltFile:
    file = SltFile("file/broken", "Files that end too soon or are none: refused, then all is well.")
    for name in ("truncated", "no_footer", "text", "empty", "no_such_file"):
        path = f"data/broken/{name}.parquet"
        if name != "empty":
            file.refused(f"SELECT count(*) FROM '{path}'")
        file.refused(f"SELECT v FROM '{path}' WHERE v > 3")
    file.rows("SELECT count(*) AS c, sum(id) AS s FROM many_small WHERE v > 50")
    return file


def layouts() -> list[SltFile]:
    """The questions of the encodings, over other layouts and other writers."""
    counts = ", ".join(f"count({name}) AS c_{name}" for name in ENCODING_COLUMNS)
    words = {"counts": counts, "integers": extremes(["i", "l", "u"])}
    words["others"] = extremes(["f", "d", "day", "t", "m", "s"])

    def asked(name: str, about: str, tables: list[str]) -> SltFile:
        file = SltFile(f"file/{name}", about)
        for table in tables:
            for question in QUESTIONS:
                text = question.replace("id % 57 = 3", "id % 570 = 3").replace("> 370", "> 2390")
                text = question if name == "layouts" else text
                sql = text.format(table=table, **words)
                (file.ordered if "ORDER BY" in sql else file.rows)(sql)
        return file

    return [
        asked(
            "layouts",
            "A row group for each row; no statistics; an index of pages.",
            ["one_row_groups", "no_statistics", "page_index"],
        ),
        asked("duckdb", "Files of DuckDB.", [f"w_duckdb_{name}" for name in DUCKDB_OPTIONS]),
        asked("polars", "Files of Polars.", [f"w_polars_{name}" for name in POLARS_OPTIONS]),
    ]


def files() -> list[SltFile]:
    return [*folders(), *declared(), broken(), *layouts()]
