# SPDX-License-Identifier: Apache-2.0
"""The report of a run: a line for each query, geometric means, those of each kind of files and what
the order of joins does, JSON.

A ratio is the time of an engine divided by that of the fastest peer that gave the right rows;
below 1 the engine is faster than all of them. Engines without a time have no ratio, and a geometric
mean is over the queries that have one; the report says how many those are.
"""

import json
import math
import sys

from .robustness import Robustness

# Of the names of most queries.
QUERY_WIDTH = 30


class Report:
    """Outcomes of queries, in the order in which they ran.

    `own` are the engines under test, `peers` those that they are compared with, and `checked` those
    whose rows are compared but which are not timed."""

    def __init__(self, suite, own, peers, about):
        self.suite = suite
        self.own = own
        self.peers = peers
        self.checked = []
        self.about = about
        self.versions = {}
        self.outcomes = {}
        self.limits = {}
        self.memory_bytes_per_second = None

    def add(self, query, outcomes, versions):
        self.versions.update(versions)
        self.outcomes[query.name] = outcomes

    def best(self, query):
        """The fastest peer of a query: name and seconds, or None."""
        times = {name: self.outcomes[query][name].median() for name in self.peers}
        times = {name: seconds for name, seconds in times.items() if seconds is not None}
        return min(times.items(), key=lambda item: item[1]) if times else None

    def ratio(self, query, engine):
        """The time of an engine as a multiple of that of the fastest peer, or None."""
        best, seconds = self.best(query), self.outcomes[query][engine].median()
        return seconds / best[1] if best and seconds is not None else None

    def geometric_mean(self, engine, queries=None):
        """The mean ratio of an engine, and the number of queries that it is over."""
        ratios = [self.ratio(query, engine) for query in queries or self.outcomes]
        ratios = [ratio for ratio in ratios if ratio is not None]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
        return mean, len(ratios)

    def heading(self):
        names = [*self.own, *self.peers]
        cells = [f"{name + ' ms':>{width(name)}}" for name in names]
        ratios = [f"{'ratio':>7}" for _ in self.own]
        units = [f"{name + ' units':>{width(name) + 3}}" for name in self.checked]
        return " ".join([f"{'query':<{QUERY_WIDTH}}", *cells, *ratios, *units, " best peer"])

    def line(self, query):
        cells = []
        for name in [*self.own, *self.peers]:
            seconds = self.outcomes[query][name].median()
            text = "-" if seconds is None else f"{seconds * 1e3:.1f}"
            cells.append(f"{text:>{width(name)}}")
        ratios = [self.ratio(query, name) for name in self.own]
        ratios = [f"{fixed(ratio):>7}" for ratio in ratios]
        units = [f"{self.units(query, name):>{width(name) + 3}}" for name in self.checked]
        best = self.best(query)
        name = best[0] if best else "-"
        return " ".join([f"{query:<{QUERY_WIDTH}}", *cells, *ratios, *units, f" {name}"])

    def units(self, query, engine):
        """The units of work that an engine's drive ran for the right rows of a query, as text."""
        outcome = self.outcomes[query][engine]
        return "-" if outcome.problem else str(outcome.units_drive)

    def problems(self, query):
        for name, outcome in self.outcomes[query].items():
            if outcome.problem:
                yield f"  {name}: {outcome.problem.splitlines()[0][:160]}"

    def limit_lines(self, query):
        """What is measured beside a query: the time of decoding alone, and how fast its engines get
        through the column chunks, beside how fast the memory is."""
        limit = self.limits.get(query)
        if limit is None:
            return
        if limit.problem:
            yield f"  no decode limit: {limit.problem.splitlines()[0][:160]}"
            return
        yield (
            f"  decode limit {limit.median() * 1e3:.1f} ms, {limit.bytes / 1e6:.1f} MB of column"
            f" chunks, {self.speed(limit.median(), limit)}"
        )
        for name in self.own:
            seconds = self.outcomes[query][name].median()
            if seconds is not None:
                multiple = seconds / limit.median()
                yield f"  {name} {multiple:.2f} of that limit, {self.speed(seconds, limit)}"

    def speed(self, seconds, limit):
        """Bytes of column chunks per second, beside those that memory gives."""
        speed = limit.bytes / seconds
        text = f"{speed / 1e9:.2f} GB/s"
        if self.memory_bytes_per_second:
            share = 100 * speed / self.memory_bytes_per_second
            text += f" ({share:.1f} % of the memory's {self.memory_bytes_per_second / 1e9:.1f})"
        return text

    def summary(self):
        for name in [*self.own, *self.peers]:
            mean, count = self.geometric_mean(name)
            if mean is not None:
                version = self.versions.get(name, "")
                peak = max(outcomes[name].peak_bytes for outcomes in self.outcomes.values())
                print(
                    f"{name} {version}: {mean:.2f} of the best peer, geometric mean of {count};"
                    f" peak memory {peak / 2**20:.0f} MiB"
                )
        for name in self.checked:
            right = [of[name] for of in self.outcomes.values() if not of[name].problem]
            on_drive = [outcome for outcome in right if outcome.units_drive]
            print(
                f"{name}: right rows in {len(right)} of {len(self.outcomes)} queries; its drive ran"
                f" {sum(o.units_drive for o in right)} units of {len(on_drive)} of them"
            )
        for own in self.own:
            for peer in self.peers:
                less, count = self.less_memory(own, peer)
                print(f"{own} has a lower peak than {peer} in {less} of {count} queries")
        self.files_summary()
        for line in Robustness(self).lines():
            print(line)

    def files(self):
        """The queries on each kind of files, which is what follows the slash in their names."""
        found = {}
        for query in self.outcomes:
            _, slash, kind = query.partition("/")
            if slash:
                found.setdefault(kind, []).append(query)
        return found

    def files_summary(self):
        """A line for each kind of files and engine under test: that no kind is a cliff shows in the
        worst ratio."""
        kinds = self.files()
        if kinds:
            print(f"{'files':<16} {'engine':<22} {'mean':>7} {'worst':>7}  query")
        for kind, queries in kinds.items():
            for name in self.own:
                mean, _ = self.geometric_mean(name, queries)
                worst, ratio = self.worst(name, queries) or ("-", None)
                print(f"{kind:<16} {name:<22} {fixed(mean):>7} {fixed(ratio):>7}  {worst}")

    def worst(self, engine, queries):
        """The query with the greatest ratio of an engine, and the ratio; None without any."""
        ratios = [(query, self.ratio(query, engine)) for query in queries]
        ratios = [pair for pair in ratios if pair[1] is not None]
        return max(ratios, key=lambda pair: pair[1]) if ratios else None

    def less_memory(self, own, peer):
        """The number of queries in which an engine has the lower peak of two, and of those that
        both ran."""
        pairs = [(outcomes[own], outcomes[peer]) for outcomes in self.outcomes.values()]
        pairs = [pair for pair in pairs if all(outcome.median() is not None for outcome in pair)]
        return sum(one.peak_bytes < other.peak_bytes for one, other in pairs), len(pairs)

    def failed(self):
        """Whether an engine under test has no right rows for a query, or a drive that is to be
        checked has run nothing of any."""
        outcomes = self.outcomes.values()
        wrong = any(of[name].problem for of in outcomes for name in [*self.own, *self.checked])
        idle = any(not any(of[name].units_drive for of in outcomes) for name in self.checked)
        return wrong or idle

    def to_json(self):
        return {
            "suite": self.suite,
            **self.about,
            "versions": self.versions,
            "memory_bytes_per_second": self.memory_bytes_per_second,
            "geometric_means": {
                name: self.geometric_mean(name)[0] for name in [*self.own, *self.peers]
            },
            "files": {
                kind: {
                    name: {
                        "geometric_mean": self.geometric_mean(name, queries)[0],
                        "worst": self.worst(name, queries),
                    }
                    for name in self.own
                }
                for kind, queries in self.files().items()
            },
            "orders": Robustness(self).to_json(),
            "queries": {
                query: {
                    "ratios": {name: self.ratio(query, name) for name in self.own},
                    "limit": self.limits[query].to_json() if query in self.limits else None,
                    "engines": {
                        name: {
                            "seconds": outcome.seconds,
                            "peak_bytes": outcome.peak_bytes,
                            "units_drive": outcome.units_drive,
                            "problem": outcome.problem,
                        }
                        for name, outcome in outcomes.items()
                    },
                }
                for query, outcomes in self.outcomes.items()
            },
        }

    def write(self, path):
        with open(path, "w") as file:
            json.dump(self.to_json(), file, indent=1)
            file.write("\n")
        print(f"wrote {path}", file=sys.stderr)


def fixed(number):
    return "-" if number is None else f"{number:.2f}"


def width(name):
    return max(len(name) + 3, 11)
