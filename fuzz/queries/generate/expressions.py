# SPDX-License-Identifier: Apache-2.0
"""Random expressions over columns: conditions of three-valued logic, and numbers.

They avoid what DuckDB and DataFusion rightly answer differently, or what DataFusion 55 answers
wrongly without any drive:

- fractions such as 1.5: decimals in DuckDB, doubles in DataFusion; they are cast;
- `/`, which is here between integers only: that is `//` in DuckDB, and semi and anti joins have no
  LEFT there, see `for_duckdb`;
- dates plus numbers, and comparisons of the time of day, for which DataFusion has literals of one
  unit only;
- byte strings of two widths, which have no common type in DataFusion;
- `LIKE`: no backslashes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from columns import FLOATS, INTEGERS, MOMENTS, TEXTS, Column

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
PATTERNS = ["a%", "%b", "%a%", "_", "%日%", "%b%a%", "a_%", "", "%", "__b", "%''%"]
# What computes without leaving its type too often.
NUMBERS = ("int16", "int32", "int64", "decimal")
WITHOUT_ORDER = ("clock", "zoned")


def for_duckdb(sql: str) -> str:
    """The same in DuckDB's words. No literal has a slash in it."""
    return re.sub(r"\bLEFT (SEMI|ANTI) JOIN\b", r"\1 JOIN", sql.replace(" / ", " // "))


@dataclass(frozen=True)
class Name:
    """A column as a query names it."""

    sql: str
    column: Column

    @property
    def kind(self) -> str:
        return self.column.kind


