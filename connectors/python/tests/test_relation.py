# SPDX-License-Identifier: Apache-2.0
"""Relations: their steps, their columns and their rows."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearscan
from nearscan import col, expr, function

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def people(con: nearscan.Connection) -> nearscan.Relation:
    return con.sql(
        "SELECT * FROM (VALUES (1, 'Ada', 1815), (2, 'Alan', 1912), (3, 'Edsger', 1930), "
        "(4, 'Barbara', 1939)) AS t (id, name, born)"
    )


def test_steps_chain_into_one_statement(people: nearscan.Relation) -> None:
    late = people.filter(col("born") > 1900).order(col("born").desc()).select("name").limit(2)
    assert late.fetchall() == [("Barbara",), ("Edsger",)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("born < 1900", [1]),
        (col("name") == "Alan", [2]),
        (col("name") != "Alan", [1, 3, 4]),
        ((col("id") > 1) & (col("id") < 4), [2, 3]),
        ((col("id") == 1) | (col("name").like("B%")), [1, 4]),
        (~col("id").is_in(1, 2), [3, 4]),
        (col("born").between(1912, 1930), [2, 3]),
        (col("born") % 2 == 0, [2, 3]),
        (1900 - col("born") > 0, [1]),
        (-col("id") < -3, [4]),
        (col("name").is_null(), []),
        (expr("length(name) = 3"), [1]),
        (function("length", col("name")) == 6, [3]),
        (col("id").cast("DOUBLE") / 2 == 1.5, [3]),
    ],
)
def test_filter_takes_sql_or_an_expression(
    people: nearscan.Relation, condition: str | nearscan.Expression, expected: list[int]
) -> None:
    found = people.filter(condition).select("id").order("id").fetchall()
    assert found == [(it,) for it in expected]


def test_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="use & for and"):
        bool(col("a") == 1)


def test_order_is_kept_by_the_steps_behind_it(people: nearscan.Relation) -> None:
    ordered = people.order("born DESC")
    assert ordered.select("id").fetchall() == [(4,), (3,), (2,), (1,)]
    assert ordered.filter("id < 4").select("id").fetchall() == [(3,), (2,), (1,)]
    assert ordered.filter("id < 4").limit(2, offset=1).select("id").fetchall() == [(2,), (1,)]
    assert ordered.limit(1).fetchall() == [(4, "Barbara", 1939)]


def test_order_of_the_statement_is_kept_by_limit(con: nearscan.Connection) -> None:
    rows = con.sql("SELECT value FROM range(1000) ORDER BY value DESC").limit(3, offset=1)
    assert rows.fetchall() == [(998,), (997,), (996,)]


def test_aggregate_groups(people: nearscan.Relation) -> None:
    grouped = people.aggregate("count(*) AS n", by=expr("born < 1920").alias("early"))
    assert grouped.order("early").fetchall() == [(False, 2), (True, 2)]
    assert people.aggregate([function("max", col("id")), "min(id)"]).fetchall() == [(4, 1)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(1, "math")]),
        ("left", [(1, "math"), (2, None), (3, None), (4, None)]),
        ("right", [(1, "math"), (9, "art")]),
        ("full", [(1, "math"), (2, None), (3, None), (4, None), (9, "art")]),
    ],
)
def test_join_has_all_kinds(
    con: nearscan.Connection,
    people: nearscan.Relation,
    how: str,
    expected: list[tuple[object, ...]],
) -> None:
    fields = con.from_data([{"id": 1, "field": "math"}, {"id": 9, "field": "art"}])
    joined = people.join(fields, on="id", how=how)  # type: ignore[arg-type]
    assert joined.select("id", "field").order("id").fetchall() == expected


def test_join_takes_a_condition_over_both_sides(people: nearscan.Relation) -> None:
    pairs = people.join(people, on="lhs.born < rhs.born AND rhs.id = 2")
    assert pairs.columns == ["id", "name", "born", "id_1", "name_1", "born_1"]
    assert pairs.select("name", "name_1").fetchall() == [("Ada", "Alan")]
    semi = people.join([{"id": 3}], on=["id"], how="semi")
    assert semi.select("name").fetchall() == [("Edsger",)]
    anti = people.join([{"id": 3}], on=["id"], how="anti")
    assert anti.aggregate("count(*)").fetchone() == (3,)
    assert len(people.join([{"x": 1}, {"x": 2}], how="cross")) == 8
    with pytest.raises(nearscan.ProgrammingError, match="needs a condition"):
        people.join(people)


def test_steps_work_beside_tables_with_their_inner_names(con: nearscan.Connection) -> None:
    for name in ("rel", "lhs", "rhs", "data"):
        con.sql(f"CREATE TABLE {name} AS SELECT 7 AS a")
    rows = con.from_data([{"a": 1}, {"a": 2}])
    assert rows.filter("a > 1").fetchall() == [(2,)]
    assert rows.join(con.table("rel"), how="cross").select("a_1").distinct().fetchall() == [(7,)]
    assert rows.union(con.table("lhs")).aggregate("sum(a)").fetchone() == (10,)


def test_sets(con: nearscan.Connection) -> None:
    one, two = con.sql("SELECT value FROM range(0, 4)"), con.sql("SELECT value FROM range(2, 6)")
    assert len(one.union(two)) == 8
    assert len(one.union(two, distinct=True)) == 6
    assert sorted(one.intersect(two).fetchall()) == [(2,), (3,)]
    assert sorted(one.except_(two).fetchall()) == [(0,), (1,)]
    assert len(one.union(one).distinct()) == 4


def test_columns_are_known_without_a_run(people: nearscan.Relation) -> None:
    assert people.columns == ["id", "name", "born"]
    assert people.dtypes == ["Int64", "Utf8", "Int64"]
    assert people.description[1][:2] == ("name", "Utf8")
    assert people.shape == (4, 3)


def test_rows_are_fetched_once_each(con: nearscan.Connection) -> None:
    rows = con.sql("SELECT value FROM range(10) ORDER BY value")
    assert rows.fetchone() == (0,)
    assert rows.fetchmany(3) == [(1,), (2,), (3,)]
    assert rows.fetchall() == [(4,), (5,), (6,), (7,), (8,), (9,)]
    assert rows.fetchone() is None


def test_frames_have_the_same_rows(con: nearscan.Connection, numbers: Path) -> None:
    rows = con.sql(f"SELECT * FROM '{numbers}' WHERE n < 30000 ORDER BY n")
    expected = pq.read_table(numbers).slice(0, 30_000)
    assert rows.arrow().cast(expected.schema) == expected
    assert rows.pl().equals(pl.DataFrame(expected))
    assert rows.df().equals(expected.to_pandas())


def test_batches_come_while_the_statement_runs(con: nearscan.Connection, numbers: Path) -> None:
    rows = con.sql(f"SELECT n FROM '{numbers}'")
    batches = list(rows)
    assert len(batches) > 5
    assert sum(batch.num_rows for batch in batches) == 100_000
    first = next(rows.batches())
    assert isinstance(first, pa.RecordBatch)


def test_endless_statement_can_be_read_in_part(con: nearscan.Connection) -> None:
    rows = con.sql("SELECT a.value FROM range(1000000000) AS a, range(1000) AS b")
    assert next(rows.batches()).num_rows > 0


def test_stream_casts_to_the_schema_that_is_asked_for(con: nearscan.Connection) -> None:
    rows = con.sql("SELECT 1 AS a, 'x' AS b")
    asked = pa.schema([("a", pa.int32()), ("b", pa.large_string())])
    assert pa.table(rows, schema=asked).schema == asked


def test_files_that_are_written_can_be_read(con: nearscan.Connection, tmp_path: Path) -> None:
    rows = con.sql("SELECT value AS n, 'a;b' AS s FROM range(5) ORDER BY n")
    rows.write_parquet(tmp_path / "t.parquet", compression="zstd(3)")
    assert pq.read_table(tmp_path / "t.parquet").num_rows == 5
    rows.order("n DESC").write_csv(tmp_path / "t.csv", delimiter=";")
    text = (tmp_path / "t.csv").read_text()
    assert text.splitlines()[:2] == ["n;s", '4;"a;b"']
    assert con.sql(f"SELECT count(*) FROM '{tmp_path}/t.parquet'").fetchone() == (5,)


def test_statement_with_an_effect_runs_at_once(con: nearscan.Connection, tmp_path: Path) -> None:
    con.sql("CREATE TABLE t AS SELECT 1 AS a")
    inserted = con.sql("INSERT INTO t VALUES (2), (3)")
    assert inserted.fetchall() == inserted.select("count").fetchall() == [(2,)]
    assert inserted.profile().rows == 1
    assert con.table("t").aggregate("sum(a)").fetchone() == (6,)
    con.sql(f"COPY t TO '{tmp_path}/t.parquet'")
    assert con.table(f"{tmp_path}/t.parquet").aggregate("sum(a)").fetchone() == (6,)


def test_show_prints_types_and_what_is_left_out(
    con: nearscan.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = con.sql(
        "SELECT value AS n, CASE WHEN value > 0 THEN 'väl ' || value END AS text "
        "FROM range(3) ORDER BY n"
    )
    rows.show(max_rows=2)
    assert capsys.readouterr().out == (
        "    n  text\n"
        "Int64  Utf8\n"
        "-----  -----\n"
        "    0  NULL\n"
        "    1  väl 1\n"
        "\n"
        "3 rows (2 shown), 2 columns\n"
    )


def test_html_escapes_and_counts(con: nearscan.Connection) -> None:
    shown = con.sql("SELECT '<b>' AS \"a&b\", NULL AS nothing FROM range(100)")._repr_html_()
    assert "<th>a&amp;b<br><small>Utf8</small></th>" in shown
    assert "<td>&lt;b&gt;</td>" in shown
    assert '<span class="null">NULL</span>' in shown
    assert "100 rows (40 shown), 2 columns" in shown
    assert shown.count("<tr>") == 41


def test_import_runs_nothing_and_is_fast() -> None:
    script = (
        # The processor's time, which other programs do not lengthen.
        "import time, sys; t = time.process_time(); import nearscan; "
        "t = time.process_time() - t; "
        "import threading; assert threading.active_count() == 1; "
        "assert 'pyarrow' not in sys.modules and 'polars' not in sys.modules; print(t)"
    )
    command = [sys.executable, "-c", script]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.06


def test_progress_is_shown_of_long_statements_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with nearscan.connect(threads=2, progress=True) as con:
        con.sql("SELECT 1").fetchall()
        assert capsys.readouterr().err == ""

        def waited(number: int) -> int:
            time.sleep(1.0)
            return number

        con.create_function("waited", waited, volatile=True)
        con.sql("SELECT waited(value) FROM range(3)").fetchall()
        shown = capsys.readouterr().err
        assert " rows, " in shown
        assert shown.endswith("\r\x1b[2K")


def test_column_without_an_alias_has_the_name_that_is_shown(con: nearscan.Connection) -> None:
    con.sql("CREATE TABLE t AS SELECT value AS n FROM range(3)")
    rows = con.sql("SELECT max(t.n), count(*) FROM t")
    assert rows.columns == ["max(n)", "count(*)"]
    assert rows.select(col("max(n)"), col("count(*)")).fetchall() == [(2, 3)]
    twice = con.sql("SELECT t.n, u.n FROM t JOIN t AS u ON t.n = u.n")
    assert twice.columns == ["n", "n"]
    assert sorted(twice.limit(9).fetchall()) == [(0, 0), (1, 1), (2, 2)]
