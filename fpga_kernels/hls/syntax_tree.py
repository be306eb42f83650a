# SPDX-License-Identifier: Apache-2.0
"""Reads the syntax tree of a kernel as the synthesis tool sees it: its loops, their bounds and
pragmas, and which function calls which.

`__VITIS_HLS__` is defined, and the vendor's headers are stand-ins with names only
(`samples/vendor`).
"""

import pathlib
from collections.abc import Iterator

from clang import cindex
from clang.cindex import Cursor, CursorKind, TokenKind, TypeKind

HERE = pathlib.Path(__file__).resolve().parent
# Stand-ins for headers that are not ours: the vendor's, and one of the C library's for a sample.
VENDOR = HERE / "samples" / "vendor"
LIBC = HERE / "samples" / "libc"

FUNCTIONS = {
    CursorKind.FUNCTION_DECL,
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.DESTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
    CursorKind.FUNCTION_TEMPLATE,
}
PARAMETER_OF_TEMPLATE = CursorKind.TEMPLATE_NON_TYPE_PARAMETER
LOOPS = {CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT}


class Tree:
    """The syntax tree of one kernel."""

    def __init__(self, source: pathlib.Path) -> None:
        arguments = ["-x", "c++", "-std=c++14", "-D__VITIS_HLS__"]
        for folder in (VENDOR, LIBC, HERE):
            arguments += ["-I", str(folder)]
        self.root = source.resolve().parent
        self.unit = cindex.Index.create().parse(str(source), args=arguments + system_includes())
        self.bodies: dict[tuple[str, int, int], Cursor] = {}
        self.by_name: dict[str, list[Cursor]] = {}
        for cursor in self.own():
            if cursor.kind in FUNCTIONS and cursor.is_definition():
                self.bodies[place_of(cursor)] = cursor
                self.by_name.setdefault(cursor.spelling, []).append(cursor)

    def is_ours(self, cursor: Cursor) -> bool:
        """Whether it stands in a file of the kernels, not in the vendor's or the system's."""
        if not cursor.location.file:
            return False
        path = pathlib.Path(cursor.location.file.name).resolve()
        if path.is_relative_to(VENDOR) or path.is_relative_to(LIBC):
            return False
        return path.is_relative_to(HERE) or path.is_relative_to(self.root)

    def own(self) -> Iterator[Cursor]:
        """Everything in the kernel's own files, but what the compiler evaluates."""
        for cursor in self.unit.cursor.get_children():
            if self.is_ours(cursor):
                yield from below(cursor)

    def called(self, cursor: Cursor) -> list[Cursor]:
        """The bodies of our own functions that an expression may call. Within a template it is not
        known which one a name stands for: then all of that name."""
        if cursor.kind == CursorKind.OVERLOADED_DECL_REF:
            return self.by_name.get(cursor.spelling, [])
        if cursor.kind != CursorKind.CALL_EXPR:
            return []
        target = cursor.referenced
        if target is None:
            return self.by_name.get(cursor.spelling, [])
        # The body of an instantiation is that of its template, at the same place.
        body = self.bodies.get(place_of(target.get_definition() or target))
        return [] if body is None else [body]

    def reached(self, start: Cursor) -> Iterator[Cursor]:
        """All loops below `start` and in the functions that it calls, directly or not."""
        seen: set[tuple[str, int, int]] = set()
        waiting = [start]
        while waiting:
            at = waiting.pop()
            for cursor in below(at):
                if cursor.kind in LOOPS and cursor != start:
                    yield cursor
                for body in self.called(cursor):
                    if place_of(body) not in seen:
                        seen.add(place_of(body))
                        waiting.append(body)


