# SPDX-License-Identifier: Apache-2.0
"""Types of columns, and the values that the tables of the shapes are filled with.

A kind is a type as Parquet stores it: the same Arrow type with another physical form is another
kind. Each has a pool for columns of many values, ends of the type included, and a short one for
columns that are grouped by or summed. Everything depends on the name of a kind only.
"""

from __future__ import annotations

import datetime
import decimal
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

POOL_COUNT = 60
DAY = datetime.timedelta(days=1)
EPOCH = datetime.datetime(1970, 1, 1)

SHORT_WORDS = ["", "a", "ab", "abc", "b", "B", " ", "ä", "日本", "it's", "50%", "a_b", "𝄞", "zz"]
WORD_PARTS = ["sand", "stone", "river", "über", "日本", "x", "", " ", "%", "_", "North", "ß", "🌊"]


@dataclass(frozen=True)
class Kind:
    """A type of columns."""

    name: str
    arrow_type: pa.DataType
    many: list[Any]
    few: list[Any]
    # How a literal is written: the text of the value is in the braces.
    literal: str = "{}"
    # How a value is shown, where its type has no text in expected results.
    shown: str = "{}"
    # How a column is compared with a literal: for the time of day, DataFusion has but one unit.
    compared: str = "{}"
    # Sums of the few values are exact.
    is_summed: bool = False
    # Used in columns without extremes: not every engine orders it.
    outside: list[Any] = field(default_factory=list)
    # Options of the writer that make the physical form.
    options: dict[str, Any] = field(default_factory=dict)


def draw(name: str) -> random.Random:
    return random.Random(f"shapes/{name}")


