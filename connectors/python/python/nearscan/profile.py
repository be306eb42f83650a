# SPDX-License-Identifier: Apache-2.0
"""Plans and profiles of statements, with drive and host apart.

Measured time and the time that the model of an emulated drive says are never added, and never in
one column.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, cast

from .errors import NotSupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes

__all__ = ["Plan"]

_DRIVE = "#d95f02"
_HOST = "#1b6ca8"
_BOX = (250, 44)
_GAP = (24, 34)


class Plan:
    """A plan as a tree of operators; of a statement that ran, with what each did.

    >>> from nearscan import connect
    >>> plan = connect().sql("SELECT count(*) FROM range(10)").profile()
    >>> plan.rows, plan.bytes["link"]
    (1, 0)
    """

    def __init__(self, profile: Mapping[str, Any], *, text: str | None = None) -> None:
        self._profile = profile
        self._text = text

    def to_dict(self) -> dict[str, Any]:
        """Returns everything, of the shape of ``nearscan explain-json``."""
        return dict(self._profile)

    @property
    def rows(self) -> int:
        """Rows that the statement returned."""
        return int(self._profile["run"]["rows"])

    @property
    def seconds(self) -> float:
        """Measured seconds of the run, without planning."""
        return float(self._profile["run"]["seconds"])

    @property
    def planning_seconds(self) -> float:
        """Measured seconds of planning."""
        return float(self._profile["planning_seconds"])

    @property
    def drive_seconds_modelled(self) -> float | None:
        """Seconds of an emulated drive, which its model says; None without one."""
        seconds = self._profile["run"]["drive_seconds_modelled"]
        return None if seconds is None else float(seconds)

    @property
    def bytes(self) -> dict[str, int]:
        """Bytes that moved: from ``media`` in drives, over their ``link``, and ``host`` reads."""
        run = self._profile["run"]
        names = {"media": "media_bytes", "link": "link_bytes", "host": "bytes_scanned"}
        return {name: int(run[key]) for name, key in names.items()}

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """For each scan the drive, or why the host keeps it."""
        return list(self._profile["decisions"])

    def __str__(self) -> str:
        if self._text is not None:
            return self._text
        return "\n".join(f"{'  ' * depth}{node['line']}" for depth, node in self._operators())

    __repr__ = __str__

    def _operators(self) -> Iterator[tuple[int, dict[str, Any]]]:
        stack = [(0, cast("dict[str, Any]", self._profile["plan"]))]
        while stack:
            depth, node = stack.pop()
            yield depth, node
            stack.extend((depth + 1, child) for child in reversed(node["children"]))

    def _repr_html_(self) -> str:
        places = _places(self._profile["plan"])
        width = max(x for x, _, _ in places) + _BOX[0] + 2
        height = max(y for _, y, _ in places) + _BOX[1] + 2
        shapes = [_edges(x, y, node) for x, y, node in places]
        shapes += [_box(x, y, node) for x, y, node in places]
        legend = (
            f'<span style="color:{_DRIVE}">&#9632; drive</span> '
            f'<span style="color:{_HOST}">&#9632; host</span> {html.escape(self._summary())}'
        )
        return (
            f'<div>{legend}</div><svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" font-family="sans-serif">{"".join(shapes)}</svg>'
        )

    def _summary(self) -> str:
        run = self._profile["run"]
        if not run["seconds"]:
            return "not run"
        parts = [f"{run['rows']:,} rows", f"{run['seconds']:.3f} s measured"]
        modelled = run["drive_seconds_modelled"]
        if modelled is not None:
            parts.append(f"drive {modelled:.4f} s modelled")
        parts += [f"{name} {_size(count)}" for name, count in self.bytes.items() if count]
        return ", ".join(parts)

    def plot_pushdown(self, axes: Any = None) -> Axes:  # noqa: ANN401 - Axes has few types
        """Draws where the bytes stayed: in the media, in the link, or read by the host.

        Raises:
            NotSupportedError: matplotlib is not installed.
        """
        if axes is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise NotSupportedError(
                    "plot_pushdown() needs matplotlib", str(error), "pip install matplotlib"
                ) from error
            untyped: Any = pyplot
            axes = untyped.subplots(figsize=(6, 1.8))[1]
        bars = self.bytes
        colors = {"media": "#f4b183", "link": _DRIVE, "host": _HOST}
        labels = {"media": "read in the drive", "link": "over the link", "host": "read by the host"}
        for name in reversed(bars):
            drawn = axes.barh(labels[name], bars[name], color=colors[name])
            axes.bar_label(drawn, [_size(bars[name])], padding=3)
        axes.set_xlabel("bytes")
        axes.margins(x=0.2)
        drawing: Axes = axes
        return drawing


def _places(root: dict[str, Any]) -> list[tuple[int, int, dict[str, Any]]]:
    """Operators from the top down; each over the middle of those that it reads from."""
    placed: list[tuple[int, int, dict[str, Any]]] = []
    leaves = 0

    def place(node: dict[str, Any], depth: int) -> float:
        nonlocal leaves
        children = [place(child, depth + 1) for child in node["children"]]
        if children:
            x = sum(children) / len(children)
        else:
            x = float(leaves * (_BOX[0] + _GAP[0]))
            leaves += 1
        node["x"] = x
        placed.append((int(x), depth * (_BOX[1] + _GAP[1]), node))
        return x

    place(root, 0)
    return placed


def _box(x: int, y: int, node: dict[str, Any]) -> str:
    color = _DRIVE if _is_on_drive(node) else _HOST
    rows = node["metrics"].get("output_rows")
    below = f"{rows:,} rows" if rows is not None else ""
    name = html.escape(node["name"])
    detail = html.escape(node["line"].partition(": ")[2][:38])
    return (
        f'<g><title>{html.escape(node["line"])}</title><rect x="{x + 1}" y="{y + 1}" '
        f'width="{_BOX[0]}" height="{_BOX[1]}" rx="5" fill="white" stroke="{color}" '
        f'stroke-width="2"/><text x="{x + 8}" y="{y + 17}" font-size="12" font-weight="bold" '
        f'fill="{color}">{name}</text><text x="{x + _BOX[0] - 6}" y="{y + 17}" font-size="11" '
        f'text-anchor="end">{below}</text><text x="{x + 8}" y="{y + 35}" font-size="10" '
        f'fill="#555">{detail}</text></g>'
    )


def _edges(x: int, y: int, node: dict[str, Any]) -> str:
    middle = x + _BOX[0] // 2
    edges: list[str] = []
    for child in node["children"]:
        below = int(child["x"]) + _BOX[0] // 2
        top, bottom = y + _BOX[1], y + _BOX[1] + _GAP[1]
        moved = child["metrics"].get("link_bytes") or child["metrics"].get("output_bytes")
        label = _size(moved) if moved else ""
        edges.append(
            f'<line x1="{middle}" y1="{top}" x2="{below}" y2="{bottom}" stroke="#999"/>'
            f'<text x="{(middle + below) // 2 + 5}" y="{(top + bottom) // 2 + 4}" '
            f'font-size="10" fill="#555">{label}</text>'
        )
    return "".join(edges)


def _is_on_drive(node: dict[str, Any]) -> bool:
    return str(node["name"]).startswith("Pushdown")


def _size(count: int) -> str:
    amount, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        del units[0]
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"
