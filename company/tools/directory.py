"""The company directory, as a tool: who someone is, where they work and who leads them."""

import unicodedata
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised
from router.domain.principals import EVERYONE, Directory, Principal
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

_SHOWN = 5
"""People named where several are meant."""


def closest(name: str, people: Iterable[Principal]) -> list[Principal]:
    """Those whom `name` may mean, the closest first, whatever its width and case."""
    ranked = ((_rank(name_words(name), person), person) for person in people)
    fitting = [(rank, person) for rank, person in ranked if rank is not None]
    return [person for _, person in sorted(fitting, key=lambda found: (found[0], found[1].name))]


async def the_one(name: str, directory: Directory, tenant: str, field: str) -> Principal:
    """The one person of this id, or of these whole words of a name; or `ArgumentsToolError`."""
    if (known := await directory.find(tenant, name.strip())) is not None:
        return known
    alike = closest(name, await directory.holding(tenant, EVERYONE)) if name_words(name) else []
    ranks = [_rank(name_words(name), person) for person in alike]
    for wanted in (0, 1):
        if ranks.count(wanted) == 1:
            return alike[ranks.index(wanted)]
        if wanted in ranks:
            break
    raise ArgumentsToolError(_why_not(name[:60], alike, field))


def name_words(name: str) -> list[str]:
    """The words of a name in one spelling; none where there is nothing of a name in it."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace(".", " ")
    return "".join(sign for sign in folded if unicodedata.category(sign) != "Cf").split()


def _rank(wanted: list[str], person: Principal) -> int | None:
    """0 where it is this very person, higher the looser the fit, None where it is another."""
    words = name_words(person.name)
    if wanted in (words, name_words(person.id)):
        return 0
    if all(word in words for word in wanted):
        return 1
    if all(any(own.startswith(word) for own in words) for word in wanted):
        return 2
    return 3 if all(any(word in own for own in words) for word in wanted) else None


def _why_not(name: str, alike: list[Principal], field: str) -> Localised:
    if not alike:
        zh = f"{field}：这里没有“{name}”这个人，请核对姓名"
        return Localised(zh=zh, en=f"{field}: {name!r} is nobody here; check the name")
    shown, more = alike[:_SHOWN], len(alike) - _SHOWN
    zh = "、".join(f"{p.name}（{p.department or '无部门'}）" for p in shown)
    en = ", ".join(f"{p.name} ({p.department or 'no department'})" for p in shown)
    if more > 0:
        zh, en = f"{zh}等，还有 {more} 位", f"{en} and {more} more"
    zh = f"{field}：“{name}”可能是{zh}，请说明是哪一位"
    return Localised(zh=zh, en=f"{field}: {name!r} may be {en}; say which")


MOST_COLLEAGUES = 10


class Colleague(BaseModel):
    """What everyone may know of everyone: no ids, roles or whereabouts."""

    name: str
    department: str | None
    manager: str | None


class Colleagues(BaseModel):
    """Those who fit best; `others` counts those who fit too and aren't shown."""

    people: list[Colleague]
    others: int


@tool(
    permission="read",
    title={"zh": "查找同事", "en": "Find a colleague"},
    description_zh="按姓名查找同事：所在部门和上级。",
    examples=["王丽是哪个部门的", "Bob 的经理是谁", "who is carol", "which department is frank in"],
)
async def find_colleague(
    name: Annotated[
        str,
        Field(
            description="A name or a part of one, in any script, or a user id",
            min_length=1,
            max_length=100,
        ),
        ChineseLabel("姓名或用户编号"),
    ],
    ctx: ToolContext,
    people: Annotated[Directory, Depends(provided.directory)],
) -> Colleagues:
    """Find a colleague by name: their department and their manager.

    Parts of names will do, and so does a user id. At most ten people are shown, the closest
    first.
    """
    if not name_words(name):
        zh = "name：里面没有姓名，请给出姓名的一部分"
        en = "name: there is no name in it; give a part of one"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    fitting = closest(name, await people.holding(ctx.caller.tenant, EVERYONE))
    shown = [await _colleague(one, people) for one in fitting[:MOST_COLLEAGUES]]
    return Colleagues(people=shown, others=len(fitting) - len(shown))


async def _colleague(person: Principal, people: Directory) -> Colleague:
    manager = await people.find(person.tenant, person.manager) if person.manager else None
    return Colleague(
        name=person.name, department=person.department, manager=manager.name if manager else None
    )
