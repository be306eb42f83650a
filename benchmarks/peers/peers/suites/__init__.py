# SPDX-License-Identifier: Apache-2.0
"""Suites of queries, and the text files that hold them.

A file of queries is SQL; a comment in a line of its own begins each of them:

    -- query NAME [columns: 1 2 | none] [reads: TABLE COLUMN ...] [for: ENGINE]

`columns` are those that are compared, from 1, where ties leave the others open; none compares only
the number of rows. `reads` are the columns of which the query needs every value, so that decoding
them is the least that it takes. `for` gives an engine a text of its own where its dialect needs
one.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

QUERIES = Path(__file__).resolve().parent.parent.parent / "queries"

HEADING = re.compile(
    r"^-- query (?P<name>\S+)(?: columns: (?P<columns>none|[\d ]*\d))?"
    r"(?: reads: (?P<reads>\w+(?: \w+)+))?(?: for: (?P<engine>\w+))?$"
)


@dataclass(frozen=True)
class Reads:
    """Columns of a table."""

    table: str
    columns: list[str]


@dataclass
class Query:
    """A query, with the tables that it runs on."""

    name: str
    text: str
    columns: list[int] | None = None
    texts: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    reads: Reads | None = None

    def sql(self, engine):
        """The text for an engine."""
        return self.texts.get(engine, self.text)


def parse(text):
    """The queries of a file, in its order.

    >>> (query,) = parse("-- query a\\nSELECT 1;\\n-- query a for: polars\\nSELECT 2")
    >>> query.sql("duckdb"), query.sql("polars")
    ('SELECT 1', 'SELECT 2')
    """
    queries = {}
    parts = re.split(r"(?m)^(?=-- query )", text)
    for part in parts[1:]:
        heading, body = part.split("\n", 1)
        found = HEADING.match(heading)
        if found is None:
            raise ValueError(f"not a heading of a query: {heading}")
        name, sql = found["name"], body.strip().rstrip(";")
        if found["engine"]:
            queries[name].texts[found["engine"]] = sql
        else:
            columns, reads = columns_of(found["columns"]), reads_of(found["reads"])
            queries[name] = Query(name, sql, columns, reads=reads)
    return list(queries.values())


def columns_of(text):
    """The places of the columns that are compared, from 0, or None for all of them."""
    if text is None:
        return None
    return [] if text == "none" else [int(place) - 1 for place in text.split()]


def reads_of(text):
    """The table, which comes first, and its columns."""
    if text is None:
        return None
    table, *columns = text.split()
    return Reads(table, columns)


def read(file):
    """The queries of a file of this benchmark."""
    return parse((QUERIES / file).read_text())
