"""The company directory, as a tool: who someone is, where they work and who leads them."""

from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from activities.colleagues import closest, name_words
from router.domain.errors import ArgumentsToolError
from router.domain.principals import EVERYONE, Directory, Principal
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.tool.dependencies import Depends
from router.tool.labels import Labelled
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
    description_zh="按姓名查找同事：所在部门和上级。",
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
        Labelled("姓名或用户编号"),
    ],
    ctx: ToolContext,
    people: Annotated[Directory, Depends(provided.directory)],
) -> Colleagues:
    """Find a colleague by name: their department and their manager.

    Parts of names will do, and so does a user id. At most ten people are shown, the closest
    first.
    """
    if not name_words(name):
        raise ArgumentsToolError(
            Localised(
                zh="name：里面没有姓名，请给出姓名的一部分",
                en="name: there is no name in it; give a part of one",
            )
        )
    fitting = closest(name, await people.holding(ctx.caller.tenant, EVERYONE))
    shown = [await _colleague(one, people) for one in fitting[:MOST_COLLEAGUES]]
    return Colleagues(people=shown, others=len(fitting) - len(shown))


async def _colleague(person: Principal, people: Directory) -> Colleague:
    manager = await people.find(person.tenant, person.manager) if person.manager else None
    return Colleague(
        name=person.name,
        department=person.department,
        manager=manager.name if manager else None,
    )
