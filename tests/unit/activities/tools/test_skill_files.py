"""The tools that work on the folder of the skill that calls them."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest

from activities import provided
from activities.sandbox import Output, Script, sandbox
from activities.tool_results import PAGE, text_pages
from router.contracts.activities import ToolCall
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.file_types import SkillFile
from router.store.database import Database
from router.store.store import Store
from tests.one_try import run_tool
from tests.table import each_row
from tests.unit.activities.tools.conftest import ALICE, NOW, Desk

LONG = "".join(f'{number}: "上海" 600\n' for number in range(2000))
FILES = {
    "SKILL-NOTES.md": b"notes",
    "references/限额.md": "上海 600".encode(),
    "references/long.md": LONG.encode(),
    "assets/logo.png": b"\x89PNG\r\n\x1a\n\x00",
    "assets/nul.txt": b"a\x00b",
    "scripts/sum.py": b"print(1)",
    "scripts/run.js": b"1",
}


class EchoingBox:
    """A sandbox that says what it is given, and runs nothing."""

    async def run(self, script: Script, files: Mapping[str, bytes]) -> Output:
        return Output(f"{script.program} {script.arguments} {script.input}", str(sorted(files)))


class SkillDesk:
    """Calls the tools as a skill does that has some files."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.files = tuple(file_of(path, content) for path, content in FILES.items())

    async def ask(self, tool: str, **arguments: Any) -> Any:
        about: Any = {"caller": ALICE, "now": NOW, "skill_files": self.files}
        call = ToolCall(tool=tool, arguments=arguments, **about)
        return await run_tool(self._desk.registry, None, self._desk.dependencies, call)  # type: ignore[arg-type]


def file_of(path: str, content: bytes) -> SkillFile:
    return SkillFile(path=path, size=len(content), digest=sha256(content).hexdigest())


@pytest.fixture
async def skill(desk: Desk, sqlite: Database) -> SkillDesk:
    store = Store(sqlite)
    await store.skill_files.keep({sha256(c).hexdigest(): c for c in FILES.values()})
    desk.dependencies.provide(provided.skill_files, store.skill_files)
    desk.dependencies.provide(sandbox, EchoingBox())
    return SkillDesk(desk)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["references/限额.md", "./references/限额.md"])
async def test_a_text_is_read(skill: SkillDesk, path: str) -> None:
    about = {"path": "references/限额.md", "type": "text/markdown", "size": 10}
    page = {"page": 1, "pages": 1, "text": "上海 600"}
    assert await skill.ask("read_skill_file", path=path) == {**about, **page}


async def test_a_long_text_is_read_in_pages_that_a_model_sees_whole(skill: SkillDesk) -> None:
    first = await skill.ask("read_skill_file", path="references/long.md")
    pages = [
        await skill.ask("read_skill_file", path="references/long.md", page=number)
        for number in range(1, first["pages"] + 1)
    ]
    assert "".join(page["text"] for page in pages) == LONG
    assert all(page["text"].endswith("\n") for page in pages)
    assert all(len(json.dumps(page, ensure_ascii=False)) <= PAGE for page in pages)
    with pytest.raises(ArgumentsToolError, match=rf"has {len(pages)} pages, and no page 99"):
        await skill.ask("read_skill_file", path="references/long.md", page=99)


@each_row(
    "text", ["", "x" * 20_000, "\n" * 20_000, '"\\' * 9_000, "\x01" * 3_000, "好\r\n" * 5_000]
)
def test_pages_lose_nothing_whatever_the_text_is(text: str) -> None:
    pages = text_pages(text)
    assert "".join(pages) == text
    assert all(len(json.dumps(page, ensure_ascii=False)) <= PAGE - 500 for page in pages)


@pytest.mark.parametrize(
    ("path", "kind"), [("assets/logo.png", "image/png"), ("assets/nul.txt", "text/plain")]
)
async def test_what_is_no_text_is_described(skill: SkillDesk, path: str, kind: str) -> None:
    found = await skill.ask("read_skill_file", path=path)
    assert (found["type"], found["size"], found["text"]) == (kind, len(FILES[path]), None)


