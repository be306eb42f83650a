# SPDX-License-Identifier: Apache-2.0
"""Writes the queries of slt/random: seeded single-table queries over tables with nulls.

The queries are committed, so this program is needed only for new ones:

    cd sqllogictest
    DIR/bin/python random_queries.py --data ../target/tmp/slt
    DIR/bin/python generate.py --data ../target/tmp/slt --complete slt/random/*.slt

Literals are values of the tables, so that filters keep some rows and drop others. A query avoids
what the README lists: averages of decimals are cast, columns have names, no sum leaves its type,
and a LIMIT follows a total order.
"""

from __future__ import annotations

import argparse
import random
import re
from dataclasses import dataclass
from pathlib import Path

from generate import HERE, Database, letter

SEED = 7
QUERIES_PER_TABLE = 50
GROUPS_MAX = 40
ROWS_MAX = 12
SAMPLES_MAX = 40
WIDTH_MAX = 100
LINE_MAX = 96

# Tables and their keys: what makes an order total.
TABLES = {
    "lineitem_nulls": ["l_orderkey", "l_linenumber"],
    "nulls": ["id"],
    "m_plain_snappy": ["id"],
    "m_dictionary": ["id"],
    "m_fallback": ["id"],
    "m_uneven": ["id"],
    "clusters": ["id"],
    "days": ["id"],
    "words": ["id"],
    "kept": ["id"],
}


@dataclass
class Column:
    name: str
    letter: str
    # Too narrow to compute with: the sum of two values may leave the type.
    is_narrow: bool
    # Too wide to be shown.
    is_long: bool
    # Literals, in ascending order.
    values: list[str]
    distinct_count: int


class Writer:
    """Makes queries over one table."""

    def __init__(self, table: str, database: Database) -> None:
        self.table = table
        self.random = random.Random(f"{SEED}/{table}")
        self.columns = [self.column(database, *row) for row in self.describe(database)]

    def describe(self, database: Database) -> list[tuple[str, str]]:
        rows = database.connection.execute(f"DESCRIBE {self.table}").fetchall()
        return [(row[0], row[1]) for row in rows]

    def column(self, database: Database, name: str, type_name: str) -> Column:
        """Reads what is needed of a column: how many values it has, and some of them."""
        one = database.connection.execute
        source = f"SELECT DISTINCT {name} AS v FROM {self.table} WHERE {name} IS NOT NULL"
        shown = "CAST(v AS VARCHAR)"
        count, width = one(f"SELECT count(*), max(length({shown})) FROM ({source})").fetchone()
        plain = f"length({shown}) < 30 AND NOT contains({shown}, '\\')"
        sample = f"SELECT v FROM ({source}) WHERE {plain} ORDER BY hash(v) LIMIT {SAMPLES_MAX}"
        values = one(f"SELECT {shown} FROM ({sample}) ORDER BY v").fetchall()
        return Column(
            name,
            letter(type_name),
            is_narrow=type_name in ("TINYINT", "SMALLINT"),
            is_long=(width or 0) > WIDTH_MAX,
            values=[literal(type_name, value) for (value,) in values],
            distinct_count=count,
        )

    def of(self, letters: str) -> list[Column]:
        return [column for column in self.columns if column.letter in letters and column.values]

    # Conditions.

    def condition(self, depth: int) -> str:
        choice = self.random.random()
        if depth == 0 or choice < 0.35:
            return self.leaf()
        if choice < 0.45:
            return f"NOT ({self.condition(depth - 1)})"
        word = "AND" if choice < 0.75 else "OR"
        return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"

    def leaf(self) -> str:
        column = self.random.choice(self.of("BINRDPT"))
        other = [each for each in self.of(column.letter) if each is not column]
        is_computed = column.letter in "IN" and not column.is_narrow
        choice = self.random.random()
        if choice < 0.12:
            return f"{column.name} IS {self.random.choice(['', 'NOT '])}NULL"
        if column.letter == "B":
            return self.random.choice([column.name, f"NOT {column.name}", f"{column.name} = true"])
        if choice < 0.24 and other:
            return f"{column.name} {self.comparison()} {self.random.choice(other).name}"
        if choice < 0.36:
            indices = sorted(self.random.randrange(len(column.values)) for _ in range(2))
            low, high = (column.values[index] for index in indices)
            negation = self.random.choice(["", "", "NOT "])
            return f"{column.name} {negation}BETWEEN {low} AND {high}"
        if choice < 0.50:
            values = [self.value(column) for _ in range(self.random.randint(1, 6))]
            values += ["NULL"] if self.random.random() < 0.15 else []
            negation = self.random.choice(["", "", "NOT "])
            return f"{column.name} {negation}IN ({', '.join(values)})"
        if choice < 0.58 and column.letter == "T":
            prefix = self.value(column)[1:3].strip("'%_")
            pattern = self.random.choice([f"{prefix}%", f"%{prefix}%", f"%{prefix}"])
            return f"{column.name} LIKE '{pattern}'"
        if choice < 0.66 and is_computed and other:
            sign = self.random.choice("+-")
            left = f"{column.name} {sign} {self.random.choice(other).name}"
            return f"{left} {self.comparison()} {self.value(column)}"
        return f"{column.name} {self.comparison()} {self.value(column)}"

    def comparison(self) -> str:
        return self.random.choice(["=", "<>", "<", "<=", ">", ">=", "<", ">"])

    def value(self, column: Column) -> str:
        return self.random.choice(column.values)

    # Queries.

    def query(self) -> str:
        shape = self.random.choice([self.totals, self.totals, self.groups, self.groups, self.rows])
        return shape(self.condition(self.random.randint(0, 3)))

    def totals(self, condition: str) -> str:
        return f"SELECT {self.aggregates()}\nFROM {self.table}\nWHERE {condition}"

    def groups(self, condition: str) -> str:
        keys = [each for each in self.columns if each.distinct_count <= GROUPS_MAX]
        if not keys:
            return self.totals(condition)
        chosen = self.random.sample(keys, min(len(keys), self.random.choice([1, 1, 2])))
        if len(chosen) == 2 and chosen[0].distinct_count * chosen[1].distinct_count > GROUPS_MAX:
            chosen.pop()
        names = ", ".join(each.name for each in chosen)
        if self.random.random() < 0.15:
            return f"SELECT DISTINCT {names}\nFROM {self.table}\nWHERE {condition}"
        query = f"SELECT {names}, {self.aggregates()}\nFROM {self.table}\nWHERE {condition}"
        query += f"\nGROUP BY {names}"
        if self.random.random() < 0.2:
            query += f"\nHAVING count(*) > {self.random.randint(1, 50)}"
        return query

    def rows(self, condition: str) -> str:
        keys = TABLES[self.table]
        others = [each for each in self.columns if each.name not in keys and not each.is_long]
        chosen = [each.name for each in self.random.sample(others, self.random.randint(1, 3))]
        numbers = [each for each in self.of("IN") if not each.is_narrow]
        for kind in "IN":
            pair = [each for each in numbers if each.letter == kind]
            if len(pair) > 1 and self.random.random() < 0.4:
                left, right = self.random.sample(pair, 2)
                sign = self.random.choice("+-")
                chosen.append(f"{left.name} {sign} {right.name} AS x{kind.lower()}")
        names = ", ".join(keys)
        query = f"SELECT {names}, {', '.join(chosen)}\nFROM {self.table}\nWHERE {condition}"
        return f"{query}\nORDER BY {names}\nLIMIT {self.random.randint(1, ROWS_MAX)}"

    def aggregates(self) -> str:
        count = self.random.randint(1, 4)
        return ", ".join(f"{self.aggregate()} AS a{index}" for index in range(1, count + 1))

    def aggregate(self) -> str:
        column = self.random.choice(self.columns)
        is_extreme_shown = column.letter != "B" and not column.is_long
        numbers = [each for each in self.columns if each.letter in "INR"]
        choice = self.random.random()
        if choice < 0.15:
            return "count(*)"
        if choice < 0.30:
            return f"count({column.name})"
        if choice < 0.50 and is_extreme_shown:
            return f"{self.random.choice(['min', 'max'])}({column.name})"
        if not numbers:
            return f"count({column.name})"
        number = self.random.choice(numbers)
        if choice < 0.65:
            average = f"avg({number.name})"
            return f"CAST({average} AS DECIMAL(18, 4))" if number.letter == "N" else average
        if number.is_narrow:
            return f"sum({number.name})"
        same = [each for each in numbers if each.letter == number.letter and not each.is_narrow]
        if choice < 0.75:
            sign = self.random.choice("+-")
            return f"sum({number.name} {sign} {self.random.choice(same).name})"
        if choice < 0.82:
            return f"sum({number.name} * {self.random.randint(2, 5)})"
        return f"sum({number.name})"


