"""The worker's composition root: which workflows and activities run, on which queues.

One worker runs all on one task queue: activities then start eagerly, in the answer to the workflow
task that asked for them, which halves the latency of a turn. Models and tools may have queues of
their own; workflows don't know, for the queue isn't compared on replay.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import worker as temporal
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.workflow import ActivityHandle

from activities.answer_cache import SharedAnswers
from activities.attachments import Attachments
from activities.call_hook import HookActivity, HookCaller, is_of_hook
from activities.call_tool import ToolActivity
from activities.decide import Decider
from activities.documents import DocumentActivities, DocumentModel
from activities.execution import Observing
from activities.hand_offs import HandOffActivities
from activities.look_up import LookUps
from activities.memories import MemoryActivities, MemoryRecall
from activities.models import Models
from activities.notify import Notifier
from activities.persistence import Records
from activities.phrase import Phraser
from activities.progress import ProgressPublisher, Recording
from activities.step_flow import step_flow
from activities.structure import Structurer
from activities.tell_flow import FlowTeller
from activities.think import Condenser, Planner, Thinker
from activities.understand import Understander
from router.contracts import activities
from router.domain.errors import MisconfiguredError
from router.extension import WorkKind
from router.gateway.documents import DocumentReading
from router.llm.supervisor import ModelSupervisor
from router.routing.decider import DecisionPolicy
from router.runtime.composition import Parts
from router.runtime.extension_work import KINDS, Activity, ExtensionWork, load_extension_work
from router.runtime.process import running
from router.runtime.sandbox import sandbox
from router.settings import Settings
from router.telemetry.crashes import ActivityRegister
from workflows.conversation import AutoUpgradeConversation, ConversationWorkflow
from workflows.document import DocumentWorkflow
from workflows.flow import FlowWorkflow
from workflows.skill import SkillWorkflow

OF_MODELS = frozenset(
    stub.name
    for stub in (
        activities.DECIDE,
        activities.PHRASE,
        activities.STRUCTURE,
        activities.THINK,
        activities.CONDENSE,
        activities.PLAN,
        activities.REFLECT,
        activities.LOOK_AT_DOCUMENT,
    )
)
OF_TURNS = frozenset({activities.TELL_FLOW.name, activities.NOTIFY.name})
"""Whatever is neither, nor a hook's or an extension's, and no local activity, is a tool's name."""
MODELS_WAIT = timedelta(seconds=60)
"""For a worker of the models' queue; a turn that finds none says that it failed, and isn't
left hanging."""


@dataclass(frozen=True)
class Queues:
    """Where activities go; None is the queue of the workflow itself."""

    models: str | None = None
    tools: str | None = None
    of_extensions: Mapping[str, WorkKind] = field(default_factory=dict)
    """The kinds of the activities of extensions, by name."""

    def of(self, activity: str) -> str | None:
        """The queue of an activity by its name.

        >>> Queues("models", "tools").of("decide"), Queues("models", "tools").of("get_balance")
        ('models', 'tools')
        """
        queues: dict[WorkKind, str | None]
        queues = {"turns": None, "models": self.models, "tools": self.tools}
        return queues[self.of_extensions.get(activity) or _kind_of(activity)]


def _kind_of(activity: str) -> WorkKind:
    """Return the kind of an activity of the router's own, by its name."""
    if activity in OF_MODELS:
        return "models"
    # A turn waits for hooks, and they count for no rate of the systems behind tools.
    return "turns" if activity in OF_TURNS or is_of_hook(activity) else "tools"


