"""People: who is calling, whom one may name, and in `dev` mode whom one may be."""

from fastapi import APIRouter
from pydantic import BaseModel

from router.api.dependencies import Caller, Given
from router.api.errors import problems
from router.api.hand_offs import helps
from router.domain.locale import Locale
from router.domain.principals import Principal

router = APIRouter(prefix="/v1", tags=["people"])
sign_in = APIRouter(prefix="/v1/dev/users", tags=["dev"], include_in_schema=False)
"""What the chat page's sign-in offers. Absent under `jwt`."""


class Person(BaseModel):
    """Somebody with what they may do."""

    id: str
    name: str
    locale: Locale
    timezone: str
    """An IANA name, such as `Asia/Shanghai`."""
    roles: list[str]

    @classmethod
    def of(cls, person: Principal) -> "Person":
        """The person as whoever may be them sees it."""
        shown = person.model_dump(include={"id", "name", "locale", "timezone"})
        return cls(**shown, roles=sorted(person.roles))


class Me(Person):
    """Who is calling, and whom they talk to."""

    assistant: str | None
    """What the desk is called to people of their tenant; null where nobody has said."""
    helps: bool
    """Whether they may take conversations that are handed to people."""


class PersonView(BaseModel):
    """Somebody as everybody may know them: whom to ask, and who it was."""

    id: str
    name: str
    department: str | None


class ColleaguePage(BaseModel):
    """All of them, ordered by id; there is never a next page."""

    items: list[PersonView]
    next: str | None = None


@router.get("/me", responses=problems())
async def me(services: Given, caller: Caller) -> Me:
    """Say who the token stands for, and what the desk is called that they talk to."""
    persona = services.persona_of(caller.tenant)
    assistant = persona.name.within(caller.locale) if persona is not None else None
    person = Person.of(caller).model_dump()
    return Me(**person, assistant=assistant, helps=helps(services, caller))


@router.get("/people", responses=problems())
async def colleagues(services: Given, caller: Caller) -> ColleaguePage:
    """List the people of the caller's directory, such as a decision may be passed to."""
    everyone = services.directory.everyone(caller.tenant)
    shown = [PersonView(id=p.id, name=p.name, department=p.department) for p in everyone]
    return ColleaguePage(items=shown)


@sign_in.get("")
async def index(services: Given) -> list[Person]:
    """List everybody in the directory."""
    return [Person.of(person) for person in services.directory.everyone()]
