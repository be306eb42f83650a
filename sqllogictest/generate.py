# SPDX-License-Identifier: Apache-2.0
"""Writes the expected results of the SQL tests, or checks them.

Expected results come from DuckDB, or for slt/tpch from the stored answers, and never from Nearscan.
This program only replaces the lines below the dashes of a query, and the type letters of its
first line; queries, comments and sort modes are written by people.

    python3 -m venv DIR && DIR/bin/pip install duckdb==2.0.0      # as in xtask/requirements.txt
    cargo test -p nearscan-sqllogictest --test slt -- cpu::tpch   # writes the data, as all runs do
    DIR/bin/python sqllogictest/generate.py --data target/tmp/slt --complete [FILE ...]
    DIR/bin/python sqllogictest/generate.py --data target/tmp/slt --check [FILE ...]

Every query runs twice: on the Parquet files, and on copies of the tables whose rows are in another
order. A query whose two results differ depends on the order of its input (a LIMIT without a total
order, a sum of doubles) and is refused: two right engines could disagree about it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import decimal
import functools
import itertools
import math
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

DUCKDB_VERSION = "2.0.0"
HERE = Path(__file__).resolve().parent
ANSWERS = HERE.parent / "benchmarks" / "tpch" / "answers" / "sf0.01.csv"
# What is committed is unpacked below data: tables that every file has, and such as a file declares
# before it uses them.
FOLDERS = ["tpch", "fixtures", "data/tables", "data/declared"]
# The tables of the files below slt/tpcds, and of no others: some have names of TPC-H.
FOLDERS_TPCDS = ["tpcds"]
ENGINE_NAME = "nearscan"
# Stands for a folder that a file may write to.
FOLDER_MARK = "__TEST_DIR__"
SIGNIFICANT_DIGITS = 12
EXPONENT_MIN = -5

INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
}
LETTERS = {
    **{"BOOLEAN": "B", "DOUBLE": "R", "FLOAT": "R"},
    **{"DATE": "D", "TIME": "C", "VARCHAR": "T", "BLOB": "X"},
    **dict.fromkeys(["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"], "P"),
}
# Where DuckDB has a choice, that of DataFusion.
SETTINGS = ["SET integer_division = true", "SET TimeZone = 'UTC'"]


class Refused(Exception):
    """A query for which no expected result can be written."""


# ---------------------------------------------------------------------------------------------
# Values: the same rules as src/render.rs.


def letter(type_name: str) -> str:
    """Returns the letter of a DuckDB type."""
    if type_name in INTEGERS:
        return "I"
    if type_name.startswith("DECIMAL("):
        return "N"
    if type_name in LETTERS:
        return LETTERS[type_name]
    raise Refused(f"no letter for type {type_name}")


def render(value: object) -> str:
    """Writes a value as in an expected result."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return render_double(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex() or "(empty)"
    if isinstance(value, str):
        return render_text(value)
    raise Refused(f"no text for a value of {type(value)}")


