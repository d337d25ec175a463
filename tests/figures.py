"""The tree's figures: how long, how tangled, how far described. Ends with 1 over a bound.

    python -m tests.figures

A bound is what the tree holds today or better: where a figure gets lower, lower its bound; where
one is over, mend what is named. What the tree has of lines and modules may grow by what a feature
needs, with the reason in the commit. A function's length is that of its body, without its
docstring; a module's is all of its lines.
"""

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp

from tests.expressions import backtracking

ROOT = Path(__file__).parents[1]
ROOMS = ("router", "workflows", "activities")
"""The product, whose modules have imports worth looking at, and public names."""
FOLDERS = (*ROOMS, "supply", "tests", "bench", "docs")
SHOWN = 3
"""How many of the worst are named."""

LONG_FUNCTION, LONG_MODULE, SHORT_MODULE = 40, 600, 60
COMPLEX = 10
OFTEN = 3

BEFORE = {
    "modules": 706,
    "modules under 60 lines": 178,
    "imported by one neighbour alone": 183,
    "modules named by a gerund": 155,
    "basenames three times or more": 33,
    "lines": 79_819,
    "class names that mean two things": 72,
    "lines with the sample company's words": 99,
    "workflow.patched": 7,
    "migrations": 14,
    "lines of tests, Python": 70_427,
    "lines of tests, JSON": 29_990,
}
"""What the tree had before it was redrawn (commit 767e769), for those figures that tell of it."""
GERUNDS = re.compile(r"(?:^|_)[a-z]+ing(?:_|$)")
SAMPLE = re.compile(
    r"请假|年假|病假|婚假|产假|丧假|事假|调休|休假|报销|报账|打车|差旅|出差|酒店|住宿|餐费|午饭|午餐|发票"
    r"|电脑|笔记本|显示器|住院|生病|感冒|结婚"
    r"|(?i:\b(?:annual leave|sick leave|leave request|reimburse\w*|expenses?|taxi|hotel|laptop"
    r"|monitors?|business trip|trips?|invoices?|receipts?|sick|wedding|pto|vacation)\b)"
)
"""What the sample company speaks of. The engine knows none of it, its docstrings may name it."""
DOCUMENTS = "router/documents/types/"
"""Where papers have names that all the world has for them: an invoice is one in every company."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Named:
    """One function, module or name of the tree, and what it measures."""

    value: int
    where: str


@dataclass(frozen=True)
class Figure:
    """One line of the table: the value that the tree has, the most it may have, the worst of it."""

    title: str
    value: int
    bound: int
    worst: tuple[Named, ...] = ()

    @property
    def over(self) -> bool:
        """True where the tree is worse than it was allowed to become."""
        return self.value > self.bound

    def __str__(self) -> str:
        mark = "OVER" if self.over else ""
        before = f"{BEFORE[self.title]:,}" if self.title in BEFORE else ""
        figures = f"{self.title:44}{before:>8}{self.value:>8,}{self.bound:>8,}"
        lines = [f"{figures}  {mark}".rstrip()]
        lines += [f"{'':6}{one.value:>5}  {one.where}" for one in self.worst]
        return "\n".join(lines)


def length(function: Function) -> int:
    """Lines of a function's body, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def functions(source: str, path: str) -> Iterator[Named]:
    """Every function and method of a module, nested ones too, by its length."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            yield Named(length(node), f"{path}:{node.lineno} {node.name}")


def undescribed(source: str, path: str) -> Iterator[Named]:
    """Public names without a docstring: the module, its classes, functions and methods."""
    module = ast.parse(source)
    if ast.get_docstring(module) is None:
        yield Named(1, path)
    yield from _undescribed_within(module, path)


def _undescribed_within(holder: ast.Module | ast.ClassDef, path: str) -> Iterator[Named]:
    for node in holder.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        # What is written over a parent's method, or an overload, is described there.
        told = any(
            ast.unparse(one).endswith(("override", "overload", "setter"))
            for one in node.decorator_list
        )
        if ast.get_docstring(node) is None and not told:
            yield Named(1, f"{path}:{node.lineno} {node.name}")
        if isinstance(node, ast.ClassDef):
            yield from _undescribed_within(node, path)


def is_module(path: str) -> bool:
    """True for what counts as a module: no package's own file, migration or template."""
    return not path.endswith("__init__.py") and not re.search(r"/(?:migrations|templates)/", path)


