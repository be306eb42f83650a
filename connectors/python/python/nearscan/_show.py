# SPDX-License-Identifier: Apache-2.0
"""Shows rows as a table: as text, or as HTML for notebooks."""

from __future__ import annotations

import html
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL_WIDTH = 40
"""The widest cell of a table of text."""

_STYLE = (
    "<style>.nearscan{border-collapse:collapse}.nearscan th,.nearscan td{padding:.15em .6em;"
    "text-align:left}.nearscan .n{text-align:right}.nearscan th small{color:#888;font-weight:400}"
    ".nearscan .null{color:#999;font-style:italic}</style>"
)


def as_text(
    names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[object]], total: int
) -> str:
    """Returns a table with types under names, numbers to the right, and what is not shown."""
    columns = [
        [name, kind, *(_cut(_text(row[at])) for row in rows)]
        for at, (name, kind) in enumerate(zip(names, types, strict=True))
    ]
    widths = [max(_width(cell) for cell in column) for column in columns]
    lines = [_line(columns, types, widths, at) for at in range(len(rows) + 2)]
    lines.insert(2, "  ".join("-" * width for width in widths))
    footer = _footer(len(rows), total, len(names))
    return "\n".join([*(line.rstrip() for line in lines), "", footer])


def as_html(
    names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[object]], total: int
) -> str:
    """Returns a table for a notebook."""
    classes = [' class="n"' if _is_number(kind) else "" for kind in types]
    heads = "".join(
        f"<th{css}>{html.escape(name)}<br><small>{html.escape(kind)}</small></th>"
        for name, kind, css in zip(names, types, classes, strict=True)
    )
    lines = (
        "".join(_cell(value, css) for value, css in zip(row, classes, strict=True)) for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    footer = html.escape(_footer(len(rows), total, len(names)))
    return (
        f'{_STYLE}<table class="nearscan"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody>'
        f"</table><p><small>{footer}</small></p>"
    )


def _cell(value: object, css: str) -> str:
    if value is None:
        return f'<td{css}><span class="null">NULL</span></td>'
    return f"<td{css}>{html.escape(_cut(_text(value), 200))}</td>"


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _cut(text: str, width: int = _CELL_WIDTH) -> str:
    text = text.replace("\n", "↵")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _line(
    columns: Sequence[Sequence[str]], types: Sequence[str], widths: Sequence[int], at: int
) -> str:
    cells: list[str] = []
    for column, kind, width in zip(columns, types, widths, strict=True):
        space = " " * (width - _width(column[at]))
        cells.append(space + column[at] if _is_number(kind) else column[at] + space)
    return "  ".join(cells)


def _footer(shown: int, total: int, columns: int) -> str:
    rows = f"{total:,} row{'' if total == 1 else 's'}"
    of = f" ({shown:,} shown)" if shown < total else ""
    return f"{rows}{of}, {columns} column{'' if columns == 1 else 's'}"


def _is_number(kind: str) -> bool:
    return kind.startswith(("Int", "UInt", "Float", "Decimal"))


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(2 if unicodedata.east_asian_width(it) in "WF" else 1 for it in text)
