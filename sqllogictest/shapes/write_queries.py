# SPDX-License-Identifier: Apache-2.0
"""Writes the queries over the tables in sqllogictest/data.tsv, without their results.

    python sqllogictest/shapes/write_queries.py
    python sqllogictest/generate.py --data target/tmp/slt --complete FILES

The queries are committed: this program is needed only for other ones. It prints the files.
"""

from __future__ import annotations

import encoding_queries
import expression_queries
import file_queries
import merge_queries
import plan_queries
import type_queries

THEMES = [
    type_queries,
    encoding_queries,
    expression_queries,
    plan_queries,
    file_queries,
    merge_queries,
]


def main() -> None:
    for theme in THEMES:
        for file in theme.files():
            file.write()
            print(f"sqllogictest/slt/{file.name}.slt")


if __name__ == "__main__":
    main()
