# SPDX-License-Identifier: Apache-2.0
"""Writes the Parquet files below sqllogictest/data, or checks that they are what it writes.

    python sqllogictest/shapes/make_data.py            # writes all of them anew
    python sqllogictest/shapes/make_data.py --check    # compares, byte by byte

The files are committed, for they are what other programs write, and expected results were computed
from them. They are the same on every machine with the packages of xtask/requirements.txt.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import folder_tables
import foreign_tables
import mixed_tables
import pyarrow.parquet as pq
import sorted_tables
from tables import Table, encoding_tables, type_tables

DATA = Path(__file__).resolve().parent.parent / "data"


def write_table(folder: Path, table: Table) -> None:
    path = folder / f"{table.name}.parquet"
    pq.write_table(table.rows, path, row_group_size=table.group_rows, **table.options)


def write(folder: Path) -> None:
    """Writes everything into an empty folder."""
    tables = folder / "tables"
    tables.mkdir(parents=True)
    for table in [*type_tables(), *encoding_tables(), *mixed_tables.tables()]:
        write_table(tables, table)
    folder_tables.write(folder)
    foreign_tables.write(tables)
    sorted_tables.write(tables)


def contents(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "data"
        write(made)
        if not arguments.check:
            shutil.rmtree(DATA, ignore_errors=True)
            shutil.copytree(made, DATA)
            return 0
        wanted, found = contents(made), contents(DATA)
    different = sorted(str(path) for path in wanted | found if wanted.get(path) != found.get(path))
    for path in different:
        print(f"{path} is not what this program writes", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
