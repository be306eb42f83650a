# SPDX-License-Identifier: Apache-2.0
"""Finds pipelined loops whose iterations need more ports of a memory than it has.

A memory on chip has two ports, or one if BIND_STORAGE says so. An iteration that reads and writes
it more often waits, unless ARRAY_PARTITION makes several memories or registers of the array.

What is counted are the accesses of one iteration, with what it calls and with the loops in it
unrolled: the same element read twice once, an element of an unrolled loop's own as often as that
loop runs, and of two branches the one with more. Arrays of so few elements that the tool makes
registers of them, constants, and streams are no memories. Of an array of structs each field is a
memory. An index is not evaluated: two of them that differ in their text, or in the calls that lead
there, are two elements. An array of which a dimension is partitioned has the ports of all its
memories together, as if the accesses spread over them evenly.
"""

import ctypes
import math
from collections.abc import Iterator

from clang import cindex
from clang.cindex import Cursor, CursorKind, StorageClass, TypeKind

from storage import Storage, extents_of
from syntax_tree import (
    FUNCTIONS,
    LOOPS,
    Tree,
    below,
    body_of,
    has_static_bound,
    is_stream,
    own_parts,
    place_of,
    pragma,
    text_of,
)

PORT_RULES = {"memory_ports": "a pipelined loop that needs more ports than a memory has"}

# Elements of an array of which the tool makes registers unasked.
REGISTERS_MAX = 4
# Ports of a memory unless BIND_STORAGE says another type.
PORTS = 2
JUMPS = {CursorKind.RETURN_STMT, CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT}
# Calls within calls that are looked into.
CALLS_MAX = 16
# How often a loop whose bound varies is counted: more than once.
VARYING = 2

# The accesses of an iteration: to which array, by the name of its declaration that is unique in the
# kernel, by which text, and how often.
Accesses = dict[str, dict[str, int]]
# What stands for a parameter: the array of the argument.
Names = dict[tuple[str, int, int], Cursor]


def find_missing_ports(tree: Tree) -> Iterator[tuple[str, Cursor, str]]:
    """Each pipelined loop that needs more ports than a memory has, and of which memory."""
    memories = Memories(tree)
    for loop in tree.own():
        if loop.kind not in LOOPS:
            continue
        words = pragma(loop, "PIPELINE")
        if words is None or words == ["off"]:
            continue
        interval = int(words[-1]) if words[-1].isdigit() else 1
        found = memories.accesses(body_of(loop), {}, [], "")
        for unique, texts in found.items():
            array = memories.arrays[unique]
            count, ports = sum(texts.values()), memories.ports(array)
            if count > ports * interval:
                detail = f"{array.spelling} is accessed {count} times, it has {ports} ports"
                yield "memory_ports", loop, detail


