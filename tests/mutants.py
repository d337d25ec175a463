"""Measure which planted faults in the core the tests catch.

    python -m tests.mutants FOLDER            copy the tree and plant every mutant in the copy
    cd FOLDER && pytest -p tests.mutants …    record which test reaches which mutant
    JUDGE=1 pytest -s -p tests.mutants …      activate each, run the tests that reach it

All mutants are in the code at once, each as `(FAULT if mutant(7) else (ORIGINAL))`; the variable
MUTANT activates one. The choice depends only on the text of the mutated expressions, so that two
commits are measured with the same sample.
"""

import ast
import hashlib
import json
import os
import shutil
import signal
import sys
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from _pytest import main

AREAS: dict[str, tuple[Any, ...]] = {
    "flow engine": (45, "router/flow/engine/**/*.py"),
    "understanding": (45, "router/understanding/**/*.py"),
    "tool gate and execute-once": (30, "router/tool/*.py", "activities/*.py"),
    "workflows": (30, "workflows/*.py"),
    "store": (30, "router/store/*.py"),
}
SECONDS_OF_TESTS, MAX_SECONDS = 30, 180
SWITCH = """\
import os
REACHED, ACTIVE = set(), int(os.environ.get("MUTANT", "-1"))
def mutant(number):
    REACHED.add(number)
    return number == ACTIVE
"""
COMPARISONS = {"Eq": "!=", "NotEq": "==", "Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">"}
COMPARISONS |= {"Is": "is not", "IsNot": "is", "In": "not in", "NotIn": "in"}
UNTOUCHED = (ast.JoinedStr, ast.pattern, ast.arguments, ast.AnnAssign)
Mutant = tuple[str, int, int, str, str]
"""Path, first and last byte of an expression, the fault that takes its place, its kind."""


def faults(node: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Yield what each fault that fits this node replaces, the fault, and its kind."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            swapped = COMPARISONS[type(op).__name__]
            yield node, f"({ast.unparse(left)}) {swapped} ({ast.unparse(right)})", "comparison"
        case ast.BoolOp(op=op, values=values):
            word = " or " if isinstance(op, ast.And) else " and "
            yield node, word.join(f"({ast.unparse(value)})" for value in values), "and/or"
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.NamedExpr):
            yield test, f"not ({ast.unparse(test)})", "condition"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None", "return value"
        case ast.Expr(value=ast.Call() | ast.Await() as value):
            yield value, "None", "omitted call"
        case ast.Constant(value=int() as value):
            yield node, str(not value if isinstance(value, bool) else value + 1), "constant"


def mutants_of(path: str, source: bytes) -> Iterator[Mutant]:
    """Yield every mutant of the functions of a module."""
    rows = [0, *accumulate(map(len, source.splitlines(keepends=True)))]

    def visit(node: ast.AST, inside: bool) -> Iterator[Mutant]:
        for target, fault, kind in faults(node) if inside else ():
            end = rows[(target.end_lineno or 0) - 1] + (target.end_col_offset or 0)
            yield path, rows[target.lineno - 1] + target.col_offset, end, fault, kind
        parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts, inside = node.body, True
        for part in parts:
            if not isinstance(part, UNTOUCHED):
                yield from visit(part, inside)

    yield from visit(ast.parse(source), inside=False)


def choose(size: int, paths: list[Path]) -> list[Mutant]:
    """Choose the mutants whose text has the lowest hashes, none inside another."""
    ranked, seen, chosen = {}, Counter[str](), list[Mutant]()
    for path in paths:
        for one in mutants_of(str(path), source := path.read_bytes()):
            seen[text := f"{path} {source[one[1] : one[2]]!r} {one[3:]}"] += 1
            ranked[hashlib.sha256(f"{text} {seen[text]}".encode()).digest()] = one
    for _, one in sorted(ranked.items()):
        apart = (two[0] != one[0] or two[2] < one[1] or one[2] < two[1] for two in chosen)
        if len(chosen) < size and all(apart):
            chosen.append(one)
    return chosen


def plant(folder: Path) -> None:
    """Copy the tree, and plant the sample in the copy."""
    sample = [
        (area, one)
        for area, (size, *patterns) in AREAS.items()
        for one in choose(size, sorted(p for each in patterns for p in Path().glob(each)))
    ]
    leave = shutil.ignore_patterns(".venv", ".data", "__pycache__", ".*_cache", "site", "dist")
    shutil.copytree(".", folder, ignore=leave)
    backwards = sorted(enumerate(one for _, one in sample), key=lambda numbered: -numbered[1][1])
    for path in {one[0] for _, one in sample}:
        source = Path(path).read_bytes()
        head = ast.parse(source).body[0].end_lineno or 0  # of the docstring
        for number, (_, start, end, fault, _) in (n for n in backwards if n[1][0] == path):
            both = b"(%s if mutant(%d) else (%s))" % (fault.encode(), number, source[start:end])
            source = source[:start] + both + source[end:]
        rows = source.splitlines(keepends=True)
        rows.insert(head, b"from router.mutant import mutant\n")
        (folder / path).write_bytes(b"".join(rows))
    (folder / "router" / "mutant.py").write_text(SWITCH)
    (folder / "mutants.json").write_text(json.dumps(sample))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record which mutants a test reaches, and how long it takes."""
    reached = import_module("router.mutant").REACHED  # only the copy with mutants has it

    reached.clear()
    began = monotonic()
    yield
    record = (item.nodeid.partition("@")[0], monotonic() - began, sorted(reached))
    with Path(f"reached-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


def tests_by_mutant(items: list[pytest.Item]) -> dict[int, list[pytest.Item]]:
    """Return the tests that reach each mutant, those first that are quick and reach few others."""
    known = {item.nodeid: item for item in items}
    cost: dict[int, Counter[str]] = defaultdict(Counter)
    for file in Path().glob("reached-*.jsonl"):
        for test, seconds, reached in map(json.loads, file.read_text().splitlines()):
            # What was recorded as a row may have become part of a table.
            name = test if test in known else test.partition("[")[0]
            for number in reached if name in known else ():
                cost[number][name] += seconds + len(reached) / 100
    chosen = {}
    for number, tests in cost.items():
        ranked = sorted(tests.items(), key=lambda test: test[1])
        spent = list(accumulate(seconds for _, seconds in ranked))
        chosen[number] = [known[name] for name, _ in ranked[: bisect(spent, SECONDS_OF_TESTS) + 1]]
    return chosen


def judge(session: pytest.Session, number: int, items: list[pytest.Item]) -> str:
    """Run these tests in a child process with the mutant active; return what they said of it."""
    switch: Any = import_module("router.mutant")
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # the servers that it has started
        return "caught" if status else "survived"
    os.setsid()
    signal.alarm(MAX_SECONDS)  # a test that hangs is red, too
    switch.ACTIVE = number
    os.environ["MUTANT"] = str(number)
    session.items, session.config.option.maxfail = items, 1
    with suppress(BaseException):
        main.pytest_runtestloop(session)
    os._exit(session.testsfailed > 0)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Judge every mutant instead of running the tests, if the environment has JUDGE."""
    if "JUDGE" not in os.environ:
        return None
    tests, table = tests_by_mutant(session.items), defaultdict[str, Counter[str]](Counter)
    for number, (area, one) in enumerate(json.loads(Path("mutants.json").read_text())):
        said = judge(session, number, tests[number]) if number in tests else "not reached"
        print(said, number, *one, sep="\t", file=sys.stderr, flush=True)
        for group in (area, "all"):
            table[group][said] += 1
    for area, counts in table.items():
        print(f"{area:28} {counts['caught']:>4} of {counts.total()}", file=sys.stderr)
    return True


if __name__ == "__main__":
    plant(Path(sys.argv[1]))
