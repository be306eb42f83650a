# SPDX-License-Identifier: Apache-2.0
"""Refuses what the synthesis tool refuses, as far as a syntax tree shows it.

    check_synthesizable.py scan/scan_top.cpp ...     checks kernels
    check_synthesizable.py --samples samples         checks that every rule refuses its sample

Beside what the tool refuses there are rules about what it takes and runs more slowly than the time
model says: `check_pipelines.py`, `check_ports.py` and `check_streams.py`.

Nothing is synthesised: a kernel that passes can still miss its interval, its clock or the part.
Every function of the kernel's own files is checked, called or not (`syntax_tree.py`).

A sample is a file `RULE.cpp` that breaks the rule of that name on lines that end in `// refused`.
"""

import argparse
import pathlib
import sys
from collections import Counter

from clang import cindex
from clang.cindex import Cursor, CursorKind, StorageClass, TypeKind

from check_pipelines import PIPELINE_RULES, find_broken_pipelines
from check_ports import PORT_RULES, find_missing_ports
from check_streams import STREAM_RULES, find_shared_ends
from syntax_tree import (
    FUNCTIONS,
    HERE,
    LOOPS,
    VENDOR,
    Tree,
    has_static_bound,
    is_constexpr,
    pragma,
)

EXCEPTIONS = {CursorKind.CXX_THROW_EXPR, CursorKind.CXX_TRY_STMT, CursorKind.CXX_CATCH_STMT}
MEMORY = {"malloc", "calloc", "realloc", "free", "aligned_alloc"}
# Functions of the C library that a kernel may call: the tool turns them into copies.
LIBRARY = {"memcpy", "memset"}

RULES = {
    "allocation": "memory from a heap",
    "recursion": "a function that calls itself, directly or not",
    "function_pointer": "a pointer or reference to a function",
    "virtual_function": "a virtual function",
    "standard_library": "the C++ standard library",
    "system_call": "a function that is not the kernel's own",
    "exception": "an exception",
    "unbounded_loop": "a loop without a static bound or a LOOP_TRIPCOUNT",
    "unlabelled_loop": "a loop without a label",
    "pointer_to_pointer": "a pointer to a pointer",
    "variable_length_array": "an array whose length is not a constant",
    "mutable_global": "a variable that outlives the call",
    "long_double": "a floating-point type without hardware",
    "inline_assembly": "assembly",
    "goto_statement": "a jump",
    "parse_error": "what a compiler refuses",
    **PIPELINE_RULES,
    **PORT_RULES,
    **STREAM_RULES,
}


class Finding:
    """A rule that is broken, and where."""

    def __init__(self, rule: str, cursor: Cursor, detail: str) -> None:
        self.rule = rule
        self.path = cursor.location.file.name if cursor.location.file else "?"
        self.line = cursor.location.line
        self.detail = detail

    def __str__(self) -> str:
        place = pathlib.Path(self.path).resolve()
        if place.is_relative_to(HERE):
            place = place.relative_to(HERE)
        return f"{place}:{self.line}: {RULES[self.rule]}: {self.detail} [{self.rule}]"


