# SPDX-License-Identifier: Apache-2.0
"""Writes files with pyarrow, DuckDB and Polars, and what DuckDB returns for queries over each.

    python foreign.py --seed 1 --count 60 --out FOLDER

FOLDER gets folders of up to a hundred files each, with a `queries.json` of the form that write.py
has, whose objects also say how their file was written. DuckDB is asked about the rows that the
writers were given, not about their files: a writer that changed a value would be noticed.

The queries avoid what `write.py` lists, and comparisons of the time of day, for which DataFusion
has literals of one unit only.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import random
from pathlib import Path
from typing import Any

import duckdb
from foreign_files import INTEGERS, MOMENTS, Column, File, write
from write import COMPARISONS, INT64_MAX, kind, text

FILES_PER_FOLDER = 100
QUERIES_PER_FILE = 6
UNORDERED = {"clock", "zoned"}


class Draw:
    """Makes the queries over one file."""

    def __init__(self, seed: int, number: int, file: File) -> None:
        self.random = random.Random(f"foreign/{seed}/{number}/queries")
        self.file = file

    def pick(self, columns: list[Column]) -> Column:
        return self.random.choice(columns)

    def literal(self, column: Column) -> str:
        """A value of the column as a literal of its type."""
        value = self.pick(column.values)
        if column.kind == "decimal":
            kind_of = column.arrow_type
            return f"CAST('{value:f}' AS DECIMAL({kind_of.precision}, {kind_of.scale}))"
        if column.kind in ("float", "double"):
            return f"CAST('{value!r}' AS DOUBLE)"
        if column.kind in INTEGERS or column.kind == "boolean":
            return str(value).lower()
        if column.kind == "date":
            return f"DATE '{value.isoformat()}'"
        if column.kind in MOMENTS or column.kind == "zoned":
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        if isinstance(value, bytes):
            return f"x'{value.hex()}'"
        return "'" + value.replace("'", "''") + "'"

    def condition(self) -> str:
        first = self.leaf(set())
        choice = self.random.randrange(10)
        if choice < 4:
            return first[0]
        second = self.leaf(first[1])
        negation = self.random.choice(["", "", "NOT "])
        word = self.random.choice(["AND", "OR"])
        return f"{negation}({first[0]} {word} {second[0]})"

    def leaf(self, listed: set[str]) -> tuple[str, set[str]]:
        """A condition over one or two columns, and the columns with an IN list so far."""
        column = self.pick(self.file.columns)
        name = column.name
        negation = self.random.choice(["", "", "NOT "])
        choice = self.random.randrange(100)
        if choice < 15 or column.kind == "clock":
            return f"{name} IS {negation}NULL", listed
        if column.kind == "boolean" and choice < 50:
            return f"{negation}{name}", listed
        if choice < 30 and name not in listed:
            items = [self.literal(column) for _ in range(self.random.choice([1, 3, 9, 40]))]
            items += ["NULL"] if choice < 18 else []
            return f"{name} {negation}IN ({', '.join(items)})", listed | {name}
        if choice < 45:
            low, high = self.literal(column), self.literal(column)
            return f"{name} {negation}BETWEEN {low} AND {high}", listed
        if choice < 55:
            # DataFusion reads what follows as a part of the second operand.
            return f"({name} IS {negation}DISTINCT FROM {self.literal(column)})", listed
        # Byte strings of two widths have no common type in DataFusion.
        others = [it for it in self.file.columns if it is not column]
        same = [it for it in others if it.arrow_type == column.arrow_type]
        if choice < 65 and same:
            return f"{name} {self.random.choice(COMPARISONS)} {self.pick(same).name}", listed
        if column.kind in ("text", "large_text") and choice < 80:
            pattern = self.random.choice(["a%", "%b", "%a%", "_", "%日%", "%b%a%", "a_%", ""])
            return f"{name} {negation}LIKE '{pattern}'", listed
        return f"{name} {self.random.choice(COMPARISONS)} {self.literal(column)}", listed

    def queries(self) -> list[str]:
        table = self.file.name
        asked = [
            f"SELECT count(*) AS c, {self.counts()}\nFROM {table}",
            f"SELECT {self.aggregates(self.file.columns)}\nFROM {table}",
            f"SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE {self.condition()}",
            self.rows(),
            self.groups(),
            self.top(),
        ]
        return asked[:QUERIES_PER_FILE]

    def counts(self) -> str:
        return ", ".join(f"count({each.name}) AS n_{each.name}" for each in self.file.columns)

    def aggregates(self, columns: list[Column]) -> str:
        made = []
        for index, column in enumerate(self.random.sample(columns, min(3, len(columns)))):
            name = column.name
            if column.kind != "boolean" and column.kind not in UNORDERED:
                function = self.random.choice(["min", "max"])
                made.append(f"{function}({name}) AS e{index}")
            if column.is_summed:
                made.append(f"{self.random.choice(['sum', 'avg'])}({name}) AS s{index}")
            if column.has_few and column.kind not in UNORDERED:
                made.append(f"count(DISTINCT {name}) AS d{index}")
            if column.kind == "boolean":
                made.append(f"bool_or({name}) AS o{index}, bool_and({name}) AS a{index}")
        return ", ".join(["count(*) AS c", *made])

    def shown(self) -> list[str]:
        columns = [each.name for each in self.file.columns if each.kind not in UNORDERED]
        return self.random.sample(columns, min(3, len(columns)))

    def rows(self) -> str:
        outputs = ", ".join(["id", *self.shown()])
        tail = f"ORDER BY id\nLIMIT {self.random.choice([1, 7, 30])}"
        return f"SELECT {outputs}\nFROM {self.file.name}\nWHERE {self.condition()}\n{tail}"

    def groups(self) -> str:
        few = [each for each in self.file.columns if each.has_few and each.kind not in UNORDERED]
        # Zero has a sign in one engine's groups.
        few = [each for each in few if each.kind not in ("float", "double")]
        keys = [each.name for each in self.random.sample(few, min(len(few), 2))] or ["id % 3"]
        # DataFusion's MAX of a group that holds -infinity alone is the least finite number, and its
        # MIN of infinity alone the largest one.
        aggregates = self.aggregates([it for it in self.file.columns if not it.has_infinity])
        outputs = ", ".join(f"{key} AS k{index}" for index, key in enumerate(keys))
        where = f"\nWHERE {self.condition()}" if self.random.random() < 0.5 else ""
        groups = ", ".join(keys)
        return f"SELECT {outputs}, {aggregates}\nFROM {self.file.name}{where}\nGROUP BY {groups}"

    def top(self) -> str:
        outputs = self.shown()
        order = [f"{name} {self.random.choice(['ASC', 'DESC'])} NULLS LAST" for name in outputs[:2]]
        ordering = ", ".join([*order, "id"])
        query = f"SELECT {', '.join(['id', *outputs])}\nFROM {self.file.name}"
        return f"{query}\nORDER BY {ordering}\nLIMIT {self.random.choice([1, 5, 20])}"


def cell(value: Any) -> str | None:
    """A cell as the test writes it: fractions of a second have three digits or six."""
    if isinstance(value, datetime.datetime | datetime.time):
        is_short = value.microsecond and value.microsecond % 1000 == 0
        return value.isoformat(timespec="milliseconds" if is_short else "auto")
    return value.hex() if isinstance(value, bytes) else text(value)


def answered(connection: duckdb.DuckDBPyConnection, sql: str, file: File) -> dict | None:
    """What DuckDB returns; nothing where an answer is beyond what the test compares."""
    try:
        cursor = connection.execute(sql)
        kinds = [kind(str(column[1])) for column in cursor.description]
        values = cursor.fetchall()
    except (duckdb.OutOfRangeException, duckdb.ConversionException):
        return None
    for it in (it for row in values for it in row):
        if isinstance(it, int) and abs(it) > INT64_MAX:
            return None
        if isinstance(it, decimal.Decimal) and len(it.as_tuple().digits) > 36:
            return None
    rows = [[cell(value) for value in row] for row in values]
    is_ordered = "\nORDER BY" in sql
    return {
        **{"table": file.name, "sql": sql, "is_ordered": is_ordered, "kinds": kinds},
        **{"rows": rows, "about": file.about},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True, help="number of files")
    parser.add_argument("--out", type=Path, required=True, help="an empty folder")
    arguments = parser.parse_args()
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET TimeZone = 'UTC'")
    number = 0
    for first in range(0, arguments.count, FILES_PER_FOLDER):
        folder = arguments.out / f"{first // FILES_PER_FOLDER:03}"
        folder.mkdir()
        queries = []
        for at in range(first, min(first + FILES_PER_FOLDER, arguments.count)):
            file = write(folder, arguments.seed, at)
            connection.register(file.name, file.rows)
            for sql in Draw(arguments.seed, at, file).queries():
                query = answered(connection, sql, file)
                if query is not None:
                    queries.append({"number": number} | query)
                    number += 1
            connection.unregister(file.name)
        with (folder / "queries.json").open("w", encoding="utf-8") as out:
            json.dump(queries, out)


if __name__ == "__main__":
    main()
