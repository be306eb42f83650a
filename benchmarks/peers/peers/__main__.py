# SPDX-License-Identifier: Apache-2.0
"""The command line: `cargo xtask peers` builds the programs and calls it."""

import argparse
import fnmatch
import os
import sys

from . import chart, limits, run
from .process import Engine, peer
from .report import Report
from .suites import clickbench, joins, layouts, scan, tpcds, tpch

SUITES = {
    "tpch": tpch,
    "tpcds": tpcds,
    "scan": scan,
    "layouts": layouts,
    "clickbench": clickbench,
    "joins": joins,
}
PEERS = ("duckdb", "polars", "datafusion")


def arguments(given=None):
    parser = argparse.ArgumentParser(prog="cargo xtask peers", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--worker", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--nearscan", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", default="data/peers", help="folder of the files that it makes")
    parser.add_argument("--scale-factor", type=float, default=1.0, help="of tpch and tpcds")
    parser.add_argument("--rows", type=int, help="the others: rows of the main table")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=3, help="timed runs, 0 for none")
    parser.add_argument("--queries", metavar="PATTERN,...", help="those to run, such as q01,q1*")
    parser.add_argument("--peers", metavar="NAME,...", default=",".join(PEERS))
    parser.add_argument(
        "--also",
        metavar="KEY=VALUE,...",
        action="append",
        help="run Nearscan once more, with these settings; joins does by itself, but for --also=",
    )
    parser.add_argument(
        "--parameters", metavar="SEED", help="of tpch: draw other parameters for the queries"
    )
    parser.add_argument(
        "--check-drive",
        metavar="URL",
        help="run each query once more with this drive and pushdown forced, to compare its rows",
    )
    parser.add_argument(
        "--join-orders",
        type=int,
        default=3,
        metavar="N",
        help="of joins: orders drawn at random in which each query runs, beside that of its text",
    )
    parser.add_argument("--seed", type=int, default=1, help="of these orders")
    parser.add_argument("--memory-limit-bytes", type=int)
    parser.add_argument("--cold", action="store_true", help="evict the files before each run")
    parser.add_argument(
        "--stream-bytes",
        type=int,
        default=1 << 30,
        help="memory that is read to measure its bandwidth, for the queries with a decode limit",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the results as JSON")
    parser.add_argument("--chart", metavar="FILE", help="also draw the ratios, as SVG or PNG")
    return parser.parse_args(given)


def engines_under_test(options):
    """Nearscan, and once more for each further group of settings."""
    own = [Engine("nearscan", (options.worker,))]
    also = options.also
    if also is None:
        also = getattr(SUITES[options.suite], "ALSO", [])
    for text in filter(None, also):
        settings = dict(pair.split("=", 1) for pair in text.split(","))
        own.append(Engine(f"nearscan[{text}]", (options.worker,), settings))
    return own


def engines_with_drives(options):
    """Nearscan with the drive whose rows are to be checked, if there is one."""
    if options.check_drive is None:
        return []
    settings = {"nearscan.pushdown.mode": "force"}
    name = f"nearscan[{options.check_drive}]"
    return [Engine(name, (options.worker,), settings, options.check_drive)]


def main():
    options = arguments()
    own = engines_under_test(options)
    checked = engines_with_drives(options)
    peers = [peer(name) for name in options.peers.split(",") if name]
    queries = SUITES[options.suite].queries(options)
    if options.queries:
        patterns = options.queries.split(",")
        queries = [q for q in queries if any(fnmatch.fnmatch(q.name, p) for p in patterns)]
    about = {
        "threads": options.threads,
        "runs": options.runs,
        "cold": options.cold,
        "memory_limit_bytes": options.memory_limit_bytes,
    }
    report = Report(options.suite, [e.name for e in own], [e.name for e in peers], about)
    report.checked = [e.name for e in checked]
    has_limit = {query.name for query in queries if query.reads and options.runs}
    if has_limit:
        report.memory_bytes_per_second = limits.memory_bytes_per_second(own[0], options)
    print(report.heading())
    for query in queries:
        outcomes, versions = run.run(query, [*peers, *own, *checked], options)
        report.add(query, outcomes, versions)
        if query.name in has_limit:
            report.limits[query.name] = limits.decode(query, own[0], options)
        print(report.line(query.name), flush=True)
        for problem in report.problems(query.name):
            print(problem, flush=True)
        for line in report.limit_lines(query.name):
            print(line, flush=True)
    report.summary()
    if options.json:
        report.write(options.json)
    if options.chart:
        chart.draw(report, options.chart)
    return 1 if report.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
