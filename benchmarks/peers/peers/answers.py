# SPDX-License-Identifier: Apache-2.0
"""Compares the rows of two engines.

Rows are compared as a multiset, because an order may leave ties open. Whole numbers, texts, dates,
truth values and decimals of one scale must be equal. Where an engine computes with floating point,
or rounds a quotient of decimals to a scale of its own, numbers may differ by `TOLERANCE`,
relatively. A query whose answer is not determined, for example because a limit cuts ties, names the
columns that are.
"""

import datetime
import decimal
import math

import pyarrow

TOLERANCE = 1e-6


def read(path):
    """The table that a process wrote."""
    with pyarrow.memory_map(path) as source:
        return pyarrow.ipc.open_file(source).read_all()


def difference(expected, actual, columns=None):
    """The first difference of two tables in words, or None.

    `columns` are the places of the columns that are compared, from 0; None for all of them."""
    if expected.num_columns != actual.num_columns:
        return f"{actual.num_columns} columns instead of {expected.num_columns}"
    if expected.num_rows != actual.num_rows:
        return f"{actual.num_rows} rows instead of {expected.num_rows}"
    places = range(expected.num_columns) if columns is None else columns
    left = sorted(rows(expected, places), key=key)
    right = sorted(rows(actual, places), key=key)
    for one, other in zip(left, right):
        if not all(map(equal, one, other)):
            return f"{other} instead of {one}"
    return None


def rows(table, places):
    cells = [[cell(value) for value in table.column(place).to_pylist()] for place in places]
    return list(zip(*cells)) if cells else []


def cell(value):
    """A value in a form that all engines share: one kind of text, one kind of date."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    return value


def is_number(value):
    return isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)


def key(row):
    """Sorts by everything but numbers first, since those may differ slightly."""
    exact = [(name(value), str(value)) for value in row if not is_number(value)]
    numbers = [float(value) if is_number(value) else 0.0 for value in row]
    return exact, [-math.inf if math.isnan(value) else float(f"{value:.5g}") for value in numbers]


def name(value):
    return type(value).__name__


def equal(one, other):
    if not (is_number(one) and is_number(other)):
        return one == other
    if is_exact(one) and is_exact(other) and exponent(one) == exponent(other):
        return one == other
    one, other = float(one), float(other)
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def is_exact(number):
    return not isinstance(number, float)


def exponent(number):
    """That of the last digit; two decimals of one scale have the same."""
    return number.as_tuple().exponent if isinstance(number, decimal.Decimal) else 0
