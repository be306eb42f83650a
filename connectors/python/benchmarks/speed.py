# SPDX-License-Identifier: Apache-2.0
"""Compares the time of this package with that of DuckDB's and DataFusion's, in one process.

    python connectors/python/benchmarks/speed.py

- ``frame``: a Parquet file of five columns as a frame of Polars, by ``SELECT *``.
- ``row``: one row of a table in memory, by a statement with a parameter that is given anew each
  time.

The packages take turns; each has the median of its runs. A turn of `row` is many runs, because the
first ones find the caches full of what another package did. All use the same number of threads,
and their results are compared. The last number of a line is the time over that of the fastest
other package.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import datafusion
import duckdb

import nearscan

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = "nearscan"
COLUMNS = "n AS a, n * 2 AS b, n / 3.0 AS c, n % 1000 AS d, n + 7 AS e"
ROWS_IN_MEMORY = 1000


def frames(file: Path, threads: int) -> dict[str, Callable[[], object]]:
    """Returns, for each package, what reads the file into a frame."""
    con = nearscan.connect(threads=threads)
    duck = duckdb.connect(config={"threads": threads})
    fusion = session(threads)
    fusion.register_parquet("t", file)
    query = f"SELECT * FROM '{file}'"
    return {
        OWN: lambda: con.sql(query).pl(),
        "duckdb": lambda: duck.sql(query).pl(),
        "datafusion": lambda: fusion.sql("SELECT * FROM t").to_polars(),
    }


def rows(threads: int) -> dict[str, Callable[[], object]]:
    """Returns, for each package, what fetches one row."""
    numbers = f"SELECT {{0}} AS n, {{0}} * 2 AS v FROM range({ROWS_IN_MEMORY})"
    con = nearscan.connect(threads=threads)
    con.execute(f"CREATE TABLE t AS {numbers.format('value')}")
    duck = duckdb.connect(config={"threads": threads})
    duck.execute(f"CREATE TABLE t AS {numbers.format('range')}")
    fusion = session(threads)
    of_fusion = numbers.format("value").replace("range(", "range(0, ")
    fusion.sql(f"CREATE TABLE t AS {of_fusion}").collect()

    def fetch_of_fusion() -> object:
        found = fusion.sql("SELECT v FROM t WHERE n = $n", param_values={"n": 5}).to_pylist()
        return tuple(found[0].values())

    query = "SELECT v FROM t WHERE n = ?"
    return {
        OWN: lambda: con.execute(query, [5]).fetchone(),
        "duckdb": lambda: duck.execute(query, [5]).fetchone(),
        "datafusion": fetch_of_fusion,
    }


def session(threads: int) -> datafusion.SessionContext:
    config = datafusion.SessionConfig().with_target_partitions(threads)
    return datafusion.SessionContext(config)


def medians(
    runs: dict[str, Callable[[], object]], turns: int, runs_of_turn: int
) -> dict[str, float]:
    """Returns the median time of each package in seconds.

    Raises:
        ValueError: The results are not the same.
    """
    own, *others = (comparable(run()) for run in runs.values())
    if any(other != own for other in others):
        raise ValueError("the packages return different results")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, run in runs.items():
            for _ in range(runs_of_turn):
                started = time.perf_counter()
                result = run()
                times[name].append(time.perf_counter() - started)
                del result
    return {name: statistics.median(of) for name, of in times.items()}


def comparable(result: object) -> object:
    """A frame as the sums of its columns, for rows have no order; anything else as it is."""
    import polars as pl

    if not isinstance(result, pl.DataFrame):
        return result
    return [(result.height, round(float(column.sum()))) for column in result.iter_columns()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--fetches", type=int, default=200, help="runs of `row` in a turn")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        made = f"SELECT {COLUMNS} FROM (SELECT value AS n FROM range({given.rows}))"
        nearscan.connect().sql(made).write_parquet(file, compression="snappy")
        for task, runs, runs_of_turn in (
            ("frame", frames(file, given.threads), 1),
            ("row", rows(given.threads), given.fetches),
        ):
            found = medians(runs, given.turns, runs_of_turn)
            fastest = min(seconds for name, seconds in found.items() if name != OWN)
            for name, seconds in found.items():
                print(f"{task:6} {name:11} {seconds * 1e3:10.3f} ms {seconds / fastest:6.2f}")


if __name__ == "__main__":
    main()
