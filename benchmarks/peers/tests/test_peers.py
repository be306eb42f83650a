# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of rows, of ratios and of the files of queries."""

import contextlib
import datetime
import decimal
import io
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import pyarrow
from pyarrow import parquet

from peers import answers
from peers.limits import Limit
from peers.report import Report
from peers.run import Outcome
from peers.suites import Query, Reads, files, layouts, parse, read, scan, tpch


def table(**columns):
    return pyarrow.table(columns)


class Rows(unittest.TestCase):
    def test_order_of_rows_does_not_matter(self):
        one = table(a=["x", "y"], b=[1, 2])
        self.assertIsNone(answers.difference(one, table(a=["y", "x"], b=[2, 1])))

    def test_number_of_rows_and_columns_matters(self):
        one = table(a=[1, 2])
        self.assertEqual(answers.difference(one, table(a=[1])), "1 rows instead of 2")
        self.assertEqual(
            answers.difference(one, table(a=[1, 2], b=[1, 2])), "2 columns instead of 1"
        )

    def test_values_that_are_exact_must_be_equal(self):
        for left, right in [
            (10**15, 10**15 + 1),
            ("a", "b"),
            (True, False),
            (None, 0),
            (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
            (decimal.Decimal("1000000.00"), decimal.Decimal("1000000.01")),
        ]:
            with self.subTest(left=left):
                self.assertIsNotNone(answers.difference(table(a=[left]), table(a=[right])))

    def test_approximate_numbers_may_differ_slightly(self):
        for left, right in [
            (1.0, 1.0 + 1e-9),
            (decimal.Decimal("2.333333"), 2.3333333333),
            (float("nan"), float("nan")),
            (decimal.Decimal(7), 7),
        ]:
            with self.subTest(left=left):
                self.assertIsNone(answers.difference(table(a=[left]), table(a=[right])))
        self.assertIsNotNone(answers.difference(table(a=[1.0]), table(a=[1.001])))

    def test_kinds_of_texts_and_times_do_not_matter(self):
        one = table(a=["x"], b=[datetime.date(2020, 1, 1)])
        other = table(a=[b"x"], b=[datetime.datetime(2020, 1, 1)])
        self.assertIsNone(answers.difference(one, other))

    def test_only_named_columns_are_compared(self):
        one, other = table(a=[1], b=[2]), table(a=[9], b=[2])
        self.assertIsNone(answers.difference(one, other, [1]))
        self.assertIsNone(answers.difference(one, other, []))
        self.assertIsNotNone(answers.difference(one, other, [0]))


class Ratios(unittest.TestCase):
    def report(self, **seconds):
        report = Report("test", ["own"], ["fast", "slow"], {})
        outcomes = {name: Outcome([value], 1 << 20) for name, value in seconds.items()}
        report.add(Query("q", "SELECT 1"), outcomes, {})
        return report

    def test_ratio_is_to_the_fastest_peer(self):
        report = self.report(own=3.0, fast=2.0, slow=4.0)
        self.assertEqual(report.ratio("q", "own"), 1.5)
        self.assertEqual(report.best("q"), ("fast", 2.0))

    def test_peer_with_wrong_rows_is_no_peer(self):
        report = self.report(own=3.0, fast=2.0, slow=4.0)
        report.outcomes["q"]["fast"].problem = "wrong rows"
        self.assertEqual(report.ratio("q", "own"), 0.75)
        self.assertFalse(report.failed())

    def test_own_wrong_rows_fail_the_run(self):
        report = self.report(own=3.0, fast=2.0, slow=4.0)
        report.outcomes["q"]["own"].problem = "wrong rows"
        self.assertIsNone(report.ratio("q", "own"))
        self.assertEqual(report.geometric_mean("own"), (None, 0))
        self.assertTrue(report.failed())

    def test_median_of_runs_counts(self):
        self.assertEqual(Outcome([5.0, 1.0, 2.0]).median(), 2.0)


class CheckedDrives(unittest.TestCase):
    """An engine with a drive, whose rows are compared and which is not timed."""

    def report(self, **checked):
        report = Report("test", ["own"], ["peer"], {})
        report.checked = ["own[drive]"]
        outcomes = {"own": Outcome([1.0]), "peer": Outcome([2.0]), "own[drive]": Outcome(**checked)}
        report.add(Query("q", ""), outcomes, {})
        return report

    def test_units_of_the_drive_are_shown_and_no_time(self):
        report = self.report(units_drive=3)
        self.assertEqual(report.heading().split()[-5:], "ratio own[drive] units best peer".split())
        self.assertEqual(report.line("q").split(), ["q", "1000.0", "2000.0", "0.50", "3", "peer"])
        self.assertIn(
            "own[drive]: right rows in 1 of 1 queries; its drive ran 3 units of 1 of them",
            printed(report.summary),
        )
        self.assertFalse(report.failed())

    def test_wrong_rows_of_the_drive_fail_the_run(self):
        report = self.report(units_drive=3, problem="wrong rows")
        self.assertEqual(report.line("q").split()[-2:], ["-", "peer"])
        self.assertTrue(report.failed())

    def test_drive_that_ran_nothing_fails_the_run(self):
        self.assertTrue(self.report(units_drive=0).failed())


class Parameters(unittest.TestCase):
    """Parameters of TPC-H's queries that are drawn by a seed."""

    def texts(self, seed):
        return {file.stem: tpch.text_of(file, seed) for file in tpch.TEXTS.glob("q*.sql")}

    def test_every_query_has_others_by_another_seed_and_the_same_by_the_same_one(self):
        written, one, other = self.texts(None), self.texts("1"), self.texts("2")
        self.assertEqual(len(written), 22)
        self.assertEqual(one, self.texts("1"))
        for name in written:
            with self.subTest(name=name):
                self.assertNotEqual(one[name], written[name])
                self.assertNotEqual(one[name], other[name])

    def test_only_literals_differ(self):
        def bare(text):
            text = re.sub(r"'[^']*'|\d+(\.\d+)?", "?", text)
            return re.sub(r"\?(, \?)+", "?", text)

        written, drawn = self.texts(None), self.texts("3")
        for name, text in written.items():
            with self.subTest(name=name):
                self.assertEqual(bare(drawn[name]), bare(text))

    def test_a_word_is_exchanged_for_the_same_one_everywhere(self):
        for seed in range(20):
            names = re.findall(r"n_name = '([^']+)'", self.texts(seed)["q07"])
            self.assertEqual(len(names), 4)
            self.assertEqual((names[0], names[1]), (names[3], names[2]))
            self.assertNotEqual(names[0], names[1])

    def test_dates_keep_their_distance_and_stay_within_the_data(self):
        for seed in range(40):
            dates = re.findall(r"'(\d{4}-\d{2}-\d{2})'", self.texts(seed)["q06"])
            first, last = map(datetime.date.fromisoformat, dates)
            self.assertIn((last - first).days, [365, 366])
            self.assertTrue(1992 <= first.year and last.year <= 1998)


class Kinds(unittest.TestCase):
    """The queries of a suite on several kinds of files."""

    def report(self):
        report = Report("test", ["own"], ["peer"], {})
        times = {"a/x": 2.0, "b/x": 8.0, "a/y": 1.0, "b/y": None, "c": 9.0}
        for name, seconds in times.items():
            own = Outcome([seconds], 1 << 20) if seconds else Outcome(problem="refused")
            report.add(Query(name, ""), {"own": own, "peer": Outcome([1.0], 1 << 20)}, {})
        return report

    def test_kind_of_files_is_what_follows_the_slash(self):
        self.assertEqual(self.report().files(), {"x": ["a/x", "b/x"], "y": ["a/y", "b/y"]})

    def test_worst_query_of_each_kind_is_reported(self):
        report = self.report()
        self.assertEqual(report.worst("own", ["a/x", "b/x"]), ("b/x", 8.0))
        self.assertIsNone(report.worst("own", ["b/y"]))
        x, y = [found["own"] for found in report.to_json()["files"].values()]
        self.assertAlmostEqual(x["geometric_mean"], 4.0)
        self.assertEqual(x["worst"], ("b/x", 8.0))
        self.assertEqual(y["worst"], ("a/y", 1.0))
        lines = printed(report.files_summary)
        self.assertEqual([line.split() for line in lines[1:]], [
            ["x", "own", "4.00", "8.00", "b/x"],
            ["y", "own", "1.00", "1.00", "a/y"],
        ])  # fmt: skip

    def test_queries_without_kinds_have_no_table(self):
        report = Report("test", ["own"], ["peer"], {})
        report.add(Query("c", ""), {"own": Outcome([1.0]), "peer": Outcome([1.0])}, {})
        self.assertEqual(printed(report.files_summary), [])


class Limits(unittest.TestCase):
    def report(self, limit):
        report = Report("test", ["own"], ["peer"], {})
        report.memory_bytes_per_second = 10e9
        report.add(Query("q", ""), {"own": Outcome([0.5]), "peer": Outcome([1.0])}, {})
        report.limits["q"] = limit
        return report

    def test_limit_is_beside_the_ratio(self):
        report = self.report(Limit([0.1, 0.2, 0.9], 10**9))
        limit, own = report.limit_lines("q")
        self.assertIn("decode limit 200.0 ms, 1000.0 MB", limit)
        self.assertIn("5.00 GB/s (50.0 % of the memory's 10.0)", limit)
        self.assertIn("own 2.50 of that limit, 2.00 GB/s (20.0 % of", own)
        self.assertEqual(report.ratio("q", "own"), 0.5)
        self.assertEqual(report.geometric_mean("own"), (0.5, 1))
        self.assertEqual(report.to_json()["queries"]["q"]["limit"]["bytes"], 10**9)

    def test_columns_that_cannot_be_decoded_fail_no_run(self):
        report = self.report(Limit(problem="no decoder"))
        self.assertEqual(list(report.limit_lines("q")), ["  no decode limit: no decoder"])
        self.assertFalse(report.failed())

    def test_query_without_columns_has_no_line(self):
        report = self.report(Limit([1.0], 1))
        report.limits.clear()
        self.assertEqual(list(report.limit_lines("q")), [])

    def test_columns_of_tpch_are_those_of_the_query(self):
        for name, reads in tpch.READS.items():
            text = (tpch.TEXTS / f"{name}.sql").read_text()
            self.assertEqual(set(reads.columns), set(re.findall(r"\bl_\w+", text)))
            self.assertIn(f"FROM {reads.table}\n", text)

    def test_columns_of_single_tables_are_those_of_the_query(self):
        names = next(scan.batches(1)).schema.names
        found = [query for file in ["scan.sql", "layouts.sql"] for query in read(file)]
        found = [query for query in found if query.reads]
        self.assertGreater(len(found), 1)
        for query in found:
            used = [name for name in names if re.search(rf"\b{name}\b", query.text)]
            self.assertEqual(sorted(query.reads.columns), sorted(used), query.name)


class Layouts(unittest.TestCase):
    ROWS = 25_000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        # So that files of this size have several row groups.
        with (
            mock.patch.object(files, "ROW_GROUP_ROWS", 8_000),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            cls.found = layouts.layouts(Path(cls.folder.name), cls.ROWS)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def footer(self, layout):
        return parquet.read_metadata(self.found[layout])

    def encodings(self, layout):
        group = self.footer(layout).row_group(0)
        chunks = map(group.column, range(group.num_columns))
        return {chunk.path_in_schema: set(chunk.encodings) for chunk in chunks}

    def test_rows_are_the_same_in_all(self):
        expected = parquet.read_table(self.found["pyarrow"])
        self.assertEqual(expected.num_rows, self.ROWS)
        for layout, location in self.found.items():
            with self.subTest(layout=layout):
                actual = parquet.read_table(location).cast(expected.schema)
                self.assertTrue(actual.equals(expected))

    def test_codecs_are_those_of_the_names(self):
        import duckdb

        codecs = {"zstd": "ZSTD", "gzip": "GZIP", "lz4": "LZ4_RAW", "uncompressed": "UNCOMPRESSED"}
        for layout in layouts.OPTIONS:
            text = "SELECT DISTINCT compression FROM parquet_metadata(?)"
            found = duckdb.execute(text, [self.found[layout]]).fetchall()
            self.assertEqual(found, [(codecs.get(layout, "SNAPPY"),)], layout)

    def test_row_groups_and_files_are_those_of_the_names(self):
        counts = {"large-groups": 1, "small-groups": 3}
        for layout in layouts.OPTIONS:
            count = self.footer(layout).num_row_groups
            self.assertEqual(count, counts.get(layout, 4), layout)
        self.assertEqual(len(list(Path(self.found["many-files"]).iterdir())), layouts.MANY_FILES)

    def test_encodings_are_those_of_the_names(self):
        first = self.encodings("pyarrow")
        for layout, chosen in {"delta": layouts.DELTA, "stream-split": layouts.SPLIT}.items():
            for name, encodings in self.encodings(layout).items():
                expected = {chosen[name], "RLE"} if name in chosen else first[name]
                self.assertEqual(encodings, expected, f"{layout}, {name}")
        for name, encodings in self.encodings("no-dictionary").items():
            self.assertNotIn("RLE_DICTIONARY", encodings, name)

    def test_pages_are_of_the_version_of_the_names(self):
        # A header begins with its first field: the page's type, as a zigzag number.
        for layout, page in {"pages-v2": b"\x15\x06", "pyarrow": b"\x15\x00"}.items():
            place = self.footer(layout).row_group(0).column(0).data_page_offset
            self.assertEqual(Path(self.found[layout]).read_bytes()[place : place + 2], page)


def printed(action):
    """The lines that an action prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        action()
    return text.getvalue().splitlines()


class Files(unittest.TestCase):
    def test_headings_name_columns_and_engines(self):
        text = (
            "-- about\n-- query a columns: 1 3\nSELECT 1;\n"
            "-- query a for: polars\nSELECT 2;\n-- query b columns: none\nSELECT 3\n"
        )
        first, second = parse(text)
        self.assertEqual((first.name, first.columns), ("a", [0, 2]))
        self.assertEqual((first.sql("duckdb"), first.sql("polars")), ("SELECT 1", "SELECT 2"))
        self.assertEqual((second.columns, second.text), ([], "SELECT 3"))

    def test_headings_name_the_columns_that_are_read(self):
        text = "-- query a columns: none reads: t b c\nSELECT 1;\n-- query a for: polars\nSELECT 2"
        (query,) = parse(text)
        self.assertEqual((query.columns, query.reads), ([], Reads("t", ["b", "c"])))
        self.assertEqual(query.sql("polars"), "SELECT 2")

    def test_wrong_heading_is_refused(self):
        with self.assertRaises(ValueError):
            parse("-- query a column: 1\nSELECT 1")

    def test_view_becomes_a_common_table_expression(self):
        text = "CREATE VIEW v (a) AS SELECT 1;\n\nSELECT a FROM v;\n\nDROP VIEW v;\n"
        self.assertEqual(tpch.one_statement(text), "WITH v (a) AS (SELECT 1)\nSELECT a FROM v")

    def test_every_query_of_tpch_is_one_statement(self):
        texts = [tpch.one_statement(path.read_text()) for path in tpch.TEXTS.glob("q*.sql")]
        self.assertEqual(len(texts), 22)
        self.assertFalse([text for text in texts if ";" in text])


if __name__ == "__main__":
    unittest.main()
