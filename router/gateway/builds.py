"""The builds of the worker: who takes the work of each, how long it has waited, who is stranded.

Where builds have names (`ROUTER_WORKER_VERSION`) a task queue is several queues behind one name,
and Temporal's figures of the whole queue say nothing of any: a run that is pinned to a build whose
workers were stopped looks like a backlog of everybody, and a build without workers like one with.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import (
    DescribeTaskQueueMode,
    TaskQueueType,
    WorkerDeploymentVersionStatus,
    WorkerVersioningMode,
)
from temporalio.api.taskqueue.v1 import (
    PollerInfo,
    TaskQueue,
    TaskQueueStats,
    TaskQueueVersioningInfo,
    TaskQueueVersionSelection,
)
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeTaskQueueResponse,
    DescribeWorkerDeploymentRequest,
    DescribeWorkerDeploymentVersionRequest,
    DescribeWorkerDeploymentVersionResponse,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

WORKFLOWS = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
KINDS = (WORKFLOWS, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
PATIENCE = timedelta(seconds=2)
LATELY = timedelta(seconds=90)
"""A worker's poll stays open for a minute, and counts from when it began."""
LISTED = timedelta(minutes=6)
"""Temporal forgets who hasn't asked for five: where all seem to be older, a clock is ahead."""
NEVER = datetime.min.replace(tzinfo=UTC)
STRANDED = timedelta(minutes=1)
"""How long work of a build waits before it is called stranded: a rollout takes a moment."""

_ENDED = (
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED,
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE,
)


@dataclass(frozen=True)
class StrandedBuild:
    """A build with work and without a worker: its runs go on when one comes, or are moved."""

    deployment: str
    build: str
    tasks: int
    seconds: float
    """How long the oldest has waited."""

    def __str__(self) -> str:
        of_it = f'TemporalWorkerDeploymentVersion="{self.deployment}:{self.build}"'
        return (
            f"{self.tasks} tasks of runs that stay on build {self.build} wait for a worker, the "
            f"oldest for {self.seconds:.0f} s: start `intent-router worker` of that build with "
            f"ROUTER_WORKER_VERSION={self.build}; or, where its runs may go on with newer code, "
            f"`temporal workflow update-options --query '{of_it}' "
            "--versioning-override-behavior auto_upgrade`; or end them with `intent-router runs "
            "terminate`"
        )


async def is_polled(client: Client, queue: str, now: datetime) -> bool:
    """True where a worker that takes new work has asked lately for workflows, or activities.

    When it asked Temporal's clock says: `now` is of the house's, for this machine's may be wrong.
    """
    for kind in KINDS:
        described = await _described(client, queue, kind)
        builds = _taking_new(described.versioning_info)
        if any(_build_of(poller) in builds for poller in asked_lately(described, now)):
            return True
    return False


async def waiting_seconds(client: Client, queue: str) -> float:
    """How long the oldest workflow task waits of the builds that new work goes to; 0 for none."""
    whole = await _described(client, queue, WORKFLOWS)
    if not whole.stats.approximate_backlog_count:
        return 0.0
    versioning = whole.versioning_info
    found = [await _of_build(client, build, queue) for build in _named(versioning)]
    if None in _taking_new(versioning):
        found.append(await _of_unversioned(client, queue))
    return max(map(_age, found), default=0.0)


