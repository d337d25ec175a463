"""Whom one may be in `dev` mode: what the chat page's sign-in offers. Absent under `jwt`."""

from fastapi import APIRouter
from pydantic import BaseModel

from router.api.deps import Given
from router.domain.texts import Locale

router = APIRouter(prefix="/v1/dev/users", tags=["dev"], include_in_schema=False)


class Person(BaseModel):
    """Somebody to sign in as."""

    id: str
    name: str
    locale: Locale
    roles: list[str]


@router.get("")
async def index(services: Given) -> list[Person]:
    """List everybody in the directory."""
    return [
        Person(id=p.id, name=p.name, locale=p.locale, roles=sorted(p.roles))
        for p in services.directory.everyone()
    ]
