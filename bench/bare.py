"""The floor: what a turn of the same shape costs where nothing is computed and nothing kept.

In a file of its own, because workflows are loaded once more in Temporal's sandbox, with
everything that their file imports. Printing nothing, it is no benchmark by itself.
"""

from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client


@workflow.defn(name="BareSecond")
class BareSecond:
    """The workflow that is told."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def tell(self, word: str) -> str:
        return word


@workflow.defn(name="BareFirst")
class BareFirst:
    """The workflow that is asked."""

    @workflow.run
    async def run(self, second: str) -> None:
        self._second = second
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def turn(self, word: str) -> str:
        word = await workflow.execute_local_activity(
            "bare_read", word, start_to_close_timeout=timedelta(seconds=5), result_type=str
        )
        return await workflow.execute_activity(
            "bare_tell",
            args=[self._second, word],
            start_to_close_timeout=timedelta(seconds=5),
            result_type=str,
        )


@workflow.defn(name="BareRouted")
class BareRouted:
    """A routed turn: a local activity, activities one after the other, a local activity."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def turn(self, word: str, activities: int) -> str:
        limit = timedelta(seconds=5)
        word = await workflow.execute_local_activity(
            "bare_read", word, start_to_close_timeout=limit, result_type=str
        )
        for _ in range(activities):
            word = await workflow.execute_activity(
                "bare_do", word, start_to_close_timeout=limit, result_type=str
            )
        return await workflow.execute_local_activity(
            "bare_read", word, start_to_close_timeout=limit, result_type=str
        )


@workflow.defn(name="BareKept")
class BareKept:
    """A turn that is kept: the least is one local activity, which writes one row."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def turn(self, word: str) -> str:
        return await workflow.execute_local_activity(
            "bare_keep", word, start_to_close_timeout=timedelta(seconds=10), result_type=str
        )

    @workflow.update
    async def called(self, word: str) -> str:
        """A turn that a tool answers: read, one activity, and kept."""
        limit = timedelta(seconds=10)
        word = await workflow.execute_local_activity(
            "bare_read", word, start_to_close_timeout=limit, result_type=str
        )
        word = await workflow.execute_activity(
            "bare_do", word, start_to_close_timeout=limit, result_type=str
        )
        return await workflow.execute_local_activity(
            "bare_keep", word, start_to_close_timeout=limit, result_type=str
        )


@workflow.defn(name="BareToldAndKept")
class BareToldAndKept:
    """A flow's turn that is kept: read, tell a second workflow, write one row."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def turn(self, word: str) -> str:
        limit = timedelta(seconds=10)
        word = await workflow.execute_local_activity(
            "bare_read", word, start_to_close_timeout=limit, result_type=str
        )
        word = await workflow.execute_activity(
            "bare_tell",
            args=[f"second-{workflow.info().workflow_id}", word],
            start_to_close_timeout=limit,
            result_type=str,
        )
        return await workflow.execute_local_activity(
            "bare_keep", word, start_to_close_timeout=limit, result_type=str
        )


@activity.defn
async def bare_do(word: str) -> str:
    return word


@activity.defn
async def bare_read(word: str) -> str:
    return word


class BareTeller:
    """Updates the second workflow."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn
    async def bare_tell(self, second: str, word: str) -> str:
        return await self._client.get_workflow_handle(second).execute_update(
            "tell", word, result_type=str
        )
