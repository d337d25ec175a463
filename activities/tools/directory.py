"""The company directory, as a tool: who someone is, where they work and who leads them."""

import unicodedata
from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from router.domain.errors import ArgumentsToolError
from router.domain.principals import EVERYONE, Directory, Principal
from router.tool.context import ToolContext
from router.tool.dependencies import Depends
from router.tool.tool import tool

MOST_COLLEAGUES = 10


class Colleague(BaseModel):
    """What everyone may know of everyone: no ids, roles or whereabouts."""

    name: str
    department: str | None
    manager: str | None
    """The manager's name; null where there is none."""


class Colleagues(BaseModel):
    """Those who fit best; `others` counts those who fit too and aren't shown."""

    people: list[Colleague]
    others: int


@tool(
    permission="read",
    title={"zh": "查找同事", "en": "Find a colleague"},
    examples=[
        "王丽是哪个部门的",
        "Bob 的经理是谁",
        "who is carol",
        "which department is frank in",
    ],
)
async def find_colleague(
    name: Annotated[
        str,
        Field(
            description="A name or a part of one, in any script, or a user id",
            min_length=1,
            max_length=100,
        ),
    ],
    ctx: ToolContext,
    people: Annotated[Directory, Depends(provided.directory)],
) -> Colleagues:
    """Find a colleague by name: their department and their manager.

    Parts of names will do, and so does a user id. At most ten people are shown, the closest
    first.
    """
    wanted = _words(name)
    if not wanted:
        raise ArgumentsToolError("name: there is no name in it; give a part of one")
    tenant = ctx.caller.tenant
    ranked = [(_rank(wanted, one), one) for one in await people.holding(tenant, EVERYONE)]
    fitting = sorted(
        ((rank, one) for rank, one in ranked if rank is not None),
        key=lambda found: (found[0], found[1].name),
    )
    shown = [await _colleague(one, people) for _, one in fitting[:MOST_COLLEAGUES]]
    return Colleagues(people=shown, others=len(fitting) - len(shown))


def _words(text: str) -> list[str]:
    """The words of a name in one spelling: neither width, case nor a full stop matters."""
    return unicodedata.normalize("NFKC", text).casefold().replace(".", " ").split()


def _rank(wanted: list[str], person: Principal) -> int | None:
    """0 where it is this very person, higher the looser the fit, None where it is another."""
    words = _words(person.name)
    if wanted in (words, _words(person.id)):
        return 0
    if all(word in words for word in wanted):
        return 1
    if all(any(own.startswith(word) for own in words) for word in wanted):
        return 2
    return 3 if all(any(word in own for own in words) for word in wanted) else None


async def _colleague(person: Principal, people: Directory) -> Colleague:
    manager = await people.find(person.tenant, person.manager) if person.manager else None
    return Colleague(
        name=person.name,
        department=person.department,
        manager=manager.name if manager else None,
    )