def alone(imports: dict[str, set[str]], modules: Iterable[str]) -> Iterator[Named]:
    """Modules that a single other one imports, which stands in their folder or below it.

    Args:
        imports: By module, those that it imports.
        modules: The dotted names that count.
    """
    importers: dict[str, set[str]] = defaultdict(set)
    for name, found in imports.items():
        for one in found:
            importers[one].add(name)
    for name in modules:
        by = importers[name]
        if len(by) == 1 and f"{min(by)}.".startswith(f"{name.rpartition('.')[0]}."):
            yield Named(1, f"{name}, by {min(by)}")


def repeated(names: Iterable[str], often: int) -> Iterator[Named]:
    """Names that stand so often or more."""
    yield from (Named(n, name) for name, n in Counter(names).items() if n >= often)


def classes(sources: dict[str, str]) -> Iterator[str]:
    """The public classes of all modules, by name."""
    for text in sources.values():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def lines_with(words: re.Pattern[str], source: str, path: str) -> Iterator[Named]:
    """Lines of code that hold such a word; docstrings and comments are none."""
    if not words.search(source):
        return
    holders = (
        n
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Module | ast.ClassDef | Function)
    )
    said = (one for holder in holders for one in holder.body if isinstance(one, ast.Expr))
    told = {
        line
        for one in said
        if isinstance(one.value, ast.Constant)
        for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }
    for number, line in enumerate(source.splitlines(), 1):
        if number not in told and words.search(re.sub(r"(?:^|\s)#.*", "", line)):
            yield Named(1, f"{path}:{number} {line.strip()[:80]}")


