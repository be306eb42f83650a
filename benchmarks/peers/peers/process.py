# SPDX-License-Identifier: Apache-2.0
"""A process that runs queries on one engine: see `worker.py` for the protocol.

All engines are held to the same processors. Peak memory is the kernel's figure of the process,
reset before each query; it includes what the engine keeps from the runs before.
"""

import json
import os
import selectors
import subprocess
import sys
from dataclasses import dataclass, field

TIME_LIMIT_S = 600.0


class Failed(Exception):
    """The process could not run a query: it refused it, ended, or took too long."""


@dataclass(frozen=True)
class Engine:
    """An engine, and the command that starts its process."""

    name: str
    command: tuple[str, ...]
    settings: dict[str, str] = field(default_factory=dict)
    drive: str | None = None


def peer(name):
    """One of the other engines, by the name that `worker.py` knows."""
    return Engine(name, (sys.executable, "-m", "peers.worker", name))


class Process:
    """A running engine with its tables."""

    def __init__(self, engine, tables, threads, memory_limit_bytes=None, cold=False):
        processors = sorted(os.sched_getaffinity(0))[:threads]
        self.engine = engine
        # Units of work that its drive has run.
        self.units_drive = 0
        self.child = subprocess.Popen(
            engine.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
        )
        message = {
            "tables": tables,
            "threads": threads,
            "memory_limit_bytes": memory_limit_bytes,
            "cold": cold,
            "settings": engine.settings,
            "drives": [engine.drive] if engine.drive else [],
        }
        self.version = self._call(message)["version"]

    def run(self, sql, answer=None):
        """The time of a query in seconds, and the peak of the process's memory in bytes."""
        with open(f"/proc/{self.child.pid}/clear_refs", "w") as file:
            file.write("5")
        reply = self._ask({"sql": sql, "answer": answer})
        self.units_drive += reply.get("units_drive", 0)
        return reply["seconds"], self._peak_bytes()

    def decode(self, reads):
        """The time of reading and decoding columns and nothing else, in seconds, and the bytes of
        their column chunks. Only the program `nearscan-peer` does it."""
        reply = self._ask({"decode": {"table": reads.table, "columns": reads.columns}})
        return reply["seconds"], reply["bytes"]

    def stream(self, size):
        """The time of reading `size` bytes of memory from the first to the last, in seconds, by the
        program `nearscan-peer`."""
        return self._ask({"stream": {"bytes": size}})["seconds"]

    def close(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()

    def _peak_bytes(self):
        with open(f"/proc/{self.child.pid}/status") as file:
            line = next(line for line in file if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def _ask(self, message):
        reply = self._call(message)
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def _call(self, message):
        try:
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._ended()) from None
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            if not selector.select(TIME_LIMIT_S):
                self.child.kill()
                raise Failed(f"no answer after {TIME_LIMIT_S:.0f} s")
        line = self.child.stdout.readline()
        if not line:
            raise Failed(self._ended())
        return json.loads(line)

    def _ended(self):
        return f"the process ended with status {self.child.wait()}"
