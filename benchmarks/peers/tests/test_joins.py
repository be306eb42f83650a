# SPDX-License-Identifier: Apache-2.0
"""Tests of the suite `joins`: its data, and the orders of its queries."""

import re
import tempfile
import types
import unittest
from pathlib import Path
from random import Random

import duckdb
from pyarrow import parquet

from peers.__main__ import arguments, engines_under_test
from peers.suites import Query, joins, observations, orders, read

# So many that no query is without rows.
ROWS = 200_000

TEXT = """SELECT count(*)
FROM t AS a
JOIN u AS b ON b.x = a.x
JOIN v AS c ON c.y = b.y AND c.z = a.z
WHERE a.w < 1"""


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name) / "data"
        observations.make(cls.path, ROWS)
        cls.connection = duckdb.connect()
        for file in cls.path.glob("*.parquet"):
            cls.connection.execute(f"CREATE VIEW {file.stem} AS FROM read_parquet('{file}')")

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        cls.folder.cleanup()

    def one(self, sql):
        """The single row of a query."""
        (row,) = self.connection.sql(sql).fetchall()
        return row

    def test_same_number_of_rows_makes_the_same_files(self):
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder) / "data"
            observations.make(again, ROWS)
            files = sorted(path.name for path in self.path.iterdir())
            self.assertEqual(sorted(path.name for path in again.iterdir()), files)
            self.assertEqual(len(files), 20)
            for file in files:
                one, other = (folder / file for folder in (self.path, again))
                self.assertEqual(one.read_bytes(), other.read_bytes(), file)

    def test_tables_are_of_very_different_sizes(self):
        sizes = {path.stem: parquet.read_metadata(path).num_rows for path in self.path.iterdir()}
        self.assertEqual(sizes["observation"], ROWS)
        self.assertEqual(sizes["identification"], 266_666)
        self.assertEqual((sizes["role"], sizes["country"], sizes["region"]), (6, 48, 600))

    def test_foreign_keys_are_skewed(self):
        for table, column, keys in [
            ("observation", "taxon_id", "taxon"),
            ("identification", "observer_id", "observer"),
            ("visit", "site_id", "site"),
            ("city", "region_id", "region"),
        ]:
            with self.subTest(table=table, column=column):
                hot, rows, used = self.one(
                    "SELECT max(n), sum(n), count(*) FROM (SELECT count(*) AS n FROM"
                    f" {table} SEMI JOIN {keys} USING ({column}) GROUP BY {column})"
                )
                (known,) = self.one(f"SELECT count(*) FROM {keys}")
                self.assertGreater(hot, 10 * rows / known)
                self.assertLess(used, known)

    def test_city_determines_the_country_of_a_site(self):
        found = self.one(
            "SELECT count(*), count(DISTINCT s.country_id) > 20,"
            " count(*) FILTER (s.country_id = c.country_id AND s.country_id = r.country_id)"
            " FROM site AS s JOIN city AS c USING (city_id) JOIN region AS r USING (region_id)"
        )
        self.assertEqual(found, (2_666, True, 2_666))

    def test_kind_of_an_instrument_goes_with_its_year(self):
        found = self.connection.sql(
            "SELECT kind, min(made_year), max(made_year) FROM instrument GROUP BY kind"
        ).fetchall()
        self.assertEqual(len(found), 6)
        for kind, first, last in found:
            earliest, latest = observations.KINDS[kind]
            self.assertTrue(earliest <= first < last <= latest, kind)

    def test_taxa_are_seen_on_their_continent(self):
        here, rows = self.one(
            "SELECT count(*) FILTER (t.continent = c.continent), count(*) FROM observation"
            " JOIN taxon AS t USING (taxon_id) JOIN site USING (site_id)"
            " JOIN country AS c USING (country_id)"
        )
        self.assertGreater(here / rows, 0.8)

    def test_two_columns_are_the_key_of_a_visit(self):
        rows, keys, sites = self.one(
            "SELECT count(*), count(DISTINCT (site_id, visit_no)), count(DISTINCT site_id)"
            " FROM visit"
        )
        self.assertEqual((rows, keys), (50_000, 50_000))
        self.assertLess(sites, 2_666)
        same, partners = self.one(
            "SELECT count(*) FILTER (o.year = v.year), count(*) FROM observation AS o"
            " JOIN visit AS v USING (site_id, visit_no)"
        )
        self.assertEqual(same, partners)
        self.assertTrue(0.99 * ROWS < partners < ROWS)

    def test_foreign_keys_are_null_or_dangle(self):
        for table, column, keys in [
            ("observer", "mentor_id", "observer"),
            ("membership", "society_id", "society"),
            ("photo", "observation_id", "observation"),
            ("observation", "taxon_id", "taxon"),
        ]:
            with self.subTest(table=table, column=column):
                key = keys + "_id"
                (dangling,) = self.one(
                    f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL"
                    f" AND {column} NOT IN (SELECT {key} FROM {keys})"
                )
                self.assertGreater(dangling, 0)
        for table, column in [("observer", "mentor_id"), ("observation", "instrument_id")]:
            gaps, rows = self.one(f"SELECT count(*) - count({column}), count(*) FROM {table}")
            self.assertTrue(0.25 < gaps / rows < 0.65, column)

    def test_queries_have_rows_which_are_the_same_in_every_order(self):
        for query in read("joins.sql"):
            expected = sorted(self.connection.sql(query.text).fetchall())
            self.assertTrue(expected, query.name)
            self.assertNotIn(0, expected[0], query.name)
            texts = [other.text for other in joins.drawn(query, 4, 1)]
            self.assertEqual(texts.count(query.text), 1)
            for text in texts:
                with self.subTest(query=query.name, text=text):
                    self.assertEqual(sorted(self.connection.sql(text).fetchall()), expected)

    def test_queries_use_every_table(self):
        with tempfile.TemporaryDirectory() as data:
            (Path(data) / f"joins-{ROWS}").symlink_to(self.path)
            options = types.SimpleNamespace(rows=ROWS, data=data, join_orders=0, seed=1)
            found = joins.queries(options)
        used = set().union(*(query.tables for query in found))
        self.assertEqual(used, {path.stem for path in self.path.iterdir()})
        pair = next(query for query in found if query.name == "pair_filtered@written")
        self.assertEqual(list(pair.tables), ["site", "visit"])
        # Tables of subqueries are among them.
        semi = next(query for query in found if query.name == "semi_in@written")
        self.assertEqual(
            list(semi.tables), ["country", "identification", "membership", "observer", "taxon"]
        )


