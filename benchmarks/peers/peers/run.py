# SPDX-License-Identifier: Apache-2.0
"""Runs the queries of a suite on all engines in turn.

For each query every engine gets a new process. A first run of each is not timed: it reads the files
into the system's cache, and its rows are compared. Then the engines take turns, so that a
disturbance of the machine meets all of them; the median of the timed runs counts. An engine with a
drive is not timed: its rows are compared, and the units of work that the drive ran are counted.
"""

import os
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import answers
from .process import Failed, Process


@dataclass
class Outcome:
    """An engine's runs of a query."""

    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    units_drive: int = 0
    problem: str | None = None
    answer: str | None = None

    def median(self):
        return statistics.median(self.seconds) if self.seconds and not self.problem else None


def run(query, engines, options):
    """The outcome of each engine, by its name, and the versions of the engines.

    The rows of the first engine that has some are what the others are compared with; the caller
    puts the one that it trusts first."""
    outcomes = {engine.name: Outcome() for engine in engines}
    processes = {}
    versions = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for engine in engines:
                attempt(outcomes[engine.name], start, engine, query, options, processes)
            versions = {name: process.version for name, process in processes.items()}
            for number, (name, process) in enumerate(processes.items()):
                path = os.path.join(folder, f"{number}.arrow")
                attempt(outcomes[name], first, query, process, outcomes[name], path)
            judge(query, outcomes)
            for _ in range(options.runs):
                for name, process in processes.items():
                    if process.engine.drive:
                        continue
                    attempt(outcomes[name], timed, query, process, outcomes[name], options)
        finally:
            for process in processes.values():
                process.close()
    return outcomes, versions


def attempt(outcome, action, *arguments):
    """Runs an action of an engine that has not failed yet, and notes its failure."""
    if outcome.problem is None:
        try:
            action(*arguments)
        except Failed as error:
            outcome.problem = str(error)


def start(engine, query, options, processes):
    processes[engine.name] = Process(
        engine, query.tables, options.threads, options.memory_limit_bytes, options.cold
    )


def first(query, process, outcome, path):
    process.run(query.sql(kind(process)), path)
    outcome.units_drive = process.units_drive
    outcome.answer = path


def timed(query, process, outcome, options):
    if options.cold:
        evict(query)
    seconds, peak_bytes = process.run(query.sql(kind(process)))
    outcome.seconds.append(seconds)
    outcome.peak_bytes = max(outcome.peak_bytes, peak_bytes)


def kind(process):
    """The name by which queries know an engine, whatever its settings."""
    return process.engine.name.split("[")[0]


def judge(query, outcomes):
    """Notes a problem for each engine whose rows differ from those of the first."""
    tables = {
        name: answers.read(outcome.answer)
        for name, outcome in outcomes.items()
        if outcome.problem is None
    }
    if not tables:
        return
    (reference, expected), *others = tables.items()
    for name, actual in others:
        difference = answers.difference(expected, actual, query.columns)
        if difference:
            outcomes[name].problem = f"wrong rows, by {reference}: {difference}"


def evict(query):
    """Drops the files of a query from the system's cache."""
    for location in query.tables.values():
        path = Path(location)
        for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
