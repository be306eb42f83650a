# SPDX-License-Identifier: Apache-2.0
"""What an installed wheel must do without any other package.

``cargo xtask wheel`` runs this file in an empty environment; it needs nothing, not even pytest.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORT_SECONDS_MAX = 0.06
"""The same limit as in ``test_relation.py``."""


def import_seconds() -> float:
    """Seconds that the package takes to import in a new interpreter; the least of five."""
    program = (
        "import time; start = time.perf_counter(); import nearscan; "
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-I", "-c", program]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def check_installed() -> None:
    """The package is that of the environment, whole, and alone."""
    import nearscan

    package = Path(nearscan.__file__).parent
    assert package.is_relative_to(sys.prefix), package
    assert (package / "py.typed").is_file()
    assert (package / "_nearscan.pyi").is_file()
    assert nearscan.__version__ == importlib.metadata.version("nearscan")
    for name in nearscan.__all__:
        assert getattr(nearscan, name) is not None, name
    for name in ("pyarrow", "pandas", "polars", "IPython"):
        assert importlib.util.find_spec(name) is None, f"{name} is installed"


def check_queries(folder: Path) -> None:
    """The engine writes a Parquet file and reads it, on the host and on a drive."""
    import nearscan

    path = folder / "numbers.parquet"
    rows = "SELECT value AS n, 'name ' || (value % 3) AS name FROM range(10000)"
    statement = f"SELECT name, sum(n) AS total FROM '{path}' WHERE n < ? GROUP BY 1 ORDER BY 1"
    expected = [("name 0", 18), ("name 1", 12), ("name 2", 15)]
    with nearscan.connect(threads=2) as con:
        # Zstandard, the default, is not for drives.
        con.sql(f"COPY ({rows}) TO '{path}' STORED AS PARQUET OPTIONS (compression 'snappy')")
        assert con.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(10_000,)]
        assert con.sql(statement, [10]).fetchall() == expected
    with nearscan.connect(drives=["emulated:"], pushdown_mode="force") as con:
        on_drive = con.sql(statement, [10])
        assert on_drive.fetchall() == expected
        assert on_drive.profile().bytes["media"] > 0


def check_errors(folder: Path) -> None:
    """Errors have their classes and parts; what needs another package says so."""
    import nearscan

    with nearscan.connect() as con:
        try:
            con.sql("SELECT 1 +")
        except nearscan.ProgrammingError as error:
            assert error.position == (1, 11), error.position
            assert "^" in (error.detail or ""), error.detail
        else:
            raise AssertionError("a syntax error is no error")
        try:
            con.sql(f"SELECT * FROM '{folder}/none.parquet'").fetchall()
        except nearscan.DatabaseError:
            pass
        else:
            raise AssertionError("a missing file is no error")
        for method, package in (("arrow", "pyarrow"), ("pl", "polars"), ("df", "pyarrow")):
            try:
                getattr(con.sql("SELECT 1 AS one"), method)()
            except nearscan.NotSupportedError as error:
                assert package in str(error), error
            else:
                raise AssertionError(f"{method}() works without {package}")


def main() -> None:
    """Runs the checks, and prints what was tested and how long it took."""
    start = time.perf_counter()
    seconds = import_seconds()
    assert seconds < IMPORT_SECONDS_MAX, f"the import takes {seconds:.3f} s"
    check_installed()
    with tempfile.TemporaryDirectory() as folder:
        check_queries(Path(folder))
        check_errors(Path(folder))
    version = sys.version.partition(" ")[0]
    passed = time.perf_counter() - start
    sys.stdout.write(f"Python {version}: import {seconds:.3f} s, tests passed in {passed:.1f} s\n")


if __name__ == "__main__":
    main()
