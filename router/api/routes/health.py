"""Is it alive, is it ready: for load balancers and people."""

from fastapi import APIRouter, Response
from pydantic import BaseModel

from router.api.deps import Given, ModelReach
from router.api.readiness import Readiness, readiness

router = APIRouter(tags=["health"])


class Alive(BaseModel):
    """The process answers."""

    status: str = "ok"


@router.get("/healthz")
async def healthz() -> Alive:
    """Answer as long as the process runs; it asks nothing of anything else."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def readyz(services: Given, models: ModelReach, response: Response) -> Readiness:
    """Say what works, what works less well, and what doesn't; 503 where nothing can be done."""
    found = await readiness(services, models)
    if found.status == "down":
        response.status_code = 503
    return found