class Diverting(temporal.Interceptor):
    """A worker's interceptor: activities of its workflows go to these queues."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    def workflow_interceptor_class(
        self, _: temporal.WorkflowInterceptorClassInput
    ) -> type[temporal.WorkflowInboundInterceptor]:
        """What each workflow run is wrapped in; made here, so that it knows the queues."""
        queues = self._queues

        class Outbound(temporal.WorkflowOutboundInterceptor):
            def start_activity(self, input: temporal.StartActivityInput) -> ActivityHandle[Any]:  # noqa: A002
                queue = queues.of(input.activity)
                # A workflow of an extension may name the queue of a worker that isn't ours.
                if queue is not None and input.task_queue is None:
                    input.task_queue = queue
                    if input.activity in OF_MODELS:
                        input.schedule_to_start_timeout = MODELS_WAIT
                return super().start_activity(input)

        class Inbound(temporal.WorkflowInboundInterceptor):
            def init(self, outbound: temporal.WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

        return Inbound


MISSED_AFTER = timedelta(seconds=5)
"""How long a workflow's next task waits for the worker that has the workflow in its cache, before
any other may take it. After that one's death nobody else would for ten seconds. It can't be much
shorter: another worker has to replay the whole run, which takes as long as a dozen turns. On a
machine where tasks wait for a second, that left no time for anything else."""

MAX_WORKFLOW_TASKS = 40
"""Workflow tasks that a worker takes at once. It works on one at a time, and the others' time
(`TASK_TIMEOUT`) runs while they wait in the process; those that it doesn't take can wait in
Temporal. There are many since a task whose local activity waits for something counts as well."""

HEARD_WITHIN = timedelta(seconds=0.8)
"""How soon a cancellation reaches an activity that heartbeats."""

GRACE = timedelta(seconds=5)
"""For activities that are under way when the worker is told to stop, where nobody says more."""

SUPERVISOR_GRACE = 2.0
"""Seconds to hang up on servers that are reading."""


def deployment(settings: Settings) -> temporal.WorkerDeploymentConfig | None:
    """Runs of flows and skills end on their version, conversations move; None: no versioning."""
    if settings.worker_version is None:
        return None
    return temporal.WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.worker_deployment, settings.worker_version),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


@dataclass(frozen=True)
class Workload:
    """The workflows and activities that workers run, with those of extensions."""

    activities: Mapping[WorkKind, Sequence[Activity]]
    of_extensions: ExtensionWork

    def keep_running(self) -> AbstractAsyncContextManager[None]:
        """Keep what extensions run next to a worker running until the block is left."""
        return self.of_extensions.keep_running()


def load_workload(client: Client, parts: Parts, task_queue: str) -> Workload:
    """Make the activities of the router and of the configured extensions, by their kinds."""
    own, added = _work(client, parts, task_queue), load_extension_work(client, parts, task_queue)
    return Workload({kind: [*own[kind], *added.activities[kind]] for kind in KINDS}, added)


def build_workers(
    client: Client,
    parts: Parts,
    kinds: Collection[WorkKind] = KINDS,
    grace: timedelta = GRACE,
    register: ActivityRegister | None = None,
    work: Workload | None = None,
) -> dict[str, temporal.Worker]:
    """The workers of these kinds, by their queues; that of turns does the work that has none.

    What they have under way is noted in the `register`.
    """
    settings = parts.settings
    work = work or load_workload(client, parts, settings.task_queue)
    made = {}
    if "turns" in kinds:
        queue = settings.task_queue
        made[queue] = build_worker(client, parts, queue, work=work, grace=grace, register=register)
    own: dict[WorkKind, tuple[str | None, float | None]] = {
        "models": (settings.model_queue, settings.model_calls_per_second),
        "tools": (settings.tool_queue, settings.tool_calls_per_second),
    }
    for kind in [kind for kind in own if kind in kinds]:
        its_own, rate = own[kind]
        if its_own is not None:
            made[its_own] = temporal.Worker(
                client,
                task_queue=its_own,
                activities=work.activities[kind],
                interceptors=[Observing(register)],
                max_task_queue_activities_per_second=rate,
                max_heartbeat_throttle_interval=HEARD_WITHIN,
                graceful_shutdown_timeout=grace,
                deployment_config=deployment(settings),
            )
        elif "turns" not in kinds:
            raise MisconfiguredError(
                f"--queues {kind}: it has no queue of its own; "
                f"set ROUTER_{kind[:-1].upper()}_QUEUE, or add turns, which does its work"
            )
    return made


def build_worker(
    client: Client,
    parts: Parts,
    task_queue: str,
    runner: temporal.WorkflowRunner | None = None,
    work: Workload | None = None,
    grace: timedelta = GRACE,
    register: ActivityRegister | None = None,
) -> temporal.Worker:
    """A worker of every kind of work, also where some has a queue by now, as it hadn't before."""
    work = work or load_workload(client, parts, task_queue)
    added = work.of_extensions
    settings = parts.settings
    versioned = deployment(settings)
    return temporal.Worker(
        client,
        task_queue=task_queue,
        workflows=[
            AutoUpgradeConversation if versioned else ConversationWorkflow,
            DocumentWorkflow,
            FlowWorkflow,
            SkillWorkflow,
            *added.workflows,
        ],
        activities=[activity for kind in KINDS for activity in work.activities[kind]],
        interceptors=[
            Observing(register),
            Diverting(Queues(settings.model_queue, settings.tool_queue, added.kinds)),
        ],
        workflow_runner=runner or sandbox(),
        max_cached_workflows=settings.cached_workflows,
        sticky_queue_schedule_to_start_timeout=MISSED_AFTER,
        max_concurrent_workflow_tasks=MAX_WORKFLOW_TASKS,
        max_heartbeat_throttle_interval=HEARD_WITHIN,
        graceful_shutdown_timeout=grace,
        deployment_config=versioned,
    )