@dataclass
class Expressions:
    """Draws expressions over some names; notes which features they have."""

    random: random.Random
    names: list[Name]
    features: set[str] = field(default_factory=set)
    # Whether engines disagree about what an expression is.
    is_disputed: bool = False

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def pick(self, names: Iterable[Name]) -> Name:
        name = self.random.choice(list(names))
        self.see(name)
        return name

    def see(self, name: Name) -> None:
        """Notes that a query has a name in it."""
        self.features.add(f"type:{name.kind}")
        self.is_disputed |= name.column.is_disputed

    def of(self, *kinds: str) -> list[Name]:
        return [name for name in self.names if name.kind in kinds]

    def like(self, name: Name) -> list[Name]:
        """Other names of the same type."""
        wanted = name.column.arrow_type
        return [it for it in self.names if it.sql != name.sql and it.column.arrow_type == wanted]

    # Values.

    def literal(self, column: Column) -> str:
        """A value of a column as a literal of its type, sometimes one close by."""
        return literal(column, self.nearby(column, self.random.choice(column.values)))

    def nearby(self, column: Column, value: Any) -> Any:
        if not self.chance(15):
            return value
        if column.kind in INTEGERS and column.profile != "ends":
            least = 0 if column.kind.startswith("u") else -(2**31)
            return max(value + self.random.choice([1, -1]), least)
        return value + "z" if column.kind in TEXTS else value

    # Numbers.

    def number(self) -> str | None:
        """An expression with an exact number."""
        names = [it for it in self.of(*NUMBERS) if it.column.is_summed]
        if not names:
            return None
        self.features.add("arithmetic")
        name = self.pick(names)
        same = [it for it in self.like(name) if it.column.is_summed]
        sign = self.random.choice(["+", "-", "*"])
        small = self.random.randint(1, 9)
        choice = self.random.randrange(100)
        if choice < 20 and same:
            return f"{name.sql} {sign} {self.pick(same).sql}"
        if choice < 40:
            return f"{name.sql} {sign} {small}"
        if choice < 50:
            return f"{small} {sign} {name.sql}"
        if choice < 60 and name.kind == "decimal" and same:
            return f"({name.sql} + {self.pick(same).sql}) {sign} {small}"
        if choice < 68 and name.kind in INTEGERS:
            self.features.add("division")
            return f"({name.sql} / {small})"
        if choice < 75 and name.kind in INTEGERS:
            self.features.add("division")
            return f"{name.sql} % {small}"
        if choice < 80:
            return f"-{name.sql}"
        if choice < 86 and name.kind in ("int16", "int32"):
            self.features.add("cast")
            return f"CAST({name.sql} AS BIGINT) {sign} {small}"
        if choice < 93:
            return self.case(name)
        self.features.add("coalesce")
        return f"coalesce({name.sql}, {self.literal(name.column)})"

    def case(self, name: Name) -> str:
        self.features.add("case")
        other = self.literal(name.column) if self.chance(60) else "NULL"
        return f"CASE WHEN {self.leaf()} THEN {name.sql} ELSE {other} END"

    # Conditions.

    def condition(self, depth: int) -> str:
        if depth == 0 or self.chance(25):
            return self.leaf()
        choice = self.random.randrange(24)
        if choice < 4:
            self.features.add("not")
            return f"NOT ({self.condition(depth - 1)})"
        if choice < 6:
            self.features.add("truth")
            test = self.random.choice(["NULL", "TRUE", "FALSE", "UNKNOWN"])
            negation = self.random.choice(["", "NOT "])
            return f"(({self.condition(depth - 1)}) IS {negation}{test})"
        word = "AND" if choice < 15 else "OR"
        self.features.add(word.lower())
        return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"

    def leaf(self) -> str:
        """A condition without other conditions in it, but for those of CASE."""
        name = self.pick(self.names)
        negation = self.random.choice(["", "", "NOT "])
        choice = self.random.randrange(100)
        if choice < 10 or name.kind == "clock":
            self.features.add("null")
            return f"{name.sql} IS {negation}NULL"
        if name.kind == "boolean" and choice < 55:
            return f"{negation}{name.sql}"
        if choice < 24:
            return self.among(name, negation) if self.chance(75) else self.lists(name)
        if choice < 36:
            self.features.add("between")
            low, high = self.literal(name.column), self.literal(name.column)
            return f"{name.sql} {negation}BETWEEN {low} AND {high}"
        if choice < 42:
            self.features.add("distinct from")
            # DataFusion reads what follows as a part of the second operand.
            return f"({name.sql} IS {negation}DISTINCT FROM {self.literal(name.column)})"
        comparison = self.random.choice(COMPARISONS)
        if choice < 52 and self.like(name):
            self.features.add("columns")
            return f"{name.sql} {comparison} {self.pick(self.like(name)).sql}"
        if choice < 54:
            return f"{name.sql} {comparison} NULL"
        if choice < 56:
            self.features.add("truth compared")
            return f"(({self.leaf()}) {self.random.choice(COMPARISONS)} ({self.leaf()}))"
        special = self.special(name, comparison, negation) if choice < 80 else None
        if special is not None:
            return special
        number = self.number() if choice < 70 else None
        if number is not None:
            return f"{number} {comparison} {self.random.randint(-1000, 1000)}"
        if choice < 86:
            return f"{self.literal(name.column)} {comparison} {name.sql}"
        return f"{name.sql} {comparison} {self.literal(name.column)}"

    def among(self, name: Name, negation: str) -> str:
        self.features.add("in")
        items = [self.literal(name.column) for _ in range(self.random.choice([1, 2, 5, 9, 40]))]
        items += ["NULL"] if self.chance(25) else []
        items += [self.pick(self.like(name)).sql] if self.like(name) and self.chance(15) else []
        self.random.shuffle(items)
        return f"{name.sql} {negation}IN ({', '.join(items)})"

    def lists(self, name: Name) -> str:
        """Two conditions on what one column may be."""
        self.features.add("lists")
        word = self.random.choice(["AND", "OR"])
        return f"({self.one_of(name)} {word} {self.one_of(name)})"

    def one_of(self, name: Name) -> str:
        if self.chance(65):
            return self.among(name, self.random.choice(["", "NOT "]))
        equal = [f"{name.sql} = {self.literal(name.column)}" for _ in range(2)]
        return f"({' OR '.join(equal)})"

    def special(self, name: Name, comparison: str, negation: str) -> str | None:
        """A condition that only columns of some kinds have."""
        if name.kind in TEXTS:
            choice = self.random.randrange(10)
            if choice < 5:
                self.features.add("like")
                return f"{name.sql} {negation}LIKE '{self.random.choice(PATTERNS)}'"
            if choice < 7:
                self.features.add("length")
                return f"length({name.sql}) {comparison} {self.random.randint(0, 12)}"
            self.features.add("substr")
            first, count = self.random.randint(1, 3), self.random.randint(1, 3)
            return f"substr({name.sql}, {first}, {count}) {comparison} 'a'"
        if name.kind == "date" and name.column.profile != "ends":
            others = [it for it in self.like(name) if it.column.profile != "ends"]
            if others and self.chance(50):
                self.features.add("days between")
                days = self.random.randint(-9000, 9000)
                return f"{name.sql} - {self.pick(others).sql} {comparison} {days}"
            self.features.add("extract")
            part, bound = self.random.choice([("year", 1990), ("month", 6), ("day", 15)])
            return f"extract({part} FROM {name.sql}) {comparison} {bound}"
        if name.kind == "decimal" and name.column.arrow_type.scale:
            self.features.add("cast")
            kind, value = name.column.arrow_type, self.random.choice(name.column.values)
            fewer = f"DECIMAL({kind.precision}, {kind.scale - 1})"
            rounded = f"CAST('{value:.{kind.scale - 1}f}' AS {fewer})"
            return f"CAST({name.sql} AS {fewer}) {comparison} {rounded}"
        if name.kind in MOMENTS:
            self.features.add("cast")
            day = self.random.choice(name.column.values).date()
            return f"CAST({name.sql} AS DATE) {comparison} DATE '{day.isoformat()}'"
        if name.kind in INTEGERS and self.chance(40):
            return self.of_integer(name, comparison, negation)
        if name.kind in ("int8", "int16", "int32", "float"):
            self.features.add("cast")
            wider = "DOUBLE" if name.kind == "float" else "BIGINT"
            return f"CAST({name.sql} AS {wider}) {comparison} CAST(100 AS {wider})"
        return None


    def of_integer(self, name: Name, comparison: str, negation: str) -> str:
        """A condition on what an integer is converted to, which has another order."""
        choice = self.random.randrange(3)
        if choice == 0 and not name.kind.startswith("u") and name.column.is_summed:
            self.features.add("bits")
            return f"({name.sql} & -{name.sql}) {comparison} {self.random.choice([0, 2, 64])}"
        self.features.add("cast")
        if choice == 1:
            return f"{negation}CAST({name.sql} AS BOOLEAN)"
        text = self.random.choice(name.column.values)
        return f"CAST({name.sql} AS VARCHAR) {comparison} '{text}'"


def literal(column: Column, value: Any) -> str:
    """A value as a literal of a column's type."""
    if column.kind == "decimal":
        kind = column.arrow_type
        return f"CAST('{value:f}' AS DECIMAL({kind.precision}, {kind.scale}))"
    if column.kind in FLOATS:
        return f"CAST('{value!r}' AS DOUBLE)"
    if column.kind in INTEGERS or column.kind == "boolean":
        return str(value).lower()
    if column.kind == "date":
        return f"DATE '{value.isoformat()}'"
    if column.kind in MOMENTS or column.kind == "zoned":
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return "'" + value.replace("'", "''") + "'"
