# SPDX-License-Identifier: Apache-2.0
"""Draws columns at random: keys by Zipf's law, those that refer to nothing, names and notes."""

import numpy
import pyarrow
from pyarrow import compute

SYLLABLES = ["al", "bor", "cu", "den", "el", "fi", "gra", "hal", "in", "jo", "kar", "lu", "mon",
             "nor", "os", "pel", "qui", "ro", "sil", "tu"]  # fmt: skip
WORDS = ["adult", "alone", "at dawn", "at dusk", "calling", "dead", "feeding", "flock", "in flight",
         "juvenile", "nest", "on bark", "on rock", "resting", "tracks", "uncertain"]  # fmt: skip


def ids(count):
    return numpy.arange(1, count + 1, dtype="int32")


def keys(random, count, distinct, power):
    """Keys from 1 to `distinct`, by Zipf's law: the one of rank r is drawn in proportion to
    1 / r ** `power`. Which keys are frequent is random; a tenth of them is not drawn at all."""
    used = max(distinct - distinct // 10, 1)
    shares = numpy.cumsum(1.0 / numpy.arange(1, used + 1) ** power)
    ranks = numpy.searchsorted(shares, random.random(count) * shares[-1])
    return (random.permutation(distinct)[ranks] + 1).astype("int32")


def strays(random, numbers, last, share):
    """The keys, some of which refer to no row: they are greater than the last one."""
    stray = last + random.integers(1, 1_000, len(numbers))
    return numpy.where(random.random(len(numbers)) < share, stray, numbers).astype("int32")


def gaps(random, numbers, share):
    mask = pyarrow.array(random.random(len(numbers)) < share)
    return compute.if_else(mask, none(), pyarrow.array(numbers))


def none():
    return pyarrow.scalar(None, pyarrow.int32())


def running_count(numbers):
    """How often each number has come so far: 1 where it comes first."""
    order = numpy.argsort(numbers, kind="stable")
    in_order = numbers[order]
    begin = numpy.searchsorted(in_order, in_order)
    result = numpy.empty(len(numbers), "int32")
    result[order] = numpy.arange(len(numbers)) - begin + 1
    return result


def words(choices, places):
    return pyarrow.array(choices).take(pyarrow.array(places))


def names(random, count, length, ending):
    """Names of syllables."""
    parts = [words(SYLLABLES, random.integers(0, len(SYLLABLES), count)) for _ in range(length)]
    return compute.utf8_capitalize(compute.binary_join_element_wise(*parts, ending, ""))


def notes(random, count):
    parts = [words(WORDS, random.integers(0, len(WORDS), count)) for _ in range(2)]
    return compute.binary_join_element_wise(*parts, ", ")
