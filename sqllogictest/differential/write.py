# SPDX-License-Identifier: Apache-2.0
"""Writes tables, seeded random queries over them, and what DuckDB returns for each.

    python write.py --seed 1 --count 500 --out FOLDER

FOLDER gets one Parquet file a table, and `queries.json`: a list of objects with the number of the
query, its table, its text, whether its rows have an order, the kinds of its columns (`number`: to
be compared as a number; `average`: a double, exact in no engine; `text`), and its rows as texts,
NULL as null. Query n depends on the seed and n only.

Queries have one table and are made of what a drive can run, with a few parts that it cannot. They
avoid what DuckDB and DataFusion rightly answer differently:

- overflow: DuckDB fails or sums in 128 bits, DataFusion wraps. Such a query is drawn anew.
- two IN lists over one column: DataFusion 55 makes a constant of `x NOT IN (1) OR x NOT IN (2)` and
  the like, also where x is NULL.
- averages: decimals of four more places in DataFusion, doubles in DuckDB; hence kind `average`.
- fractions such as 1.5: decimals in DuckDB, doubles in DataFusion; they are cast to the type of the
  column they stand beside.
- division, and dates plus numbers: results of other types.
- order: NULLs first or last is said, and LIMIT stands behind an order that the key makes total.
- `LIKE`: no backslashes.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import random
from pathlib import Path

import duckdb
from tables import DECIMALS, Column, write

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
LIST_MAX = 6
ATTEMPTS_MAX = 1000
INT64_MAX = 2**63 - 1


class Draw:
    """Makes one query."""

    def __init__(self, seed: int, number: int, tables: dict[str, list[Column]]) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.table = self.random.choice(sorted(tables))
        self.columns = tables[self.table]
        # Columns that an IN list is about.
        self.listed: set[str] = set()

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def pick(self, *kinds: str) -> Column:
        return self.random.choice([each for each in self.columns if each.kind in kinds])

    # Values.

    def literal(self, column: Column) -> str:
        """A value of the column, or one close to it."""
        value = self.random.choice(column.values)
        if column.kind == "date":
            value += datetime.timedelta(days=self.random.choice([0, 0, 1, -1]))
            return f"DATE '{value}'"
        if column.kind == "text":
            value = value + "z" if self.chance(10) else value
            return "'" + value.replace("'", "''") + "'"
        if column.kind == "decimal":
            precision, scale = DECIMALS[column.spread]
            if self.chance(10):
                return str(int(value))
            return f"CAST('{value:f}' AS DECIMAL({precision}, {scale}))"
        return str(value + self.random.choice([0, 0, 1, -1]))

    def number(self, kinds: tuple[str, ...] = ("int", "bigint", "decimal")) -> str:
        """An expression with a number."""
        column = self.pick(*kinds)
        choice = self.random.randrange(10)
        sign = self.random.choice(["+", "-", "*"])
        if choice < 3:
            return f"{column.name} {sign} {self.pick(column.kind).name}"
        if choice < 5:
            return f"{column.name} {sign} {self.random.randint(1, 9)}"
        if choice < 6:
            return f"{self.random.randint(1, 9)} {sign} {column.name}"
        if choice < 7 and column.kind == "int":
            return f"CAST({column.name} AS BIGINT) {sign} {self.pick('bigint').name}"
        if choice < 8 and column.kind == "decimal":
            other = self.pick("decimal").name
            return f"({column.name} + {other}) {sign} {self.random.randint(1, 9)}"
        return column.name

    # Conditions.

    def condition(self, depth: int) -> str:
        if depth == 0 or self.chance(25):
            return self.leaf()
        choice = self.random.randrange(20)
        if choice < 3:
            return f"NOT ({self.condition(depth - 1)})"
        if choice < 4:
            return f"({self.condition(depth - 1)}) IS {self.random.choice(['', 'NOT '])}NULL"
        word = "AND" if choice < 12 else "OR"
        return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"

    def leaf(self) -> str:
        column = self.random.choice(self.columns)
        comparison = self.random.choice(COMPARISONS)
        negation = self.random.choice(["", "", "NOT "])
        choice = self.random.randrange(100)
        if choice < 12:
            return f"{column.name} IS {negation}NULL"
        if choice < 26:
            return f"{column.name} {comparison} {self.pick(column.kind).name}"
        if choice < 40:
            low, high = self.literal(column), self.literal(column)
            return f"{column.name} {negation}BETWEEN {low} AND {high}"
        if choice < 56 and column.name not in self.listed:
            self.listed.add(column.name)
            items = [self.literal(column) for _ in range(self.random.randint(1, LIST_MAX))]
            items += ["NULL"] if self.chance(20) else []
            self.random.shuffle(items)
            return f"{column.name} {negation}IN ({', '.join(items)})"
        if choice < 66:
            return f"{self.number()} {comparison} {self.random.randint(-1000, 1000)}"
        if choice < 69 and column.kind == "text":
            return f"{column.name} {negation}LIKE '{self.random.choice(['a', '%z', '%e%', '_'])}'"
        if choice < 72:
            return f"{column.name} {comparison} NULL"
        if choice < 82:
            return f"{self.literal(column)} {comparison} {column.name}"
        return f"{column.name} {comparison} {self.literal(column)}"

    def where(self) -> str:
        return "" if self.chance(8) else f"\nWHERE {self.condition(self.random.randint(0, 3))}"

    # Queries.

    def query(self) -> str:
        self.listed.clear()
        choice = self.random.randrange(10)
        if choice < 3:
            return self.totals()
        return self.groups() if choice < 6 else self.rows()

    def totals(self) -> str:
        return f"SELECT {self.aggregates()}\nFROM {self.table}{self.where()}"

    def groups(self) -> str:
        few = [each for each in self.columns if each.spread == "few"]
        keys = self.random.sample(few, self.random.choice([1, 1, 2, 2, 3]))
        if self.chance(8):
            keys = [self.random.choice(self.columns)]
        names = ", ".join(key.name for key in keys)
        having = f"\nHAVING count(*) > {self.random.randint(1, 40)}" if self.chance(15) else ""
        source = f"FROM {self.table}{self.where()}\nGROUP BY {names}{having}"
        if self.chance(10):
            return f"SELECT {names}\n{source}"
        return f"SELECT {names}, {self.aggregates()}\n{source}"

    def rows(self) -> str:
        outputs = ["id"] if self.chance(70) else []
        for index in range(self.random.randint(1, 4)):
            choice = self.random.randrange(10)
            if choice < 6:
                outputs.append(f"{self.random.choice(self.columns).name} AS x{index}")
            elif choice < 9:
                outputs.append(f"{self.number()} AS x{index}")
            else:
                outputs.append(f"({self.leaf()}) AS x{index}")
        query = f"SELECT {', '.join(outputs)}\nFROM {self.table}{self.where()}"
        if self.chance(40):
            order = "id" if self.chance(50) else f"{self.order()}, id"
            query += f"\nORDER BY {order}\nLIMIT {self.random.randint(1, 60)}"
        return query

    def order(self) -> str:
        direction = self.random.choice(["ASC", "DESC"])
        nulls = self.random.choice(["FIRST", "LAST"])
        return f"{self.random.choice(self.columns).name} {direction} NULLS {nulls}"

    def aggregates(self) -> str:
        made = []
        for index in range(self.random.randint(1, 5)):
            only = f" FILTER (WHERE {self.leaf()})" if self.chance(8) else ""
            made.append(f"{self.aggregate()}{only} AS a{index}")
        return ", ".join(made)

    def aggregate(self) -> str:
        choice = self.random.randrange(100)
        if choice < 15:
            return "count(*)"
        if choice < 30:
            return f"count({self.random.choice(self.columns).name})"
        if choice < 50:
            kinds = ("int", "bigint", "date", "decimal") if self.chance(92) else ("text",)
            return f"{self.random.choice(['min', 'max'])}({self.pick(*kinds).name})"
        if choice < 56:
            return f"{self.random.choice(['min', 'max'])}({self.number()})"
        if choice < 74:
            return f"avg({self.pick('int', 'bigint', 'decimal').name})"
        if choice < 76:
            return f"avg({self.number()})"
        return f"sum({self.number()})"


def kind(type_name: str) -> str:
    """How a column of a result is compared."""
    if type_name in ("DOUBLE", "FLOAT"):
        return "average"
    is_number = type_name.startswith("DECIMAL(") or type_name.endswith(("INT", "INTEGER"))
    return "number" if is_number else "text"


def text(value: object) -> str | None:
    """A cell as the test writes it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return str(value)


