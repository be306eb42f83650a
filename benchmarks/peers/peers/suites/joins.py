# SPDX-License-Identifier: Apache-2.0
"""Queries that join 2 to 17 relations, each as written and in orders drawn at random.

The data are those of `observations`. That a planner chooses a good order shows in two ratios: that
of the slowest to the fastest order of a query, which is 1 where the order of the text does not
matter, and that to the same engine with DataFusion's order of joins, which is that of the text.
"""

import re
from dataclasses import replace
from pathlib import Path
from random import Random

from . import files, observations, orders, read

ROWS = 5_000_000

# Settings with which Nearscan runs once more unless others are asked for.
ALSO = ["nearscan.join_order=datafusion"]


def queries(options):
    rows = options.rows or ROWS
    path = Path(options.data) / f"joins-{rows}"
    folder = Path(files.once(path, lambda path: observations.make(path, rows)))
    tables = {file.stem: str(file) for file in sorted(folder.glob("*.parquet"))}
    return [
        replace(query, tables=used(query, tables))
        for written in read("joins.sql")
        for query in drawn(written, options.join_orders, options.seed)
    ]


def drawn(query, count, seed):
    """A query as it is written, and in up to `count` other orders. The name of each is that of the
    query, an `@`, and what the order is called."""
    joins = orders.parse(query.text)
    found = joins.orders(Random(f"{seed} {query.name}"), count)
    texts = {"written": query.text}
    texts |= {str(number): joins.sql(order) for number, order in enumerate(found, 1)}
    return [replace(query, name=f"{query.name}@{name}", text=text) for name, text in texts.items()]


def used(query, tables):
    """The tables that a query names."""
    names = set(re.findall(r"\b(?:FROM|JOIN) (\w+) AS\b", query.text))
    return {name: tables[name] for name in sorted(names)}