def cycle(imports: dict[str, set[str]]) -> list[str]:
    """The modules of one cycle of imports, the first again at the end; empty where there is none.

    Args:
        imports: By module, those that it imports.
    """
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def _imports() -> dict[str, set[str]]:
    graph = grimp.build_graph(*ROOMS, exclude_type_checking_imports=True, cache_dir=".grimp_cache")
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def _by_ruff(rule: str, setting: str, folders: Iterable[str]) -> list[Named]:
    """What breaks a rule of ruff's, by ruff's own word, whatever is excused in `pyproject.toml`."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--exit-zero"]
    command += ["--output-format", "json", "--ignore-noqa", "--select", rule]
    run = subprocess.run(
        [*command, "--config", setting, *folders],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    found = []
    for one in json.loads(run.stdout):
        said, path = one["message"], Path(one["filename"]).relative_to(ROOT)
        number = re.search(r"\((\d+) >", said)
        where = f"{path}:{one['location']['row']} {said}"
        found.append(Named(int(number[1]) if number else 1, where))
    return found


def _sources(folders: Iterable[str]) -> dict[str, str]:
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def longest(title: str, bound: int, each: Iterable[Named]) -> Figure:
    """The greatest of these values, and where the first few of them are."""
    worst = sorted(each, key=lambda one: (-one.value, one.where))[:SHOWN]
    return Figure(title, worst[0].value if worst else 0, bound, tuple(worst))


def count(title: str, bound: int, each: Iterable[Named]) -> Figure:
    """How many there are; they are named where that is more than there may be."""
    found = sorted(each, key=lambda one: (-one.value, one.where))
    return Figure(title, len(found), bound, tuple(found if len(found) > bound else ()))


def plan() -> list[Figure]:
    """What tells whether the tree can be inherited: how many modules, how large, how named."""
    sources = {path: text for path, text in _sources(ROOMS).items() if is_module(path)}
    names = {path: path.removesuffix(".py").replace("/", ".") for path in sources}
    bases = [name.rpartition(".")[2] for name in names.values()]
    lines = {path: text.count("\n") for path, text in sources.items()}
    engine = {
        p: t
        for p, t in sources.items()
        if p.startswith(("router/", "workflows/")) and not p.startswith(DOCUMENTS)
    }
    short = (Named(n, path) for path, n in lines.items() if n < SHORT_MODULE)
    slow = (Named(line, name) for name, line in backtracking(sources))
    patched = re.compile(r"\bworkflow\.patched\(")
    sample = [one for p, t in engine.items() for one in lines_with(SAMPLE, t, p)]
    old = [one for p, t in sources.items() for one in lines_with(patched, t, p)]
    migrations = [path for path in _sources(ROOMS) if "/migrations/versions/" in path]
    return [
        Figure("modules", len(sources), 619),
        count("modules under 60 lines", 41, short),
        count("imported by one neighbour alone", 72, alone(_imports(), names.values())),
        count("modules named by a gerund", 12, (Named(1, b) for b in bases if GERUNDS.search(b))),
        count("basenames three times or more", 12, repeated(bases, OFTEN)),
        Figure("lines", sum(lines.values()), 138_800),
        count("class names that mean two things", 0, repeated(classes(sources), 2)),
        count("lines with the sample company's words", 0, sample),
        count("expressions that may backtrack", 0, slow),
        count("workflow.patched", 0, old),
        Figure("migrations", len(migrations), 21),
        Figure("lines of tests, Python", _lines_of_tests("py"), 127_500),
        Figure("lines of tests, JSON", _lines_of_tests("json"), 6_000),
    ]


def _lines_of_tests(ending: str) -> int:
    files = (ROOT / "tests").rglob(f"*.{ending}")
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def figures() -> list[Figure]:
    """All of the tree's, each with its bound."""
    of_rooms, of_tree = _sources(ROOMS), _sources(FOLDERS)
    modules = [Named(text.count("\n"), path) for path, text in of_rooms.items()]
    every = [one for path, text in of_tree.items() for one in functions(text, path)]
    tests = [
        Named(text.count("\n"), path) for path, text in of_tree.items() if path not in of_rooms
    ]
    around = cycle(_imports())
    return [
        longest("longest module, lines", LONG_MODULE, modules),
        count(f"modules over {LONG_MODULE}", 0, (m for m in modules if m.value > LONG_MODULE)),
        longest("longest module of tests and benches", 670, tests),
        longest("longest function's body, lines", 47, every),
        count(f"functions over {LONG_FUNCTION}", 3, (f for f in every if f.value > LONG_FUNCTION)),
        longest(
            "most statements in a function",
            38,
            _by_ruff("PLR0915", "lint.pylint.max-statements=20", FOLDERS),
        ),
        count(
            f"functions more complex than {COMPLEX}",
            0,
            _by_ruff("C901", f"lint.mccabe.max-complexity={COMPLEX}", FOLDERS),
        ),
        count(
            "public names without a docstring",
            0,
            (
                one
                for path, text in of_rooms.items()
                # A migration's docstring is its module's; templates are tests of somebody else's.
                if "/versions/" not in path and "/templates/" not in path
                for one in undescribed(text, path)
            ),
        ),
        Figure(
            "import cycles", int(bool(around)), 0, (Named(1, " > ".join(around)),) * bool(around)
        ),
    ]


def main() -> int:
    """Print the table; 1 where a figure is over its bound."""
    table = [*plan(), *figures()]
    print(f"{'':44}{'before':>8}{'now':>8}{'bound':>8}")
    print(*table, sep="\n")
    over = [figure.title for figure in table if figure.over]
    if over:
        print(f"error: over the bound: {', '.join(over)}; mend what is named", file=sys.stderr)
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
