"""The worker's composition root: which workflows and activities run, and with what.

One worker runs everything on one task queue: activities then start eagerly, in the answer to
the workflow task that asked for them, which halves the latency of a turn.
"""

from datetime import timedelta

from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.asking import Models
from activities.call_tool import CallTool
from activities.condense import Condenser
from activities.decide import Decider
from activities.look_up import LookUps
from activities.notify import Notifier
from activities.observing import Observing
from activities.plan import Planner
from activities.recording import Recording
from activities.records import Records
from activities.tell_flow import FlowTeller
from activities.telling import Telling
from activities.think import Thinker
from activities.understand import Understander
from router.assembly import Parts
from router.settings import Settings
from workflows.conversation import ConversationWorkflow
from workflows.flow import FlowWorkflow
from workflows.moving import MovingConversation
from workflows.skill import SkillWorkflow

CACHED_WORKFLOWS = 2000
"""More than are live at once: a conversation that falls out of the cache is replayed whole at
its next word (measured five times slower). Each takes some 100 KiB."""

MISSED_AFTER = timedelta(seconds=1)
"""How long a workflow's next task waits for the worker that has the workflow in its cache, before
any other may take it: after that one's death nobody else would for ten seconds."""

HEARD_WITHIN = timedelta(seconds=0.8)
"""How soon a cancellation reaches an activity that heartbeats."""

GRACE = timedelta(seconds=5)
"""For activities that are under way when the worker is told to stop."""

PASSED_THROUGH = (
    "router",
    "workflows",
    "pydantic",
    "annotated_types",
    "cel",
    "jinja2",
    "markupsafe",
)
"""Loaded once, not once per workflow run: 10 ms of CPU instead of 120. They do no I/O, which
import-linter holds them to."""


def sandbox() -> SandboxedWorkflowRunner:
    """What workflows run in: Temporal's sandbox, less what need not be loaded for each run."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH)
    return SandboxedWorkflowRunner(restrictions=restrictions)


def deployment(settings: Settings) -> WorkerDeploymentConfig | None:
    """How the worker takes part in Temporal's worker versioning; None where it doesn't.

    Runs of flows and skills end on the version that they began with. Conversations move:
    `workflows.moving`.
    """
    if settings.worker_version is None:
        return None
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.worker_deployment, settings.worker_version),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


def build_worker(
    client: Client, parts: Parts, task_queue: str, runner: WorkflowRunner | None = None
) -> Worker:
    """A worker that runs all of this project; `await worker.run()` until it is shut down.

    Workflows run in `runner`: the sandbox, unless there is another.
    """
    telling = Telling(parts.store.live, Recording(parts.store.log))
    models = Models(parts.settings.llm_budgets, parts.store.spending, telling)
    decider = Decider(parts.offered, parts.index, parts.ladders.usual, parts.prompts, models)
    thinker = Thinker(parts.offered, parts.index, parts.ladders, parts.prompts, models)
    condenser = Condenser(parts.ladders.usual, parts.prompts, models)
    planner = Planner(thinker)
    teller = FlowTeller(client, task_queue, parts.offered)
    notifier = Notifier(client, task_queue, parts.store.conversations)
    records = Records(parts.store)
    look_ups = LookUps(parts.directory, parts.calendar, parts.people, parts.store.files)
    call_tool = CallTool(parts.caller, telling)
    versioned = deployment(parts.settings)
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[
            MovingConversation if versioned else ConversationWorkflow,
            FlowWorkflow,
            SkillWorkflow,
        ],
        activities=[
            Understander(parts.reader, parts.offered).understand,
            decider.decide,
            decider.phrase,
            thinker.think,
            condenser.condense,
            planner.plan,
            planner.reflect,
            teller.tell_flow,
            notifier.notify,
            records.recall,
            records.keep,
            records.write,
            records.publish,
            look_ups.look_up,
            call_tool.call_tool,
        ],
        interceptors=[Observing()],
        workflow_runner=runner or sandbox(),
        max_cached_workflows=CACHED_WORKFLOWS,
        sticky_queue_schedule_to_start_timeout=MISSED_AFTER,
        max_heartbeat_throttle_interval=HEARD_WITHIN,
        graceful_shutdown_timeout=GRACE,
        deployment_config=versioned,
    )