class Orders(unittest.TestCase):
    def test_queries_join_2_to_17_relations(self):
        counts = [len(orders.parse(query.text).relations) for query in read("joins.sql")]
        self.assertEqual((min(counts), max(counts)), (2, 17))
        self.assertEqual(len(counts), 31)

    def test_condition_is_where_its_last_relation_comes(self):
        parsed = orders.parse(TEXT)
        self.assertEqual(
            parsed.sql(["c", "a", "b"]),
            "SELECT count(*)\nFROM v AS c\nJOIN t AS a ON c.z = a.z\n"
            "JOIN u AS b ON b.x = a.x AND c.y = b.y\nWHERE a.w < 1",
        )
        self.assertEqual(parsed.sql(["a", "b", "c"]), TEXT)

    def test_orders_of_the_text_are_found_again(self):
        for query in read("joins.sql"):
            parsed = orders.parse(query.text)
            self.assertEqual(parsed.sql(list(parsed.relations)), query.text)

    def test_drawn_orders_have_no_cross_product_and_every_condition(self):
        for query in read("joins.sql"):
            parsed = orders.parse(query.text)
            conditions = sorted(text for text, _ in parsed.conditions)
            for order in parsed.orders(Random(5), 20):
                text = parsed.sql(order)
                lines = [line for line in text.split("\n") if line.startswith("JOIN ")]
                self.assertEqual(len(lines), len(parsed.relations) - 1)
                found = [line.partition(" ON ")[2].split(" AND ") for line in lines]
                self.assertTrue(all(part[0] for part in found), text)
                self.assertEqual(sorted(sum(found, [])), conditions, text)

    def test_drawn_orders_differ_from_each_other_and_from_the_text(self):
        parsed = orders.parse(TEXT)
        found = parsed.orders(Random(1), 100)
        # Each of the six begins with a relation, and each of them is joined to both others.
        self.assertEqual(
            sorted(map("".join, found)), ["acb", "bac", "bca", "cab", "cba"]
        )
        chain = orders.parse(re.sub(" AND c.z = a.z", "", TEXT))
        found = chain.orders(Random(1), 100)
        self.assertEqual(sorted(map("".join, found)), ["bac", "bca", "cba"])

    def test_orders_follow_from_the_seed(self):
        query = next(query for query in read("joins.sql") if query.name == "seventeen")
        one, same, other = (joins.drawn(query, 3, seed) for seed in (1, 1, 2))
        self.assertEqual([query.text for query in one], [query.text for query in same])
        self.assertFalse({query.text for query in one[1:]} & {query.text for query in other})
        names = ["seventeen@written", "seventeen@1", "seventeen@2", "seventeen@3"]
        self.assertEqual([query.name for query in one], names)

    def test_query_of_two_relations_has_one_other_order(self):
        text = "SELECT 1\nFROM t AS a\nJOIN u AS b ON b.x = a.x"
        found = joins.drawn(Query("pair", text), 3, 1)
        self.assertEqual([query.name for query in found], ["pair@written", "pair@1"])
        self.assertEqual(found[1].text, "SELECT 1\nFROM u AS b\nJOIN t AS a ON b.x = a.x")

    def test_joins_of_another_form_are_refused(self):
        for text in [
            "SELECT 1 FROM t AS a",
            "SELECT 1\nFROM t AS a\nJOIN u AS b USING (x)",
            "SELECT 1\nFROM t AS a\nJOIN u AS b ON b.x < a.x",
            "SELECT 1\nFROM t AS a\nJOIN u AS b ON b.x = 1",
        ]:
            with self.subTest(text=text), self.assertRaises(ValueError):
                orders.parse(text)


class Settings(unittest.TestCase):
    def names(self, *given):
        options = arguments([*given, "--worker", "w", "--nearscan", "n"])
        return [engine.name for engine in engines_under_test(options)]

    def test_joins_also_run_in_the_order_of_datafusion(self):
        again = "nearscan[nearscan.join_order=datafusion]"
        self.assertEqual(self.names("joins"), ["nearscan", again])
        self.assertEqual(self.names("scan"), ["nearscan"])

    def test_settings_that_are_given_replace_those_of_the_suite(self):
        given = self.names("joins", "--also", "a=1,b=2")
        self.assertEqual(given, ["nearscan", "nearscan[a=1,b=2]"])
        self.assertEqual(self.names("joins", "--also="), ["nearscan"])


if __name__ == "__main__":
    unittest.main()
