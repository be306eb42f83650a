# SPDX-License-Identifier: Apache-2.0
"""Shows how far a long statement has come: rows, bytes, and the time left where it is known.

A bar of tqdm where that is installed, in a notebook its widget; otherwise a line of text. Nothing
is shown of statements that take less than half a second, nor without a terminal or a notebook.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import TracebackType

    from . import _nearscan

DELAY = 0.5
"""Seconds after which a statement is shown."""

PERIOD = 0.2
"""Seconds between two updates."""


class Bar(Protocol):
    """What shows rows, bytes and the rows that there are to read."""

    def update(self, rows: int, size: int, total: int | None, seconds: float) -> None:
        """Shows where the statement is."""

    def close(self) -> None:
        """Takes it away."""


class Shown:
    """Shows a statement while a block of code waits for it."""

    def __init__(self, stream: _nearscan.Stream, *, when: bool | None) -> None:
        self._stream = stream
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._is_on = is_interactive() if when is None else when

    def __enter__(self) -> None:
        if self._is_on:
            self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._is_on:
            self._thread.join()

    def _watch(self) -> None:
        started = time.monotonic()
        if self._done.wait(DELAY):
            return
        bar = make_bar()
        try:
            while True:
                rows, size, total = self._stream.progress()
                bar.update(rows, size, total, time.monotonic() - started)
                if self._done.wait(PERIOD):
                    return
        finally:
            bar.close()


def is_interactive() -> bool:
    """Whether standard error is a terminal, or this runs in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def make_bar() -> Bar:
    """Returns a bar of tqdm, or a line."""
    try:
        return _Tqdm()
    except ImportError:
        return _Line()


class _Tqdm:
    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(unit=" rows", unit_scale=True, leave=False)

    def update(self, rows: int, size: int, total: int | None, seconds: float) -> None:
        del seconds
        self._bar.total = total
        self._bar.n = rows
        self._bar.set_postfix_str(f"{size / 1e6:,.0f} MB read")

    def close(self) -> None:
        self._bar.close()


class _Line:
    def update(self, rows: int, size: int, total: int | None, seconds: float) -> None:
        text = f"{seconds:.1f} s, {rows:,} rows, {size / 1e6:,.0f} MB read"
        if total and 0 < rows < total:
            left = seconds * (total - rows) / rows
            text += f", {100 * rows / total:.0f} %, {left:.0f} s left"
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
