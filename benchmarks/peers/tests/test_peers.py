# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of rows, of ratios and of the files of queries."""

import datetime
import decimal
import unittest

import pyarrow

from peers import answers
from peers.report import Report
from peers.run import Outcome
from peers.suites import Query, parse, tpch


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
