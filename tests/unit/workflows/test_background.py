"""Nothing in `workflows/` starts a task whose exception could be lost."""

import ast
from collections.abc import Iterator
from pathlib import Path

import workflows

STARTS = frozenset({"create_task", "ensure_future", "TaskGroup", "run_coroutine_threadsafe"})


def starts_in(source: str) -> Iterator[int]:
    """Yield the lines that start a task by asyncio's own means."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in STARTS:
            yield node.lineno


def test_every_task_of_a_workflow_is_started_in_one_place() -> None:
    modules = Path(workflows.__path__[0]).glob("**/*.py")
    found = {module.name for module in modules if [*starts_in(module.read_text())]}
    assert found == {"background.py"}
