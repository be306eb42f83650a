#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a run of a module as SVG: from the bench's VCD over WaveJSON.

Which signals of the wrapper are drawn, and over which cycles, stands in the module's description
under `waveform`. A cycle shows what the signals have right before its clock edge.
"""

import argparse
import json
import tomllib
from xml.etree import ElementTree


def arguments():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("description", help="modules/NAME.toml")
    parser.add_argument("trace", help="VCD of the bench")
    return parser.parse_args()


def changes(lines):
    """Gives (signal, value) for each change, and (None, time) for each time stamp."""
    names = {}
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$var":
            # $var kind bits identifier name [range] $end
            names.setdefault(words[3], words[4])
        elif words[0].startswith("#"):
            yield None, int(words[0][1:])
        elif words[0][0] in "01xz":
            yield names.get(words[0][1:]), words[0][0]
        elif words[0][0] == "b":
            yield names.get(words[1]), words[0][1:]


def cycles(path):
    """The values of all signals right before each rising edge of the clock."""
    values, before, rows = {}, {}, []
    with open(path, encoding="utf-8") as file:
        for name, value in changes(file):
            if name is None:
                before = dict(values)
            elif name == "ap_clk" and value == "1":
                rows.append(before)
                values[name] = value
            elif name is not None:
                values[name] = value
    return rows


def field(bits, place):
    """A field of a vector, as hexadecimal digits."""
    first, width = place
    number = int(bits.replace("x", "0").replace("z", "0") or "0", 2)
    return f"{(number >> first) & ((1 << width) - 1):x}"


def wave(rows, signal):
    """One line of the drawing."""
    drawn, data, last = "", [], None
    for row in rows:
        now = row.get(signal["name"], "0")
        if "field" in signal:
            shown = field(now, signal["field"])
            if signal.get("when") and row.get(signal["when"], "0") != "1":
                shown = "x"
        else:
            shown = now
        if shown == last:
            drawn += "."
        elif "field" in signal and shown != "x":
            drawn += "="
            data.append(shown)
        else:
            drawn += shown
        last = shown
    line = {"name": signal.get("label", signal["name"]), "wave": drawn}
    if data:
        line["data"] = data
    return line


def without_unused(drawing):
    """The drawing without the symbols of the library that it does not use."""
    namespaces = {"": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
    for prefix, uri in namespaces.items():
        ElementTree.register_namespace(prefix, uri)
    root = ElementTree.fromstring(drawing)
    link = f"{{{namespaces['xlink']}}}href"
    used = {each.get(link, "").lstrip("#") for each in root.iter()}
    for definitions in root.iter(f"{{{namespaces['']}}}defs"):
        for symbol in list(definitions):
            if symbol.get("id") is not None and symbol.get("id") not in used:
                definitions.remove(symbol)
    return ElementTree.tostring(root, encoding="unicode")


def main():
    """Prints the drawing."""
    import wavedrom

    options = arguments()
    with open(options.description, "rb") as file:
        chosen = tomllib.load(file)["waveform"]
    rows = cycles(options.trace)[chosen["first"] : chosen["first"] + chosen["cycles"]]
    lines = [{"name": "ap_clk", "wave": "p" + "." * (len(rows) - 1)}]
    lines += [wave(rows, signal) for signal in chosen["signals"]]
    drawing = wavedrom.render(json.dumps({"signal": lines}))
    print(without_unused(drawing.tostring()))


if __name__ == "__main__":
    main()
