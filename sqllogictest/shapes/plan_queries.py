# SPDX-License-Identifier: Apache-2.0
"""Queries over `g_facts` and its dimensions: group keys, aggregates, order, unions and joins."""

from __future__ import annotations

import itertools

from slt_files import SltFile

KEYS = {
    "kind": "kind",
    "tiny": "tiny",
    "colour": "colour",
    "flag": "flag",
    "day": "day",
    "rate": "rate",
    "wide": "wide",
    "year": "EXTRACT(year FROM day)",
    "month": "EXTRACT(month FROM day)",
    "t_day": "CAST(t AS DATE)",
    "positive": "v > 0",
    "bucket": "code / 100",
    "rest": "code % 7",
    "choice": "CASE WHEN v < 0 THEN 'low' WHEN v > 500 THEN 'high' ELSE colour END",
}
FILTERS = [
    "",
    "v > 0",
    "code BETWEEN 100 AND 399 AND flag",
    "colour IN ('red', 'grün') OR kind = 3",
]
AGGREGATES = [
    "count(*) AS c, count(v) AS n, sum(v) AS s, min(v) AS low, max(v) AS high",
    "sum(m) AS s, min(m) AS low, max(m) AS high, CAST(avg(m) AS DECIMAL(18, 3)) AS a",
    "avg(v) AS a, sum(d) AS s, min(d) AS low, max(d) AS high, avg(d) AS e",
    "min(colour) AS first, max(label) AS last, min(day) AS start, max(t) AS stop",
    "count(DISTINCT colour) AS d, count(DISTINCT kind) AS e, count(DISTINCT flag) AS f",
    "bool_and(v > -900) AS a, bool_or(flag) AS o, min(rate) AS low, max(wide) AS high",
    "sum(m * (1 - rate)) AS s, sum(m * (1 - rate) * (1 + rate)) AS t",
    "count(*) FILTER (WHERE v > 0) AS p, sum(v) FILTER (WHERE colour = 'red') AS r",
]


def query(outputs: str, condition: str, tail: str, table: str = "g_facts") -> str:
    where = f"\nWHERE {condition}" if condition else ""
    return f"SELECT {outputs}\nFROM {table}{where}\n{tail}".rstrip()


def keys() -> list[SltFile]:
    one = SltFile("group/one_key", "Groups by one key of every kind.")
    for place, (name, expression) in enumerate(KEYS.items()):
        for turn, condition in enumerate(FILTERS):
            aggregates = AGGREGATES[(place + turn * 3) % len(AGGREGATES)]
            one.rows(query(f"{expression} AS k, {aggregates}", condition, f"GROUP BY {expression}"))
        one.rows(query(f"DISTINCT {expression} AS {name}_", "code < 500", ""))
    several = SltFile("group/several_keys", "Groups by two and three keys.")
    pairs = itertools.combinations(
        ["kind", "tiny", "colour", "flag", "year", "positive", "rest"], 2
    )
    for place, names in enumerate(
        [*pairs, ("flag", "tiny", "year"), ("colour", "flag", "positive")]
    ):
        expressions = [KEYS[name] for name in names]
        outputs = ", ".join(f"{each} AS k{index}" for index, each in enumerate(expressions))
        condition = FILTERS[place % len(FILTERS)]
        groups = f"GROUP BY {', '.join(expressions)}"
        aggregates = AGGREGATES[place % 3]
        several.rows(query(f"{outputs}, {aggregates}", condition or "code < 400", groups))
    many = SltFile("group/many_groups", "Hundreds of groups, of which a few are shown.")
    for key in (
        "code",
        "label",
        "v",
        "m",
        "d",
        "code, label",
        "day, kind",
        "code * 2",
        "code, flag",
    ):
        group = f"GROUP BY {key}"
        inner = query("count(*) AS c, sum(v) AS s, max(id) AS high", "", group)
        many.rows(
            f"SELECT count(*) AS groups, sum(c) AS c, sum(s) AS s, sum(high) AS h\nFROM ({inner})"
        )
        having = f"{group}\nHAVING count(*) > 1 AND max(id) > 1450"
        many.rows(query(f"{key.replace('code * 2', 'code * 2 AS k')}, count(*) AS c", "", having))
    for aggregate in ("count(*)", "sum(v)", "min(m)", "max(day)"):
        tail = f"GROUP BY code\nORDER BY {aggregate} DESC NULLS LAST, code\nLIMIT 7"
        many.ordered(query(f"code, {aggregate} AS a", "", tail))
    return [one, several, many]


def aggregates() -> SltFile:
    file = SltFile("group/aggregates", "Every aggregate without groups, over many and no rows.")
    conditions = [*FILTERS, "v > 5000", "v IS NULL", "id = 700"]
    for aggregate, condition in itertools.product(AGGREGATES, conditions):
        file.rows(query(aggregate, condition, ""))
    for distinct in ("label", "code", "m", "day", "flag", "v", "d", "t"):
        file.rows(query(f"count(DISTINCT {distinct}) AS d", "", ""))
        file.rows(query(f"flag, count(DISTINCT {distinct}) AS d", "v > 0", "GROUP BY flag"))
    return file