def system_includes() -> list[str]:
    """Where the compiler's own headers are: the package brings the parser alone."""
    folders = sorted(pathlib.Path("/usr/lib").glob("gcc/*/*/include"), reverse=True)
    folders += sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/clang/*/include"), reverse=True)
    return [argument for folder in folders[:1] for argument in ("-isystem", str(folder))]


def place_of(cursor: Cursor) -> tuple[str, int, int]:
    """The file, the line and the column where it stands."""
    location = cursor.location
    return (location.file.name if location.file else "", location.line, location.column)


def is_constexpr(function: Cursor) -> bool:
    """Whether the compiler evaluates it: what is in it becomes a constant, not hardware."""
    for token in function.get_tokens():
        if token.spelling == "constexpr":
            return True
        if token.spelling in ("(", "{"):
            return False
    return False


def below(cursor: Cursor) -> Iterator[Cursor]:
    """A cursor and everything below it, but functions that the compiler evaluates."""
    if cursor.kind in FUNCTIONS and is_constexpr(cursor):
        return
    yield cursor
    for child in cursor.get_children():
        yield from below(child)


def body_of(loop: Cursor) -> Cursor:
    """What a loop repeats."""
    children = list(loop.get_children())
    return children[0] if loop.kind == CursorKind.DO_STMT else children[-1]


def own_parts(loop: Cursor) -> Iterator[Cursor]:
    """What belongs to a loop's head: all of its children but the body."""
    children = list(loop.get_children())
    return iter(children[:-1] if loop.kind != CursorKind.DO_STMT else children[1:])


def pragmas_of(block: Cursor) -> list[list[str]]:
    """The words of each `#pragma HLS` that stands first in a block, before its first statement."""
    if block.kind != CursorKind.COMPOUND_STMT:
        return []
    statements = list(block.get_children())
    end = statements[0].extent.start.offset if statements else block.extent.end.offset
    pragmas: list[list[str]] = []
    for token in block.get_tokens():
        if token.extent.start.offset >= end:
            break
        if token.spelling == "#":
            pragmas.append([])
        elif pragmas:
            pragmas[-1].append(token.spelling)
    return [words[2:] for words in pragmas if words[:2] == ["pragma", "HLS"]]


def pragma(loop: Cursor, name: str) -> list[str] | None:
    """The words behind the name of a pragma of a loop, if it has that."""
    found = [words[1:] for words in pragmas_of(body_of(loop)) if words[:1] == [name]]
    return found[0] if found else None


def is_constant(cursor: Cursor) -> bool:
    """Whether an expression is built from literals and constants alone."""
    allowed = {
        CursorKind.INTEGER_LITERAL,
        CursorKind.UNEXPOSED_EXPR,
        CursorKind.PAREN_EXPR,
        CursorKind.BINARY_OPERATOR,
        CursorKind.CXX_STATIC_CAST_EXPR,
        CursorKind.TYPE_REF,
        CursorKind.NAMESPACE_REF,
    }
    if cursor.kind == CursorKind.DECL_REF_EXPR:
        target = cursor.referenced
        is_parameter = target is not None and target.kind == PARAMETER_OF_TEMPLATE
        return is_parameter or (target is not None and target.type.is_const_qualified())
    return cursor.kind in allowed and all(is_constant(part) for part in cursor.get_children())


def operator_of(cursor: Cursor) -> str:
    """The operator of a binary expression: the first punctuation behind its left side."""
    left = next(cursor.get_children())
    for token in cursor.get_tokens():
        is_behind = token.extent.start.offset >= left.extent.end.offset
        if is_behind and token.kind == TokenKind.PUNCTUATION and token.spelling not in "()":
            return token.spelling
    return ""


def has_static_bound(loop: Cursor) -> bool:
    """Whether it is `for (int i = FIRST; i < CONSTANT [&& ...]; ...)`, or up to `FIRST + CONSTANT`,
    which is as many iterations whatever the first one is. One that counts down has to begin with a
    constant."""
    if loop.kind != CursorKind.FOR_STMT:
        return False
    parts = list(own_parts(loop))
    conditions = [part for part in parts if part.kind == CursorKind.BINARY_OPERATOR]
    first = list(below(parts[0]))[-1] if parts else None
    return any(bounds(condition, first) for condition in conditions)


def bounds(condition: Cursor, first: Cursor | None) -> bool:
    """Whether a condition ends when a counter, which begins at `first`, reaches a constant or has
    grown by one."""
    parts = list(condition.get_children())
    if condition.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR) and len(parts) == 1:
        return bounds(parts[0], first)
    if condition.kind != CursorKind.BINARY_OPERATOR or len(parts) != 2:
        return False
    operator = operator_of(condition)
    if operator == "&&":
        return any(bounds(part, first) for part in parts)
    if operator in (">", ">=", "!="):
        return first is not None and is_constant(first) and is_constant(parts[1])
    if operator not in ("<", "<="):
        return False
    start = text_of(first) if first is not None else ""
    return is_constant(parts[1]) or is_sum_with(parts[1], start)


def is_sum_with(cursor: Cursor, first: str) -> bool:
    """Whether an expression is `first` and a constant."""
    if cursor.kind != CursorKind.BINARY_OPERATOR or operator_of(cursor) != "+":
        return False
    left, right = list(cursor.get_children())
    return text_of(left) == first and is_constant(right)


def text_of(cursor: Cursor) -> str:
    """The tokens of an expression."""
    return " ".join(token.spelling for token in cursor.get_tokens())


def is_stream(declared: cindex.Type) -> bool:
    """Whether it is a stream, or an array of streams."""
    kind = declared.get_canonical()
    while kind.kind in (TypeKind.CONSTANTARRAY, TypeKind.POINTER, TypeKind.LVALUEREFERENCE):
        is_array = kind.kind == TypeKind.CONSTANTARRAY
        kind = (kind.element_type if is_array else kind.get_pointee()).get_canonical()
    return kind.spelling.removeprefix("const ").startswith("hls::stream")
