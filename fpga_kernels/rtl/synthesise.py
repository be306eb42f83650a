#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesises one module for UltraScale+ with Yosys, and says what it takes and how deep it is.

This is no place and route: it says nothing of wires, so nothing of the clock that is reached. What
it prints, as JSON:

- `lut`, `ff`, `lutram`, `bram`, `uram`, `dsp`: cells. LUTs that are shift registers or memory are
  in `lutram` and not in `lut`. A BRAM is one of 36 Kib, one of 18 Kib is half. Yosys puts no
  register or adder into a DSP or a URAM of this family, so `lut` and `ff` are too high there.
- `depth`: levels of the longest path from a register, a memory or a port to the next, by the
  weights below.
- `path`: the cells of that path.

A LUT or a wide multiplexer is a level. Carry chains are mapped to chunks of four bits, of which two
make one of this family's: half a level each. A DSP whose product has no register inside takes most
of a cycle, and what comes out of a block memory has taken some of it already.
"""

import argparse
import json
import math
import os
import re
import sys
import tempfile
import tomllib

LEVELS = {"LUT": 1.0, "MUXF": 1.0, "CARRY4": 0.5, "CARRY8": 1.0, "INV": 0.0, "BUF": 0.0}
LEVELS |= {"SRL": 1.0, "RAM": 1.0, "DSP48E2": 6.0}
# Levels that stand for the time from the clock to the output.
START_LEVELS = {"RAMB": 3.0, "URAM": 3.0}

FLIP_FLOP = re.compile(r"FD[RSCP]E(_1)?$")
LUT = re.compile(r"LUT[1-6](_2)?$|INV$")
LUT_RAM = re.compile(r"(SRL16E|SRLC16E|SRLC32E|RAM\d+(M\d*|X\d+[SD]))(_1)?$")
BLOCK_RAM = re.compile(r"RAMB(18|36)E[12]$")
ULTRA_RAM = re.compile(r"URAM288(_BASE)?$")
PLAIN = re.compile(r"(CARRY[48]|MUXF[789]|BUFG\w*|BUF|GND|VCC|DSP48E2)$")


def arguments():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("description", help="modules/NAME.toml")
    parser.add_argument("--verilog", help="only write the module as plain Verilog to this file")
    parser.add_argument("--log", help="where Yosys' own output goes")
    return parser.parse_args()


def read(description, folder):
    """Reads the sources of a module and sets the parameters of the instance."""
    sources = " ".join(os.path.join(folder, "src", name) for name in description["sources"])
    yield f"read_verilog -sv {sources}"
    top = description["name"]
    values = description.get("parameters", {})
    sets = " ".join(f"-set {name} {value}" for name, value in values.items())
    if sets:
        yield f"chparam {sets} {top}"


def run(passes, log):
    """Runs passes of Yosys on a new design; gives the design."""
    # Yosys prints from C, past Python's own standard output.
    from pyosys import libyosys

    design = libyosys.Design()
    sys.stdout.flush()
    kept = os.dup(1)
    target = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(target, 1)
    try:
        for each in passes:
            libyosys.run_pass(each, design)
    finally:
        os.dup2(kept, 1)
        os.close(target)
        os.close(kept)


def netlist(description, folder, log):
    """Gives the mapped and flattened netlist of a module."""
    top = description["name"]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "netlist.json")
        # A module that is there many times is mapped once, and the netlist is flattened behind.
        once = " ".join(f"*{name}*" for name in description.get("mapped_once", []))
        passes = list(read(description, folder))
        passes += [
            f"hierarchy -check -top {top}",
            *([f"setattr -mod -set keep_hierarchy 1 {once}"] if once else []),
            f"synth_xilinx -family xcup -top {top} -noiopad -noclkbuf -flatten",
            *([f"setattr -mod -unset keep_hierarchy {once}"] if once else []),
            "flatten",
            "delete t:$scopeinfo",
            "opt_clean",
            f"write_json {path}",
        ]
        run(passes, log)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["modules"][top]


def write_verilog(description, folder, path, log):
    """Writes a module as plain Verilog: black boxes of the HLS tool are in that language."""
    top = description["name"]
    passes = list(read(description, folder))
    passes += [
        f"hierarchy -check -top {top}",
        "proc",
        "flatten",
        "opt_expr",
        "opt_clean",
        f"write_verilog -noattr {path}",
    ]
    run(passes, log)


def count(cells):
    """Counts the cells by resource; a cell that is not known is an error."""
    totals = dict.fromkeys(("lut", "ff", "lutram", "bram", "uram", "dsp"), 0)
    for cell in cells.values():
        kind = cell["type"]
        if FLIP_FLOP.match(kind):
            totals["ff"] += 1
        elif LUT.match(kind):
            totals["lut"] += 1
        elif LUT_RAM.match(kind):
            totals["lutram"] += luts_of_memory(kind)
        elif BLOCK_RAM.match(kind):
            totals["bram"] += 1 if "36" in kind else 0.5
        elif ULTRA_RAM.match(kind):
            totals["uram"] += 1
        elif kind == "DSP48E2":
            totals["dsp"] += 1
        elif not PLAIN.match(kind):
            raise SystemExit(f"a cell of a kind that is not known: {kind}")
    return totals


def luts_of_memory(kind):
    """The LUTs that a cell of small memory takes."""
    if kind.startswith("SRL"):
        return 1
    # These share a slice of eight LUTs, or half of one.
    if re.match(r"RAM(32M16|64M8)", kind):
        return 8
    if re.match(r"RAM(32|64)M", kind):
        return 4
    places = int(re.match(r"RAM(\d+)", kind)[1])
    copies = 2 if "D" in kind else 1
    return copies * max(1, places // 64)


def class_of(table, kind):
    """The entry of a table whose key the kind begins with, or 0."""
    return next((levels for key, levels in table.items() if kind.startswith(key)), 0.0)


def timing_arcs(cell):
    """The ports of a cell through which a signal passes within a cycle, and the levels it takes.

    Gives inputs that end a path, outputs that begin one with the levels it then has, inputs that
    pass, and the levels that passing takes.
    """
    kind = cell["type"]
    ports = cell["port_directions"]
    inputs = [name for name, way in ports.items() if way == "input"]
    outputs = [name for name, way in ports.items() if way != "input"]
    if FLIP_FLOP.match(kind) or BLOCK_RAM.match(kind) or ULTRA_RAM.match(kind):
        levels = class_of(START_LEVELS, kind)
        return inputs, {name: levels for name in outputs}, [], 0.0
    if kind.startswith("SRL"):
        return ["D", "CE", "CLK"], {name: 0.0 for name in outputs}, ["A", "A0", "A1", "A2", "A3"], 1
    if LUT_RAM.match(kind):
        ends = [name for name in inputs if name.startswith(("D", "W"))]
        passing = [name for name in inputs if name not in ends]
        return ends, {name: 0.0 for name in outputs}, passing, class_of(LEVELS, kind)
    return [], {}, inputs, class_of(LEVELS, kind)


def longest_path(module):
    """Gives the levels of the deepest path and its cells."""
    cells = module["cells"]
    driver, passes = {}, {}
    at_start = {}
    for name, cell in cells.items():
        _, begins, passing, levels = timing_arcs(cell)
        used = [bit for port in passing for bit in cell["connections"].get(port, [])]
        passes[name] = ([bit for bit in used if isinstance(bit, int)], levels)
        for port, way in cell["port_directions"].items():
            if way == "input":
                continue
            for bit in cell["connections"].get(port, []):
                driver[bit] = name
                if port in begins and not passes[name][0]:
                    at_start[bit] = begins[port]
    arrival = {}
    via = {}

    def solve(root):
        """Finds when a cell's outputs are there, without recursion: paths may be long."""
        stack = [(root, iter(passes[root][0]))]
        open_cells = {root}
        best = {root: (0.0, None)}
        while stack:
            name, bits = stack[-1]
            for bit in bits:
                source = driver.get(bit)
                levels = at_start.get(bit, 0.0)
                if source is not None and bit not in at_start:
                    if source in open_cells:
                        raise SystemExit(f"a loop of logic through {source}")
                    if source not in arrival:
                        stack[-1] = (name, _and_then(bit, bits))
                        stack.append((source, iter(passes[source][0])))
                        open_cells.add(source)
                        best[source] = (0.0, None)
                        break
                    levels = arrival[source]
                if levels > best[name][0] or best[name][1] is None:
                    best[name] = (levels, source)
            else:
                arrival[name] = best[name][0] + passes[name][1]
                via[name] = best[name][1]
                open_cells.discard(name)
                stack.pop()

    depth, end = 0.0, None
    for name in cells:
        if name not in arrival:
            solve(name)
    for name, cell in cells.items():
        ends, _, _, _ = timing_arcs(cell)
        for port in ends:
            for bit in cell["connections"].get(port, []):
                source = driver.get(bit)
                levels = at_start.get(bit, arrival.get(source, 0.0))
                if levels > depth:
                    depth, end = levels, source
    for port in module["ports"].values():
        for bit in port["bits"]:
            source = driver.get(bit)
            levels = at_start.get(bit, arrival.get(source, 0.0))
            if port["direction"] == "output" and levels > depth:
                depth, end = levels, source
    names = []
    while end is not None and len(names) < 64:
        names.append(f"{cells[end]['type']} {nets(module, end)}")
        end = via.get(end)
    return depth, names[::-1]


def _and_then(first, rest):
    """An iterator with one more in front."""
    yield first
    yield from rest


def nets(module, name):
    """A name that a person gave to what a cell drives, or to where it stands."""
    source = module["cells"][name].get("attributes", {}).get("src", "")
    return source.split("|")[0].rsplit("/", 1)[-1]


def main():
    """Prints what one module takes, or writes it as plain Verilog."""
    options = arguments()
    with open(options.description, "rb") as file:
        description = tomllib.load(file)
    folder = os.path.dirname(os.path.abspath(__file__))
    if options.verilog:
        write_verilog(description, folder, options.verilog, options.log)
        return
    module = netlist(description, folder, options.log)
    totals = count(module["cells"])
    depth, path = longest_path(module)
    totals["bram"] = math.ceil(totals["bram"])
    totals["depth"] = math.ceil(depth)
    totals["path"] = path
    print(json.dumps(totals))


if __name__ == "__main__":
    main()
