# SPDX-License-Identifier: Apache-2.0
"""The 22 queries of TPC-H, on the files that `nearscan tpch generate` writes."""

import re
import subprocess
from pathlib import Path

from . import QUERIES, Query, Reads, parameters

# Of a query over one table, the columns of which it needs the values.
READS = {
    "q06": Reads("lineitem", ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"]),
}

TEXTS = QUERIES.parent.parent / "tpch" / "queries"

VIEW = re.compile(
    r"CREATE VIEW (?P<name>\w+)\s*(?P<columns>\([^)]*\))?\s*AS\s+(?P<body>.*?);\s*"
    r"(?P<query>SELECT.*?);\s*DROP VIEW.*",
    re.IGNORECASE | re.DOTALL,
)


def queries(options):
    folder = Path(options.data) / "tpch"
    scale = f"{options.scale_factor:g}"
    subprocess.run(
        [options.nearscan, "tpch", "generate", "--scale-factor", scale, "--data", str(folder)],
        check=True,
    )
    files = (folder / f"sf{scale}").glob("*.parquet")
    tables = {file.stem: str(file) for file in files}
    texts = sorted(TEXTS.glob("q*.sql"))
    return [
        Query(
            file.stem,
            text_of(file, options.parameters),
            tables=tables,
            reads=READS.get(file.stem),
        )
        for file in texts
    ]


def text_of(file, seed):
    """The statement of a file, with other parameters if there is a seed for them."""
    text = one_statement(file.read_text())
    return text if seed is None else parameters.draw(file.stem, text, seed)


def one_statement(text):
    """The text with a view turned into a common table expression.

    >>> one_statement("CREATE VIEW v (a) AS SELECT 1;\\nSELECT a FROM v;\\nDROP VIEW v;")
    'WITH v (a) AS (SELECT 1)\\nSELECT a FROM v'
    """
    text = re.sub(r"(?m)^--.*\n", "", text).strip()
    view = VIEW.fullmatch(text)
    if view is None:
        return text.rstrip(";")
    name = " ".join(filter(None, (view["name"], view["columns"])))
    return f"WITH {name} AS ({view['body']})\n{view['query']}"
