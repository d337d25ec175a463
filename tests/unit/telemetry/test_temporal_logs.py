"""Log lines of Temporal's SDK name the workflow and the kind of the failure, and quote nobody."""

import json
import logging
from types import SimpleNamespace

from router.telemetry.logs import TEXT, JsonLines
from router.telemetry.temporal_logs import RUN_NAMES, RunNames, TextLines
from tests.table import each_row

SECRET = "my salary is 12000"
FAILURE = (
    'Failure {{ failure: Some(Failure {{ message: "{message}", source: "", stack_trace: "{trace}", '
    "encoded_attributes: None, cause: None, failure_info: Some(ApplicationFailureInfo("
    'ApplicationFailureInfo {{ r#type: "{type}", non_retryable: false, details: None, '
    "next_retry_delay: None, category: Unspecified }})) }}), force_cause: {cause} }}"
)
"""As the core of SDK 1.35 writes it."""
RAISED = FAILURE.format(
    message=SECRET, trace=f"raise RuntimeError({SECRET})", type="RuntimeError", cause="Unspecified"
)
REORDERED = FAILURE.format(
    message="[TMPRL1100] Nondeterminism error: TimerStarted",
    trace="",
    type="",
    cause="NonDeterministicError",
)
TOO_LARGE = (
    "code: 'Client specified an invalid argument', message: \"[TMPRL1103] Attempted to upload\", "
    'source: PayloadLimitViolation { path: "commands[0].input", class: Blob, size: 3000036 }'
)


def record(message: str, **fields: str) -> logging.LogRecord:
    """A record as Temporal's core forwards it."""
    made = logging.LogRecord("temporalio.core", logging.WARNING, "", 0, message, (), None)
    made.temporal_log = SimpleNamespace(fields=fields)
    return made


@each_row(
    ("fields", "told"),
    [
        ({"run_id": "r1", "failure": RAISED}, {"run_id": "r1", "error.type": "RuntimeError"}),
        (
            {"run_id": "r1", "failure": REORDERED},
            {
                "run_id": "r1",
                "error.type": "NonDeterministicError",
                "error.message": "[TMPRL1100] Nondeterminism error: TimerStarted",
            },
        ),
        ({"error": TOO_LARGE}, {"error.type": "PayloadsTooLarge", "payload": "commands[0].input"}),
        ({"size": "3000036", "limit": "2097152"}, {"size": "3000036", "limit": "2097152"}),
        ({"error": f"something {SECRET}", "else": SECRET}, {}),
    ],
)
def test_a_line_of_the_core_says_what_it_is_about(
    fields: dict[str, str], told: dict[str, str]
) -> None:
    made = record("Failing workflow task", **fields)
    line = json.loads(JsonLines().format(made))
    usual = {"time", "level", "logger", "message"}
    assert {name: value for name, value in line.items() if name not in usual} == told
    text = TextLines(TEXT).format(made)
    assert all(value in text for value in told.values())
    assert SECRET not in f"{line}{text}"


def test_a_line_of_the_core_names_the_workflow_whose_run_this_process_knows() -> None:
    RUN_NAMES.note("r2", "conversation/acme/c1", "Conversation")
    made = record("Failing workflow task", run_id="r2", failure=REORDERED)
    line = json.loads(JsonLines().format(made))
    assert (line["workflow_id"], line["workflow_type"]) == ("conversation/acme/c1", "Conversation")
    assert "workflow_id=conversation/acme/c1" in TextLines(TEXT).format(made)


def test_a_line_of_a_worker_has_the_workflow_in_fields() -> None:
    made = logging.LogRecord("temporalio.worker", logging.WARNING, "", 0, "Failed", (), None)
    made.temporal_workflow = {
        "workflow_id": "flow/acme/1",
        "run_id": "r3",
        "workflow_type": "Flow",
        "attempt": 1,
    }
    line = json.loads(JsonLines().format(made))
    named = (line["workflow_id"], line["run_id"], line["workflow_type"])
    assert named == ("flow/acme/1", "r3", "Flow")
    assert TextLines(TEXT).format(made).endswith("temporalio.worker: Failed")


def test_only_the_last_runs_are_remembered() -> None:
    names = RunNames(max_runs=2)
    for run in ("r1", "r2", "r1", "r3"):
        names.note(run, f"workflow-of-{run}", "Flow")
    assert [bool(names.find(run)) for run in ("r1", "r2", "r3")] == [True, False, True]