def integers(name: str, arrow_type: pa.DataType, low: int, high: int) -> Kind:
    random_values = draw(name)
    ends = [low, low + 1, high, high - 1, 0, 1, max(low, -1), 100]
    wide = [random_values.randint(low, high) for _ in range(POOL_COUNT // 2)]
    near = [random_values.randint(max(low, -50), 50) for _ in range(POOL_COUNT // 2)]
    few = [0, 1, 2, 7, 60, 5 if low == 0 else -5]
    return Kind(name, arrow_type, ends + wide + near, few, is_summed=True)


def floats(name: str, arrow_type: pa.DataType, largest: float, tiniest: float) -> Kind:
    random_values = draw(name)
    ends = [float("inf"), float("-inf"), largest, -largest, tiniest, -tiniest, -0.0, 0.25, 1.0]
    # An odd number of them: no second zero beside the negative one.
    quarters = [(2 * random_values.randint(-2000, 2000) + 1) / 4 for _ in range(POOL_COUNT)]
    # A bare number would be a decimal in DuckDB, with which a FLOAT is compared as FLOAT.
    return Kind(
        name,
        arrow_type,
        ends + quarters,
        [0.25, 1.0, -2.5, 100.75, 3.0, -1000.5],
        "CAST('{}' AS DOUBLE)",
        is_summed=True,
        outside=[float("nan")],
    )


def decimals(name: str, precision: int, scale: int, *, as_integer: bool) -> Kind:
    random_values = draw(name)
    largest = 10**precision - 1
    ends = [largest, -largest, 0, 1, -1, 10**scale]
    wide = [random_values.randint(-largest, largest) for _ in range(POOL_COUNT // 2)]
    near = [random_values.randint(-5000, 5000) for _ in range(POOL_COUNT // 2)]
    few = [0, 1, -250, 10 ** (scale + 1), 12345, 99]
    context = decimal.Context(prec=40)

    def scaled(values: list[int]) -> list[decimal.Decimal]:
        return [decimal.Decimal(value).scaleb(-scale, context) for value in values]

    return Kind(
        name,
        pa.decimal128(precision, scale),
        scaled(ends + wide + near),
        scaled(few),
        f"CAST('{{}}' AS DECIMAL({precision}, {scale}))",
        is_summed=True,
        options={"store_decimal_as_integer": as_integer},
    )


def dates() -> Kind:
    random_values = draw("date")
    first = datetime.date(1992, 1, 1)
    ends = [datetime.date.min, datetime.date.max, datetime.date(1970, 1, 1)]
    ends += [datetime.date(1969, 12, 31), datetime.date(2000, 2, 29), datetime.date(1900, 3, 1)]
    many = [first + random_values.randrange(2500) * DAY for _ in range(POOL_COUNT)]
    few = [first + number * 31 * DAY for number in range(6)]
    return Kind("date", pa.date32(), ends + many, few, "DATE '{}'")


def moments(name: str, unit: str, *, zone: str | None = None, **options: Any) -> Kind:
    """Timestamps, as numbers of their unit: Python's own have no nanoseconds."""
    random_values = draw(name)
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    fraction = 10 ** min(6, len(str(scale)) - 1)
    # Seconds from 1900 to 2100: as nanoseconds, too, they fit 64 bits, and so do their ends.
    seconds = [random_values.randint(-2_208_988_800, 4_102_444_800) for _ in range(POOL_COUNT)]
    many = [s * scale + random_values.randrange(fraction) * (scale // fraction) for s in seconds]
    many += [0, -1 * scale, scale, 951_782_400 * scale, -9_000_000_000 * scale]
    few = [(820_454_400 + number * 2_000_000) * scale for number in range(6)]
    shown = "CAST({} AS TIMESTAMP)" if zone else "{}"
    arrow_type = pa.timestamp(unit, zone)
    return Kind(name, arrow_type, many, few, "TIMESTAMP '{}'", shown, options=options)


def clocks(name: str, arrow_type: pa.DataType, scale: int) -> Kind:
    random_values = draw(name)
    many = [0, scale, 86_400 * scale - max(scale // 10**6, 1), 43_200 * scale]
    step = max(scale // 10**6, 1)
    many += [random_values.randrange(86_400 * scale // step) * step for _ in range(POOL_COUNT)]
    few = [number * 3600 * scale for number in (0, 1, 6, 12, 18, 23)]
    return Kind(name, arrow_type, many, few, "TIME '{}'", compared="CAST({} AS TIME)")


def texts(name: str, repeats: int) -> Kind:
    random_values = draw(name)

    def text() -> str:
        parts = random_values.choices(WORD_PARTS, k=random_values.randint(1, 4))
        return "".join(parts) * (repeats if random_values.random() < 0.3 else 1)

    many = SHORT_WORDS + [text() for _ in range(POOL_COUNT)]
    few = ["", "a", "North", "übel", "日本語", "stone " * repeats]
    return Kind(name, pa.string(), many, few, "'{}'")


def byte_strings(name: str, width: int | None) -> Kind:
    random_values = draw(name)
    lengths = [width if width is not None else random_values.randrange(12) for _ in range(80)]
    many = [random_values.randbytes(length) for length in lengths]
    fill = width or 3
    many += [bytes(fill), b"\xff" * fill, b"a" * fill]
    many += [] if width else [b"", b"\x00", b"\xff\xff\xff\xff\xff"]
    few = [bytes([number]) * fill for number in (0, 1, 65, 127, 128, 255)]
    return Kind(name, pa.binary(width or -1), many, few, "x'{}'")


def bits(width: int) -> tuple[int, int]:
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def kinds() -> list[Kind]:
    """All kinds, each with a unique name."""
    made = [
        *(integers(f"int{n}", getattr(pa, f"int{n}")(), *bits(n)) for n in (8, 16, 32, 64)),
        *(integers(f"uint{n}", getattr(pa, f"uint{n}")(), 0, 2**n - 1) for n in (8, 16, 32, 64)),
        floats("float", pa.float32(), 3.4028234663852886e38, 1.401298464324817e-45),
        floats("double", pa.float64(), 1.7976931348623157e308, 5e-324),
        decimals("decimal_int32", 7, 2, as_integer=True),
        decimals("decimal_int64", 16, 4, as_integer=True),
        decimals("decimal_bytes", 16, 4, as_integer=False),
        decimals("decimal_long", 36, 10, as_integer=False),
        dates(),
        moments("moment_s", "s"),
        moments("moment_ms", "ms"),
        moments("moment_us", "us"),
        moments("moment_ns", "ns"),
        moments("moment_96", "ns", use_deprecated_int96_timestamps=True),
        moments("moment_zone", "us", zone="UTC"),
        clocks("clock_ms", pa.time32("ms"), 10**3),
        clocks("clock_us", pa.time64("us"), 10**6),
        Kind("boolean", pa.bool_(), [True, False], [True, False]),
        texts("text", 1),
        texts("text_long", 40),
        byte_strings("bytes", None),
        byte_strings("bytes_fixed", 6),
    ]
    return made
