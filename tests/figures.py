"""Check what no linter checks and what protects people. Ends with 1 if there is a finding.

    python -m tests.figures

Four kinds of findings: functions more complex than 10, also where a `noqa` excuses them; cycles of
imports, which the layers of import-linter don't see within a layer; expressions of `re` that can
take more than linear time over a text; words of the sample company in the core.
"""

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import grimp

from tests.expressions import backtracking

ROOT = Path(__file__).parents[1]
PACKAGES = ("router", "workflows", "activities", "company")
FOLDERS = (*PACKAGES, "supply", "tests", "bench", "docs")
MAX_COMPLEXITY = 10
SAMPLE_WORDS = re.compile(
    r"请假|年假|病假|婚假|产假|丧假|事假|调休|休假|报销|报账|打车|差旅|出差|酒店|住宿|餐费|午饭|午餐|发票"
    r"|电脑|笔记本|显示器|住院|生病|感冒|结婚"
    r"|(?i:\b(?:annual leave|sick leave|leave request|reimburse\w*|expenses?|taxi|hotel|laptop"
    r"|monitors?|business trip|trips?|invoices?|receipts?|sick|wedding|pto|vacation)\b)"
)
"""What the sample company speaks of. The core knows none of it; its docstrings may name it."""
DOCUMENT_TYPES = "router/documents/types/"
"""Documents have names that are the same in every company: an invoice is an invoice."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def complex_functions() -> Iterator[str]:
    """Yield each function that is more complex than `MAX_COMPLEXITY`, with its complexity."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--exit-zero", "--ignore-noqa"]
    command += ["--config", f"lint.mccabe.max-complexity={MAX_COMPLEXITY}", "--select", "C901"]
    report = subprocess.run(
        [*command, "--output-format", "json", *FOLDERS],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    for found in json.loads(report.stdout):
        path = Path(found["filename"]).relative_to(ROOT)
        yield f"{path}:{found['location']['row']} {found['message']}"


def import_cycles() -> Iterator[str]:
    """Yield the first cycle of imports among the product's modules, if there is one."""
    graph = grimp.build_graph(
        *PACKAGES, exclude_type_checking_imports=True, cache_dir=".grimp_cache"
    )
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    if found := find_cycle(imports):
        yield " > ".join(found)


def find_cycle(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules of one cycle, the first again at the end; empty if there is none.

    Args:
        imports: The modules that each module imports.
    """
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def slow_expressions() -> Iterator[str]:
    """Yield each regular expression of the product that can take more than linear time."""
    for name, line in backtracking(_sources(lambda path: True)):
        yield f"{name}, line {line}"


def sample_words() -> Iterator[str]:
    """Yield each line of code of the core that has a word of the sample company."""
    sources = _sources(
        lambda path: (
            path.startswith(("router/", "workflows/")) and not path.startswith(DOCUMENT_TYPES)
        )
    )
    for path, source in sources.items():
        for number, line in lines_with(SAMPLE_WORDS, source):
            yield f"{path}:{number} {line.strip()[:80]}"


def lines_with(words: re.Pattern[str], source: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line of code with such a word; comments don't count."""
    if not words.search(source):
        return
    documented = set(_docstring_lines(ast.parse(source)))
    for number, line in enumerate(source.splitlines(), 1):
        if number not in documented and words.search(re.sub(r"(?:^|\s)#.*", "", line)):
            yield number, line


def _docstring_lines(module: ast.Module) -> Iterator[int]:
    for holder in ast.walk(module):
        if isinstance(holder, ast.Module | ast.ClassDef | Function):
            for text in holder.body:
                if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                    yield from range(text.lineno, (text.end_lineno or text.lineno) + 1)


def _sources(wanted: Callable[[str], bool]) -> dict[str, str]:
    """Return the text of the product's modules by path, without migrations and templates."""
    paths = {
        str(path.relative_to(ROOT)): path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    return {
        name: path.read_text(encoding="utf-8")
        for name, path in paths.items()
        if path.name != "__init__.py"
        and not re.search(r"/(?:migrations|templates)/", name)
        and wanted(name)
    }


CHECKS: dict[str, Callable[[], Iterator[str]]] = {
    f"functions more complex than {MAX_COMPLEXITY}": complex_functions,
    "cycles of imports": import_cycles,
    "expressions that may backtrack": slow_expressions,
    "lines of the core with the sample company's words": sample_words,
}


def main() -> int:
    """Print every finding; return 1 if there is one."""
    found_any = False
    for title, check in CHECKS.items():
        found = list(check())
        found_any = found_any or bool(found)
        print(f"{len(found):>4}  {title}", *(f"      {each}" for each in found), sep="\n")
    return int(found_any)


if __name__ == "__main__":
    sys.exit(main())
