"""How the caller wishes to be written to unasked: theirs alone, to be seen and set."""

from fastapi import APIRouter

from router.api.dependencies import Given, Person
from router.api.errors import problems
from router.api.params import StrictRoute
from router.extensions.notifications.preferences import NotificationPreferences
from router.extensions.notifications.store import Notifications
from router.extensions.notifications.wishes import checked

router = APIRouter(
    prefix="/v1/notification-preferences", tags=["notifications"], route_class=StrictRoute
)


@router.get("", responses=problems())
async def show(services: Given, caller: Person) -> NotificationPreferences:
    """Show what the caller has chosen, or what is usual."""
    return await Notifications(services.store.database).chosen(caller.tenant, caller.id)


@router.put("", responses=problems(400, 413, 415))
async def choose(
    services: Given, caller: Person, body: NotificationPreferences
) -> NotificationPreferences:
    """Choose all of it anew; what is left out is as for everybody. 422 where it can't be had."""
    theirs = sorted(services.directory.accounts_of(caller.tenant, caller.id))
    chosen = checked(body, theirs)
    await Notifications(services.store.database).choose(caller.tenant, caller.id, chosen)
    return chosen
