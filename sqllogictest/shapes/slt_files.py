# SPDX-License-Identifier: Apache-2.0
"""Files of queries in the making: text without results, which `generate.py --complete` adds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SLT = Path(__file__).resolve().parent.parent / "slt"
LINE_MAX = 96


@dataclass
class SltFile:
    """One file: its name below slt, what it is about, and what has been added so far."""

    name: str
    about: str
    parts: list[str] = field(default_factory=list)

    def rows(self, sql: str) -> None:
        """Adds a query whose rows come in any order."""
        self.parts.append(f"query ? rowsort\n{wrap(sql)}")

    def ordered(self, sql: str) -> None:
        """Adds a query with a total order."""
        self.parts.append(f"query ?\n{wrap(sql)}")

    def refused(self, sql: str) -> None:
        """Adds a query that both engines refuse."""
        self.parts.append(f"query error\n{wrap(sql)}")

    def ours(self, sql: str) -> None:
        """Adds a statement that DuckDB does not get."""
        self.parts.append(f"onlyif nearscan\nstatement ok\n{wrap(sql)}")

    def write(self) -> None:
        path = SLT / f"{self.name}.slt"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = "\n".join(f"# {line}" for line in wrap(self.about).split("\n"))
        head = f"# SPDX-License-Identifier: Apache-2.0\n{about}\n"
        path.write_text(head + "".join(f"\n{part}\n" for part in self.parts), encoding="utf-8")


def wrap(text: str) -> str:
    """Breaks long lines at spaces outside of quotes, AND, OR and FROM preferred."""
    lines = []
    for line in text.split("\n"):
        while len(line) > LINE_MAX:
            places = [each.start() for each in re.finditer(r" (?=(?:[^']*'[^']*')*[^']*$)", line)]
            places = [place for place in places if 8 < place <= LINE_MAX]
            words = [p for p in places if re.match(r" (AND|OR|FROM|WHERE|GROUP) ", line[p:])]
            if not places:
                break
            place = (words or places)[-1]
            lines.append(line[:place])
            line = "  " + line[place + 1 :]
        lines.append(line)
    return "\n".join(lines)
