# SPDX-License-Identifier: Apache-2.0
"""Writes the joins of a query in another order, which means the same.

A query begins a line with `FROM TABLE AS ALIAS`, and one with `JOIN TABLE AS ALIAS ON ...` for each
further relation that is inner joined; these lines are what is put into another order. The
conditions of ON are equalities between columns with the alias before them, with AND between them.
In the new order each of them is at the first relation with which all of its columns are there, and
every relation has one, so that no order asks for a cross product. Everything else stays as it is.
"""

import math
import re
from dataclasses import dataclass

FIRST = re.compile(r"FROM (?P<relation>\w+ AS (?P<alias>\w+))")
FURTHER = re.compile(r"JOIN (?P<relation>\w+ AS (?P<alias>\w+)) ON (?P<conditions>.+)")
CONDITION = re.compile(r"(\w+)\.\w+ = (\w+)\.\w+")

# Draws in a row that give no new order, after which there is none.
DRAWS = 1_000


@dataclass
class Joins:
    """The joins of a query, and what is before and after them.

    `relations` are the tables by their aliases, in the order of the text; `conditions` the texts of
    the conditions with the aliases that each is about."""

    before: str
    relations: dict[str, str]
    conditions: list[tuple[str, set[str]]]
    after: str

    def sql(self, order):
        """The text with the relations in an order of their aliases."""
        first, *further = order
        lines = [f"FROM {self.relations[first]}"]
        here = {first}
        for alias in further:
            conditions = " AND ".join(self.between(here, alias))
            lines.append(f"JOIN {self.relations[alias]} ON {conditions}")
            here.add(alias)
        return "\n".join(filter(None, [self.before, *lines, self.after]))

    def between(self, here, alias):
        """The conditions between a relation and those that came before it."""
        return [
            text
            for text, aliases in self.conditions
            if alias in aliases and aliases - {alias} <= here
        ]

    def draw(self, random):
        """An order at random, in which a condition joins every relation to those before it."""
        order = [random.choice(list(self.relations))]
        while len(order) < len(self.relations):
            here = set(order)
            joined = [a for a in self.relations if a not in here and self.between(here, a)]
            order.append(random.choice(joined))
        return order

    def orders(self, random, count):
        """Up to `count` different orders, none of which is that of the text; fewer if a small query
        does not have so many."""
        written = list(self.relations)
        found = []
        for _ in range(min(DRAWS, math.factorial(len(written)) * 20)):
            order = self.draw(random)
            if len(found) < count and order != written and order not in found:
                found.append(order)
        return found


def parse(text):
    """The joins of a query.

    >>> text = "SELECT 1\\nFROM t AS a\\nJOIN u AS b ON b.x = a.x\\nWHERE a.y < 1"
    >>> print(parse(text).sql(["b", "a"]))
    SELECT 1
    FROM u AS b
    JOIN t AS a ON b.x = a.x
    WHERE a.y < 1
    """
    lines = text.split("\n")
    begin = next((place for place, line in enumerate(lines) if FIRST.fullmatch(line)), None)
    if begin is None:
        raise ValueError(f"no line is FROM TABLE AS ALIAS: {text}")
    first = FIRST.fullmatch(lines[begin])
    relations, conditions = {first["alias"]: first["relation"]}, []
    end = begin + 1
    while end < len(lines) and lines[end].startswith("JOIN "):
        further = FURTHER.fullmatch(lines[end])
        if further is None:
            raise ValueError(f"not JOIN TABLE AS ALIAS ON ...: {lines[end]}")
        relations[further["alias"]] = further["relation"]
        for condition in further["conditions"].split(" AND "):
            conditions.append((condition, aliases(condition)))
        end += 1
    return Joins("\n".join(lines[:begin]), relations, conditions, "\n".join(lines[end:]))


def aliases(condition):
    found = CONDITION.fullmatch(condition)
    if found is None:
        raise ValueError(f"not an equality of two columns: {condition}")
    return set(found.groups())
