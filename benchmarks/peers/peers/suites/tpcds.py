# SPDX-License-Identifier: Apache-2.0
"""The 99 queries of TPC-DS, on data of DuckDB's extension.

The extension comes from PyPI for another version of DuckDB than the one that is compared, so the
program that uses it, which also makes the data of the tests, has an environment of its own.
"""

import subprocess
import sys
from pathlib import Path

from . import Query, files

PACKAGES = ["duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5"]

GENERATOR = Path(__file__).resolve().parents[4] / "sqllogictest" / "tpcds.py"


def queries(options):
    scale = f"{options.scale_factor:g}"
    folder = Path(options.data) / "tpcds"
    environment = folder / "generator"
    data = Path(files.once(folder / f"sf{scale}", lambda path: make(environment, path, scale)))
    tables = {file.stem: str(file) for file in data.glob("*.parquet")}
    texts = sorted(data.glob("q*.sql"))
    return [Query(file.stem, file.read_text().rstrip(), tables=tables) for file in texts]


def make(environment, path, scale):
    files.once(environment, install)
    python = environment / "bin" / "python"
    command = [python, GENERATOR, "--export", path, "--scale-factor", scale]
    subprocess.run(command, check=True)


def install(path):
    subprocess.run([sys.executable, "-m", "venv", path], check=True)
    subprocess.run([path / "bin" / "python", "-m", "pip", "install", "-q", *PACKAGES], check=True)
