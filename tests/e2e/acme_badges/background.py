"""What runs next to the processes of the router: it notes whether it does."""

import asyncio
from pathlib import Path

from router.extension import WorkerServices

RUNS, ENDED = "runs", "ended"


async def note_that_it_runs(note: Path) -> None:
    """Note it in a file until the process stops."""
    _write(note, RUNS)
    try:
        await asyncio.Event().wait()
    finally:
        _write(note, ENDED)


def _write(note: Path, state: str) -> None:
    note.write_text(state)


async def note_that_the_worker_runs(services: WorkerServices) -> None:
    """Note it in the data folder."""
    await note_that_it_runs(services.settings.data / "worker.txt")
