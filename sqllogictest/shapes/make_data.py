# SPDX-License-Identifier: Apache-2.0
"""Writes the Parquet files in sqllogictest/data.tsv, or checks that they are what it writes.

    python sqllogictest/shapes/make_data.py            # writes all of them anew
    python sqllogictest/shapes/make_data.py --check    # compares, byte by byte

The files are committed, for they are what other programs write, and expected results were computed
from them. They are the same on every machine with the packages of xtask/requirements.txt. They are
packed into one, a line each, as xtask/archive says.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from pathlib import Path

import folder_tables
import foreign_tables
import mixed_tables
import pyarrow.parquet as pq
import sorted_tables
from tables import Table, encoding_tables, type_tables

DATA = Path(__file__).resolve().parent.parent / "data.tsv"
HEADINGS = "path\tbase64"


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


def pack(folder: Path) -> list[str]:
    """The lines of an archive of all files below a folder."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    lines = [HEADINGS]
    for name, path in sorted(files.items()):
        if path.is_file():
            content = base64.b64encode(path.read_bytes()).decode()
            lines.append(f"{name}\t{content}" if content else name)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch))
        wanted = pack(Path(scratch))
    if not arguments.check:
        DATA.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        return 0
    found = DATA.read_text(encoding="utf-8").splitlines()
    different = sorted({line.split("\t")[0] for line in set(wanted) ^ set(found)})
    if wanted != found and not different:
        different = ["the order of the lines"]
    for path in different:
        print(f"{path} is not what this program writes", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
