# SPDX-License-Identifier: Apache-2.0
"""Queries over the tables `t_KIND`: one file a kind, the same questions for each.

Literals are values of the table: both ends of the type, one from the middle, one that is not there.
"""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pyarrow as pa
from slt_files import SltFile
from values import Kind, kinds

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
COLUMNS = ["v", "few", "half", "most"]


def text(value: Any, kind: Kind) -> str:
    """The text of a value in a literal."""
    if pa.types.is_timestamp(kind.arrow_type):
        scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.arrow_type.unit]
        seconds, fraction = divmod(value, scale)
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        microseconds = fraction * 10**6 // scale
        return f"{moment.isoformat(sep=' ')}.{microseconds:06}"
    if pa.types.is_time(kind.arrow_type):
        scale = {"ms": 10**3, "us": 10**6}[kind.arrow_type.unit]
        since = datetime.timedelta(microseconds=value * 10**6 // scale)
        return (datetime.datetime(1970, 1, 1) + since).time().isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    return str(value).replace("'", "''")


class Questions:
    """The questions about one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.table = f"t_{kind.name}"
        self.file = SltFile(
            f"type/{kind.name}",
            f"Values of the kind {kind.name}: comparisons, NULL, extremes, groups, order.",
        )
        # Nothing is compared with zero or what is infinite, where zero has a sign.
        is_usual = (lambda it: it and math.isfinite(it)) if kind.outside else lambda _: True
        usual = sorted(filter(is_usual, kind.many))
        self.with_outside = {"v"} if kind.outside else set()
        self.low, self.high = self.literal(usual[0]), self.literal(usual[-1])
        self.near, self.mid, self.far = (
            self.literal(usual[len(usual) * share // 10]) for share in (3, 5, 8)
        )
        # Columns as they are compared with literals.
        compared = map(kind.compared.format, [*COLUMNS, "void", "pick"])
        self.v, self.few, self.half, self.most, self.void, self.pick = compared
        self.chosen = self.literal(kind.few[1])

    def literal(self, value: Any) -> str:
        return self.kind.literal.format(text(value, self.kind))

    def shown(self, expression: str) -> str:
        return self.kind.shown.format(expression)

    def extremes(self, column: str) -> str:
        low, high = self.shown(f"min({column})"), self.shown(f"max({column})")
        return f"{low} AS low_{column}, {high} AS high_{column}"

    def ask(self) -> SltFile:
        self.counts()
        self.comparisons()
        self.lists()
        self.nulls()
        self.groups()
        self.order()
        if self.kind.is_summed:
            self.sums()
        return self.file

    def counts(self) -> None:
        counts = ", ".join(f"count({name}) AS c_{name}" for name in [*COLUMNS, "void", "pick"])
        self.file.rows(f"SELECT count(*) AS c, {counts} FROM {self.table}")
        distinct = ", ".join(f"count(DISTINCT {name}) AS d_{name}" for name in ["few", "pick"])
        self.file.rows(f"SELECT {distinct}, count(DISTINCT void) AS d_void FROM {self.table}")
        for pair in (["v", "few"], ["half", "most"], ["void", "pick"]):
            ordered = [column for column in pair if column not in self.with_outside]
            extremes = ", ".join(map(self.extremes, ordered))
            self.file.rows(f"SELECT {extremes} FROM {self.table}")
        extremes = ", ".join(map(self.extremes, ["few", "half"]))
        self.file.rows(f"SELECT {extremes}\nFROM {self.table}\nWHERE id BETWEEN 200 AND 370")

    def comparisons(self) -> None:
        columns = [self.v, self.few, self.half, self.most]
        literals = [self.mid, self.near, self.far, self.low, self.high, self.mid, self.chosen]
        for place, comparison in enumerate(COMPARISONS * 2):
            column, literal = columns[place % 4], literals[place % 7]
            condition = f"{column} {comparison} {literal}"
            if place % 3 == 2:
                condition = f"{literal} {comparison} {column}"
            self.condition(condition)
        self.condition(f"{self.half} BETWEEN {self.near} AND {self.far}")
        self.condition(f"{self.few} NOT BETWEEN {self.near} AND {self.mid}")
        self.condition(f"{self.few} BETWEEN {self.far} AND {self.near}")
        self.condition("v < few")
        self.condition("few = half OR few > v")
        self.condition(f"NOT ({self.few} > {self.mid} AND {self.half} < {self.far})")
        self.condition(f"{self.pick} = {self.chosen} AND k IN (1, 3)")

    def condition(self, condition: str) -> None:
        query = f"SELECT count(*) AS c, sum(id) AS s\nFROM {self.table}\nWHERE {condition}"
        self.file.rows(query)

    def lists(self) -> None:
        three = f"{self.near}, {self.mid}, {self.far}"
        self.condition(f"{self.few} IN ({three})")
        self.condition(f"{self.half} NOT IN ({three})")
        self.condition(f"{self.v} IN ({self.low}, {self.high})")
        self.condition(f"{self.pick} IN ({self.chosen}, NULL)")
        self.condition(f"{self.few} NOT IN ({self.chosen}, NULL)")

    def nulls(self) -> None:
        self.condition("most IS NOT NULL AND half IS NULL")
        self.condition("void IS NULL AND few IS NOT NULL")
        self.condition(f"{self.few} IS DISTINCT FROM {self.mid}")
        self.condition(f"{self.half} IS NOT DISTINCT FROM {self.near}")
        self.condition("few IS NOT DISTINCT FROM half")
        self.condition("half IS DISTINCT FROM most")
        unknown = f"({self.few} > {self.mid}) IS NULL"
        self.condition(f"{unknown} OR ({self.most} < {self.mid}) IS NOT NULL")
        self.condition(f"{self.void} = {self.mid} OR {self.v} = {self.mid}")

    def groups(self) -> None:
        pick = self.shown("pick")
        query = f"SELECT {pick} AS p, count(*) AS c, count(half) AS h, {self.extremes('few')}"
        self.file.rows(f"{query}\nFROM {self.table}\nGROUP BY pick")
        query = f"SELECT {pick} AS p, k, count(*) AS c, sum(id) AS s"
        query += f"\nFROM {self.table}\nWHERE {self.few} > {self.near}"
        self.file.rows(f"{query}\nGROUP BY pick, k")
        only = f"count(*) FILTER (WHERE {self.few} < {self.mid}) AS below"
        query = f"SELECT k, {only}, {self.extremes('half')}"
        self.file.rows(f"{query}\nFROM {self.table}\nGROUP BY k")
        above = f"sum(CASE WHEN {self.few} > {self.mid} THEN id ELSE 0 END) AS above"
        equal = f"count(CASE WHEN {self.pick} = {self.chosen} THEN 1 END) AS equal"
        self.file.rows(f"SELECT k, {above}, {equal}\nFROM {self.table}\nGROUP BY k")
        self.file.rows(f"SELECT DISTINCT {pick} AS p FROM {self.table} WHERE id > 100")

    def order(self) -> None:
        shown = {name: f"{self.shown(name)} AS {name}_" for name in COLUMNS + ["pick"]}
        query = f"SELECT id, {shown['few']}, {shown['half']}\nFROM {self.table}"
        filtered = f"{query}\nWHERE k = 2 AND {self.few} >= {self.near}"
        self.file.ordered(f"{filtered}\nORDER BY id\nLIMIT 9")
        self.file.ordered(f"{query}\nORDER BY few ASC NULLS LAST, id\nLIMIT 8")
        self.file.ordered(f"{query}\nORDER BY half DESC NULLS LAST, id DESC\nLIMIT 8")
        query = f"SELECT id, {shown['pick']}, {shown['most']}\nFROM {self.table}"
        self.file.ordered(f"{query}\nORDER BY pick DESC NULLS FIRST, id\nLIMIT 4 OFFSET 50")
        self.file.rows(f"{query}\nWHERE most IS NOT NULL")

    def sums(self) -> None:
        query = "SELECT sum(pick) AS s, sum(pick + pick) AS t, count(pick) AS c"
        self.file.rows(f"{query}\nFROM {self.table}\nWHERE few > {self.near}")
        average = "CAST(avg(CAST(pick AS DOUBLE)) AS DECIMAL(18, 4))"
        query = f"SELECT k, sum(pick) AS s, {average} AS a"
        self.file.rows(f"{query}\nFROM {self.table}\nWHERE id <> 7\nGROUP BY k")
        only = f"sum(pick) FILTER (WHERE half > {self.near}) AS f"
        self.file.rows(f"SELECT {only}, sum(void) AS v FROM {self.table}")


def width_questions() -> SltFile:
    """Decimals of every precision: sums, extremes, comparisons with a value of the same type."""
    file = SltFile("type/decimal_widths", "Decimals of every precision, and of both forms.")
    for precision in [*range(1, 19), 19, 28, 38]:
        column, scale = f"d{precision}", precision // 3
        literal = f"CAST('{'0.' + '1' * scale if scale else '3'}' AS DECIMAL({precision}, {scale}))"
        query = f"SELECT count({column}) AS c, min({column}) AS low, max({column}) AS high"
        file.rows(f"{query}, sum({column}) AS s\nFROM t_decimal_widths")
        query = f"SELECT count(*) AS c, sum(id) AS s\nFROM t_decimal_widths\nWHERE {column}"
        file.rows(f"{query} > {literal}")
        file.rows(f"{query} BETWEEN -{literal} AND {literal} OR {column} IS NULL")
    for left, right in [("d4", "d5"), ("d9", "d10"), ("d7", "d16"), ("d18", "d19")]:
        file.rows(f"SELECT count(*) AS c FROM t_decimal_widths WHERE {left} < {right}")
        query = f"SELECT id, {left} + {right} AS x, {left} - {right} AS y\nFROM t_decimal_widths"
        file.ordered(f"{query}\nORDER BY id\nLIMIT 5 OFFSET 5")
    return file


def files() -> list[SltFile]:
    return [*(Questions(kind).ask() for kind in kinds()), width_questions()]
