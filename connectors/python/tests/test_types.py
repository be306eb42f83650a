# SPDX-License-Identifier: Apache-2.0
"""Types: every one of Arrow as Python objects, beside what pyarrow makes of it."""

from __future__ import annotations

import datetime
import decimal
import zoneinfo
from typing import Any

import pyarrow as pa
import pytest

import nearscan

DAY = datetime.date(2026, 2, 28)
TIME = datetime.datetime(2026, 2, 28, 12, 30, 15, 250_000)  # noqa: DTZ001

CASES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "null": (pa.null(), [None, None]),
    "bool": (pa.bool_(), [True, None, False]),
    **{
        f"int{bits}": (getattr(pa, f"int{bits}")(), [-(2 ** (bits - 1)), None, 2 ** (bits - 1) - 1])
        for bits in (8, 16, 32, 64)
    },
    **{
        f"uint{bits}": (getattr(pa, f"uint{bits}")(), [0, None, 2**bits - 1])
        for bits in (8, 16, 32, 64)
    },
    "float32": (pa.float32(), [0.5, None, float("inf")]),
    "float64": (pa.float64(), [0.1, None, -1e300]),
    "string": (pa.string(), ["käse", None, ""]),
    "large_string": (pa.large_string(), ["a", None]),
    "string_view": (pa.string_view(), ["a text of more than twelve bytes", None]),
    "binary": (pa.binary(), [b"\x00", None]),
    "large_binary": (pa.large_binary(), [b"ab", None]),
    "fixed_size_binary": (pa.binary(2), [b"ab", None]),
    "binary_view": (pa.binary_view(), [b"bytes that are not inlined", None]),
    "decimal128": (pa.decimal128(20, 3), [decimal.Decimal("-1.250"), None]),
    "decimal256": (pa.decimal256(60, 2), [decimal.Decimal("9" * 50 + ".25"), None]),
    "date32": (pa.date32(), [DAY, None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    "date64": (pa.date64(), [DAY, None]),
    "time32": (pa.time32("ms"), [datetime.time(1, 2, 3, 4000), None]),
    "time64": (pa.time64("us"), [datetime.time(23, 59, 59, 999_999), None]),
    **{
        f"timestamp_{unit}": (pa.timestamp(unit), [TIME.replace(microsecond=0), None])
        for unit in ("s", "ms", "us")
    },
    "timestamp_zone": (
        pa.timestamp("us", "Europe/Vienna"),
        [TIME.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Vienna")), None],
    ),
    "timestamp_offset": (
        pa.timestamp("us", "+02:00"),
        [TIME.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))), None],
    ),
    "duration": (pa.duration("us"), [datetime.timedelta(days=2, seconds=5), None]),
    "list": (pa.list_(pa.int64()), [[1, None], None, []]),
    "large_list": (pa.large_list(pa.string()), [["a"], None]),
    "fixed_size_list": (pa.list_(pa.int8(), 2), [[1, 2], None]),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": None}, None]),
    "nested": (pa.list_(pa.struct([("a", pa.list_(pa.date32()))])), [[{"a": [DAY]}], None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", None, "a"]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_pyarrow(con: nearscan.Connection, name: str) -> None:
    kind, values = CASES[name]
    table = pa.table({"v": pa.array(values, kind)})
    rows = con.from_data(table)
    assert rows.fetchall() == [(value,) for value in values]
    assert rows.arrow()["v"].type == kind
    assert rows.arrow()["v"].to_pylist() == table["v"].to_pylist()


def test_map_is_a_dict(con: nearscan.Connection) -> None:
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({"v": pa.array([[("a", 1), ("b", None)], None, []], kind)})
    assert con.from_data(table).fetchall() == [({"a": 1, "b": None},), (None,), ({},)]


def test_nanoseconds_are_cut_off(con: nearscan.Connection) -> None:
    table = pa.table({"v": pa.array([1_999], pa.timestamp("ns"))})
    time = datetime.datetime(1970, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001
    assert con.from_data(table).fetchone() == (time,)


def test_month_has_thirty_days(con: nearscan.Connection) -> None:
    (found,) = con.sql("SELECT INTERVAL '1 month 2 days 3 microseconds'").fetchall()[0]
    assert found == datetime.timedelta(days=32, microseconds=3)


def test_date_that_python_has_not_is_a_text(con: nearscan.Connection) -> None:
    table = pa.table({"v": pa.array([10_000_000], pa.int32()).cast(pa.date32())})
    (found,) = con.from_data(table).fetchall()[0]
    assert found.endswith("29349-01-26")
