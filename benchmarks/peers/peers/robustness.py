# SPDX-License-Identifier: Apache-2.0
"""How much the order of joins matters: the times of queries that ran in several orders.

Such queries are named `QUERY@ORDER`. For each engine, the time of the slowest order of a query is
divided by that of the fastest; an engine without a time in one of the orders has no such ratio,
since the missing one may be the slowest. The first engine under test is also compared with each of
the others, order by order; they are the same engine with other settings.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Extent:
    """Some ratios by their names: the greatest of them, their geometric mean and their number."""

    worst: tuple[str, float]
    mean: float
    count: int


def extent(ratios):
    """The extent of ratios by their names, without those that are None; None if none is left."""
    ratios = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if not ratios:
        return None
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    return Extent(max(ratios.items(), key=lambda item: item[1]), mean, len(ratios))


class Robustness:
    """The queries of a report that ran in several orders, by their names without the order."""

    def __init__(self, report):
        self.report = report
        self.queries = {}
        for name in report.outcomes:
            query, at, _ = name.partition("@")
            if at:
                self.queries.setdefault(query, []).append(name)
        self.engines = [*report.own, *report.peers]

    def seconds(self, name, engine):
        return self.report.outcomes[name][engine].median()

    def spread(self, query, engine):
        """The time of the slowest order of a query as a multiple of the fastest; None for one order
        alone, which says nothing."""
        times = [self.seconds(name, engine) for name in self.queries[query]]
        return None if None in times or len(times) < 2 else max(times) / min(times)

    def ratio(self, name, engine):
        """The time of the first engine as a multiple of that of another in one order, or None."""
        own, other = self.seconds(name, self.report.own[0]), self.seconds(name, engine)
        return None if own is None or other is None else own / other

    def spreads(self, engine):
        return extent({query: self.spread(query, engine) for query in self.queries})

    def ratios(self, engine, queries=None):
        """The extent of the ratios to an engine, over all orders of some queries or of all."""
        names = [name for query in queries or self.queries for name in self.queries[query]]
        return extent({name: self.ratio(name, engine) for name in names})

    def lines(self):
        """A line for each query, then one for each engine with the worst of them."""
        if not self.queries:
            return
        first, *others = self.report.own
        cells = [f"{name:>{width(name)}}" for name in self.engines]
        cells += [f"{'/ ' + name:>{width(name) + 2}} {'order':<7}" for name in others]
        yield " ".join([f"{'slowest / fastest':<28}", *cells]).rstrip()
        for query in self.queries:
            yield self.line(query, others)
        for name in self.engines:
            spreads = told(self.spreads(name), "queries")
            yield f"{name}: slowest / fastest order of a query {spreads}"
        for name in others:
            yield f"{first} / {name} in the same order {told(self.ratios(name), 'orders')}"

    def line(self, query, others):
        cells = []
        for name in self.engines:
            spread = self.spread(query, name)
            cells.append(f"{'-' if spread is None else f'{spread:.2f}':>{width(name)}}")
        for name in others:
            found = self.ratios(name, [query])
            ratio, order = ("-", "-") if found is None else worst(found)
            cells.append(f"{ratio:>{width(name) + 2}} {order:<7}")
        return " ".join([f"{query:<28}", *cells]).rstrip()

    def to_json(self):
        if not self.queries:
            return {}
        others = self.report.own[1:]
        return {
            "slowest_by_fastest": {name: to_json(self.spreads(name)) for name in self.engines},
            "ratios_to_settings": {name: to_json(self.ratios(name)) for name in others},
            "queries": {
                query: {
                    "slowest_by_fastest": {
                        name: self.spread(query, name) for name in self.engines
                    },
                    "ratios_to_settings": {
                        name: to_json(self.ratios(name, [query])) for name in others
                    },
                }
                for query in self.queries
            },
        }


def worst(found):
    """The greatest ratio as text, and the order that it is of."""
    name, ratio = found.worst
    return f"{ratio:.2f}", "@" + name.partition("@")[2]


def told(found, unit):
    if found is None:
        return "unknown"
    name, ratio = found.worst
    return f"at most {ratio:.2f} ({name}), geometric mean {found.mean:.2f} of {found.count} {unit}"


def to_json(found):
    if found is None:
        return None
    return {"worst": found.worst, "geometric_mean": found.mean, "count": found.count}


def width(name):
    return max(len(name), 7)
