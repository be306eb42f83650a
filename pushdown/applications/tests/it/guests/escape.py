# SPDX-License-Identifier: Apache-2.0
"""Tries to get out of the sandbox, and answers which exception it got; or does as the example."""

import os
import socket
import subprocess

import app
from wit_world import exports


def connect() -> str:
    with socket.socket() as other:
        other.connect(("127.0.0.1", 22))
    return "connected"


def listen() -> str:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()
    return "listening"


ATTEMPTS = {
    "file": lambda: open("/etc/passwd").read(),
    "folder": lambda: str(os.listdir("/")),
    "variable": lambda: str(dict(os.environ)),
    "connect": connect,
    "listen": listen,
    "name": lambda: str(socket.getaddrinfo(b"localhost", 80)),
    "process": lambda: str(subprocess.run(["true"], check=True)),
}


class Command(exports.Command):
    def run(self, arguments: list[str], body: bytes) -> bytes:
        if not arguments or arguments[0] not in ATTEMPTS:
            return app.Command().run(arguments, body)
        try:
            return ATTEMPTS[arguments[0]]().encode()
        except Exception as error:
            return type(error).__name__.encode()
