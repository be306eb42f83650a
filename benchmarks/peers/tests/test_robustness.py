# SPDX-License-Identifier: Apache-2.0
"""Tests of what is reported of queries in several orders of their joins."""

import unittest

from peers.report import Report
from peers.robustness import Robustness
from peers.run import Outcome
from peers.suites import Query


class Robust(unittest.TestCase):
    TIMES = {
        "a@written": (2.0, 4.0, 1.0),
        "a@1": (3.0, 2.0, 8.0),
        "a@2": (2.5, 8.0, None),
        "b@written": (1.0, 0.8, 3.0),
        "b@1": (6.0, 6.0, 6.0),
        "c": (9.0, 1.0, 1.0),
    }

    def report(self):
        report = Report("test", ["own", "own[k=v]"], ["peer"], {})
        for name, times in self.TIMES.items():
            outcomes = {}
            for engine, seconds in zip([*report.own, *report.peers], times):
                given = Outcome([seconds], 1 << 20) if seconds else Outcome(problem="too slow")
                outcomes[engine] = given
            report.add(Query(name, ""), outcomes, {})
        return report

    def test_slowest_order_is_divided_by_the_fastest(self):
        found = Robustness(self.report())
        self.assertEqual(found.queries, {"a": ["a@written", "a@1", "a@2"],
                                         "b": ["b@written", "b@1"]})  # fmt: skip
        self.assertEqual((found.spread("a", "own"), found.spread("b", "own")), (1.5, 6.0))
        self.assertEqual(found.spread("a", "own[k=v]"), 4.0)
        spreads = found.spreads("own")
        self.assertEqual((spreads.worst, spreads.count), (("b", 6.0), 2))
        self.assertAlmostEqual(spreads.mean, 3.0)

    def test_engine_without_a_time_in_an_order_has_no_ratio(self):
        found = Robustness(self.report())
        self.assertIsNone(found.spread("a", "peer"))
        spreads = found.spreads("peer")
        self.assertEqual((spreads.worst, spreads.count), (("b", 2.0), 1))

    def test_query_in_one_order_has_no_ratio_of_orders(self):
        report = Report("test", ["own", "own[k=v]"], [], {})
        report.add(Query("a@1", ""), {"own": Outcome([3.0]), "own[k=v]": Outcome([2.0])}, {})
        found = Robustness(report)
        self.assertIsNone(found.spread("a", "own"))
        self.assertIsNone(found.spreads("own"))
        self.assertEqual(found.ratios("own[k=v]").worst, ("a@1", 1.5))
        lines = list(found.lines())
        self.assertEqual(lines[1].split(), ["a", "-", "-", "1.50", "@1"])
        self.assertEqual(lines[2], "own: slowest / fastest order of a query unknown")

    def test_engine_is_compared_with_its_other_settings_order_by_order(self):
        found = Robustness(self.report())
        self.assertEqual(found.ratios("own[k=v]", ["a"]).worst, ("a@1", 1.5))
        self.assertEqual(found.ratios("own[k=v]", ["b"]).worst, ("b@written", 1.25))
        every = found.ratios("own[k=v]")
        self.assertEqual((every.worst, every.count), (("a@1", 1.5), 5))

    def test_lines_name_the_worst(self):
        lines = list(Robustness(self.report()).lines())
        self.assertEqual([line.split() for line in lines[:3]], [
            ["slowest", "/", "fastest", "own", "own[k=v]", "peer", "/", "own[k=v]", "order"],
            ["a", "1.50", "4.00", "-", "1.50", "@1"],
            ["b", "6.00", "7.50", "2.00", "1.25", "@written"],
        ])  # fmt: skip
        self.assertEqual(lines[3:], [
            "own: slowest / fastest order of a query at most 6.00 (b),"
            " geometric mean 3.00 of 2 queries",
            "own[k=v]: slowest / fastest order of a query at most 7.50 (b),"
            " geometric mean 5.48 of 2 queries",
            "peer: slowest / fastest order of a query at most 2.00 (b),"
            " geometric mean 2.00 of 1 queries",
            "own / own[k=v] in the same order at most 1.50 (a@1), geometric mean 0.78 of 5 orders",
        ])  # fmt: skip

    def test_results_as_json_have_the_ratios(self):
        found = self.report().to_json()["orders"]
        self.assertEqual(found["slowest_by_fastest"]["own"]["worst"], ("b", 6.0))
        self.assertEqual(found["ratios_to_settings"]["own[k=v]"]["worst"], ("a@1", 1.5))
        self.assertEqual(found["queries"]["a"]["slowest_by_fastest"],
                         {"own": 1.5, "own[k=v]": 4.0, "peer": None})  # fmt: skip
        self.assertEqual(
            found["queries"]["b"]["ratios_to_settings"]["own[k=v]"]["worst"], ("b@written", 1.25)
        )

    def test_queries_without_orders_have_no_lines(self):
        report = Report("test", ["own"], ["peer"], {})
        report.add(Query("c", ""), {"own": Outcome([1.0]), "peer": Outcome([1.0])}, {})
        self.assertEqual(list(Robustness(report).lines()), [])
        self.assertEqual(report.to_json()["orders"], {})


if __name__ == "__main__":
    unittest.main()
