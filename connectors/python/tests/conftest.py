# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import nearscan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def con() -> Iterator[nearscan.Connection]:
    """A connection of two threads."""
    with nearscan.connect(threads=2) as connection:
        yield connection


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of 100,000 rows: `n`, `half`, `name`, in ten row groups."""
    path = tmp_path_factory.mktemp("data") / "numbers.parquet"
    with nearscan.connect() as connection:
        rows = connection.sql(
            "SELECT value AS n, value / 2.0 AS half, 'name ' || (value % 7) AS name "
            "FROM range(100000) ORDER BY n"
        )
        rows.write_parquet(path, compression="snappy", **{"format.max_row_group_size": 10_000})
    return path