class Checker:
    """Walks one translation unit and collects what breaks a rule."""

    def __init__(self, source: pathlib.Path) -> None:
        self.tree = Tree(source)
        self.findings: list[Finding] = []
        self.calls: dict[str, set[str]] = {}
        self.named: dict[str, Cursor] = {}

    def run(self) -> list[Finding]:
        """Gives the findings, each once, in the order of their places."""
        for diagnostic in self.tree.unit.diagnostics:
            if diagnostic.severity >= cindex.Diagnostic.Error:
                self.report_diagnostic(diagnostic)
        for cursor in self.tree.unit.cursor.get_children():
            if self.tree.is_ours(cursor):
                self.walk(cursor, None, None)
        self.check_recursion()
        for find in (find_broken_pipelines, find_missing_ports, find_shared_ends):
            for rule, cursor, detail in find(self.tree):
                self.report(rule, cursor, detail)
        unique = {str(finding): finding for finding in self.findings}
        return sorted(unique.values(), key=lambda finding: (finding.path, finding.line))

    def report_diagnostic(self, diagnostic: cindex.Diagnostic) -> None:
        finding = Finding("parse_error", self.tree.unit.cursor, diagnostic.spelling)
        if diagnostic.location.file:
            finding.path = diagnostic.location.file.name
            finding.line = diagnostic.location.line
        self.findings.append(finding)

    def report(self, rule: str, cursor: Cursor, detail: str) -> None:
        self.findings.append(Finding(rule, cursor, detail))

    def walk(self, cursor: Cursor, parent: Cursor | None, function: str | None) -> None:
        """Checks `cursor` and all below it; `function` is the one it stands in."""
        kind = cursor.kind
        if kind in FUNCTIONS:
            if is_constexpr(cursor):
                return
            function = cursor.get_usr()
            self.named[function] = cursor
            self.check_function(cursor)
        if kind in LOOPS:
            self.check_loop(cursor, parent)
        self.check_types(cursor)
        self.check_expression(cursor, function)
        for child in cursor.get_children():
            self.walk(child, cursor, function)

    def check_function(self, cursor: Cursor) -> None:
        if cursor.kind == CursorKind.CXX_METHOD and cursor.is_virtual_method():
            self.report("virtual_function", cursor, cursor.spelling)

    def check_loop(self, cursor: Cursor, parent: Cursor | None) -> None:
        if parent is None or parent.kind != CursorKind.LABEL_STMT:
            self.report("unlabelled_loop", cursor, "no label before it")
        if not has_static_bound(cursor) and pragma(cursor, "LOOP_TRIPCOUNT") is None:
            self.report("unbounded_loop", cursor, "neither is there")

    def check_types(self, cursor: Cursor) -> None:
        """Types of declarations: variables, fields, parameters and what functions return."""
        declares = {CursorKind.VAR_DECL, CursorKind.FIELD_DECL, CursorKind.PARM_DECL}
        if cursor.kind in declares:
            self.check_type(cursor, cursor.type)
        if cursor.kind in FUNCTIONS and cursor.kind != CursorKind.FUNCTION_TEMPLATE:
            self.check_type(cursor, cursor.result_type)
        if cursor.kind == CursorKind.VAR_DECL and outlives_call(cursor):
            self.report("mutable_global", cursor, cursor.spelling)

    def check_type(self, cursor: Cursor, declared: cindex.Type) -> None:
        kind = declared.get_canonical()
        if kind.kind in (TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY):
            self.report("variable_length_array", cursor, cursor.spelling)
        while kind.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY):
            kind = kind.element_type.get_canonical()
        if kind.kind == TypeKind.LONGDOUBLE:
            self.report("long_double", cursor, cursor.spelling)
        if kind.kind == TypeKind.MEMBERPOINTER:
            self.report("function_pointer", cursor, cursor.spelling)
        if kind.kind not in (TypeKind.POINTER, TypeKind.LVALUEREFERENCE, TypeKind.RVALUEREFERENCE):
            return
        target = kind.get_pointee().get_canonical()
        if target.kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
            self.report("function_pointer", cursor, cursor.spelling)
        if kind.kind == TypeKind.POINTER and target.kind == TypeKind.POINTER:
            self.report("pointer_to_pointer", cursor, cursor.spelling)

    def check_expression(self, cursor: Cursor, function: str | None) -> None:
        kind = cursor.kind
        if kind in (CursorKind.CXX_NEW_EXPR, CursorKind.CXX_DELETE_EXPR):
            self.report("allocation", cursor, "new or delete")
        elif kind in EXCEPTIONS:
            self.report("exception", cursor, "throw or try")
        elif kind in (CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT):
            self.report("goto_statement", cursor, "goto")
        elif kind in (CursorKind.ASM_STMT, CursorKind.MS_ASM_STMT):
            self.report("inline_assembly", cursor, "asm")
        elif kind == CursorKind.CALL_EXPR:
            self.check_call(cursor, function)
        if kind.is_reference() or kind in (CursorKind.DECL_REF_EXPR, CursorKind.CALL_EXPR):
            self.check_reference(cursor)

    def check_call(self, cursor: Cursor, function: str | None) -> None:
        called = cursor.referenced
        if called is None:
            # A call through an expression, or a copy of a struct that no function stands for.
            if is_function_value(next(cursor.get_children(), None)):
                self.report("function_pointer", cursor, "a call through a value")
            return
        if called.kind == CursorKind.VAR_DECL or called.kind == CursorKind.PARM_DECL:
            self.report("function_pointer", cursor, f"a call through {called.spelling}")
            return
        if called.spelling in MEMORY:
            self.report("allocation", cursor, called.spelling)
        elif not self.tree.is_ours(called) and not is_vendor(called) and not is_builtin(called):
            if called.spelling not in LIBRARY and not in_standard_library(called):
                self.report("system_call", cursor, called.spelling)
        if function is not None:
            self.calls.setdefault(function, set()).add(called.get_usr())

    def check_reference(self, cursor: Cursor) -> None:
        target = cursor.referenced
        if target is None or target.kind == CursorKind.NAMESPACE:
            return
        if in_standard_library(target):
            self.report("standard_library", cursor, f"std::{target.spelling}")

    def check_recursion(self) -> None:
        """A function that can be reached from itself."""
        for start in self.calls:
            reached: set[str] = set()
            open_calls = list(self.calls.get(start, ()))
            while open_calls:
                usr = open_calls.pop()
                if usr in reached:
                    continue
                reached.add(usr)
                open_calls.extend(self.calls.get(usr, ()))
            if start in reached and start in self.named:
                self.report("recursion", self.named[start], self.named[start].spelling)


