"""Workflows in the product's sandbox: no workflow is asked whose its payloads are."""

from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from router.runtime.sandbox import OneContextRunner
from router.secrecy.codec import SharedConverter, data_converter
from router.settings.values import PayloadKeys


class Prepared(WorkflowRunner):
    def __init__(self) -> None:
        self.told: list[object] = []

    def prepare_workflow(self, defn: object) -> None:
        self.told.append(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        raise NotImplementedError

    def set_worker_level_failure_exception_types(self, types: object) -> None:
        self.told.append(types)


def test_the_runner_prepares_workflows_as_the_other_does() -> None:
    other = Prepared()
    runner = OneContextRunner(other)
    runner.prepare_workflow("a workflow")
    runner.set_worker_level_failure_exception_types([ValueError])
    assert other.told == ["a workflow", [ValueError]]


def test_every_converter_of_a_process_shares_what_it_knows_of_types_without_contexts() -> None:
    assert SharedConverter() is SharedConverter()
    converter = data_converter(PayloadKeys()).payload_converter
    assert converter.with_context(None) is converter  # type: ignore[attr-defined]


async def test_it_reads_what_another_has_written() -> None:
    first, second = (data_converter(PayloadKeys()) for _ in range(2))
    assert await second.decode(await first.encode([{"a": 1}]), [dict[str, int]]) == [{"a": 1}]
