"""The histories that the workflows have to replay, an event a line."""

import base64
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

FOLDER = Path(__file__).parent
HISTORIES = sorted(FOLDER.glob("*.json"))


def keep(name: str, history: WorkflowHistory) -> None:
    """Write it down, in place of what was there under this name."""
    events = history.to_json_dict()["events"]
    lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events)
    text = '{"events": [\n' + ",\n".join(lines) + "\n]}\n"
    (FOLDER / f"{name}.json").write_text(text)


def history_in(file: Path) -> WorkflowHistory:
    """The history with the id that it ran under, which the workflows make keys of."""
    written = json.loads(file.read_text())
    return WorkflowHistory.from_json(_started(written)["workflowId"], written)


def later(file: Path, each: timedelta) -> WorkflowHistory:
    """The history with each workflow task begun so much later after the one before it."""
    written, behind = json.loads(file.read_text()), timedelta()
    for event in written["events"]:
        if event["eventType"].endswith("WORKFLOW_TASK_STARTED"):
            behind += each
            seconds, dot, parts = event["eventTime"].removesuffix("Z").partition(".")
            moment = datetime.fromisoformat(seconds) + behind
            event["eventTime"] = f"{moment.isoformat()}{dot}{parts}Z"
    return WorkflowHistory.from_json(_started(written)["workflowId"], written)


def flows_begun() -> set[tuple[str, int]]:
    """The flows, with their versions, that some history is a run of: its first input says so."""
    found = set()
    for file in HISTORIES:
        for payload in _started(json.loads(file.read_text()))["input"]["payloads"]:
            definition = json.loads(base64.b64decode(payload["data"])).get("definition")
            if definition is not None:
                found.add((definition["flow"], definition["version"]))
    return found


def _started(written: dict[str, Any]) -> dict[str, Any]:
    started: dict[str, Any] = written["events"][0]["workflowExecutionStartedEventAttributes"]
    return started
