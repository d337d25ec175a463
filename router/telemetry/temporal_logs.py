"""What log lines of Temporal's SDK are about: the workflow, its run, and the kind of the failure.

The lines of its Rust core say "Failing workflow task" and keep everything else in fields. Those
hold messages of exceptions, which may quote what people wrote, so only what can't is taken out of
them. A core line names a run; which workflow that is, workers note in `RUN_NAMES`.
"""

import logging
import re
import threading
from collections.abc import Mapping
from typing import Any

from router.domain.bounded_cache import BoundedCache

MAX_NAMED_RUNS = 10_000


class RunNames:
    """The ids and types of the workflows whose runs this process worked on last."""

    def __init__(self, max_runs: int = MAX_NAMED_RUNS) -> None:
        self._names = BoundedCache[str, tuple[str, str]](max_runs)
        self._lock = threading.Lock()

    def note(self, run_id: str, workflow_id: str, workflow_type: str) -> None:
        """Keep the run's workflow; the oldest is dropped if there are too many."""
        with self._lock:
            self._names.put(run_id, (workflow_id, workflow_type))

    def find(self, run_id: str) -> dict[str, str]:
        """Return the run's workflow; nothing if this process hasn't worked on it."""
        with self._lock:
            workflow_id, workflow_type = self._names.get(run_id) or ("", "")
        found = {"workflow_id": workflow_id, "workflow_type": workflow_type}
        return {name: value for name, value in found.items() if value}


RUN_NAMES = RunNames()

_IDS = ("workflow_id", "run_id", "workflow_type")
_NAMED = (*_IDS, "attempt", "size", "limit")
"""Fields of the core that hold ids and numbers alone."""
_CAUSE = re.compile(r"\bforce_cause: (\w{1,80}) \}\s*$")
_TYPE = re.compile(r'ApplicationFailureInfo \{ r#type: "([\w.]{1,200})", non_retryable: ')
_PATH = re.compile(r'PayloadLimitViolation \{ path: "([\w.\[\]]{1,200})"')
_SDK_MESSAGE = re.compile(
    r'^Failure \{ failure: Some\(Failure \{ message: "(\[TMPRL\d+\][^"\\]{1,500})'
)


def describe_temporal_record(record: logging.LogRecord) -> dict[str, str]:
    """Return what a record of Temporal's SDK is about, by names as in JSON log lines.

    >>> describe_temporal_record(logging.makeLogRecord({}))
    {}
    """
    of_worker = getattr(record, "temporal_workflow", None)
    if isinstance(of_worker, Mapping):
        return {name: str(of_worker[name]) for name in _IDS if name in of_worker}
    fields = getattr(getattr(record, "temporal_log", None), "fields", None)
    return _of_core(fields) if isinstance(fields, Mapping) else {}


def _of_core(fields: Mapping[str, Any]) -> dict[str, str]:
    about = {name: str(fields[name]) for name in _NAMED if name in fields}
    about = {**RUN_NAMES.find(about.get("run_id", "")), **about}
    failure, error = str(fields.get("failure", "")), str(fields.get("error", ""))
    cause, raised = _CAUSE.search(failure), _TYPE.search(failure)
    if cause and cause[1] != "Unspecified":
        about["error.type"] = cause[1]
    elif raised:
        about["error.type"] = raised[1]
    if said := _SDK_MESSAGE.search(failure):
        about["error.message"] = said[1]
    if path := _PATH.search(error):
        about["error.type"], about["payload"] = "PayloadsTooLarge", path[1]
    return about


class TextLines(logging.Formatter):
    """Lines for people; those of Temporal's core end with what they are about."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Return the line, without a traceback."""
        line = super().formatMessage(record)
        if not hasattr(record, "temporal_log"):
            return line
        about = describe_temporal_record(record)
        return f"{line} ({', '.join(f'{k}={v}' for k, v in about.items())})" if about else line
