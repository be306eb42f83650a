# SPDX-License-Identifier: Apache-2.0
"""Finds pipelined loops whose iterations read or write a stream more often than once a cycle.

A FIFO has one end to write to and one to read from, and either moves one token a cycle. What is
counted are the calls of one iteration, with what it calls and with the loops in it unrolled; of two
branches the one with more, also where one of them leaves the block. Streams of an array are told
apart by the text of their index.
"""

from collections import Counter
from collections.abc import Iterator

from clang.cindex import Cursor, CursorKind

from check_ports import ends_in_jump, is_block, trips
from syntax_tree import LOOPS, Tree, below, body_of, is_stream, place_of, pragma, text_of

STREAM_RULES = {"stream_ports": "a pipelined loop that uses an end of a stream twice in a cycle"}

ENDS = ("read", "write")
DEPTH_MAX = 16

Place = tuple[str, int, int]
# A stream: where it is declared, and by which text an element of an array of them is picked.
Stream = tuple[Place, str]
# What stands for a parameter: the stream of the argument.
Names = dict[Place, Stream]
# Calls in an iteration: of which end of which stream.
Uses = Counter[tuple[Place, str, str]]


def find_shared_ends(tree: Tree) -> Iterator[tuple[str, Cursor, str]]:
    """Each pipelined loop that uses an end of a stream too often."""
    for loop in tree.own():
        words = pragma(loop, "PIPELINE") if loop.kind in LOOPS else None
        if words is None or words == ["off"]:
            continue
        interval = int(words[-1]) if words[-1].isdigit() else 1
        for (_, stream, end), count in uses_of(tree, body_of(loop), {}, 0).items():
            if count > interval:
                detail = f"{count} times {stream}.{end} in {interval} cycles"
                yield "stream_ports", loop, detail


def uses_of(tree: Tree, cursor: Cursor, names: Names, depth: int) -> Uses:
    """What `cursor` calls of streams, directly or not."""
    if cursor.kind == CursorKind.COMPOUND_STMT:
        return uses_of_block(tree, list(cursor.get_children()), names, depth)
    if cursor.kind in (CursorKind.IF_STMT, CursorKind.CONDITIONAL_OPERATOR):
        condition, *branches = list(cursor.get_children())
        chosen = most(uses_of(tree, branch, names, depth) for branch in branches)
        return uses_of(tree, condition, names, depth) + chosen
    if cursor.kind in LOOPS:
        return repeated(cursor, uses_of(tree, body_of(cursor), names, depth))
    found: Uses = Counter()
    if cursor.kind == CursorKind.CALL_EXPR:
        found += end_of(cursor, names)
    for child in cursor.get_children():
        found += uses_of(tree, child, names, depth)
    for body in tree.called(cursor) if depth < DEPTH_MAX else []:
        block = next((it for it in body.get_children() if is_block(it)), None)
        if block is not None:
            found += uses_of(tree, block, bound(cursor, body, names), depth + 1)
    return found


def uses_of_block(tree: Tree, statements: list[Cursor], names: Names, depth: int) -> Uses:
    """The uses of statements one after the other. Behind a branch that leaves the block comes
    nothing."""
    found: Uses = Counter()
    for index, statement in enumerate(statements):
        parts = list(statement.get_children())
        leaves = statement.kind == CursorKind.IF_STMT and len(parts) == 2 and ends_in_jump(parts[1])
        if leaves:
            rest = uses_of_block(tree, statements[index + 1 :], names, depth)
            branch = uses_of(tree, parts[1], names, depth)
            return found + uses_of(tree, parts[0], names, depth) + most(iter([branch, rest]))
        found += uses_of(tree, statement, names, depth)
    return found


def repeated(loop: Cursor, uses: Uses) -> Uses:
    """The uses of an unrolled loop: as often as it runs, but for streams that its counter picks."""
    counters = [it.spelling for it in below(loop) if it.kind == CursorKind.VAR_DECL][:1]
    picked = lambda stream: any(f"[ {counter} ]" in stream for counter in counters)  # noqa: E731
    return Counter(
        {
            use: count if picked(use[1]) else count * trips(loop)
            for use, count in uses.items()
        }
    )


def end_of(call: Cursor, names: Names) -> Uses:
    """The end of a stream that a call uses, if it is such a call."""
    if call.spelling not in ENDS:
        return Counter()
    member = next(call.get_children(), None)
    stream = next(member.get_children(), None) if member is not None else None
    found = stream_of(stream, names) if stream is not None else None
    return Counter() if found is None else Counter({(*found, call.spelling): 1})


def stream_of(cursor: Cursor, names: Names) -> Stream | None:
    """The stream that an expression names, or a field of the structs that hold one."""
    if not is_stream(cursor.type):
        return None
    text = text_of(cursor)
    base = cursor
    while base.kind in (
        CursorKind.ARRAY_SUBSCRIPT_EXPR,
        CursorKind.UNEXPOSED_EXPR,
        CursorKind.PAREN_EXPR,
    ):
        base = next(base.get_children())
    if base.referenced is None:
        return None
    place, outer = names.get(place_of(base.referenced), (place_of(base.referenced), ""))
    return place, outer + text.removeprefix(base.spelling) if outer else text


def bound(call: Cursor, body: Cursor, names: Names) -> Names:
    """The streams that the parameters of a called function stand for."""
    parameters = [it for it in body.get_children() if it.kind == CursorKind.PARM_DECL]
    streams = [stream_of(argument, names) for argument in call.get_arguments()]
    pairs = zip(parameters, streams, strict=False)
    return {place_of(parameter): stream for parameter, stream in pairs if stream is not None}


def most(branches: Iterator[Uses]) -> Uses:
    """For each end the branch that uses it most."""
    best: Uses = Counter()
    for branch in branches:
        best |= branch
    return best
