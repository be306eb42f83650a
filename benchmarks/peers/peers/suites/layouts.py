# SPDX-License-Identifier: Apache-2.0
"""Queries over one table, in files of every layout that writers make.

The rows are those of the table `t` of the suite `scan`. The first layout is what pyarrow writes by
itself, but for the size of row groups; the others of pyarrow differ from it in one property. No
layout should be a cliff.
"""

from dataclasses import replace
from pathlib import Path

import pyarrow
from pyarrow import parquet

from . import files, read, scan

ROWS = 4_000_000
LARGE_GROUP_ROWS = 1_000_000
SMALL_GROUP_ROWS = 10_000
MANY_FILES = 1_000

SPLIT = dict.fromkeys(["ratio", "share", "gap_share"], "BYTE_STREAM_SPLIT")
DELTA = {
    **dict.fromkeys(
        ["id", "tiny", "small", "num", "big", "code", "day", "moment", "gap_num"],
        "DELTA_BINARY_PACKED",
    ),
    "high": "DELTA_BYTE_ARRAY",
    "note": "DELTA_LENGTH_BYTE_ARRAY",
}

# What pyarrow is told for each layout that it writes beside the first.
OPTIONS = {
    "zstd": {"compression": "zstd"},
    "gzip": {"compression": "gzip"},
    "lz4": {"compression": "lz4"},
    "uncompressed": {"compression": "none"},
    "no-dictionary": {"use_dictionary": False},
    "large-groups": {"row_group_rows": LARGE_GROUP_ROWS},
    "small-groups": {"row_group_rows": SMALL_GROUP_ROWS},
    "pages-v2": {"data_page_version": "2.0"},
    "delta": {"column_encoding": DELTA},
    "stream-split": {"column_encoding": SPLIT},
}


def queries(options):
    rows = options.rows or ROWS
    locations = layouts(Path(options.data) / f"layouts-{rows}", rows)
    return [
        replace(query, name=f"{query.name}/{layout}", tables={"t": location})
        for query in read("layouts.sql")
        for layout, location in locations.items()
    ]


def layouts(folder, rows):
    """The location of the rows in each layout, by its name."""
    copies = files.copies(folder, lambda path: files.stream(path, scan.batches(rows)))
    first = copies.pop("pyarrow")
    found = {"pyarrow": first}
    for name, chosen in OPTIONS.items():
        path = folder / f"{name}.parquet"
        found[name] = files.once(path, lambda path: rewrite(first, path, **chosen))
    found["many-files"] = files.once(folder / "many", lambda path: many(first, path, rows))
    return found | copies


def rewrite(source, path, **chosen):
    file = parquet.ParquetFile(source)
    if "column_encoding" in chosen:
        # A column has either a dictionary or an encoding that is chosen.
        others = [name for name in file.schema_arrow.names if name not in chosen["column_encoding"]]
        chosen["use_dictionary"] = others
    files.stream(path, file.iter_batches(LARGE_GROUP_ROWS), **chosen)


def many(source, path, rows):
    """The same rows, in files of equal size."""
    path.mkdir()
    size = max(rows // MANY_FILES, 1)
    for number, batch in enumerate(parquet.ParquetFile(source).iter_batches(size)):
        parquet.write_table(pyarrow.Table.from_batches([batch]), path / f"{number:04}.parquet")