def answered(connection: duckdb.DuckDBPyConnection, draw: Draw, number: int) -> dict:
    """Draws until DuckDB has an answer."""
    for _ in range(ATTEMPTS_MAX):
        sql = draw.query()
        try:
            cursor = connection.execute(sql)
            kinds = [kind(str(column[1])) for column in cursor.description]
            values = cursor.fetchall()
        except (duckdb.OutOfRangeException, duckdb.BinderException, duckdb.ConversionException):
            continue
        if any(isinstance(cell, int) and abs(cell) > INT64_MAX for row in values for cell in row):
            continue
        rows = [[text(value) for value in row] for row in values]
        is_ordered = "\nORDER BY" in sql
        return {
            **{"number": number, "table": draw.table, "sql": sql, "is_ordered": is_ordered},
            **{"kinds": kinds, "rows": rows},
        }
    raise SystemExit(f"query {number}: no query in {ATTEMPTS_MAX} has an answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True, help="number of queries")
    parser.add_argument("--out", type=Path, required=True, help="an empty folder")
    arguments = parser.parse_args()
    tables = write(arguments.out, arguments.seed)
    connection = duckdb.connect(config={"threads": 2})
    for name in tables:
        path = arguments.out / f"{name}.parquet"
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{path}')")
    queries = [
        answered(connection, Draw(arguments.seed, number, tables), number)
        for number in range(arguments.count)
    ]
    with (arguments.out / "queries.json").open("w", encoding="utf-8") as file:
        json.dump(queries, file)


if __name__ == "__main__":
    main()
