"""What may be done here: tools as flows, how often they are called, what skills are offered."""

from datetime import timedelta
from typing import Any

import activities.builtin
import company.tools
from activities.capabilities import Capabilities
from activities.sandbox import sandbox
from router.contracts.flow import CallLimits
from router.domain.file_types import SkillFile
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.skill.skill import OF_FOLDER, READ_FILE, RUN_SCRIPT, Skill, SkillCatalog
from router.tool.registry import CODE, Registry
from router.tool.tool import Tool, tool
from tests.table import each_row

ALICE = Principal(id="alice", name="Alice")
NAME = Localised(zh="a", en="a")


@tool(permission="write")
async def book(room: str) -> None:
    """Book a room."""


BOOK = book


def offering(*tools: Tool) -> Capabilities:
    registry = Registry()
    for each in tools:
        registry.add(each)
    return Capabilities(Catalog([]), SkillCatalog([]), registry)


def test_a_form_is_made_once_until_its_tool_is_declared_anew() -> None:
    @tool(permission="write")
    async def book(room: str, seats: int) -> None:
        """Book a room for so many."""

    offered = offering(BOOK)
    before = offered.definition("book")
    assert before is not None
    assert offered.definition("book") is before
    assert list(offered.slots("book")) == ["room"]
    offered.registry.replace(CODE, [book])
    assert list(offered.slots("book")) == ["room", "seats"]


def test_nobody_starts_what_is_neither_a_flow_nor_a_tool() -> None:
    assert offering().definition("book") is None
    assert offering().slots("book") == {}


def limits(**options: Any) -> CallLimits:
    async def send() -> None:
        """Send."""

    return offering(tool(permission="write", **options)(send)).limits("send")


@each_row(
    ("timeout", "silent"), [("100ms", 1.5), ("1500ms", 1.5), ("3s", 3), ("10s", 5), ("10m", 5)]
)
def test_a_dead_worker_is_noticed_within_a_few_seconds(timeout: str, silent: float) -> None:
    assert limits(timeout=timeout).heartbeat == timedelta(seconds=silent)


def test_a_workflow_waits_longer_than_the_worker_which_keeps_the_time_itself() -> None:
    assert limits(timeout="2s").timeout > timedelta(seconds=2)


@each_row(("retries", "attempts"), [(0, 1), (3, 4), (None, 0)])
@each_row("idempotent", [True, False])
def test_what_a_write_did_is_asked(idempotent: bool, retries: int | None, attempts: int) -> None:
    assert limits(idempotent=idempotent, retries=retries).attempts == attempts


def test_a_tool_that_is_gone_is_called_once() -> None:
    assert offering().limits("gone").attempts == 1


def of_folder(paths: list[str], allowed: list[str] | None, *, boxed: bool = True) -> set[str]:
    registry = Registry().discover(activities.builtin, company.tools)
    if not boxed:
        registry.withhold(sandbox)
    skill = Skill(
        name="a",
        title=NAME,
        description=NAME,
        instructions="a",
        allowed_tools=None if allowed is None else frozenset(allowed),
        files=tuple(SkillFile(path=path, size=1, digest="") for path in paths),
    )
    capabilities = Capabilities(Catalog([]), SkillCatalog([skill]), registry)
    return set(capabilities.tools_of(skill, ALICE)) & OF_FOLDER


@each_row(
    ("paths", "allowed", "tools"),
    [
        ([], None, set()),
        ([], [READ_FILE, RUN_SCRIPT], set()),
        (["references/a.md"], None, {READ_FILE}),
        (["references/a.md"], ["calculate"], {READ_FILE}),
        (["references/a.md"], [RUN_SCRIPT], {READ_FILE}),
        (["scripts/a.py"], None, {READ_FILE, RUN_SCRIPT}),
        (["scripts/a.py"], [RUN_SCRIPT], {READ_FILE, RUN_SCRIPT}),
        (["scripts/a.py"], ["calculate"], {READ_FILE}),
        (["scripts/a.py"], ["Bash(python:*)"], {READ_FILE}),
        (["scripts/a.py"], [], {READ_FILE}),
    ],
)
def test_a_skill_reads_and_runs(
    paths: list[str], allowed: list[str] | None, tools: set[str]
) -> None:
    assert of_folder(paths, allowed) == tools


def test_without_a_sandbox_nothing_is_run() -> None:
    assert of_folder(["scripts/a.py"], None, boxed=False) == {READ_FILE}


def test_nobody_but_a_skill_is_offered_what_works_on_its_folder() -> None:
    registry = Registry().discover(activities.builtin, company.tools)
    assert {tool.name for tool in registry.capabilities(ALICE)}.isdisjoint(OF_FOLDER)


def test_a_hidden_skill_is_listed_to_people_and_offered_to_no_model() -> None:
    def made(name: str, **more: bool) -> Skill:
        return Skill(name=name, title=NAME, description=NAME, instructions="x", **more)

    skills = [made("both"), made("named", by_model=False), made("untold", by_name=False)]
    offered = Capabilities(Catalog([]), SkillCatalog(skills), Registry())
    near = dict.fromkeys(("both", "named", "untold"), "")
    assert [one.name for one in offered.choosable_by(ALICE)] == ["both", "untold"]
    assert [*offered.offer(ALICE, near, active=None).skills] == ["both", "untold"]
    assert [one.name for one in offered.listed()] == ["both", "named"]
    assert [one.name for one in offered.visible_to(ALICE)] == ["both", "named", "untold"]
