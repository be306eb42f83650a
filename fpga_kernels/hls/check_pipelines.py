# SPDX-License-Identifier: Apache-2.0
"""Finds loops that cannot begin an iteration every cycle, although the time model says so.

A pipelined loop begins one iteration after the other only if all loops that an iteration reaches
are unrolled, which needs bounds that do not vary. A loop without a pragma is run as the tool
likes, so a loop that the time model counts has to say that it is pipelined.
"""

from collections.abc import Iterator

from clang.cindex import Cursor, CursorKind, Type, TypeKind

from storage import Storage
from syntax_tree import (
    LOOPS,
    Tree,
    below,
    body_of,
    has_static_bound,
    is_stream,
    place_of,
    pragma,
    pragmas_of,
)

PIPELINE_RULES = {
    "inner_loop": "a pipelined loop that reaches a loop which cannot be unrolled",
    "variable_unroll": "a loop that is to be unrolled, and whose bound varies",
    "unpipelined_loop": "an innermost loop that is neither pipelined nor unrolled",
    "several_readers": "a variable of a dataflow region that several processes use",
}

Broken = tuple[str, Cursor, str]


def find_broken_pipelines(tree: Tree) -> Iterator[Broken]:
    """Each rule that is broken, where, and by what."""
    pipelined_below: set[tuple[str, int, int]] = set()
    loops = [cursor for cursor in tree.own() if cursor.kind in LOOPS]
    for loop in loops:
        if is_pipelined(loop):
            yield from inner_loops(tree, loop)
            pipelined_below.update(place_of(inner) for inner in tree.reached(loop))
        if is_unrolled(loop) and not has_static_bound(loop):
            yield "variable_unroll", loop, "it has no static bound"
    for loop in loops:
        if place_of(loop) not in pipelined_below:
            yield from unpipelined(tree, loop)
    for cursor in tree.own():
        if cursor.kind == CursorKind.COMPOUND_STMT and ["DATAFLOW"] in pragmas_of(cursor):
            yield from shared_variables(tree, cursor, Storage(tree))


def is_pipelined(loop: Cursor) -> bool:
    """Whether it says that an iteration begins before the one before has ended."""
    words = pragma(loop, "PIPELINE")
    return words is not None and words != ["off"]


def is_unrolled(loop: Cursor) -> bool:
    """Whether it says that all iterations are hardware of their own."""
    return pragma(loop, "UNROLL") == []


def name_of(cursor: Cursor) -> str:
    """The file and the line."""
    file, line, _ = place_of(cursor)
    return f"{file.rsplit('/', 1)[-1]}:{line}"


def inner_loops(tree: Tree, loop: Cursor) -> Iterator[Broken]:
    """Loops that a pipelined one reaches and that cannot be unrolled."""
    varying = [inner for inner in tree.reached(loop) if not has_static_bound(inner)]
    if varying:
        named = ", ".join(sorted({name_of(inner) for inner in varying}))
        yield "inner_loop", loop, f"it reaches {named}"


def unpipelined(tree: Tree, loop: Cursor) -> Iterator[Broken]:
    """An innermost loop without a word about its pipeline."""
    is_said = pragma(loop, "PIPELINE") is not None or pragma(loop, "UNROLL") is not None
    if not is_said and all(is_unrolled(inner) for inner in tree.reached(loop)):
        yield "unpipelined_loop", loop, "neither PIPELINE nor UNROLL"


def shared_variables(tree: Tree, region: Cursor, storage: Storage) -> Iterator[Broken]:
    """Variables of a dataflow region that are no streams and that several processes use. Of an
    array that is registers each element is a variable, and so is each direction of a port. What is
    declared in the region has one process more, which writes it: the first that is handed it."""
    users: dict[str, list[Cursor]] = {}
    written: set[str] = set()
    for process, copies in processes_of(region, 1):
        for path, first, declared in paths_of(process):
            known = [*written, *users]
            is_new = not any(path == old or path.startswith(f"{old}.") for old in known)
            if is_new and copies == 1 and is_declared_in(region, first) and writes(process, path):
                written.add(path)
                continue
            partition = storage.partition(declared)
            if partition is not None and partition.factor is None:
                continue
            directions = directions_of(tree, process, first.type) if is_port(first.type) else [""]
            for direction in directions:
                users.setdefault(f"{path}{direction}", []).extend([first] * copies)
    for path, uses in users.items():
        if len(uses) > 1:
            yield "several_readers", uses[0], f"{path} goes to {len(uses)} processes"


