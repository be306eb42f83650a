# SPDX-License-Identifier: Apache-2.0
"""Runs queries on one of the other engines, in a process of its own, as it is told.

    python -m peers.worker duckdb|polars|datafusion

The protocol is one JSON object in a line on standard input, one on standard output:

    {"tables": {"t": "a.parquet"}, "threads": 2}       ->  {"version": "2.0.0"}
    {"sql": "SELECT ...", "answer": "rows.arrow"}      ->  {"seconds": 0.25} or {"error": "..."}

The program `nearscan-peer` has two more, of which neither runs a query:

    {"decode": {"table": "t", "columns": ["a"]}}       ->  {"seconds": 0.25, "bytes": 4096}
    {"stream": {"bytes": 1073741824}}                  ->  {"seconds": 0.25}

The time of a query is from its text to all of its rows in memory, in the form that the engine hands
out by itself; converting them for the file comes after.
"""

import json
import os
import sys
import tempfile
import time


class DuckDB:
    """Tables are views of `read_parquet`; rows come out as an Arrow table."""

    def __init__(self, message):
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {int(message['threads'])}")
        if message.get("memory_limit_bytes"):
            self.connection.execute(f"SET memory_limit = '{message['memory_limit_bytes']}B'")
            # By default it spills to a folder where the comparison was started, and leaves it.
            self.spilled = tempfile.TemporaryDirectory(prefix="nearscan-peers-")
            self.connection.execute(f"SET temp_directory = '{self.spilled.name}'")
        if message.get("cold"):
            # It would keep what it has read of files in memory of its own.
            self.connection.execute("SET enable_external_file_cache = false")
        for name, location in message["tables"].items():
            self.connection.execute(
                f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{pattern(location)}')"
            )

    def run(self, sql):
        return self.connection.sql(sql).to_arrow_table()

    def rows(self, result):
        return result


class Polars:
    """Tables are lazy frames in a `SQLContext`; queries run on the streaming engine."""

    def __init__(self, message):
        # The number of threads is read when the library is loaded.
        os.environ["POLARS_MAX_THREADS"] = str(message["threads"])
        import polars

        self.version = polars.__version__
        frames = {
            name: polars.scan_parquet(pattern(location))
            for name, location in message["tables"].items()
        }
        self.context = polars.SQLContext(frames)

    def run(self, sql):
        return self.context.execute(sql).collect(engine="streaming")

    def rows(self, result):
        return result.to_arrow()


class DataFusion:
    """Tables are registered Parquet files; rows come out as Arrow batches."""

    def __init__(self, message):
        import datafusion

        self.version = datafusion.__version__
        config = datafusion.SessionConfig().with_target_partitions(message["threads"])
        runtime = datafusion.RuntimeEnvBuilder()
        if message.get("memory_limit_bytes"):
            runtime = runtime.with_fair_spill_pool(message["memory_limit_bytes"])
        self.context = datafusion.SessionContext(config, runtime)
        for name, location in message["tables"].items():
            self.context.register_parquet(name, location)

    def run(self, sql):
        frame = self.context.sql(sql)
        return frame.schema(), frame.collect()

    def rows(self, result):
        import pyarrow

        schema, batches = result
        return pyarrow.Table.from_batches(batches, batches[0].schema if batches else schema)


ENGINES = {"duckdb": DuckDB, "polars": Polars, "datafusion": DataFusion}


def pattern(location):
    """The files of a location, as a pattern: those of a folder are all of its Parquet files."""
    return os.path.join(location, "*.parquet") if os.path.isdir(location) else location


def main():
    engine = ENGINES[sys.argv[1]](json.loads(sys.stdin.readline()))
    print(json.dumps({"version": engine.version}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps(run(engine, message)), flush=True)


def run(engine, message):
    try:
        start = time.perf_counter()
        result = engine.run(message["sql"])
        seconds = time.perf_counter() - start
        if message.get("answer"):
            write(engine.rows(result), message["answer"])
        return {"seconds": seconds}
    # Any failure of an engine, also a panic of its library, is its answer to this query.
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"}


def write(rows, path):
    import pyarrow

    with pyarrow.ipc.new_file(path, rows.schema) as writer:
        writer.write_table(rows)


if __name__ == "__main__":
    main()
