# SPDX-License-Identifier: Apache-2.0
"""Reads what pragmas say of arrays: how each is partitioned, and of which type its memory is.

A pragma names a variable of the function that it stands in, or a field of one. What it says holds
for the declaration that the name leads to: for every variable of a struct, if that is a field.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clang.cindex import Cursor, CursorKind, Type, TypeKind

from syntax_tree import Tree, below, place_of

PRAGMA = re.compile(r"\s*#pragma HLS (ARRAY_PARTITION|BIND_STORAGE) variable\s*=\s*([\w.]+)(.*)")

Place = tuple[str, int, int]


class Partition(NamedTuple):
    """How an array is made several: into `factor` memories, or as many as dimension `dimension` has
    elements, counted from 1; into registers if neither is said."""

    factor: int | None
    dimension: int | None

    @property
    def is_registers(self) -> bool:
        """Whether each element is a register of its own."""
        return self.factor is None and self.dimension is None


class Storage:
    """The pragmas of a kernel about arrays, by the places of their declarations."""

    def __init__(self, tree: Tree) -> None:
        self.partitions: dict[Place, Partition] = {}
        # Those whose memory has one port.
        self.single: set[Place] = set()
        for file in sorted({place_of(cursor)[0] for cursor in tree.own()}):
            # What the compiler makes itself stands in no file.
            for line, (kind, path, rest) in pragmas_of_file(file) if file else ():
                declared = place_of(declaration(tree, file, line, path))
                if kind == "ARRAY_PARTITION":
                    self.partitions[declared] = partition_of(rest)
                elif "ram_1p" in rest:
                    self.single.add(declared)

    def partition(self, array: Cursor) -> Partition | None:
        """How an array is partitioned, if it is."""
        return self.partitions.get(place_of(array))


def pragmas_of_file(file: str) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Each pragma about an array with its line, counted from 1: what it is, of what, and the
    rest."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        found = PRAGMA.match(line)
        if found is not None:
            yield number, (found[1], found[2], found[3])


def partition_of(words: str) -> Partition:
    """The partition that the words of a pragma describe."""
    factor = re.search(r"factor\s*=\s*(\d+)", words)
    dimension = re.search(r"dim\s*=\s*(\d+)", words)
    if factor is not None:
        return Partition(int(factor[1]), None)
    return Partition(None, int(dimension[1]) if dimension is not None else None)


def declaration(tree: Tree, file: str, line: int, path: str) -> Cursor:
    """The declaration of the variable, or of the field of one, that a pragma names."""
    first, *fields = path.split(".")
    found = variable(tree, file, line, first)
    for field in fields:
        found = None if found is None else field_of(found.type, field)
    if found is None:
        raise ValueError(f"{file}:{line}: a pragma names {path}, which is no variable here")
    return found


def variable(tree: Tree, file: str, line: int, name: str) -> Cursor | None:
    """The variable or parameter `name` of the function around a line."""
    around = [
        body
        for body in tree.bodies.values()
        if place_of(body)[0] == file and body.extent.start.line <= line <= body.extent.end.line
    ]
    kinds = (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
    named = [
        it for body in around for it in below(body) if it.kind in kinds and it.spelling == name
    ]
    return named[-1] if named else None


def field_of(declared: Type, name: str) -> Cursor | None:
    """A field of a struct, or of the structs in an array."""
    kind = declared.get_canonical()
    while kind.kind in (TypeKind.CONSTANTARRAY, TypeKind.POINTER, TypeKind.LVALUEREFERENCE):
        is_array = kind.kind == TypeKind.CONSTANTARRAY
        kind = (kind.element_type if is_array else kind.get_pointee()).get_canonical()
    fields = {field.spelling: field for field in kind.get_fields()}
    return fields.get(name)


def extents_of(array: Cursor) -> list[int]:
    """The lengths of an array in its dimensions."""
    extents = []
    element = array.type.get_canonical()
    while element.kind == TypeKind.CONSTANTARRAY:
        extents.append(element.element_count)
        element = element.element_type.get_canonical()
    return extents