def order() -> list[SltFile]:
    top = SltFile("order/top_k", "ORDER BY and LIMIT on every type; the key makes orders total.")
    columns = ["kind", "tiny", "code", "colour", "flag", "day", "t", "rate", "m", "d", "label"]
    for column in columns:
        for direction, nulls in itertools.product(["ASC", "DESC"], ["FIRST", "LAST"]):
            ordering = f"ORDER BY {column} {direction} NULLS {nulls}, id\nLIMIT 6"
            top.ordered(query(f"id, {column}", "", ordering))
        for limit in ("LIMIT 3 OFFSET 700", "LIMIT 2 OFFSET 1499", "LIMIT 0"):
            condition = "v > 0" if "700" in limit else ""
            top.ordered(query("id", condition, f"ORDER BY {column} NULLS LAST, id DESC\n{limit}"))
    for pair in itertools.permutations(["colour", "flag", "day", "rate"], 2):
        ordering = f"ORDER BY {pair[0]} DESC NULLS LAST, {pair[1]} NULLS FIRST, id\nLIMIT 5"
        top.ordered(query(f"id, {pair[0]}, {pair[1]}", "v < 500", ordering))
    unions = SltFile("order/sorted_unions", "UNION and UNION ALL of sorted inputs.")
    parts = [("kind", "g_facts", "g_kinds"), ("day", "g_facts", "g_days")]
    parts += [("colour", "g_facts", "g_kinds"), ("id", "g_facts", "g_days")]
    for (column, left, right), word in itertools.product(parts, ["UNION", "UNION ALL"]):
        for direction in ("ASC NULLS LAST", "DESC NULLS FIRST"):
            both = f"SELECT {column} AS k FROM {left} WHERE code < 300\n{word}\n"
            both += f"SELECT {column} AS k FROM {right}"
            unions.ordered(f"{both}\nORDER BY k {direction}\nLIMIT 12")
        inner = f"SELECT {column} AS k FROM {left}\n{word}\nSELECT {column} AS k FROM {right}"
        unions.rows(
            f"SELECT count(*) AS c, count(k) AS n, min(k) AS low, max(k) AS high\nFROM ({inner})"
        )
    for word in ("UNION", "UNION ALL"):
        inputs = f"\n{word}\n".join(
            f"SELECT k, id FROM sorted_{name}" for name in ("kinds", "ids", "kinds")
        )
        kinds = "SELECT kind AS k, id FROM g_facts WHERE v > 700 ORDER BY 1, 2"
        ids = "SELECT tiny AS k, id FROM g_facts WHERE v < -800 ORDER BY 1, 2"
        named = f"WITH sorted_kinds AS ({kinds}),\nsorted_ids AS ({ids})\n"
        unions.ordered(f"{named}{inputs}\nORDER BY k NULLS LAST, id\nLIMIT 15")
        unions.rows(f"{named}SELECT count(*) AS c, sum(id) AS s FROM ({inputs})")
    return [top, unions]


def joins() -> SltFile:
    file = SltFile("join/small_sides", "Joins with small sides, which filter the large one.")
    links = {
        "kind": ("g_kinds", "f.kind = b.kind", ["b.level = 2", "b.level IS NULL", "b.kind > 12"]),
        "colour": ("g_kinds", "f.colour = b.colour", ["b.kind < 4", "b.level > 2", "b.id = 3"]),
        "day": ("g_days", "f.day = b.day", ["b.name = 'fair'", "b.name LIKE 'm%'", "b.id > 15"]),
    }
    for column, (table, link, conditions) in links.items():
        for word in ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"):
            source = f"FROM g_facts AS f\n{word} {table} AS b ON {link}"
            sums = "SELECT count(*) AS c, count(b.id) AS n, sum(f.v) AS s, sum(f.m) AS t"
            file.rows(f"{sums}\n{source}")
            for condition in conditions:
                file.rows(f"{sums}\n{source}\nWHERE {condition} AND f.code < 800")
        source = f"FROM g_facts AS f\nJOIN {table} AS b ON {link}"
        groups = f"SELECT f.{column} AS k, count(*) AS c, sum(f.v) AS s\n{source}"
        file.rows(f"{groups}\nWHERE {conditions[0]}\nGROUP BY f.{column}")
        rows = f"SELECT f.id, b.id AS other, f.{column} AS k\n{source}\nWHERE {conditions[1]}"
        file.ordered(f"{rows}\nORDER BY f.id, b.id\nLIMIT 9")
        for word in ("IN", "NOT IN"):
            inner = f"SELECT b.{column} FROM {table} AS b WHERE {conditions[0]}"
            query_text = "SELECT count(*) AS c, sum(f.id) AS s\nFROM g_facts AS f"
            file.rows(f"{query_text}\nWHERE f.{column} {word} ({inner})")
        for word in ("EXISTS", "NOT EXISTS"):
            inner = f"SELECT 1 FROM {table} AS b WHERE {link} AND {conditions[2]}"
            file.rows(
                f"SELECT count(*) AS c, sum(f.id) AS s\nFROM g_facts AS f\nWHERE {word} ({inner})"
            )
    three = (
        "FROM g_facts AS f JOIN g_kinds AS k ON f.kind = k.kind JOIN g_days AS y ON f.day = y.day"
    )
    for condition in ("k.level = 1", "y.name = 'feast' AND f.flag", "f.v > 0 OR k.level = 3"):
        sums = f"SELECT y.name, count(*) AS c, sum(f.m) AS s\n{three}"
        file.rows(f"{sums}\nWHERE {condition}\nGROUP BY y.name")
    return file


def files() -> list[SltFile]:
    return [*keys(), aggregates(), *order(), joins()]
