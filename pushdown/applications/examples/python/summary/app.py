# SPDX-License-Identifier: Apache-2.0
"""Answers how many objects a collection has, and how many bytes."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log, objects
from wit_world.imports.types import Error_Denied


class Command(exports.Command):
    """Answers the request."""

    def run(self, arguments: list[str], body: bytes) -> bytes:
        """Counts the objects of the collection that the first argument names."""
        if not arguments:
            raise Err("give a collection")
        [collection, *_] = arguments
        count = length = 0
        after = None
        try:
            while found := objects.list(collection, "", after, 1000):
                count += len(found)
                length += sum(info.length for info in found)
                after = found[-1].name
        except Err as error:
            reason = "no right" if isinstance(error.value, Error_Denied) else error.value.value
            raise Err(f"cannot list {collection}: {reason}") from error
        log.write(log.Level.INFO, f"{count} objects in {collection}")
        return json.dumps({"objects": count, "bytes": length}).encode()