class Memories:
    """The arrays of a kernel, and the pragmas about them."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.storage = Storage(tree)
        # By their unique names, those that were accessed.
        self.arrays: dict[str, Cursor] = {}

    def ports(self, array: Cursor) -> int:
        """Accesses of an array in one cycle, at most."""
        ports = 1 if place_of(array) in self.storage.single else PORTS
        partition = self.storage.partition(array)
        if partition is None:
            return ports
        if partition.dimension is not None:
            return ports * extents_of(array)[partition.dimension - 1]
        return ports * (partition.factor or 1)

    def unique(self, array: Cursor, field: str) -> str:
        """The unique name of an array, or of a field of its structs, which is accessed."""
        name = f"{array.get_usr()} {place_of(array)} {field}"
        self.arrays[name] = array
        return name

    def is_memory(self, array: Cursor) -> bool:
        """Whether the tool makes a memory of it."""
        declared = array.type.get_canonical()
        if declared.kind != TypeKind.CONSTANTARRAY or is_stream(declared):
            return False
        element = declared
        while element.kind == TypeKind.CONSTANTARRAY:
            element = element.element_type.get_canonical()
        partition = self.storage.partition(array)
        is_whole = partition is not None and partition.is_registers
        # A parameter that is only read here may be a memory all the same.
        is_const = declared.is_const_qualified() or element.is_const_qualified()
        is_constant = is_const and array.kind != CursorKind.PARM_DECL
        length = math.prod(extents_of(array))
        return length > REGISTERS_MAX and not is_whole and not is_constant

    def accesses(
        self, cursor: Cursor, names: Names, unrolled: list[Cursor], calls: str
    ) -> Accesses:
        """What `cursor` accesses, with what it calls; `unrolled` are the loops around it that
        belong to the same iteration, `calls` the places of the calls that led there."""
        kind = cursor.kind
        if kind in (CursorKind.IF_STMT, CursorKind.CONDITIONAL_OPERATOR):
            condition, *branches = list(cursor.get_children())
            found = self.accesses(condition, names, unrolled, calls)
            return added(found, most(self.accesses(it, names, unrolled, calls) for it in branches))
        if kind == CursorKind.COMPOUND_STMT:
            return self.accesses_of_block(list(cursor.get_children()), names, unrolled, calls)
        found: Accesses = {}
        children = list(cursor.get_children())
        if kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            found = self.element(cursor, "", names, unrolled, calls)
        if kind == CursorKind.MEMBER_REF_EXPR and children:
            struct = without_casts(children[0])
            if struct.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                found = self.element(struct, cursor.spelling, names, unrolled, calls)
                children = list(struct.get_children())
        if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            found = self.written(cursor, names, unrolled, calls)
        inner = [*unrolled, cursor] if kind in LOOPS else unrolled
        for child in children:
            found = added(found, self.accesses(child, names, inner, calls))
        for body in self.tree.called(cursor) if calls.count(";") < CALLS_MAX else []:
            block = next((it for it in body.get_children() if is_block(it)), None)
            if block is not None:
                there = f"{calls}{place_of(cursor)};"
                called = self.accesses(block, bound(cursor, body, names), unrolled, there)
                found = added(found, called)
        return found

    def accesses_of_block(
        self, statements: list[Cursor], names: Names, unrolled: list[Cursor], calls: str
    ) -> Accesses:
        """The accesses of statements one after the other; behind a branch that leaves the block
        comes nothing."""
        found: Accesses = {}
        for index, statement in enumerate(statements):
            parts = list(statement.get_children())
            is_branch = statement.kind == CursorKind.IF_STMT and len(parts) == 2
            if is_branch and ends_in_jump(parts[1]):
                condition = self.accesses(parts[0], names, unrolled, calls)
                branch = self.accesses(parts[1], names, unrolled, calls)
                rest = self.accesses_of_block(statements[index + 1 :], names, unrolled, calls)
                return added(added(found, condition), most(iter([branch, rest])))
            found = added(found, self.accesses(statement, names, unrolled, calls))
        return found

    def element(
        self, access: Cursor, field: str, names: Names, unrolled: list[Cursor], calls: str
    ) -> Accesses:
        """The access to an element, or to a field of one; nothing if it is no memory's."""
        array = declared_by(access, names)
        # A row of an array of arrays is no access yet.
        is_element = access.type.get_canonical().kind != TypeKind.CONSTANTARRAY
        if array is None or not is_element or is_table(access) or not self.is_memory(array):
            return {}
        text = f"{calls}{text_of(access)}"
        return {self.unique(array, field): {text: copies(access, unrolled)}}

    def written(
        self, cursor: Cursor, names: Names, unrolled: list[Cursor], calls: str
    ) -> Accesses:
        """The write of an assignment to an element, beside the read that its left side is counted
        as if the operator reads too."""
        left = next(cursor.get_children())
        if left.kind != CursorKind.ARRAY_SUBSCRIPT_EXPR:
            return {}
        array = declared_by(left, names)
        is_compound = cursor.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR
        if array is None or not self.is_memory(array) or not is_compound:
            return {}
        text = f"write {calls}{text_of(left)}"
        return {self.unique(array, ""): {text: copies(left, unrolled)}}


def without_casts(cursor: Cursor) -> Cursor:
    """An expression without its parentheses and implicit conversions."""
    while cursor.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR):
        cursor = next(cursor.get_children(), cursor)
        if not list(cursor.get_children()):
            break
    return cursor


