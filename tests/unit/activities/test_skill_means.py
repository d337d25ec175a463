"""Which of the tools that work on its folder a skill is offered."""

import pytest

import activities.builtin
import activities.tools
from activities.capabilities import Capabilities
from activities.sandbox import sandbox
from router.domain.file_types import SkillFile
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.skill.skill import OF_FOLDER, READ_FILE, RUN_SCRIPT, Skill, SkillCatalog
from router.tool.registry import Registry

ALICE = Principal(id="alice", name="Alice")
NAME = Localised(zh="a", en="a")


def offered(paths: list[str], allowed: list[str] | None, *, boxed: bool = True) -> set[str]:
    registry = Registry().discover(activities.builtin, activities.tools)
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


@pytest.mark.parametrize(
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
def test_it_reads_what_it_has_and_runs_what_it_does_not_rule_out(
    paths: list[str], allowed: list[str] | None, tools: set[str]
) -> None:
    assert offered(paths, allowed) == tools


def test_without_a_sandbox_nothing_is_run() -> None:
    assert offered(["scripts/a.py"], None, boxed=False) == {READ_FILE}


def test_nobody_but_a_skill_is_offered_them() -> None:
    registry = Registry().discover(activities.builtin, activities.tools)
    assert {tool.name for tool in registry.capabilities(ALICE)}.isdisjoint(OF_FOLDER)
