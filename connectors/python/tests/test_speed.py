# SPDX-License-Identifier: Apache-2.0
"""Tests that the comparison of times runs; what it measures is nothing for a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "speed.py"


def test_comparison_measures_every_package_at_every_task() -> None:
    small = ["--rows", "1000", "--turns", "1", "--fetches", "1"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *small], check=True, timeout=120, capture_output=True, text=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    packages = ["nearscan", "duckdb", "datafusion"]
    expected = [(task, package) for task in ("frame", "row") for package in packages]
    assert [(task, package) for task, package, *_ in lines] == expected
    assert all(float(milliseconds) > 0 for _, _, milliseconds, _, _ in lines)
