"""Replays where nothing of a project is deployed: python -m tests.replays.bare FILE...

A replay must not depend on which lookups, types of documents, tools, flows or skills there are now.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from tests.replays.histories import history_in

PROJECT = frozenset({"activities", "company", "flows", "skills"})
"""The packages that hold a project's code."""


class UnreadableRegistry(dict[str, Any]):
    """A registry of the process that fails whoever reads it."""

    def _fail(self, *_: object) -> NoReturn:
        raise AssertionError("a workflow has read what is deployed in this process")

    __getitem__ = __iter__ = __contains__ = __len__ = __or__ = __ror__ = _fail
    get = keys = values = items = _fail


class _Refusing(MetaPathFinder):
    """Have the project's packages not be there."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in PROJECT:
            raise ModuleNotFoundError(f"{name} isn't deployed")
        return None


def build_replayer() -> Replayer:
    """Return a replayer of every workflow, in the sandbox that workers use."""
    from router.runtime.sandbox import sandbox
    from workflows.conversation import ConversationWorkflow
    from workflows.flow import FlowWorkflow
    from workflows.skill import SkillWorkflow

    return Replayer(
        workflows=[ConversationWorkflow, FlowWorkflow, SkillWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=sandbox(),
        debug_mode=True,  # a busy machine isn't a deadlock
    )


async def _replay(files: Iterator[Path]) -> None:
    replayer = build_replayer()
    for file in files:
        await replayer.replay_workflow(history_in(file))
        print(file.stem)


def write(folder: Path, history: WorkflowHistory) -> Path:
    """Write a history where `main` can read it."""
    file = folder / f"{history.workflow_id.replace('/', '-')}.json"
    file.write_text(history.to_json(), encoding="utf-8")
    return file


def main(files: Sequence[str]) -> None:
    """Replay these histories in a process that can't import the project's packages."""
    sys.meta_path.insert(0, _Refusing())
    asyncio.run(_replay(map(Path, files)))


if __name__ == "__main__":
    main(sys.argv[1:])
