"""Badges over HTTP."""

from fastapi import APIRouter

from router.api.dependencies import Caller, Given

router = APIRouter(prefix="/v1/badges")


@router.post("/{number}")
async def print_badge(number: str, caller: Caller, services: Given) -> str:
    """Print a badge, however long that takes."""
    printed = await services.temporal.execute_workflow(
        "badges.Printing",
        number,
        id=f"badge/{caller.tenant}/{number}",
        task_queue=services.settings.task_queue,
        result_type=str,
    )
    return str(printed)