def render_double(value: float) -> str:
    """Rounds to 12 significant digits; an exponent only where `%g` of C would have one."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, exponent_text = f"{abs(value):.{SIGNIFICANT_DIGITS - 1}e}".split("e")
    digits = mantissa.replace(".", "").rstrip("0")
    exponent = int(exponent_text)
    if not digits:
        return "0"
    sign = "-" if value < 0 else ""
    if exponent < EXPONENT_MIN or exponent >= SIGNIFICANT_DIGITS:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def render_nanoseconds(value: int | None) -> str:
    """Writes a timestamp of nanoseconds, which Python has no type for."""
    if value is None:
        return "NULL"
    microseconds, rest = divmod(value, 1000)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=microseconds)
    if rest == 0:
        return moment.isoformat(sep=" ")
    return f"{moment.isoformat(sep=' ', timespec='microseconds')}{rest:03}"


def render_text(value: str) -> str:
    """Keeps a string on its line and within its column."""
    if value == "":
        return "(empty)"
    escapes = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

    def sign(character: str) -> str:
        is_control = ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0
        return escapes.get(character, f"\\u{ord(character):04x}" if is_control else character)

    return "".join(map(sign, value))


# ---------------------------------------------------------------------------------------------
# Files of tests.


@dataclass
class Record:
    """A statement or a query with the lines it came from."""

    header: list[str]
    sql: list[str]
    line: int
    conditions: list[str]
    result: list[str] = field(default_factory=list)

    @property
    def is_query(self) -> bool:
        return self.header[0] == "query"

    @property
    def must_fail(self) -> bool:
        return self.header[1] == "error"

    @property
    def is_sorted_by_row(self) -> bool:
        return "rowsort" in self.header[2:]

    @property
    def is_ours_alone(self) -> bool:
        return f"onlyif {ENGINE_NAME}" in self.conditions

    def lines(self) -> list[str]:
        lines = [" ".join(self.header), *self.sql]
        if self.is_query and not self.must_fail:
            lines += ["----", *self.result]
        return lines


def read(path: Path) -> list[str | Record]:
    """Splits a file into records and the lines between them."""
    parts: list[str | Record] = []
    conditions: list[str] = []
    lines = enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
    for number, text in lines:
        words = text.split()
        if text.startswith("#") or not words or words[0] not in ("statement", "query"):
            if words and words[0] in ("onlyif", "skipif"):
                conditions.append(text)
            elif words and not text.startswith("#"):
                raise SystemExit(f"{path}:{number}: not understood: {text}")
            parts.append(text)
            continue
        record = Record(words, [], number, conditions)
        conditions = []
        block: list[str] = []
        for _, line in lines:
            if line == "":
                break
            block.append(line)
        end = block.index("----") if "----" in block else len(block)
        record.sql, record.result = block[:end], block[end + 1 :]
        parts += [record, ""]
    while parts and parts[-1] == "":
        parts.pop()
    return parts


def write(path: Path, parts: list[str | Record]) -> None:
    lines: list[str] = []
    for part in parts:
        lines += part.lines() if isinstance(part, Record) else [part]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# ---------------------------------------------------------------------------------------------
# DuckDB.


@dataclass
class Result:
    letters: str
    types: list[str]
    rows: list[list[str]]


def sources(data: Path, folders: list[str]) -> dict[str, str]:
    """Lists the tables: names, and what `read_parquet` is called with."""
    found = {}
    for place in [place for name in folders for place in sorted((data / name).glob("*"))]:
        if place.suffix == ".parquet":
            found[place.stem] = f"'{place}'"
        elif place.is_dir():
            # Columns by name, and those of a path as texts: as DataFusion takes them.
            options = "union_by_name = true, hive_types_autocast = false"
            found[place.name] = f"'{place}/**/*.parquet', {options}"
    expected = {"web_site"} if folders == FOLDERS_TPCDS else {"lineitem", "nulls", "many_small"}
    if expected - found.keys():
        raise SystemExit(f"{data} does not hold the data of the tests")
    return found


class Database:
    """The tables of the tests in DuckDB; what a file changes is rolled back."""

    def __init__(self, data: Path, folders: list[str], *, shuffled: bool) -> None:
        self.connection = duckdb.connect(config={"threads": 2})
        for setting in SETTINGS:
            self.connection.execute(setting)
        self.done: list[str] = []
        for name, source in sources(data, folders).items():
            if shuffled:
                # The hash of a row's number is an order that nothing else has.
                rows = f"SELECT * FROM read_parquet({source}, file_row_number = true)"
                rows = f"CREATE TABLE {name} AS {rows} ORDER BY hash(file_row_number)"
                self.connection.execute(rows)
                self.connection.execute(f"ALTER TABLE {name} DROP COLUMN file_row_number")
            else:
                rows = f"SELECT * FROM read_parquet({source})"
                self.connection.execute(f"CREATE VIEW {name} AS {rows}")

    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.connection.execute("BEGIN")
        self.done = []

    def end(self) -> None:
        self.connection.execute("ROLLBACK")
        self.folder.cleanup()

    def statement(self, sql: str) -> None:
        self.execute(sql)
        self.done.append(sql)

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        return self.connection.execute(sql.replace(FOLDER_MARK, self.folder.name))

    def query(self, sql: str) -> Result:
        cursor = self.execute(sql)
        types = [str(column[1]) for column in cursor.description]
        letters = "".join(map(letter, types))
        if "TIMESTAMP_NS" in types:
            cursor.fetchall()
            return Result(letters, types, self.rows_by_column(sql, types))
        rows = [[render(value) for value in row] for row in cursor.fetchall()]
        return Result(letters, types, rows)

    def rows_by_column(self, sql: str, types: list[str]) -> list[list[str]]:
        """Runs a query by way of Arrow, where a timestamp keeps its nanoseconds."""
        table = self.connection.sql(sql).to_arrow_table()
        columns = []
        for column, kind in zip(table.columns, types, strict=True):
            if kind == "TIMESTAMP_NS":
                columns.append(map(render_nanoseconds, column.cast("int64").to_pylist()))
            else:
                columns.append(map(render, column.to_pylist()))
        return [list(row) for row in zip(*columns, strict=True)]

    def recover(self) -> None:
        """Makes the transaction anew: an error ends it."""
        done, self.done = self.done, []
        self.connection.execute("ROLLBACK")
        self.connection.execute("BEGIN")
        for statement in done:
            self.statement(statement)

    def refuse(self, sql: str) -> None:
        """Runs what must fail."""
        try:
            self.execute(sql).fetchall()
        except duckdb.Error:
            self.recover()
        else:
            raise Refused("DuckDB does not fail")


@functools.cache
def stored_answers() -> dict[str, list[list[str]]]:
    """Reads the stored answers of TPC-H, each behind its name; `=` is the cell above."""
    answers = {}
    text = ANSWERS.read_text(encoding="utf-8").removesuffix("\n")
    for section in text.split("\n# ")[1:]:
        name, *lines = section.split("\n")
        rows = list(csv.reader(lines))
        for above, row in itertools.pairwise(rows):
            row[:] = [old if new == "=" else new for old, new in zip(above, row, strict=True)]
        answers[name] = rows[1:]
    return answers


def rendered(answer: list[list[str]], types: list[str]) -> list[list[str]]:
    """Writes a stored answer as DuckDB's: NULL is an empty field; quotients are doubles.

    A quotient is cast to a decimal of few places by the query, and rounded to them here.
    """

    def cell(text: str, type_name: str) -> str:
        if text == "":
            return "NULL"
        if not type_name.startswith("DECIMAL("):
            return text
        scale = int(type_name.rstrip(")").split(",")[1])
        place = decimal.Decimal(1).scaleb(-scale)
        return format(decimal.Decimal(text).quantize(place, decimal.ROUND_HALF_UP), "f")

    return [[cell(text, kind) for text, kind in zip(row, types, strict=True)] for row in answer]


def as_lines(rows: list[list[str]], *, sort: bool) -> list[str]:
    lines = ["\t".join(row) for row in rows]
    return sorted(lines) if sort else lines


def expect(path: Path, record: Record, database: Database, shuffled: Database) -> Record:
    """Computes what a query must return, as a separate record."""
    sql = "\n".join(record.sql)
    found = database.query(sql)
    sort = record.is_sorted_by_row
    lines = as_lines(found.rows, sort=sort)
    if as_lines(shuffled.query(sql).rows, sort=sort) != lines:
        raise Refused("the result depends on the order of the rows in the tables")
    if path.parent.name == "tpch" and path.stem in stored_answers():
        stored = as_lines(rendered(stored_answers()[path.stem], found.types), sort=sort)
        if stored != lines:
            raise Refused(f"DuckDB differs from the stored answer:\n{lines}\n{stored}")
    header = ["query", found.letters, *record.header[2:]]
    return Record(header, record.sql, record.line, record.conditions, lines)


def complete(path: Path, database: Database, shuffled: Database) -> tuple[list, list[str], int]:
    """Computes all results of a file: its parts, what is wrong, and how many queries there are."""
    parts: list[str | Record] = []
    problems: list[str] = []
    query_count = 0
    for each in (database, shuffled):
        each.begin()
    for part in read(path):
        if not isinstance(part, Record) or part.is_ours_alone:
            parts.append(part)
            continue
        sql = "\n".join(part.sql)
        try:
            if part.must_fail:
                query_count += part.is_query
                database.refuse(sql)
            elif part.is_query:
                query_count += 1
                part = expect(path, part, database, shuffled)
            else:
                for each in (database, shuffled):
                    each.statement(sql)
        except (Refused, duckdb.Error) as error:
            problems.append(f"{path}:{part.line}: {error}\n{sql}")
            for each in (database, shuffled):
                each.recover()
        parts.append(part)
    for each in (database, shuffled):
        each.end()
    return parts, problems, query_count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--complete", action="store_true", help="write the results")
    mode.add_argument("--check", action="store_true", help="only say where they differ")
    parser.add_argument("--data", type=Path, required=True, help="folder of the Parquet files")
    parser.add_argument("files", type=Path, nargs="*", help="default: all files below slt")
    arguments = parser.parse_args()
    if duckdb.__version__ != DUCKDB_VERSION:
        raise SystemExit(f"needs duckdb {DUCKDB_VERSION}, found {duckdb.__version__}")

    data = arguments.data.resolve()

    @functools.cache
    def databases(folder: str) -> tuple[Database, Database]:
        folders = FOLDERS_TPCDS if folder == "tpcds" else FOLDERS
        as_is = Database(data, folders, shuffled=False)
        return as_is, Database(data, folders, shuffled=True)

    files = [path.resolve() for path in arguments.files] or sorted((HERE / "slt").rglob("*.slt"))
    # Where the tests run: paths within queries are relative to it.
    os.chdir(data)
    problem_count = total = 0
    for path in files:
        parts, problems, query_count = complete(path, *databases(path.parent.name))
        total += query_count
        if arguments.complete and not problems:
            write(path, parts)
        elif arguments.check:
            pairs = zip(read(path), parts, strict=True)
            problems += [
                f"{path}:{old.line}: the result is not that of DuckDB: {new.result}"
                for old, new in pairs
                if isinstance(old, Record) and old != new
            ]
        for problem in problems:
            print(problem, file=sys.stderr)
        problem_count += len(problems)
    print(f"{len(files)} files, {total} queries, {problem_count} problems")
    return 1 if problem_count else 0


if __name__ == "__main__":
    sys.exit(main())
