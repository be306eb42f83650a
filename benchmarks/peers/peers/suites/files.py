# SPDX-License-Identifier: Apache-2.0
"""Makes Parquet files, once, and copies of them by other writers.

A file is made beside its place and moved there when it is whole, so an interrupted run leaves none
that is half written.
"""

import itertools
import shutil
import sys

import pyarrow
from pyarrow import parquet

# That of DuckDB; given to all, so that the writers differ in layout, not in the size of row groups.
ROW_GROUP_ROWS = 122_880


def once(path, make):
    """The location of a file or folder, made by `make` if it is not there."""
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)
        make(part)
        part.rename(path)
    return str(path)


def stream(path, batches, row_group_rows=None, **options):
    """Writes batches to one file by pyarrow; a row group does not hold rows of two batches."""
    batches = iter(batches)
    head = next(batches)
    with parquet.ParquetWriter(path, head.schema, **options) as writer:
        for batch in itertools.chain([head], batches):
            rows = row_group_rows or ROW_GROUP_ROWS
            writer.write_table(pyarrow.Table.from_batches([batch]), rows)


def copies(folder, make):
    """The location of the same rows by each of four writers: pyarrow by `make`, others from it."""
    first = once(folder / "pyarrow.parquet", make)
    writers = {"duckdb": by_duckdb, "polars": by_polars, "parquet-rs": by_parquet_rs}
    found = {"pyarrow": first}
    for name, write in writers.items():
        found[name] = once(folder / f"{name}.parquet", lambda path, write=write: write(first, path))
    return found


def by_duckdb(source, path):
    import duckdb

    duckdb.execute(f"COPY (FROM read_parquet('{source}')) TO '{path}' (FORMAT parquet)")


def by_polars(source, path):
    import polars

    frame = polars.scan_parquet(source)
    frame.sink_parquet(path, compression="snappy", row_group_size=ROW_GROUP_ROWS)


def by_parquet_rs(source, path):
    """DataFusion hands the rows to the crate `parquet`."""
    import datafusion

    config = datafusion.SessionConfig().with_target_partitions(1)
    context = datafusion.SessionContext(config)
    context.register_parquet("source", source)
    rows = ROW_GROUP_ROWS
    context.sql(
        f"COPY source TO '{path}' STORED AS PARQUET OPTIONS "
        f"('format.max_row_group_size' {rows}, 'format.compression' 'snappy')"
    ).collect()