async def stranded(
    client: Client, deployment: str, queues: Sequence[str], now: datetime
) -> list[StrandedBuild]:
    """The builds that runs are pinned to, with tasks on one of these queues and no worker."""
    request = DescribeWorkerDeploymentRequest(
        namespace=client.namespace, deployment_name=deployment
    )
    try:
        described = await client.workflow_service.describe_worker_deployment(
            request, timeout=PATIENCE
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return []
        raise
    polls: dict[_Build, datetime] = {}
    for queue in queues:
        for kind in KINDS:
            for poller in (await _described(client, queue, kind)).pollers:
                at = poller.last_access_time.ToDatetime(tzinfo=UTC)
                polls[_build_of(poller)] = max(at, polls.get(_build_of(poller), at))
    found = []
    for summary in described.worker_deployment_info.version_summaries:
        build = summary.deployment_version
        if summary.status in _ENDED:
            continue
        all_queues = (await _version(client, build)).version_task_queues
        stats = [each.stats for each in all_queues if each.name in queues]
        tasks = sum(each.approximate_backlog_count for each in stats)
        seconds = max(map(_age, stats), default=0.0)
        came = now - timedelta(seconds=seconds)
        last = polls.get((build.deployment_name, build.build_id), NEVER)
        # A worker that had polled since would have taken it.
        if tasks and seconds >= STRANDED.total_seconds() and last < came:
            found.append(StrandedBuild(deployment, build.build_id, tasks, seconds))
    return found


_Build = tuple[str, str] | None
"""A deployment's name and a build's id; None for workers that take no part in versioning."""


def _named(versioning: TaskQueueVersioningInfo) -> Iterator[WorkerDeploymentVersion]:
    for version in (versioning.current_deployment_version, versioning.ramping_deployment_version):
        if version.build_id:
            yield version


def _taking_new(versioning: TaskQueueVersioningInfo) -> set[_Build]:
    """The builds that new work goes to: the current one, and one that is tried beside it."""
    named: set[_Build] = {(v.deployment_name, v.build_id) for v in _named(versioning)}
    return named if versioning.current_deployment_version.build_id else {None, *named}


def _build_of(poller: PollerInfo) -> _Build:
    options = poller.deployment_options
    if options.worker_versioning_mode != WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED:
        return None
    return options.deployment_name, options.build_id


def asked_lately(described: DescribeTaskQueueResponse, now: datetime) -> Iterator[PollerInfo]:
    """Those who have asked for work in the last minute and a half."""
    asked = [each.last_access_time.ToDatetime(tzinfo=UTC) for each in described.pollers]
    latest = max(asked, default=now)
    since = (now if now - latest < LISTED else latest) - LATELY
    for poller, at in zip(described.pollers, asked, strict=True):
        if at > since:
            yield poller


def _age(stats: TaskQueueStats) -> float:
    if not stats.approximate_backlog_count:
        return 0.0
    return stats.approximate_backlog_age.ToTimedelta().total_seconds()


async def _described(
    client: Client, queue: str, kind: TaskQueueType.ValueType
) -> DescribeTaskQueueResponse:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=kind,
        report_stats=True,
    )
    return await client.workflow_service.describe_task_queue(request, timeout=PATIENCE)


async def _version(
    client: Client, build: WorkerDeploymentVersion
) -> DescribeWorkerDeploymentVersionResponse:
    request = DescribeWorkerDeploymentVersionRequest(
        namespace=client.namespace, deployment_version=build, report_task_queue_stats=True
    )
    service = client.workflow_service
    return await service.describe_worker_deployment_version(request, timeout=PATIENCE)


async def _of_build(client: Client, build: WorkerDeploymentVersion, queue: str) -> TaskQueueStats:
    queues = (await _version(client, build)).version_task_queues
    wanted = (each.stats for each in queues if each.name == queue and each.type == WORKFLOWS)
    return next(wanted, TaskQueueStats())


async def _of_unversioned(client: Client, queue: str) -> TaskQueueStats:
    # The mode is an older one, and the only one that tells these tasks from those of builds.
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        api_mode=DescribeTaskQueueMode.DESCRIBE_TASK_QUEUE_MODE_ENHANCED,
        versions=TaskQueueVersionSelection(unversioned=True),
        task_queue_types=[WORKFLOWS],
        report_stats=True,
    )
    answer = await client.workflow_service.describe_task_queue(request, timeout=PATIENCE)
    return answer.versions_info[""].types_info[WORKFLOWS].stats
