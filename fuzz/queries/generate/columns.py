# SPDX-License-Identifier: Apache-2.0
"""Columns with random contents: a type, a profile of the values, and a share of NULLs.

| profile | values |
|---|---|
| constant, few, some, many | so many different ones, drawn evenly |
| skew | one of them in four rows of five |
| runs | repeated up to forty times |
| sorted | in ascending order |
| ends | the ends of the type, as far as two engines agree on them |
| long | texts of thousands of characters |
| nan, zeros | NaN, and zeros of both signs, among others |

Sums of the values of every profile are exact: doubles are odd quarters.
"""

from __future__ import annotations

import datetime
import decimal
import math
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

EPOCH = datetime.datetime(1970, 1, 1)
FIRST_DAY = datetime.date(1970, 1, 1)
DIGITS = decimal.Context(prec=40)
PARTS = ["", "a", "b", "ab", "Zeile", "ß", "日本", "🌊", "%", "_", " ", "0", "'"]
PROFILES = ["constant", "few", "few", "some", "many", "many", "skew", "runs", "sorted", "ends"]
NULL_PERCENT = [0, 0, 3, 10, 50, 50, 95, 100]

INTEGERS = {
    **{f"int{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
}
FLOATS = ("float", "double")
TEXTS = ("text", "large_text")
MOMENTS = {f"moment_{unit}": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")}
KINDS = [
    *(*INTEGERS, "int32", "int64", *MOMENTS, "moment_us", "zoned", "clock", "boolean", "boolean"),
    *("float", "double", "double", "decimal", "decimal", "decimal", "date", "date"),
    *("text", "text", "text", "large_text", "bytes", "fixed"),
]


@dataclass
class Column:
    """A column, and the values that it may hold in ascending order."""

    name: str
    kind: str
    arrow_type: pa.DataType
    profile: str
    null_percent: int
    values: list[Any] = field(default_factory=list)

    @property
    def is_summed(self) -> bool:
        """Whether its sum is exact, and far from the ends of its type."""
        is_number = self.kind in INTEGERS or self.kind in (*FLOATS, "decimal")
        return is_number and self.profile not in ("ends", "nan")

    @property
    def has_few(self) -> bool:
        return len(self.values) <= 12

    @property
    def is_disputed(self) -> bool:
        """Whether engines order its values differently: -0.0 and 0.0 are two in DataFusion."""
        return self.profile == "zeros"


def arrow_type(kind: str, draw: random.Random) -> pa.DataType:
    if kind == "decimal":
        precision = draw.choice([1, 4, 9, 10, 15, 18, 19, 30, 38])
        return pa.decimal128(precision, draw.randint(0, min(precision, 6)))
    others = {
        **{"zoned": pa.timestamp("us", "UTC"), "clock": pa.time64("us"), "boolean": pa.bool_()},
        **{"float": pa.float32(), "double": pa.float64(), "date": pa.date32()},
        **{"text": pa.string(), "large_text": pa.large_string(), "bytes": pa.binary()},
        "fixed": pa.binary(draw.choice([1, 4, 8, 16, 20])),
    }
    return (INTEGERS | MOMENTS | others)[kind]


def ends(column: Column) -> list[Any]:
    """The ends of a type, as far as two engines agree on them."""
    kind = column.kind
    if kind in INTEGERS:
        bits = column.arrow_type.bit_width
        is_signed = not kind.startswith("u")
        low = -(2 ** (bits - 1)) if is_signed else 0
        high = 2 ** (bits - 1) - 1 if is_signed else 2**bits - 1
        # Keys beyond 63 bits are no integers of the reports' texts.
        return [low, low + 1, min(high, 2**63 - 1), 0]
    if kind == "float":
        return [float("inf"), float("-inf"), 2.0**100, -(2.0**-100), 1.5]
    if kind == "double":
        return [float("inf"), float("-inf"), 1e300, -1e-300, 1.5]
    if kind == "decimal":
        largest = 10**column.arrow_type.precision - 1
        return [scaled(value, column) for value in (largest, -largest, 0, 1)]
    if kind == "date":
        return [datetime.date.min, datetime.date.max, FIRST_DAY]
    if kind in TEXTS:
        return ["", "x" * 300, "\x01", "日" * 40, "~"]
    if kind == "bytes":
        return [b"", b"\xff" * 70, b"\x00", b"\x7f\x80"]
    return []


def scaled(value: int, column: Column) -> decimal.Decimal:
    return decimal.Decimal(value).scaleb(-column.arrow_type.scale, DIGITS)


def value(column: Column, draw: random.Random) -> Any:
    """A value from the middle of a type."""
    kind = column.kind
    if kind in INTEGERS:
        width = min(column.arrow_type.bit_width - 1, 30)
        low = 0 if kind.startswith("u") else -(2**width) // 4
        return draw.randint(low, 2**width // 4)
    if kind in FLOATS:
        return (2 * draw.randint(-4000, 4000) + 1) / 4
    if kind == "decimal":
        digits = max(1, min(column.arrow_type.precision - 1, 12))
        return scaled(draw.randint(-(10**digits) + 1, 10**digits - 1), column)
    if kind == "boolean":
        return draw.random() < 0.5
    if kind == "date":
        return FIRST_DAY + datetime.timedelta(days=draw.randrange(-5000, 20000))
    if kind in MOMENTS or kind == "zoned":
        step = {"moment_s": 10**6, "moment_ms": 1000}.get(kind, 1)
        microseconds = draw.randrange(-(10**14), 10**15) // step * step
        return EPOCH + datetime.timedelta(microseconds=microseconds)
    if kind == "clock":
        moment = EPOCH + datetime.timedelta(microseconds=draw.randrange(86_400 * 10**6))
        return moment.time()
    if kind == "bytes":
        return draw.randbytes(draw.randrange(10))
    if kind == "fixed":
        return draw.randbytes(column.arrow_type.byte_width)
    if column.profile == "long":
        return "".join(draw.choices(PARTS, k=draw.choice([0, 3, 900])))
    return "".join(draw.choices(PARTS, k=draw.randint(0, 6)))


def column(name: str, draw: random.Random, kinds: list[str] = KINDS) -> Column:
    kind = draw.choice(kinds)
    special = ["nan", "zeros"] if kind in FLOATS else ["long"] if kind in TEXTS else []
    profile = draw.choice([*PROFILES, *special])
    made = Column(name, kind, arrow_type(kind, draw), profile, draw.choice(NULL_PERCENT))
    counts = {"constant": 1, "few": draw.randint(2, 9), "some": 60, "long": 20}
    pool = {value(made, draw) for _ in range(counts.get(profile, 2000))}
    if profile == "ends":
        pool = {value(made, draw) for _ in range(6)} | set(ends(made))
    # A set takes 0.0 and -0.0 for one.
    made.values = sorted(pool) + {"nan": [math.nan], "zeros": [0.0, -0.0]}.get(profile, [])
    return made


def cells(made: Column, row_count: int, draw: random.Random) -> list[Any]:
    """The cells of a column."""
    chosen: list[Any] = []
    while len(chosen) < row_count:
        repeats = draw.choice([1, 1, 8, 9, 40]) if made.profile == "runs" else 1
        is_usual = made.profile == "skew" and draw.random() < 0.8
        # There are enough of them to be met.
        is_last = made.profile in ("nan", "zeros") and draw.random() < 0.3
        one = draw.choice(made.values[-2:] if is_last else made.values)
        chosen += [made.values[0] if is_usual else one] * repeats
    chosen = chosen[:row_count]
    if made.profile == "sorted":
        chosen.sort()
    if made.profile == "runs" and made.null_percent == 50:
        # NULLs in long runs, so that whole pages and row groups have no value.
        return [None if row // 70 % 2 else cell for row, cell in enumerate(chosen)]
    is_null = [draw.randrange(100) < made.null_percent for _ in chosen]
    return [None if null else cell for null, cell in zip(is_null, chosen, strict=True)]
