# SPDX-License-Identifier: Apache-2.0
"""Threads, interrupts, event loops and processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import nearscan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUERIES = int(os.environ.get("NEARSCAN_STRESS_QUERIES", "100"))
"""Queries of each thread of the stress."""

ENDLESS = "SELECT count(*) FROM range(1000000000) AS a, range(1000000) AS b WHERE a.value > b.value"


def test_interpreter_runs_while_the_engine_works(con: nearscan.Connection) -> None:
    ticks = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    counting = threading.Thread(target=count)
    counting.start()
    con.sql("SELECT sum(value * 2) FROM range(50000000)").fetchall()
    stop.set()
    counting.join()
    assert ticks > 20


def test_threads_share_a_connection(con: nearscan.Connection, numbers: Path) -> None:
    con.register("t", numbers)
    failures: list[object] = []

    def query(seed: int) -> None:
        for number in range(20):
            expected = (seed * 100 + number) % 1000
            found = con.sql("SELECT n FROM t WHERE n = ?", [expected]).fetchall()
            if found != [(expected,)]:
                failures.append((expected, found))

    threads = [threading.Thread(target=query, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.fixture(autouse=True)
def interrupts_are_raised() -> Iterator[None]:
    """A shell starts a program in the background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("way", ["fetchall", "batches", "arrow_stream", "cursor"])
def test_interrupt_ends_a_query_at_once(con: nearscan.Connection, way: str) -> None:
    # pyarrow imports pandas at need. An interrupt of that import leaves the import lock with the
    # thread that imports pandas next, and a fork then waits for the lock without end.
    import pandas as pd  # noqa: F401
    import pyarrow as pa

    sent = time.monotonic() + 0.3
    timer = interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        if way == "fetchall":
            con.sql(ENDLESS).fetchall()
        elif way == "batches":
            list(con.sql(ENDLESS))
        elif way == "cursor":
            con.execute(ENDLESS).fetchone()
        else:
            try:
                pa.table(con.sql(ENDLESS))
            except pa.ArrowException:
                # The interrupt is raised right behind the error of the consumer.
                time.sleep(0.1)
    assert time.monotonic() - sent < 0.2
    timer.join()
    assert con.sql("SELECT 1").fetchone() == (1,)


def test_interrupt_ends_the_work_of_a_drive(numbers: Path) -> None:
    with nearscan.connect(drives=["emulated:"], threads=2, pushdown_mode="force") as con:
        con.register("t", numbers)
        joined = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.n + b.n < c.n AND a.half > 1"
        interrupt_after(0.5)
        with pytest.raises(KeyboardInterrupt):
            con.sql(joined).fetchall()
        time.sleep(0.1)
        assert con.sql("SELECT count(*) FROM t WHERE n < 10").fetchone() == (10,)


def test_event_loop_runs_while_a_query_does(con: nearscan.Connection) -> None:
    async def both() -> tuple[list[tuple[object, ...]], int]:
        ticks = 0
        query = asyncio.ensure_future(con.sql_async("SELECT sum(value) FROM range(20000000)"))
        while not query.done():
            ticks += 1
            await asyncio.sleep(0.001)
        return query.result().fetchall(), ticks

    rows, ticks = asyncio.run(both())
    assert rows == [(199_999_990_000_000,)]
    assert ticks > 5


def test_event_loop_sees_the_variables_of_the_caller(con: nearscan.Connection) -> None:
    async def run() -> list[tuple[object, ...]]:
        people = [{"name": "Ada"}]
        task = asyncio.ensure_future(con.sql_async("SELECT name FROM people"))
        rows = (await task).fetchall()
        assert len(people) == 1
        return rows

    assert asyncio.run(run()) == [("Ada",)]


def test_cancelled_task_cancels_its_query(con: nearscan.Connection) -> None:
    async def cancel() -> float:
        query = asyncio.ensure_future(con.sql_async(ENDLESS))
        await asyncio.sleep(0.2)
        query.cancel()
        cancelled = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await query
        return cancelled

    cancelled = asyncio.run(cancel())
    # The loop waits for the threads of its executor.
    assert time.monotonic() - cancelled < 1.0
    assert con.sql("SELECT 1").fetchone() == (1,)


def test_forked_child_gets_a_clear_error(con: nearscan.Connection) -> None:
    rows = con.sql("SELECT 1")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            rows.fetchall()
        except nearscan.InterfaceError as error:
            status = 0 if "forked" in error.primary and "spawn" in (error.hint or "") else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert rows.fetchall() == [(1,)]


def test_forked_child_ends_without_waiting() -> None:
    script = (
        "import nearscan, os; con = nearscan.connect(drives=['emulated:']);"
        "rows = con.sql('SELECT 1'); rows.fetchall();"
        "child = os.fork();\n"
        "if child == 0:\n    del rows, con\n    raise SystemExit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


def square(number: int) -> object:
    """Runs in a child of multiprocessing."""
    with nearscan.connect(threads=1) as con:
        return con.sql("SELECT ? * ?", [number, number]).fetchone()


def test_spawned_children_have_connections_of_their_own() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(square, range(4)) == [(0,), (1,), (4,), (9,)]


def test_process_ends_with_a_connection_and_rows_open() -> None:
    script = (
        "import nearscan, pyarrow as pa; con = nearscan.connect();"
        "data = pa.table({'a': list(range(100000))}); con.register('t', data);"
        "rows = con.sql('SELECT * FROM t'); it = rows.batches(); next(it);"
        "kept = rows.arrow(); stream = con.execute('SELECT * FROM t')"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


def test_threads_and_interrupts_leave_nothing_in_flight(numbers: Path) -> None:
    """Eight threads run queries, of which every fourth is ended early."""
    with nearscan.connect(threads=2) as con:
        con.register("t", numbers)
        failures: list[object] = []

        def work(seed: int) -> None:
            choose = random.Random(seed)  # noqa: S311
            for number in range(QUERIES):
                stream = con.plan("SELECT n FROM t WHERE n % 10 = $1", [number % 10]).stream()
                if choose.random() < 0.25:
                    stream.next()
                    stream.cancel() if choose.random() < 0.5 else stream.close()
                elif (found := stream.collect().num_rows) != 10_000:
                    failures.append(found)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        deadline = time.monotonic() + 5
        while con.engine.tasks() > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert con.engine.tasks() == 0
