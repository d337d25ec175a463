"""`intent-router worker` that puts a conversation away after seconds, and not after a day.

News come days later to conversations that were put away long before: so they do here.

While the file named by `CHAOS_DEFECT` exists, this build has a defect: whatever a run's background
task takes in raises an exception. Removing the file is the deployment that mends it.
"""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from router.cli import main
from router.flow.engine import events, machine
from workflows import conversation

IDLE = timedelta(seconds=6)
DEFECT = "CHAOS_DEFECT"
OF_TASKS = (events.LookedUp, events.Called, events.Failed, events.Finished, events.Fired)


def with_defect(step: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """Have the step fail over events of background tasks while the file exists."""

    def faulty(*args: Any) -> Any:
        if file.exists() and any(isinstance(each, OF_TASKS) for each in args):
            raise RuntimeError("planted by chaos")
        return step(*args)

    return faulty


if __name__ == "__main__":
    conversation.IDLE = IDLE
    if DEFECT in os.environ:
        vars(machine)["step"] = with_defect(machine.step, Path(os.environ[DEFECT]))
    main()
