# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the shell and of a notebook that README.md shows.

Both are what the programs write: the shell at a pseudo-terminal, and the representations that a
notebook asks the Python package for. Arguments: the program, and the folder of the pictures.
"""

from __future__ import annotations

import fcntl
import html
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

import nearscan

ROWS, COLUMNS = 34, 96

# What a user does: keys, and what has to be on the screen then.
SESSION = [
    ("SELECT l_returnflag AS flag, count(*) AS n, avg(l_quantity), max(l_comment)\r", "...>"),
    ("FROM lineitem WHERE l_tax < 0.02 GROUP BY ALL ORDER BY n;\r", "3 rows"),
    (".profile\r", "PushdownExec"),
    (".bar SELECT l_shipmode, count(*) FROM lineitem GROUP BY 1 ORDER BY 1\r", "TRUCK"),
    ("FROM lineitem SELECT l_orderkey, l_sh\t", "l_shipdate"),
]


def shell(program: str, folder: Path) -> str:
    """Returns the screen of a session as SVG."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(
            TERM="xterm-256color", XDG_STATE_HOME=str(folder), XDG_CONFIG_HOME=str(folder)
        )
        os.environ.pop("NO_COLOR", None)
        drive = "emulated:?root=."
        setting = "nearscan.pushdown.mode=force"
        os.execv(program, [program, "lineitem.parquet", "--drive", drive, "--set", setting])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    # The shell asks where the cursor is.
    screen.write_process_input = lambda answer: os.write(terminal, answer.encode())

    def until(text: str) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.3)[0]:
                stream.feed(os.read(terminal, 65536))
            elif any(text in line for line in screen.display):
                return
        raise SystemExit(f"no {text!r} on the screen:\n" + "\n".join(screen.display))

    until("> ")
    for keys, expected in SESSION:
        os.write(terminal, keys.encode())
        until(expected)
    lines = [line_of(screen, row) for row in range(ROWS)]
    os.write(terminal, b"\x03\x04")
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return picture(lines, "nearscan")


def line_of(screen: pyte.Screen, row: int) -> Text:
    """Returns a line of the screen with its styles."""
    text = Text()
    for column in range(COLUMNS):
        cell = screen.buffer[row][column]
        style = [word for word in ("bold", "reverse") if getattr(cell, word)]
        if cell.fg != "default":
            color = cell.fg.replace("brown", "yellow")
            style.append(f"#{color}" if re.fullmatch("[0-9a-f]{6}", color) else color)
        text.append(cell.data, " ".join(style))
    text.rstrip()
    return text


def picture(lines: list[Text | Syntax], title: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in lines:
        console.print(line)
    svg = console.export_svg(title=title)
    # No font from elsewhere: the reader's own of fixed width.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "monospace")


CODE = """\
import nearscan
con = nearscan.connect(drives=["emulated:?root=."])
con.sql("SET nearscan.pushdown.mode = 'force'")
rows = con.sql(\"\"\"
    SELECT l_returnflag, count(*) AS n, sum(l_extendedprice) AS total
    FROM 'lineitem.parquet' WHERE l_tax < 0.02
    GROUP BY l_returnflag ORDER BY n\"\"\")
rows.show()
rows.profile()"""


def notebook(folder: Path) -> str:
    """Returns a cell of a notebook and its output as SVG."""
    os.chdir(folder)
    con = nearscan.connect(drives=["emulated:?root=."])
    con.sql("SET nearscan.pushdown.mode = 'force'")
    sql = CODE.partition('"""')[2].partition('"""')[0]
    rows = con.sql(sql)
    plan = rows.profile()._repr_html_()
    svg = plan[plan.index("<svg") :]
    width, height = (int(re.search(rf'{name}="(\d+)"', svg)[1]) for name in ("width", "height"))
    summary = html.unescape(re.sub(r"<[^>]*>", "", plan[: plan.index("<svg")]))
    cell = picture(
        [Syntax(CODE, "python", theme="monokai"), Text(""), Text(str(rows)), Text(summary)],
        "notebook",
    )
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', cell)
    total = max(float(box[1]), width), float(box[2]) + height + 10
    place = svg.replace("<svg", f'<svg x="10" y="{box[2]}"', 1)
    head = f'viewBox="0 0 {total[0]} {total[1]}"'
    background = f'<rect width="{total[0]}" height="{total[1]}" fill="white"/>'
    cell = cell.replace(box[0], head, 1)
    start = cell.index(">", cell.index("<svg")) + 1
    end = cell.rindex("</svg>")
    return cell[:start] + background + cell[start:end] + place + "</svg>\n"


def main() -> None:
    program, target = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [program, "tpch", "generate", "--scale-factor", "0.01", "--data", name],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        found = next(folder.rglob("lineitem.parquet"))
        found.rename(folder / "lineitem.parquet")
        (target / "shell.svg").write_text(shell(program, folder), encoding="utf-8")
        (target / "notebook.svg").write_text(notebook(folder), encoding="utf-8")


if __name__ == "__main__":
    main()
