# SPDX-License-Identifier: Apache-2.0
"""Draws the ratios of a run: a bar for each query, and a line at the fastest peer."""

import matplotlib
from matplotlib import pyplot

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")


def draw(report, path):
    """Writes the chart to a file; its ending chooses the format."""
    # Texts stay texts, so that the picture can be searched and is the same on every machine.
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "nearscan"
    names = list(report.outcomes)
    figure, axes = pyplot.subplots(figsize=(max(6.0, 0.32 * len(names)), 3.6), layout="constrained")
    size = 0.8 / len(report.own)
    for number, (engine, colour) in enumerate(zip(report.own, COLOURS)):
        mean, count = report.geometric_mean(engine)
        ratios = [report.ratio(name, engine) for name in names]
        places = [place + number * size - 0.4 + size / 2 for place in range(len(names))]
        label = engine if mean is None else f"{engine}: {mean:.2f} over {count}"
        heights = [ratio or 0.0 for ratio in ratios]
        axes.bar(places, heights, size, label=label, color=colour)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_ylabel("time / best peer")
    axes.set_title(f"{report.suite}: time as a multiple of the best of {', '.join(report.peers)}")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot.close(figure)
