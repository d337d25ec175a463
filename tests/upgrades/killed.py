"""`intent-router migrate`, which is killed at its nth statement that writes.

    python -m tests.upgrades.killed N

With 0 it isn't killed, and how many there were is printed last.
"""

import os
import re
import signal
import sys
from itertools import count
from typing import Any

from sqlalchemy import Engine, event

from router.cli import app

WRITES = re.compile(r"\s*(?:create|alter|drop|insert|update|delete)\b", re.IGNORECASE)


def main(killed_at: int) -> None:
    """Migrate as the settings say."""
    numbers = count(1)
    last = 0

    @event.listens_for(Engine, "before_cursor_execute")
    def counted(_: Any, __: Any, statement: str, *___: Any) -> None:
        nonlocal last
        if WRITES.match(statement):
            last = next(numbers)
            if last == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)

    app(["migrate"], standalone_mode=False)
    print(last)


if __name__ == "__main__":
    main(int(sys.argv[1]))