def is_function_value(cursor: Cursor | None) -> bool:
    """Whether an expression is a function or points to one."""
    if cursor is None:
        return False
    kind = cursor.type.get_canonical()
    if kind.kind == TypeKind.POINTER:
        kind = kind.get_pointee().get_canonical()
    return kind.kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO)


def is_vendor(cursor: Cursor) -> bool:
    """Whether it is declared by the stand-ins of the vendor's headers."""
    place = cursor.location.file
    return place is not None and pathlib.Path(place.name).resolve().is_relative_to(VENDOR)


def is_builtin(cursor: Cursor) -> bool:
    """Whether the compiler itself made it: operators of structs, copies."""
    return cursor.location.file is None


def in_standard_library(cursor: Cursor) -> bool:
    """Whether it is declared in namespace std."""
    while cursor is not None and cursor.kind != CursorKind.TRANSLATION_UNIT:
        if cursor.kind == CursorKind.NAMESPACE and cursor.spelling == "std":
            return True
        cursor = cursor.semantic_parent
    return False


def outlives_call(cursor: Cursor) -> bool:
    """Whether a variable that can change keeps its value between calls of the kernel."""
    parent = cursor.semantic_parent
    in_function = parent is not None and parent.kind in FUNCTIONS
    if in_function and cursor.storage_class != StorageClass.STATIC:
        return False
    # Of `constexpr` the array is constant, of `const` its elements are.
    declared = cursor.type
    while declared.kind == TypeKind.CONSTANTARRAY and not declared.is_const_qualified():
        declared = declared.element_type
    return not declared.is_const_qualified()


def check_kernels(sources: list[str]) -> int:
    """Prints the findings, each once, and how many of each rule; gives the exit status."""
    findings: dict[str, Finding] = {}
    functions = 0
    for source in sources:
        checker = Checker(pathlib.Path(source))
        findings.update({str(finding): finding for finding in checker.run()})
        functions += len(checker.named)
    for finding in findings:
        print(finding)
    counts = Counter(finding.rule for finding in findings.values())
    for rule, count in sorted(counts.items()):
        print(f"{rule}: {count}")
    # A parser that saw nothing has found nothing either.
    print(f"{functions} functions, {len(findings)} findings")
    return 1 if findings or functions == 0 else 0


def check_samples(folder: pathlib.Path) -> int:
    """Whether each rule has a sample, and each is refused where it says and for nothing else."""
    wrong = 0
    for rule in RULES:
        sample = folder / f"{rule}.cpp"
        if not sample.is_file():
            print(f"{rule}: no sample {sample}")
            wrong += 1
            continue
        lines = sample.read_text().splitlines()
        marked = [number for number, line in enumerate(lines, 1) if line.endswith("// refused")]
        expected = [(rule, line) for line in marked]
        found = [(finding.rule, finding.line) for finding in Checker(sample).run()]
        if not expected or found != expected:
            print(f"{sample}: expected {expected}, found {found}")
            wrong += 1
    print("every rule refuses its sample" if wrong == 0 else f"{wrong} rules do not")
    return 1 if wrong else 0


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", help="top files of kernels")
    parser.add_argument("--samples", type=pathlib.Path, help="a folder of samples")
    arguments = parser.parse_args()
    if arguments.samples is not None:
        return check_samples(arguments.samples)
    return check_kernels(arguments.sources)


if __name__ == "__main__":
    sys.exit(main())
