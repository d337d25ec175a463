"""Log lines for people, or as JSON for machines: with trace, conversation and turn in them.

None has what people wrote. Python's exceptions quote their input more often than not, so JSON has
the type and place of a failure, and the message only of errors of this project.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from temporalio.exceptions import ApplicationError

from router.domain.errors import RouterError
from router.telemetry import tracing
from router.telemetry.temporal_logs import TextLines, describe_temporal_record

_now: ContextVar[dict[str, str]] = ContextVar("about", default={})  # noqa: B039 - never changed


@contextmanager
def about(conversation: str | None, turn: str | None = None) -> Iterator[None]:
    """Whatever is logged within, by this task and those that it starts, says what it is about."""
    given = {"conversation": conversation, "turn": turn}
    token = _now.set({**_now.get(), **{name: id_ for name, id_ in given.items() if id_}})
    try:
        yield
    finally:
        _now.reset(token)


def current() -> dict[str, str]:
    """`conversation` and `turn`, as far as they are known here."""
    return _now.get()


TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class JsonLines(logging.Formatter):
    """One JSON object a line: what happened, the trace and turn that it is of, and the failure."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as its line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **tracing.ids(),
            **current(),
            **describe_temporal_record(record),
        }
        if record.exc_info and record.exc_info[0]:
            kind, error, trace = record.exc_info
            # One of Temporal's says in a field which error of ours it stands for.
            stands_for = error.type if isinstance(error, ApplicationError) else None
            line |= {"error.type": stands_for or kind.__name__}
            line |= {"error.stack": "".join(traceback.format_tb(trace))}
            line |= {"error.message": str(error)} if isinstance(error, RouterError) else {}
        return json.dumps(line, ensure_ascii=False)


def configure(form: str, level: str) -> None:
    """Have the process log to stderr as `json` or `text`, from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines(TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for client in ("httpx2", "opentelemetry"):
        logging.getLogger(client).setLevel(max(logging.WARNING, logging.getLogger().level))
