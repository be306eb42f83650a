# SPDX-License-Identifier: Apache-2.0
"""Queries over single tables, on files of four writers, a wide table, and many small files.

The table `t` has a column of each kind: whole numbers that ascend, repeat or are random, decimals,
floating point, dates and times, truth values, texts of few and of many values, and NULLs. Its rows
are the same for all writers.
"""

from dataclasses import replace
from pathlib import Path

import numpy
import pyarrow
from pyarrow import compute, parquet

from . import files, read

ROWS = 10_000_000
WIDE_COLUMNS = 300
WIDE_ROWS = 200_000
MANY_FILES = 1_000

LOW = [f"{name}-class" for name in ("air", "mail", "rail", "road", "sea", "tube", "wire", "walk")]
WORDS = [
    "amber", "basil", "cedar", "delta", "ember", "fjord", "grain", "haven", "inlet", "jetty",
    "karst", "lotus", "maple", "north", "ochre", "pearl", "quartz", "ridge", "slate", "tidal",
    "umbra", "vault", "willow", "xenon", "yield", "zephyr",
]  # fmt: skip


def queries(options):
    rows = options.rows or ROWS
    folder = Path(options.data) / f"scan-{rows}"
    tables = {
        "wide": files.once(folder / "wide.parquet", wide),
        "many": files.once(folder / "many", lambda path: many(path, rows // 10)),
    }
    copies = files.copies(folder / "t", lambda path: files.stream(path, batches(rows)))
    found = []
    for query in read("scan.sql"):
        table = next((name for name in tables if f"FROM {name}" in query.text), None)
        if table:
            found.append(replace(query, tables={table: tables[table]}))
            continue
        for writer, location in copies.items():
            found.append(replace(query, name=f"{query.name}/{writer}", tables={"t": location}))
    return found


def batches(rows, size=1_000_000):
    """The rows of `t`, in batches."""
    random = numpy.random.default_rng(20)
    for start in range(0, rows, size):
        yield batch(random, start, min(size, rows - start), rows)


def batch(random, start, count, total):
    ids = numpy.arange(start, start + count, dtype="int64")
    day = (ids * 2_500 // total + random.integers(0, 30, count)).astype("int32")
    second = ids * (2_500 * 86_400) // total + random.integers(0, 600, count)
    cents = random.integers(100, 10_000_000, count)
    return pyarrow.record_batch(
        {
            "id": ids,
            "tiny": random.integers(0, 50, count).astype("int8"),
            "small": (random.zipf(1.5, count) % 10_000).astype("int16"),
            "num": random.integers(0, 1_000_000, count).astype("int32"),
            "big": random.integers(-(2**62), 2**62, count),
            "code": random.integers(0, 2**32, count).astype("uint32"),
            "ratio": random.random(count).astype("float32"),
            "share": random.random(count),
            "price": hundredths(cents),
            "discount": hundredths(random.integers(0, 11, count)),
            "day": pyarrow.array(day, pyarrow.int32()).cast(pyarrow.date32()),
            "moment": pyarrow.array(second * 1_000_000, pyarrow.timestamp("us")),
            "flag": random.random(count) < 0.3,
            "low": pyarrow.array(LOW).take(random.integers(0, len(LOW), count)),
            "mid": texts("item ", random.integers(0, 1_000, count)),
            "high": texts("user/", random.integers(0, 10**9, count)),
            "note": notes(random, count),
            "gap_num": gaps(random, pyarrow.array(random.integers(0, 1_000, count)), 0.3),
            "gap_share": gaps(random, pyarrow.array(random.random(count)), 0.1),
            "gap_low": gaps(random, pyarrow.array(LOW).take(random.integers(0, 8, count)), 0.8),
        }
    )


def hundredths(numbers):
    """Whole numbers of hundredths as decimals, of the precision that money has.

    A decimal of Arrow is its digits as a number of 128 bits; of one that is not negative the upper
    half is zero."""
    halves = numpy.stack([numbers, numpy.zeros_like(numbers)], axis=1)
    buffer = pyarrow.py_buffer(halves.tobytes())
    return pyarrow.Array.from_buffers(pyarrow.decimal128(15, 2), len(numbers), [None, buffer])


def texts(prefix, numbers):
    return compute.binary_join_element_wise(prefix, pyarrow.array(numbers).cast("string"), "")


def notes(random, count):
    """Sentences of three to seven words."""
    words = pyarrow.array([*WORDS, ""])
    lengths = random.integers(3, 8, count)
    columns = []
    for place in range(7):
        drawn = numpy.where(place < lengths, random.integers(0, len(WORDS), count), len(WORDS))
        columns.append(words.take(pyarrow.array(drawn)))
    return compute.utf8_rtrim_whitespace(compute.binary_join_element_wise(*columns, " "))


def gaps(random, values, share):
    mask = pyarrow.array(random.random(len(values)) < share)
    return compute.if_else(mask, pyarrow.scalar(None, values.type), values)


def wide(path):
    """A table of many columns, of which a query reads few."""
    random = numpy.random.default_rng(21)
    columns = {}
    for number in range(WIDE_COLUMNS):
        if number % 3 == 0:
            columns[f"c{number}"] = random.integers(0, 10 ** (1 + number % 8), WIDE_ROWS)
        elif number % 3 == 1:
            columns[f"c{number}"] = random.random(WIDE_ROWS)
        else:
            columns[f"c{number}"] = texts("v", random.integers(0, 100 + number, WIDE_ROWS))
    parquet.write_table(pyarrow.table(columns), path, row_group_size=50_000)


def many(path, rows):
    """The same columns as `t`, in many small files."""
    path.mkdir()
    size = max(rows // MANY_FILES, 1)
    for number, part in enumerate(batches(size * MANY_FILES, size)):
        parquet.write_table(pyarrow.Table.from_batches([part]), path / f"{number:04}.parquet")
