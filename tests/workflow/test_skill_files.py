"""A skill's files in its runs, on a real Temporal server with a scripted model."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from activities.builtin.skill_files import read_skill_file, run_skill_script
from activities.sandbox import Bubblewrap, sandbox
from router.domain.messages import Turn
from router.runtime.composition import Parts
from router.skill.loader import read_skill
from router.skill.skill import SkillCatalog
from tests.fakes.model_server import ModelServer, calls, says
from tests.unit.skill.test_loader import beside, write
from tests.workflow.desk import Talk
from tests.workflow.tooled import talking

CHOOSE = calls(("dispatch_to_skill", {"skill_name": "trip-planner", "request": "计划去上海"}))
LIMITS = ("read_skill_file", {"path": "references/limits.md"})
SCRIPT = "import sys; print(sum(map(int, sys.argv[1:])), open('references/limits.md').read())"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    skill = write(tmp_path)
    beside(skill, "references/limits.md", "上海 600")
    beside(skill, "scripts/sum.py", SCRIPT)
    return skill


@pytest.fixture
async def talk(
    real_client: Client, parts: Parts, model: ModelServer, skill: Path
) -> AsyncIterator[Talk]:
    found = read_skill(skill)
    await parts.store.skill_files.keep(found.contents)
    tools = (read_skill_file, run_skill_script)
    with parts.dependencies.override(sandbox, Bubblewrap()):
        async with talking(real_client, parts, tools, model, [found.skill]) as talk:
            yield talk


def results(talk: Talk) -> list[Any]:
    """What its calls came to, as the model was told last: JSON, or words."""
    told = [m["content"] for m in talk.model.chats[-1]["messages"] if m["role"] == "tool"]
    return [json.loads(text) if text.startswith("{") else text for text in told]


def shown(turn: Turn) -> list[tuple[str, str]]:
    return [(call.name, call.status) for call in turn.tool_calls]


async def test_a_file_is_listed_read_and_shown_as_any_tools_call(talk: Talk) -> None:
    turn = await talk.scripted("出差去上海怎么安排比较好", CHOOSE, calls(LIMITS), says("六百。"))
    assert shown(turn) == [("read_skill_file", "done")]
    assert results(talk)[0]["text"] == "上海 600"
    rules = talk.model.chats[-1]["messages"][0]["content"]
    assert "read one by read_skill_file" in rules
    assert rules.endswith(f"\n- references/limits.md (10 B)\n- scripts/sum.py ({len(SCRIPT)} B)")


async def test_the_model_names_a_path_and_never_the_skill(talk: Talk) -> None:
    other = {"path": "references/limits.md", "skill": "other", "files": [{"path": "/etc/passwd"}]}
    bad = ("read_skill_file", {"path": "../other/SKILL.md"})
    turn = await talk.scripted(
        "出差去上海怎么安排比较好", CHOOSE, calls(("read_skill_file", other), bad), says("好。")
    )
    assert shown(turn) == [("read_skill_file", "done"), ("read_skill_file", "failed")]
    first, second = results(talk)
    assert first["text"] == "上海 600"
    assert "there is no '../other/SKILL.md' here" in second


@pytest.mark.slow
async def test_a_run_keeps_the_files_that_it_began_with(talk: Talk, skill: Path) -> None:
    await talk.scripted("出差去上海怎么安排比较好", CHOOSE, calls(("ask_user", {"text": "几天？"})))
    beside(skill, "references/limits.md", "上海 9000")
    changed = read_skill(skill)
    await talk.parts.store.skill_files.keep(changed.contents)
    talk.parts.offered.skills = SkillCatalog([changed.skill])
    shutil.rmtree(skill)
    await talk.scripted("三天", calls(LIMITS), says("六百。"))
    assert results(talk)[-1]["text"] == "上海 600"
    await talk.scripted("出差去上海怎么安排比较好", CHOOSE, calls(LIMITS), says("九千。"))
    assert results(talk)[-1]["text"] == "上海 9000"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap isn't installed")
async def test_a_script_runs_and_one_that_fails_is_an_error_for_the_model(talk: Talk) -> None:
    script = {"path": "scripts/sum.py", "arguments": ["2", "3"]}
    bad = {"path": "scripts/sum.py", "arguments": ["two"]}
    turn = await talk.scripted(
        "出差去上海怎么安排比较好",
        CHOOSE,
        calls(("run_skill_script", script), ("run_skill_script", bad)),
        says("五。"),
    )
    assert shown(turn) == [("run_skill_script", "done"), ("run_skill_script", "failed")]
    first, second = results(talk)
    assert first == {"output": "5 上海 600\n", "errors": ""}
    assert second.startswith("error: scripts/sum.py failed: status 1; ")


async def test_a_skill_without_files_is_offered_neither_tool(talk: Talk) -> None:
    (with_files,) = talk.parts.offered.skills
    without = with_files.model_copy(update={"files": ()})
    talk.parts.offered.skills = SkillCatalog([without])
    turn = await talk.scripted("出差去上海怎么安排比较好", CHOOSE, calls(LIMITS), says("好。"))
    assert [call.status for call in turn.tool_calls] == ["failed"]
    assert results(talk)[0].startswith("error: there is no tool 'read_skill_file'")
    assert "Files that belong" not in talk.model.chats[-1]["messages"][0]["content"]
