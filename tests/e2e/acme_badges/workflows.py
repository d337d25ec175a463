"""Workflows of badges."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from .printing import BadgePrinter


@workflow.defn(name="badges.Printing")
class Printing:
    """Prints a badge."""

    @workflow.run
    async def run(self, number: str) -> str:
        """Print it, and say where."""
        return await workflow.execute_activity_method(
            BadgePrinter.print_badge, number, start_to_close_timeout=timedelta(minutes=1)
        )