async def test_without_a_path_or_with_that_of_a_folder_files_are_listed(skill: SkillDesk) -> None:
    everything = await skill.ask("read_skill_file")
    assert everything["text"].count("\n") == len(FILES) - 1
    assets = await skill.ask("read_skill_file", path="assets/")
    assert assets["text"] == "- assets/logo.png (9 B)\n- assets/nul.txt (3 B)"
    assert (assets["path"], assets["type"], assets["size"]) == ("assets", "folder", 12)


HOSTILE = [
    "../SKILL.md", "references/../../etc/passwd", "references/../references/限额.md", "/etc/passwd",
    "//etc/passwd", "~/.ssh/id_rsa", "file:///etc/passwd", "/proc/self/environ", "/dev/zero",
    "references\\限额.md", "..\\..\\etc\\passwd", "%2e%2e/%2e%2e/etc/passwd",
    "references%2f限额.md", "..%c0%af..%c0%afetc/passwd", "\u2025/etc/passwd", "．．/etc/passwd",
    "references／限额.md", "references/限额.md ", "references/限额.md/", "references/限额.md/..",
    "REFERENCES/限额.md", "././references/限额.md", "references//限额.md", "SKILL.md",
    "C:\\Windows", "$HOME", "`id`", "*", "references/\u202e限额.md", "a" * 200,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("tool", ["read_skill_file", "run_skill_script"])
async def test_no_path_leads_out_of_its_files(skill: SkillDesk, tool: str, path: str) -> None:
    with pytest.raises(ArgumentsToolError, match="path: there is no "):
        await skill.ask(tool, path=path)


@pytest.mark.parametrize("path", ["a\0b", "references/限额.md\0.png", "a\x1b", "a" * 201, 3, None])
async def test_what_is_no_path_is_refused_by_the_gate(skill: SkillDesk, path: object) -> None:
    with pytest.raises(ArgumentsToolError, match="path: "):
        await skill.ask("read_skill_file", path=path)


async def test_who_asks_for_what_is_not_there_is_told_what_is(skill: SkillDesk) -> None:
    with pytest.raises(ArgumentsToolError, match=r"there are: references/long\.md"):
        await skill.ask("read_skill_file", path="reference/long.md")
    skill.files = ()
    with pytest.raises(ArgumentsToolError, match="there are: none"):
        await skill.ask("read_skill_file")


async def test_a_file_that_is_no_longer_kept_is_said_to_be_gone(skill: SkillDesk) -> None:
    skill.files = (file_of("references/old.md", b"older than a month"),)
    with pytest.raises(PermanentToolError, match=r"references/old\.md is no longer kept"):
        await skill.ask("read_skill_file", path="references/old.md")


async def test_a_script_is_run_with_all_files_of_its_skill(skill: SkillDesk) -> None:
    given = {"arguments": ["a b", "-c"], "input": "1\n"}
    ran = await skill.ask("run_skill_script", path="scripts/sum.py", **given)
    assert ran == {"output": "python ('a b', '-c') 1\n", "errors": str(sorted(FILES))}
    with pytest.raises(ArgumentsToolError, match="neither Python nor sh"):
        await skill.ask("run_skill_script", path="scripts/run.js")


@pytest.mark.parametrize("path", ["SKILL-NOTES.md", "references/long.md", "scripts", "scripts/"])
async def test_only_what_lies_in_scripts_is_run(skill: SkillDesk, path: str) -> None:
    with pytest.raises(ArgumentsToolError, match=r"there are: scripts/"):
        await skill.ask("run_skill_script", path=path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {"arguments": "a"}, {"arguments": ["a\0"]}, {"arguments": ["a"] * 31},
        {"arguments": ["a" * 2001]}, {"input": "a" * 20_001}, {"input": "\x04"},
        {"skill": "other-skill"}, {"files": []},
    ],
)  # fmt: skip
async def test_unfit_arguments_are_refused(skill: SkillDesk, arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentsToolError):
        await skill.ask("run_skill_script", path="scripts/sum.py", **arguments)