def ends_in_jump(branch: Cursor) -> bool:
    """Whether a branch leaves the block around it."""
    if branch.kind in JUMPS:
        return True
    statements = list(branch.get_children()) if is_block(branch) else []
    return bool(statements) and statements[-1].kind in JUMPS


def is_block(cursor: Cursor) -> bool:
    """Whether it is the body of a function."""
    return cursor.kind == CursorKind.COMPOUND_STMT


def declared_by(cursor: Cursor, names: Names) -> Cursor | None:
    """The declaration of the variable, or of the array whose element an expression is."""
    while cursor.kind in (
        CursorKind.ARRAY_SUBSCRIPT_EXPR,
        CursorKind.UNEXPOSED_EXPR,
        CursorKind.PAREN_EXPR,
    ):
        cursor = next(cursor.get_children(), cursor.translation_unit.cursor)
    if cursor.kind not in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR):
        return None
    target = cursor.referenced
    return None if target is None else names.get(place_of(target), target)


def is_table(access: Cursor) -> bool:
    """Whether it reads a constant object, of which the tool makes as many copies as it needs."""
    bases = [it.referenced for it in below(access) if it.kind == CursorKind.DECL_REF_EXPR]
    base = bases[0] if bases else None
    if base is None or base.kind != CursorKind.VAR_DECL:
        return False
    is_local = base.semantic_parent.kind in FUNCTIONS and base.storage_class != StorageClass.STATIC
    return base.type.is_const_qualified() and not is_local


def bound(call: Cursor, body: Cursor, names: Names) -> Names:
    """The arrays that the parameters of a called function stand for."""
    parameters = [it for it in body.get_children() if it.kind == CursorKind.PARM_DECL]
    arrays = [declared_by(argument, names) for argument in call.get_arguments()]
    pairs = zip(parameters, arrays, strict=False)
    is_array = lambda it: it is not None and (  # noqa: E731
        it.type.get_canonical().kind == TypeKind.CONSTANTARRAY
    )
    return {place_of(parameter): array for parameter, array in pairs if is_array(array)}


def copies(access: Cursor, unrolled: list[Cursor]) -> int:
    """How many elements an access is in one iteration: as many as the loops run whose counter or
    whose own variables it names."""
    named = {place_of(it.referenced) for it in below(access) if it.referenced is not None}
    count = 1
    for loop in unrolled:
        own = {place_of(it) for it in below(loop) if it.kind == CursorKind.VAR_DECL}
        if named & own:
            count *= trips(loop)
    return count


def trips(loop: Cursor) -> int:
    """How often a loop runs, if its counter goes from 0 by 1 to a constant."""
    if not has_static_bound(loop):
        return VARYING
    for part in own_parts(loop):
        if part.kind == CursorKind.BINARY_OPERATOR:
            values = [value_of(it) for it in below(part)]
            known = [value for value in values if value is not None and value > 0]
            if known:
                return max(known)
    return VARYING


def value_of(expression: Cursor) -> int | None:
    """The value of a constant expression of integers."""
    library = cindex.conf.lib
    library.clang_Cursor_Evaluate.argtypes = [Cursor]
    library.clang_Cursor_Evaluate.restype = ctypes.c_void_p
    library.clang_EvalResult_getKind.argtypes = [ctypes.c_void_p]
    library.clang_EvalResult_getAsLongLong.argtypes = [ctypes.c_void_p]
    library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
    library.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
    result = library.clang_Cursor_Evaluate(expression)
    if not result:
        return None
    is_integer = library.clang_EvalResult_getKind(result) == 1
    value = library.clang_EvalResult_getAsLongLong(result) if is_integer else None
    library.clang_EvalResult_dispose(result)
    return value


def added(one: Accesses, other: Accesses) -> Accesses:
    """Both accesses, each text once."""
    total = {array: dict(texts) for array, texts in one.items()}
    for array, texts in other.items():
        known = total.setdefault(array, {})
        for text, count in texts.items():
            known[text] = max(known.get(text, 0), count)
    return total


def most(branches: Iterator[Accesses]) -> Accesses:
    """For each array the accesses of the branch that has most of them."""
    best: Accesses = {}
    for branch in branches:
        for array, texts in branch.items():
            if sum(texts.values()) > sum(best.get(array, {}).values()):
                best[array] = texts
    return best