def literal(type_name: str, value: str) -> str:
    """Writes a value as a literal of its type; a bare 1.05 would be a double in DataFusion."""
    quoted = "'" + value.replace("'", "''") + "'"
    if type_name.startswith("DECIMAL("):
        return f"CAST({quoted} AS {type_name.replace(',', ', ')})"
    prefixes = {"DATE": f"DATE {quoted}", "TIMESTAMP": f"TIMESTAMP {quoted}", "VARCHAR": quoted}
    return prefixes.get(type_name, value)


def wrap(query: str) -> str:
    """Breaks long lines before AND and OR, and behind the commas of a list of columns."""
    lines = []
    for line in query.split("\n"):
        while len(line) > LINE_MAX:
            spaces = re.finditer(r" (?=AND |OR )|(?<=,) (?=[a-zA-Z'])", line)
            breaks = [space.start() for space in spaces if 8 < space.start() <= LINE_MAX]
            if not breaks:
                break
            lines.append(line[: breaks[-1]])
            line = "  " + line[breaks[-1] + 1 :]
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the Parquet files")
    database = Database(parser.parse_args().data, shuffled=False)
    folder = HERE / "slt" / "random"
    folder.mkdir(exist_ok=True)
    for table in TABLES:
        writer = Writer(table, database)
        text = (
            "# SPDX-License-Identifier: Apache-2.0\n"
            f"# Queries over {table} that random_queries.py made with seed {SEED}.\n"
        )
        for _ in range(QUERIES_PER_TABLE):
            query = writer.query()
            header = "query ?" if "ORDER BY" in query else "query ? rowsort"
            text += f"\n{header}\n{wrap(query)}\n"
        (folder / f"{table}.slt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