@asynccontextmanager
async def supervised(parts: Parts, kinds: Collection[WorkKind] = KINDS) -> AsyncIterator[None]:
    """Look after the models while within, where workers of these kinds ask them."""
    settings = parts.settings
    if "models" in kinds or ("turns" in kinds and settings.model_queue is None):
        beginnings = _decider(parts, Models()).beginnings if settings.llm_warm else list
        supervisor = ModelSupervisor(parts.chains, beginnings)
        async with running("the supervisor of models", supervisor.run(), SUPERVISOR_GRACE):
            yield
    else:
        yield


def _decider(parts: Parts, models: Models) -> Decider:
    settings = parts.settings
    policy = DecisionPolicy.of(settings.llm_offer, settings.llm_offer_tokens, settings.llm_steps)
    return Decider(
        parts.offered,
        parts.index,
        parts.chains,
        parts.prompts,
        models,
        policy,
        answers=_shared_answers(parts),
        memories=MemoryRecall(parts.store.memories, parts.index.messages),
    )


def _shared_answers(parts: Parts) -> SharedAnswers | None:
    if not parts.settings.llm_answer_cache:
        return None
    return SharedAnswers(parts.store.answers, parts.offered.registry, parts.dependencies)


def _understander(parts: Parts) -> Understander:
    alone = parts.chains.usual is None
    return Understander(parts.reader, parts.offered, parts.tenants.persona_of, alone=alone)


def _models(parts: Parts, telling: ProgressPublisher) -> Models:
    store, budgets = parts.store, parts.settings.llm_budgets
    shown = Attachments(store.files, store.documents)
    thrifty = parts.chains.thrifty
    return Models(budgets, store.spending, telling, attachments=shown, thrifty=thrifty)


def _of_people(parts: Parts) -> list[Activity]:
    """What asks the directory and calendars."""
    store = parts.store
    look_ups = LookUps(parts.directory, store.files, store.documents, parts.dependencies)
    desk_of = parts.tenants.hand_off_desk
    hand_offs = HandOffActivities(parts.directory, desk_of, look_ups, store)
    return [look_ups.look_up, hand_offs.who_is_on_duty, hand_offs.publish_hand_off]


def _work(client: Client, parts: Parts, task_queue: str) -> dict[WorkKind, list[Activity]]:
    store = parts.store
    telling = ProgressPublisher(store.live, Recording(store.log))
    models = _models(parts, telling)
    decider = _decider(parts, models)
    phraser = Phraser(parts.chains, parts.prompts, models, _shared_answers(parts))
    planner = Planner(Thinker(parts.offered, parts.index, parts.chains, parts.prompts, models))
    records = Records(store, parts.offered.registry.hooks)
    usual, reading = parts.chains.usual, DocumentReading(client, task_queue)
    documents = DocumentActivities(store, parts.papers.read, reading, usual)
    hooks = HookActivity(HookCaller(parts.offered.registry.hooks, parts.dependencies))
    return {
        "turns": [
            _understander(parts).understand,
            FlowTeller(client, task_queue, parts.offered).tell_flow,
            Notifier(client, task_queue, store.conversations).notify,
            step_flow,
            records.recall,
            records.keep,
            records.write,
            records.publish,
            *_of_people(parts),
            MemoryActivities(store.memories).remember,
            documents.documents_of,
        ],
        "models": [
            decider.decide,
            phraser.phrase,
            Structurer(parts.chains, parts.prompts, models.unheard).structure,
            planner.thinker.think,
            Condenser(usual, parts.prompts, models).condense,
            planner.plan,
            planner.reflect,
            planner.note_step,
            DocumentModel(store, parts.directory, usual, parts.prompts, models).look_at_document,
        ],
        "tools": [
            ToolActivity(parts.caller, telling, hooks).call_tool,
            documents.read_document,
            documents.wait_for_document,
        ],
    }
