# SPDX-License-Identifier: Apache-2.0
"""Random queries over the tables `a`, `b`, `c`, which has the columns of `a`, and `f`, which has
the rows of `a` and `c`, so that its key is none.

A query comes with its features, and with rewrites that must give the same rows: of three-valued
logic, the rows where a condition is true, false and unknown are all rows (ternary logic
partitioning); and a filter keeps as many rows as its condition is true for when it is an output (no
filter to optimise). They need no second engine, and so hold for values about which engines differ.

What DuckDB and DataFusion rightly answer differently is avoided; `expressions` names more of it:

- overflow: DuckDB fails, DataFusion wraps. Such a query has no answer of DuckDB's.
- averages: decimals of four more places in DataFusion, doubles in DuckDB; the reader allows for it;
- groups of floats, in which zero has a sign in one engine only;
- MIN and MAX of zeros of both signs: the sign is that of the first in DuckDB;
- order: NULLs first or last is said, and LIMIT follows an order that the key makes total.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from columns import FLOATS, INTEGERS, MOMENTS, Column
from expressions import COMPARISONS, WITHOUT_ORDER, Expressions, Name
from files import Table

DEPTH_MAX = 3


@dataclass
class Query:
    """A query, and what gives the same rows."""

    sql: str
    is_ordered: bool = False
    # What it is about most.
    table: str = ""
    same_as: list[str] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    # Whether engines may differ about it, so that only the rewrites tell.
    is_disputed: bool = False


class Draw:
    """Makes one query over tables."""

    def __init__(self, seed: str, tables: dict[str, Table]) -> None:
        self.random = random.Random(seed)
        self.tables = tables
        self.table = self.random.choice(["a", "a", "b", "f"])
        self.expressions = self.over(("", self.table))

    def over(self, *sources: tuple[str, str]) -> Expressions:
        """Expressions over tables by alias; an empty alias is none."""
        names = [
            Name(f"{alias}.{column.name}" if alias else column.name, column)
            for alias, table in sources
            for column in self.tables[table].columns
        ]
        return Expressions(self.random, names)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def query(self) -> Query:
        shapes = [
            *[self.totals] * 5,
            *[self.groups] * 5,
            *[self.rows] * 3,
            *[self.top] * 2,
            *[self.partitioned] * 3,
            *[self.unfiltered] * 1,
            *[self.union] * 1,
            *[self.merge] * 2,
            *[self.join] * 2,
            *[self.subquery] * 2,
            *[self.limited] * 1,
            *[self.windows] * 2,
            *[self.using] * 1,
        ]
        shape = self.random.choice(shapes)
        query = shape()
        query.table = self.table
        query.features |= self.expressions.features | {f"shape:{shape.__name__}"}
        query.is_disputed |= self.expressions.is_disputed
        return query

    # Parts.

    def condition(self) -> str:
        return self.expressions.condition(self.random.randint(0, DEPTH_MAX))

    def where(self) -> str:
        return "" if self.chance(8) else f"\nWHERE {self.condition()}"

    def columns(self) -> list[Column]:
        return self.tables[self.table].columns

    def shown(self, count_max: int) -> list[Name]:
        """Columns that a result may have."""
        names = [it for it in self.expressions.names if it.kind not in WITHOUT_ORDER]
        names = [it for it in names if it.column.name != "id"]
        chosen = self.random.sample(names, min(len(names), self.random.randint(1, count_max)))
        for name in chosen:
            self.expressions.see(name)
        return chosen

    def outputs(self) -> list[str]:
        """The key, columns and expressions, with names."""
        made = ["id"]
        for index, name in enumerate(self.shown(3)):
            number = self.expressions.number() if self.chance(25) else None
            made.append(f"{number or name.sql} AS x{index}")
        if self.chance(10):
            made.append(f"({self.expressions.leaf()}) AS t")
        return made

    def aggregates(self, *, is_grouped: bool = False) -> list[str]:
        made = []
        # DataFusion gives `min(x)` and `min(CAST(x AS t))` one name, and refuses both together.
        known: dict[str, str] = {}
        for index in range(self.random.randint(1, 4)):
            only = ""
            if self.chance(8):
                self.expressions.features.add("aggregate filter")
                only = f" FILTER (WHERE {self.expressions.leaf()})"
            aggregate = self.aggregate(is_grouped)
            name = re.sub(r"CAST\((\S+) AS \w+\)", r"\1", aggregate)
            if known.setdefault(name, aggregate) != aggregate:
                aggregate = known[name]
            made.append(f"{aggregate}{only} AS s{index}")
        return made

    def aggregate(self, is_grouped: bool) -> str:
        name = self.expressions.pick(self.expressions.names)
        column, choice = name.column, self.random.randrange(100)
        if choice < 15:
            return "count(*)"
        if choice < 28 or name.kind in WITHOUT_ORDER:
            return f"count({name.sql})"
        if name.kind == "boolean":
            return f"{self.random.choice(['bool_or', 'bool_and'])}({name.sql})"
        if choice < 34 and name.kind not in FLOATS:
            self.expressions.features.add("count distinct")
            return f"count(DISTINCT {name.sql})"
        if choice < 40 and (name.kind in INTEGERS or name.kind in MOMENTS):
            self.expressions.features.add("cast")
            other = "DATE" if name.kind in MOMENTS else "VARCHAR"
            return f"{self.random.choice(['min', 'max'])}(CAST({name.sql} AS {other}))"
        if choice < 55 and not (is_grouped and column.is_disputed):
            return f"{self.random.choice(['min', 'max'])}({name.sql})"
        number = self.expressions.number() if choice < 75 else None
        if number is not None:
            has_zeros = any(it.column.is_disputed for it in self.expressions.names)
            extremes = [] if is_grouped and has_zeros else ["min", "max"]
            # Products of integers are no exact doubles, of which averages are made.
            average = [] if "*" in number else ["avg"]
            return f"{self.random.choice(['sum', 'sum', *extremes, *average])}({number})"
        if column.is_summed:
            return f"{self.random.choice(['sum', 'avg'])}({name.sql})"
        return f"count({name.sql})"

    def keys(self) -> list[Name]:
        few = [it for it in self.expressions.names if it.column.has_few or it.column.name == "k"]
        few = [it for it in few if it.kind not in (*FLOATS, *WITHOUT_ORDER)]
        if self.chance(8):
            few = [it for it in self.expressions.names if it.kind not in (*FLOATS, *WITHOUT_ORDER)]
        keys = self.random.sample(few, min(len(few), self.random.choice([1, 1, 2, 3])))
        for key in keys:
            self.expressions.see(key)
        return keys

    # Shapes.

    def totals(self) -> Query:
        return Query(f"SELECT {', '.join(self.aggregates())}\nFROM {self.table}{self.where()}")

    def groups(self) -> Query:
        keys = [key.sql for key in self.keys()] or ["id % 3"]
        names = ", ".join(f"{key} AS g{index}" for index, key in enumerate(keys))
        by = ", ".join(keys)
        if self.chance(12):
            self.expressions.features.add("grouping sets")
            first, *others = keys
            sets = [f"ROLLUP ({by})", f"CUBE ({by})", f"{first}, ROLLUP ({', '.join(others)})"]
            by = self.random.choice(sets if others else sets[:2])
        source = f"FROM {self.table}{self.where()}\nGROUP BY {by}"
        if self.chance(15):
            self.expressions.features.add("having")
            source += f"\nHAVING count(*) > {self.random.randint(1, 40)}"
        if self.chance(10):
            self.expressions.features.add("distinct")
            return Query(f"SELECT DISTINCT {names}\nFROM {self.table}{self.where()}")
        aggregates = ", ".join(self.aggregates(is_grouped=True))
        return Query(f"SELECT {names}, {aggregates}\n{source}")

    def rows(self) -> Query:
        return Query(f"SELECT {', '.join(self.outputs())}\nFROM {self.table}{self.where()}")

    def top(self) -> Query:
        if self.table == "f":
            # It has no order that is total.
            return self.totals()
        names = [name.sql for name in self.shown(2)]
        order = ", ".join(f"{name} {self.direction()}" for name in names if self.chance(70))
        query = f"SELECT {', '.join(['id', *names])}\nFROM {self.table}{self.where()}"
        query += f"\nORDER BY {order + ', ' if order else ''}id {self.random.choice(['', 'DESC'])}"
        if self.chance(80):
            query += f"\nLIMIT {self.random.choice([1, 5, 20, 100])}"
            query += f" OFFSET {self.random.choice([1, 30])}" if self.chance(15) else ""
        if self.chance(15):
            self.expressions.features.add("limit inside")
            query = f"SELECT * FROM ({query}) AS q\nORDER BY id {self.random.choice(['', 'DESC'])}"
        return Query(query, is_ordered=True)

    def direction(self) -> str:
        nulls = self.random.choice(["FIRST", "LAST"])
        return f"{self.random.choice(['ASC', 'DESC'])} NULLS {nulls}"

    def partitioned(self) -> Query:
        """Ternary logic partitioning, of rows or of aggregates that add up."""
        condition = self.condition()
        tests = [f"({condition})", f"NOT ({condition})", f"({condition}) IS NULL"]
        if self.chance(40):
            select = f"SELECT {', '.join(self.outputs())}\nFROM {self.table}"
            parts = "\nUNION ALL ".join(f"{select} WHERE {test}" for test in tests)
            return Query(select, same_as=[parts])
        name = self.expressions.pick(self.expressions.names)
        number = self.expressions.number() or "id"
        inner = ["count(*) AS n", f"count({name.sql}) AS c", f"sum({number}) AS s"]
        outer = ["sum(n) AS n", "sum(c) AS c", "sum(s) AS s"]
        if name.kind not in (*WITHOUT_ORDER, "boolean") and not name.column.is_disputed:
            inner += [f"min({name.sql}) AS l", f"max({name.sql}) AS h"]
            outer += ["min(l) AS l", "max(h) AS h"]
        keys = [key.sql for key in self.keys()] if self.chance(40) else []
        groups = [f"{key} AS g{index}" for index, key in enumerate(keys)]
        select = f"SELECT {', '.join([*groups, *inner])}\nFROM {self.table}"
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        parts = "\nUNION ALL ".join(f"{select} WHERE {test}{by}" for test in tests)
        names = [f"g{index}" for index in range(len(keys))]
        whole = f"SELECT {', '.join([*names, *outer])}\nFROM ({parts}) AS p"
        whole += f" GROUP BY {', '.join(names)}" if keys else ""
        return Query(select + by, same_as=[whole])

    def unfiltered(self) -> Query:
        """As many rows as a condition is true for, when nothing can be filtered early."""
        condition = self.condition()
        sum_of = f"coalesce(sum(CASE WHEN {condition} THEN 1 ELSE 0 END), 0)"
        query = f"SELECT count(*) AS n\nFROM {self.table}\nWHERE {condition}"
        return Query(query, same_as=[f"SELECT {sum_of} AS n\nFROM {self.table}"])

    def union(self) -> Query:
        self.table, self.expressions = "a", self.over(("", "a"))
        kept = [it for it in self.shown(3) if it.kind not in FLOATS and it.sql != "k"]
        names = ", ".join(["k", *(name.sql for name in kept)])
        word = self.random.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
        word += " ALL" if word != "UNION ALL" and self.chance(40) else ""
        self.expressions.features.add(word.lower())
        first = f"SELECT {names} FROM a{self.where()}"
        return Query(f"{first}\n{word}\nSELECT {names} FROM c{self.where()}")

    def merge(self) -> Query:
        """Rows of two tables in one order, which each of them may have already."""
        self.table, self.expressions = "a", self.over(("", "a"))
        kept = [it for it in self.shown(2) if it.kind not in FLOATS]
        names = ", ".join(["id", *(name.sql for name in kept)])
        word = self.random.choice(["UNION ALL", "UNION ALL", "UNION"])
        self.expressions.features.add(word.lower())
        order = self.random.choice(["ASC", "DESC"])
        keys = ", ".join(f"{key} {order} NULLS LAST" for key in names.split(", "))
        query = f"SELECT {names} FROM a{self.where()}\n{word}\nSELECT {names} FROM c{self.where()}"
        limit = f"\nLIMIT {self.random.choice([3, 40])}" if self.chance(30) else ""
        return Query(f"SELECT * FROM ({query}) AS m\nORDER BY {keys}{limit}", is_ordered=True)

    def join(self) -> Query:
        self.table = "a"
        left, right = "a", self.random.choice(["b", "b", "c"])
        halves = ["LEFT SEMI JOIN", "LEFT ANTI JOIN"]
        word = self.random.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", *halves])
        # Half a join has the columns of one side.
        is_half = word in halves
        sides = [("l", left)] if is_half else [("l", left), ("r", right)]
        self.expressions = self.over(*sides)
        self.expressions.features.add(word.lower())
        key = "k" if self.chance(60) else "id"
        equal = "=" if self.chance(75) else "IS NOT DISTINCT FROM"
        source = f"FROM {left} AS l {word} {right} AS r ON l.{key} {equal} r.{key}"
        # By `k` there may be millions of rows, too many of a batch of one each.
        if not is_half and key == "id" and self.chance(50):
            self.expressions.features.add("three tables")
            side = self.random.choice("lr")
            equal = "=" if self.chance(50) else "IS NOT DISTINCT FROM"
            third = self.random.choice(["JOIN", "LEFT JOIN"])
            source += f" {third} c AS m ON m.id {equal} {side}.id"
        source += self.where()
        if self.chance(60):
            return Query(f"SELECT {', '.join(['count(*) AS n', *self.aggregates()])}\n{source}")
        order = ", ".join(f"{alias}.id NULLS FIRST" for alias, _ in sides)
        names = [name for name in self.shown(3) if name.column.name != "id"]
        outputs = [f"{alias}.id AS {index}" for (alias, _), index in zip(sides, "ij", strict=False)]
        outputs += [f"{name.sql} AS x{index}" for index, name in enumerate(names)]
        limit = self.random.choice([5, 50])
        query = f"SELECT {', '.join(outputs)}\n{source}\nORDER BY {order}\nLIMIT {limit}"
        return Query(query, is_ordered=True)

    def subquery(self) -> Query:
        self.table = "a"
        choice = self.random.randrange(6)
        # The same name inside and outside is another table's.
        alias = "o" if choice == 0 and self.chance(30) else "s"
        other = self.over((alias, "b"))
        inner = other.condition(1)
        outer = self.over(("o", "a"))
        self.expressions = outer
        negation = self.random.choice(["", "NOT "])
        if choice == 0:
            test = self.within(alias, inner)
        elif choice == 1:
            test = f"{negation}EXISTS (SELECT 1 FROM b AS s WHERE s.k = o.k AND {inner})"
        elif choice == 2:
            function = self.random.choice(["min", "max", "count"])
            test = f"o.id >= (SELECT {function}(s.id) FROM b AS s WHERE {inner})"
        elif choice == 3:
            test = self.of_one_row(inner)
        elif choice == 4:
            row = f"SELECT s.id FROM b AS s WHERE s.id = {self.random.randint(0, 99)} AND {inner}"
            about = ["coalesce(({}), 7) > o.id", "({}) IS NULL", "(({}) > o.id) IS NOT TRUE"]
            test = self.random.choice(about).format(row)
        else:
            table = f"(SELECT k, count(*) AS n FROM b AS s WHERE {inner} GROUP BY k)"
            query = f"WITH t AS {table}\nSELECT count(*) AS m, sum(o.id + t.n) AS s"
            query += f"\nFROM a AS o JOIN t ON o.k = t.k{self.where()}"
            return self.with_inner(Query(query), other)
        word = self.random.choice(["AND", "AND", "AND", "OR"])
        condition = f"{test} {word} {outer.condition(1)}" if self.chance(70) else test
        aggregates = ", ".join(["count(*) AS n", "sum(o.id) AS i", *self.aggregates()])
        return self.with_inner(Query(f"SELECT {aggregates}\nFROM a AS o\nWHERE {condition}"), other)

    def of_one_row(self, inner: str) -> str:
        """A condition with an aggregate, without groups, of the rows for one outside."""
        value = self.random.choice(["count(*)", "max(s.id)", "min(s.id)", "count(s.k)"])
        rows = f"SELECT {value} FROM b AS s WHERE s.k = o.k AND {inner}"
        if self.chance(35):
            operator = self.random.choice(COMPARISONS)
            rows += f" HAVING count(*) {operator} {self.random.randint(0, 3)}"
        number = self.random.choice(["o.id", "0", "o.k"])
        operator = self.random.choice(COMPARISONS)
        word = self.random.choice(["ANY", "ALL"])
        about = [
            f"EXISTS ({rows})",
            f"NOT EXISTS ({rows})",
            f"{number} IN ({rows})",
            f"{number} NOT IN ({rows})",
            f"{number} {operator} {word} ({rows})",
            f"{number} {operator} ({rows})",
            f"({rows}) IS NULL",
        ]
        return self.random.choice(about)

    def within(self, alias: str, inner: str) -> str:
        """How something compares to a subquery, which has NULLs and may refer to the outside."""
        left = self.random.choice(["o.k", "o.k", "o.k", "o.k % 7", "3", "CAST(NULL AS INT)"])
        word = self.random.choice(["IN", "NOT IN"])
        if self.chance(35):
            self.expressions.features.add("any or all")
            word = f"{self.random.choice(COMPARISONS)} {self.random.choice(['ANY', 'ALL'])}"
        link = " AND s.id = o.id" if alias == "s" and self.chance(25) else ""
        test = f"{left} {word} (SELECT {alias}.k FROM b AS {alias} WHERE ({inner}){link})"
        about = ["({})", "({})", "({})", "({}) IS NULL", "({}) IS NOT TRUE", "NOT ({})"]
        about.append("CASE WHEN {} THEN o.id % 2 = 0 ELSE o.id % 3 = 0 END")
        return self.random.choice(about).format(test)

    def windows(self) -> Query:
        """What is said of a row by others. The order is total, or does not matter."""
        if self.table == "f":
            return self.totals()
        keys = [key.sql for key in self.keys()] if self.chance(70) else []
        by = f"PARTITION BY {', '.join(keys)}" if keys else ""
        order = f"ORDER BY id {self.random.choice(['', 'DESC'])}"
        number = self.expressions.number() or "id"
        moved = self.random.choice(["lag", "lead"])
        frames = ["", " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING"]
        made = [
            f"row_number() OVER ({by} {order})",
            f"sum({number}) OVER ({by} {order}{self.random.choice(frames)})",
            f"count(*) OVER ({by})",
            f"{self.random.choice(['min', 'max'])}(id) OVER ({by} {order}{frames[1]})",
            f"{moved}(id, {self.random.choice([1, 3])}) OVER ({by} {order})",
            f"rank() OVER ({by} ORDER BY k {self.direction()})",
        ]
        chosen = self.random.sample(made, self.random.randint(1, 3))
        names = ", ".join(f"{window} AS w{index}" for index, window in enumerate(chosen))
        query = f"SELECT id, {names}\nFROM {self.table}{self.where()}"
        if self.chance(40):
            limit = self.random.choice([2, 40])
            query = f"SELECT * FROM ({query}) AS q\nWHERE w0 <= {limit}"
        if self.chance(30):
            return Query(f"{query}\nORDER BY id LIMIT 20", is_ordered=True)
        return Query(query)

    def using(self) -> Query:
        """A join whose key has one name for both sides."""
        self.table = "a"
        word = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        other, key = self.random.choice("bc"), self.random.choice(["id", "id", "k"])
        self.expressions = self.over(("l", "a"), ("r", other))
        self.expressions.features |= {word.lower(), "using"}
        source = f"FROM a AS l {word} {other} AS r USING ({key}){self.where()}"
        if self.chance(50):
            return Query(f"SELECT {key} % 5 AS g, count(*) AS n\n{source}\nGROUP BY {key} % 5")
        return Query(f"SELECT count(*) AS n, count({key}) AS c, sum({key}) AS s\n{source}")

    def with_inner(self, query: Query, inner: Expressions) -> Query:
        query.features |= inner.features
        query.is_disputed |= inner.is_disputed
        return query

    def limited(self) -> Query:
        """How many rows there are of so many: which ones is up to the engine."""
        inner = f"SELECT id FROM {self.table}{self.where()} LIMIT {self.random.choice([1, 9, 300])}"
        return Query(f"SELECT count(*) AS n FROM ({inner}) AS t")
