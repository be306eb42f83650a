# SPDX-License-Identifier: Apache-2.0
"""Writes tables and queries on request, and says what DuckDB returns.

Reads requests from standard input and answers each on standard output, as lines of JSON:

    {"do": "batch", "seed": 1, "batch": 7, "count": 60, "out": FOLDER}
        writes a.parquet, b.parquet, c.parquet, and the folder f with a and c once more, of that
        batch, and answers with its queries
    {"do": "cut", "seed": 1, "batch": 7, "out": FOLDER,
     "tables": {"a": {"rows": [[0, 50], [75, 80]], "columns": ["id", "k"]}, ..}}
        writes the tables of that batch with these rows and columns only; answers {}
    {"do": "ask", "sql": TEXT}
        answers {"kinds": .., "rows": ..} over the tables that were written last, or {"error": ..}

Batch n of a seed depends on the two and on nothing else. DuckDB runs queries over the rows that the
writers were given, not about their files: a writer that changed a value would be noticed.
"""

from __future__ import annotations

import datetime
import decimal
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import duckdb
import files
from expressions import for_duckdb
from files import Table
from queries import Draw, Query

INT64_MAX = 2**63 - 1
DIGITS_MAX = 36
ROWS_MAX = 4000


def tables_of(seed: int, batch: int) -> dict[str, Table]:
    """The tables of a batch: two that have nothing in common but the keys, and a twin of one."""
    draw = random.Random(f"{seed}/{batch}")
    writer, other = files.draw_writer(draw), files.draw_writer(draw)
    shared = files.draw_columns(writer, draw)
    own = files.draw_columns(other, draw)
    # What one writer can write, another one may not be able to; this one always is.
    twin = draw.choice([writer, "pyarrow"])
    return {
        "a": files.fill("a", writer, shared, draw),
        "b": files.fill("b", other, own, draw),
        "c": files.fill("c", twin, shared, draw),
    }


def save(tables: dict[str, Table], out: Path) -> None:
    """Writes a file for each table, and the folder of two of them."""
    folder = out / "f"
    folder.mkdir(exist_ok=True)
    for table in tables.values():
        files.write(table, out / f"{table.name}.parquet")
    for name in ("a", "c"):
        shutil.copyfile(out / f"{name}.parquet", folder / f"{name}.parquet")


class Oracle:
    """DuckDB, over the rows of the tables."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 2})
        self.connection.execute("SET TimeZone = 'UTC'")

    def hold(self, tables: dict[str, Table]) -> None:
        for name, table in tables.items():
            self.connection.register(name, table.rows)

    def ask(self, sql: str) -> dict[str, Any]:
        """What it returns; `rows` is null where that cannot be compared."""
        cursor = self.connection.execute(for_duckdb(sql))
        kinds = [kind(str(column[1])) for column in cursor.description]
        # All of them: a connection with an unfinished result takes no other table.
        values = cursor.fetchall()
        is_told = len(values) <= ROWS_MAX and all(is_compared(it) for row in values for it in row)
        rows = [[cell(value) for value in row] for row in values] if is_told else None
        return {"kinds": kinds, "rows": rows}


def is_compared(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) <= INT64_MAX
    is_long = isinstance(value, decimal.Decimal) and len(value.as_tuple().digits) > DIGITS_MAX
    return not is_long


def kind(type_name: str) -> str:
    """How a column of a result is compared."""
    if type_name in ("DOUBLE", "FLOAT"):
        return "average"
    is_number = type_name.startswith("DECIMAL(") or type_name.endswith(("INT", "INTEGER"))
    return "number" if is_number else "text"


def cell(value: Any) -> str | None:
    """A cell as the reader has it: fractions of a second have three digits or six."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime | datetime.time):
        is_short = value.microsecond and value.microsecond % 1000 == 0
        return value.isoformat(timespec="milliseconds" if is_short else "auto")
    return value.hex() if isinstance(value, bytes) else str(value)


def answered(oracle: Oracle, query: Query) -> dict[str, Any]:
    """A query with what DuckDB returns, if it does, and if engines agree about its values."""
    answer: dict[str, Any] = {"kinds": None, "rows": None, "unanswered": None}
    if query.is_disputed:
        answer["unanswered"] = "engines order its values differently"
    else:
        try:
            answer |= oracle.ask(query.sql)
            if answer["rows"] is None:
                answer["unanswered"] = "too many rows or digits"
        except duckdb.Error as error:
            answer["unanswered"] = str(error).split("\n", maxsplit=1)[0]
    return {
        **{"sql": query.sql, "same_as": query.same_as, "table": query.table},
        **{"is_ordered": query.is_ordered, "features": sorted(query.features)},
        **answer,
    }


class Server:
    """Answers requests."""

    def __init__(self) -> None:
        self.oracle = Oracle()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "ask":
            try:
                return self.oracle.ask(request["sql"])
            except duckdb.Error as error:
                return {"error": str(error)}
        seed, batch = request["seed"], request["batch"]
        tables = tables_of(seed, batch)
        if request["do"] == "cut":
            kept = request["tables"].items()
            tables = {name: tables[name].kept(it["rows"], it["columns"]) for name, it in kept}
        every = tables | {"f": files.together("f", [tables["a"], tables["c"]])}
        save(tables, Path(request["out"]))
        self.oracle.hold(every)
        if request["do"] == "cut":
            return {}
        draws = [Draw(f"{seed}/{batch}/{number}", every) for number in range(request["count"])]
        described = {
            name: {"rows": it.rows.num_rows, "columns": it.rows.column_names, "about": it.about}
            for name, it in tables.items()
        }
        queries = [answered(self.oracle, draw.query()) for draw in draws]
        return {"tables": described, "queries": queries}


def main() -> None:
    server = Server()
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