def is_declared_in(region: Cursor, used: Cursor) -> bool:
    """Whether a variable is one of the region, and no argument of it."""
    return used.referenced.kind == CursorKind.VAR_DECL and used.referenced.semantic_parent == (
        region.semantic_parent
    )


def writes(process: Cursor, path: str) -> bool:
    """Whether a process is handed a variable so that it may write it."""
    function = process.referenced
    for argument, parameter in zip(process.get_arguments(), function.get_arguments(), strict=False):
        found = path_of(argument)
        if found is not None and found[0] == path:
            kind = parameter.type.get_canonical()
            if kind.kind in (TypeKind.LVALUEREFERENCE, TypeKind.POINTER):
                return not kind.get_pointee().is_const_qualified()
    return False


def is_port(declared: Type) -> bool:
    """Whether it is a port of device memory that is asked for bursts."""
    kind = declared.get_canonical()
    if kind.kind == TypeKind.LVALUEREFERENCE:
        kind = kind.get_pointee().get_canonical()
    return kind.spelling.startswith("hls::burst_maxi")


def directions_of(tree: Tree, process: Cursor, port: Type) -> set[str]:
    """In which directions a process uses ports of a type, itself or in what it calls."""
    calls = {"read_request": " (reading)", "write_request": " (writing)"}
    found = set()
    seen: set[tuple[str, int, int]] = set()
    waiting = tree.called(process)
    while waiting:
        for cursor in below(waiting.pop()):
            if cursor.kind == CursorKind.CALL_EXPR and cursor.spelling in calls:
                member = next(cursor.get_children())
                port_of = next(member.get_children(), member)
                if base_spelling(port_of.type) == base_spelling(port):
                    found.add(calls[cursor.spelling])
            bodies = [it for it in tree.called(cursor) if place_of(it) not in seen]
            seen.update(place_of(body) for body in bodies)
            waiting.extend(bodies)
    return found


def base_spelling(declared: Type) -> str:
    """A type without its reference."""
    return declared.get_canonical().spelling.strip("& ")


def processes_of(block: Cursor, copies: int) -> Iterator[tuple[Cursor, int]]:
    """The calls that are the processes of a region, with how often each is there."""
    for statement in block.get_children():
        if statement.kind == CursorKind.LABEL_STMT:
            statement = next(statement.get_children())
        if statement.kind == CursorKind.CALL_EXPR:
            yield statement, copies
        elif statement.kind in LOOPS and is_unrolled(statement):
            # How often does not matter, only that it is more than once.
            yield from processes_of(body_of(statement), 2 * copies)
        elif statement.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.COMPOUND_STMT):
            yield from processes_of(statement, copies)


# A variable with the fields that lead to what is used of it, where it stands, and the declaration
# of the last field.
Path = tuple[str, Cursor, Cursor]


def paths_of(process: Cursor) -> Iterator[Path]:
    """The variables among a call's arguments; each once."""
    seen: set[str] = set()
    for argument in process.get_arguments():
        found = path_of(argument)
        is_copied = argument.type.get_canonical().kind in SCALARS or is_stream(argument.type)
        if found is not None and found[0] not in seen and not is_copied:
            seen.add(found[0])
            yield found


def path_of(cursor: Cursor) -> Path | None:
    """The variable of an expression with its fields; an element stands for its array."""
    if cursor.kind == CursorKind.DECL_REF_EXPR:
        target = cursor.referenced
        variables = (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
        is_variable = target is not None and target.kind in variables
        return (cursor.spelling, cursor, target) if is_variable else None
    parts = list(cursor.get_children())
    if cursor.kind == CursorKind.MEMBER_REF_EXPR and parts:
        inner = path_of(parts[0])
        if inner is None:
            return None
        return (f"{inner[0]}.{cursor.spelling}", inner[1], cursor.referenced or inner[2])
    passed_on = (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR, CursorKind.UNARY_OPERATOR)
    if cursor.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR or (cursor.kind in passed_on and parts):
        return path_of(parts[0])
    return None


# Numbers are copied to each process.
SCALARS = {
    TypeKind.BOOL,
    TypeKind.INT,
    TypeKind.UINT,
    TypeKind.LONG,
    TypeKind.ULONG,
    TypeKind.USHORT,
    TypeKind.UCHAR,
    TypeKind.SHORT,
    TypeKind.SCHAR,
}
