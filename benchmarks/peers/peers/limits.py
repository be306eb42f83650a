# SPDX-License-Identifier: Apache-2.0
"""Measures what bounds a scan from below: decoding its columns, and reading memory.

The decode limit is the time in which the same threads do nothing but read, decompress and decode
the column chunks of a query, with the decoder of the engine under test. Values of a dictionary stay
indexes, as they do in a query until something needs them. It is no ratio to a peer, and none goes
into one.
"""

import statistics
import sys
from dataclasses import dataclass, field

from .process import Failed, Process
from .run import evict

# Runs whose fastest counts: others may use the memory at the same time.
STREAM_RUNS = 5


@dataclass
class Limit:
    """The runs of decoding the columns of a query, and the bytes of their column chunks."""

    seconds: list[float] = field(default_factory=list)
    bytes: int = 0
    problem: str | None = None

    def median(self):
        return statistics.median(self.seconds)

    def to_json(self):
        return {"seconds": self.seconds, "bytes": self.bytes, "problem": self.problem}


def decode(query, engine, options):
    """The decode limit of a query, in a process of its own; the first run is not timed."""
    limit = Limit()
    try:
        process = Process(engine, query.tables, options.threads, cold=options.cold)
        try:
            process.decode(query.reads)
            for _ in range(options.runs):
                if options.cold:
                    evict(query)
                seconds, limit.bytes = process.decode(query.reads)
                limit.seconds.append(seconds)
        finally:
            process.close()
    except Failed as error:
        limit.problem = str(error)
    return limit


def memory_bytes_per_second(engine, options):
    """The bandwidth of memory for the threads that queries have; None if it cannot be measured."""
    try:
        process = Process(engine, {}, options.threads)
        try:
            seconds = min(process.stream(options.stream_bytes) for _ in range(STREAM_RUNS))
        finally:
            process.close()
    except Failed as error:
        print(f"the bandwidth of memory is unknown: {error}", file=sys.stderr)
        return None
    return options.stream_bytes / seconds
