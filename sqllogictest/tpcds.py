# SPDX-License-Identifier: Apache-2.0
"""Writes the data and the queries of TPC-DS, or checks that they are what it writes.

    python3 -m venv DIR && DIR/bin/pip install duckdb==1.5.5 duckdb-extension-tpcds==1.5.5
    DIR/bin/python sqllogictest/tpcds.py            # writes tpcds.tsv and slt/tpcds
    DIR/bin/python sqllogictest/tpcds.py --check    # compares, and writes nothing
    DIR/bin/python sqllogictest/tpcds.py --export FOLDER --scale-factor 1

Data and texts are those of DuckDB's extension `tpcds` at scale factor 0.01. It comes from PyPI
under the MIT licence, for another version of DuckDB than the one that says what queries return, so
it has an environment of its own. A query is the extension's text with the changes in tpcds.toml and
none besides. Results are written by generate.py, as those of all other files are; this program
leaves them as they are where a query stays the same.

With `--export` it writes data and texts of another size to a folder: `NAME.parquet` for each table,
as DuckDB writes it by itself, and `qNN.sql`. The comparison with other engines runs them.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
import tomllib
from pathlib import Path

import duckdb
import duckdb_extension_tpcds
import generate

DUCKDB_VERSION = "1.5.5"
HERE = Path(__file__).resolve().parent
ARCHIVE = HERE / "tpcds.tsv"
CHANGES = HERE / "tpcds.toml"
QUERIES = HERE / "slt" / "tpcds"
HEADINGS = "path\tbase64"
SCALE_FACTOR = 0.01
QUERY_COUNT = 99
QUERIES_PER_FILE = 10
# A drive does not decompress ZSTD, so these are read on the host; all others are read on a drive.
# They are most of the bytes, and hardly more than joined to.
ZSTD_TABLES = ["catalog_page", "date_dim", "time_dim"]
# Small enough that the tables of facts have several units of work each.
ROW_GROUP_ROWS = 16_384


def connect() -> duckdb.DuckDBPyConnection:
    """Opens DuckDB with the extension; one thread, so that files are the same each time."""
    if duckdb.__version__ != DUCKDB_VERSION:
        raise SystemExit(f"needs duckdb {DUCKDB_VERSION}, found {duckdb.__version__}")
    folder = Path(duckdb_extension_tpcds.__file__).parent
    extension = next(folder.rglob("tpcds.duckdb_extension"))
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"LOAD '{extension}'")
    return connection


def tables(connection: duckdb.DuckDBPyConnection, scale_factor: float) -> list[str]:
    """Makes all tables; gives their names."""
    connection.execute(f"CALL dsdgen(sf = {scale_factor})")
    found = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return sorted(name for (name,) in found)


def archive(connection: duckdb.DuckDBPyConnection) -> str:
    """The text of an archive (xtask/archive) of all tables."""
    lines = [HEADINGS]
    with tempfile.TemporaryDirectory() as folder:
        for table in tables(connection, SCALE_FACTOR):
            path = Path(folder) / f"{table}.parquet"
            codec = "zstd, COMPRESSION_LEVEL 19" if table in ZSTD_TABLES else "snappy"
            options = f"FORMAT parquet, COMPRESSION {codec}, ROW_GROUP_SIZE {ROW_GROUP_ROWS}"
            connection.execute(f"COPY {table} TO '{path}' ({options})")
            content = base64.b64encode(path.read_bytes()).decode()
            lines.append(f"{path.name}\t{content}")
    return "\n".join(lines) + "\n"


def changed(text: str, number: int, entries: list[dict]) -> tuple[str, list[str]]:
    """A query with its changes, and why each was made."""
    reasons = []
    for entry in [entry for entry in entries if entry["number"] == number]:
        reasons.append(" ".join(entry["why"].split()))
        for old, new in entry["changes"]:
            if old not in text:
                raise SystemExit(f"tpcds.toml: query {number} does not contain {old!r}")
            text = text.replace(old, new)
    return text, reasons


def statement(text: str) -> list[str]:
    """The lines of a query, without such as are empty, and without its end."""
    lines = [line.rstrip() for line in text.strip().rstrip(";").split("\n")]
    return [line for line in lines if line]


def queries(
    connection: duckdb.DuckDBPyConnection, scale_factor: float
) -> dict[int, tuple[list[str], list[str]]]:
    """The lines of each query, and why it was changed, by its number."""
    texts = dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
    if sorted(texts) != list(range(1, QUERY_COUNT + 1)):
        raise SystemExit("the extension has other queries")
    entries = tomllib.loads(CHANGES.read_text(encoding="utf-8"))["query"]
    entries = [it for it in entries if it.get("scale_factor", scale_factor) == scale_factor]
    found = {}
    for number, original in texts.items():
        text, reasons = changed(original, number, entries)
        found[number] = (statement(text), reasons)
    return found


def files(connection: duckdb.DuckDBPyConnection) -> dict[Path, list[str]]:
    """The lines of all files of queries, without results."""
    found = queries(connection, SCALE_FACTOR)
    result = {}
    for first in range(1, QUERY_COUNT + 1, QUERIES_PER_FILE):
        last = min(first + QUERIES_PER_FILE - 1, QUERY_COUNT)
        title = f"TPC-DS queries {first} to {last} at scale factor {SCALE_FACTOR}"
        lines = [
            "# SPDX-License-Identifier: Apache-2.0",
            f"# {title}, written by tpcds.py.",
            "",
        ]
        for number in range(first, last + 1):
            text, reasons = found[number]
            lines.append(f"# Query {number}" + (", changed:" if reasons else "."))
            lines += [f"# {reason}" for reason in reasons]
            lines += ["query ?", *text, "----", ""]
        result[QUERIES / f"q{first:02}_{last:02}.slt"] = lines[:-1]
    return result


def without_results(path: Path) -> list[str]:
    """The lines of a committed file as this program writes them."""
    lines: list[str] = []
    for part in generate.read(path):
        if isinstance(part, generate.Record):
            lines += ["query ?", *part.sql, "----"]
        else:
            lines.append(part)
    return lines


def with_results(path: Path, lines: list[str]) -> str:
    """Takes over the results of queries that stay the same."""
    known = {}
    if path.exists():
        records = [part for part in generate.read(path) if isinstance(part, generate.Record)]
        known = {"\n".join(record.sql): record for record in records}
    new: list[str] = []
    blocks = "\n".join(lines).split("query ?\n")
    for block in blocks[1:]:
        sql, rest = block.split("\n----", maxsplit=1)
        record = known.get(sql)
        head = " ".join(record.header) if record else "query ?"
        result = "".join(f"\n{line}" for line in record.result) if record else ""
        new.append(f"{head}\n{sql}\n----{result}{rest}")
    return blocks[0] + "".join(new) + "\n"


def export(connection: duckdb.DuckDBPyConnection, folder: Path, scale_factor: float) -> None:
    """Writes tables and queries of a size to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables(connection, scale_factor):
        connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
    for number, (lines, _) in queries(connection, scale_factor).items():
        text = "\n".join(lines) + "\n"
        (folder / f"q{number:02}.sql").write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    parser.add_argument("--export", metavar="FOLDER", type=Path, help="write data of another size")
    parser.add_argument("--scale-factor", type=float, default=1.0, help="of --export")
    arguments = parser.parse_args()
    connection = connect()
    if arguments.export:
        export(connection, arguments.export, arguments.scale_factor)
        return 0
    expected, text = files(connection), archive(connection)
    if not arguments.check:
        ARCHIVE.write_text(text, encoding="utf-8")
        QUERIES.mkdir(exist_ok=True)
        for path, lines in expected.items():
            path.write_text(with_results(path, lines), encoding="utf-8")
        return 0
    differing = [] if ARCHIVE.read_text(encoding="utf-8") == text else [ARCHIVE]
    differing += [path for path, lines in expected.items() if without_results(path) != lines]
    differing += sorted(set(QUERIES.glob("*.slt")) - expected.keys())
    for path in differing:
        print(f"{path} is not what tpcds.py writes", file=sys.stderr)
    print(f"{len(expected)} files, {QUERY_COUNT} queries, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
