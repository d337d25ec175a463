"""The pages: their snippets, their links, their references."""

import inspect
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel, TypeAdapter
from ruamel.yaml import YAML

from docs.generate import FOLDER, PAGES, REMEDY
from docs.generate.commands import commands, commands_page
from docs.generate.models import undescribed
from docs.generate.rest import operations, rest_page
from docs.generate.tool_files import HTTP_MODELS, option_docs
from router.api.turns import MessageBody
from router.cli import app
from router.cli.schemas import attribute_docs
from router.directory.file import FileDirectory
from router.directory.persona import Persona
from router.domain.budgets import Budget, Budgets
from router.extensions.evaluation.commands.prompt_jobs import job_inputs
from router.extensions.evaluation.dataset import LabelledLine
from router.extensions.evaluation.prompt_cases import read_cases
from router.extensions.http.openapi import OpenApiReferences, operations_of, taken_by
from router.extensions.mcp.file import ServerEntry, ToolEntry
from router.flow.definition import State, Triggers, Withdrawal
from router.flow.loader import load_flow
from router.flow.slot_types.slot import Slot
from router.flow.states import FILE_MODELS
from router.outbound.guard import OutboundGuard
from router.runtime.extensions import setting_sections
from router.runtime.server import openapi_document
from router.settings import Fallback, Settings
from router.settings.project import TABLE, table_of
from router.skill.loader import read_skill
from router.tool.tool import tool
from router.webhook.webhook_files import load_event_sources, load_webhooks
from tests.compose.house import TYPED, blocks
from tests.docs.snippets import COMPOSED, PLAYED, ROOT, Snippet, all_snippets, snippets_of
from tests.docs.test_tutorials import DESK, lines_of, slips
from tests.fakes.webhook_consumer import SECRET
from tests.table import each_row
from tests.unit.cli.conftest import Run, run  # noqa: F401 - a fixture


def check_shell(snippet: Snippet, _: Path) -> None:
    """Commands exist, with these options and arguments."""
    assert list(slips(snippet.text)) == []


def check_yaml(snippet: Snippet, folder: Path) -> None:
    """A flow, its stories, a part of it, cases of prompts, people, or a document of operations."""
    text = snippet.text
    if text.startswith("flow:"):
        name = text.partition("\n")[0].partition(": ")[2]
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        load_flow(folder / f"{name}.yaml")
        return
    if text.startswith("job:"):
        (folder / "cases.yaml").write_text(text, encoding="utf-8")
        assert read_cases(folder / "cases.yaml", job_inputs([]))
        return
    if "secret_env:" in text:
        path = folder / "webhooks.yaml"
        path.write_text(text, encoding="utf-8")
        secrets = dict.fromkeys(re.findall("secret_env: (.+)", text), SECRET)
        told = "url:" in text
        assert (
            load_webhooks(path, secrets, OutboundGuard(["http://127.0.0.1:9000"]))
            if told
            else load_event_sources(path, secrets)
        )
        return
    if snippet.title == "persona.yaml":
        Persona.model_validate(YAML(typ="safe", pure=True).load(text))
        return
    if snippet.marker == "people":
        listed = text if text.startswith("users:") else f"users:\n{text}"
        FileDirectory.read(listed, str(snippet))
        return
    filled = text.replace("{…}", '{zh: "…", en: "…"}').replace(", …}", "}")
    data = YAML(typ="safe", pure=True).load(textwrap.dedent(filled))
    if text.startswith("- story:"):
        assert all(story["steps"] for story in data)  # played elsewhere
    elif text.startswith("openapi:"):
        references = OpenApiReferences(data)
        assert all(taken_by(each, references) for each in operations_of(data, references))
    elif snippet.marker == "step of a pipeline":
        assert list(slips(data[0]["run"])) == []
    else:
        check_part(data)


def check_part(part: dict[str, Any]) -> None:
    """A part of a flow file that a page shows by itself: states by name, or something else."""
    for name, value in part.items():
        if name in {"names", "verbs"}:
            TypeAdapter(tuple[str, ...]).validate_python(value, strict=False)
        elif "type" in value:
            Slot.model_validate(value)
        else:
            kinds: dict[str, Any] = {"triggers": Triggers, "withdrawal": Withdrawal}
            kinds.get(name, State).model_validate(value)


def check_json(snippet: Snippet, _: Path) -> None:
    """JSON; what looks like a message is one."""
    shown = json.loads(snippet.text)
    if "action" in shown:
        MessageBody.model_validate(shown)


def check_lines(snippet: Snippet, _: Path) -> None:
    """Labelled messages, as `eval` reads them."""
    for line in snippet.text.splitlines():
        LabelledLine.model_validate_json(line)


def check_python(snippet: Snippet, _: Path) -> None:
    """Python; the tests of each page run what it shows."""
    compile(snippet.text.replace(", …)", ")"), str(snippet), "exec")


def check_skill(snippet: Snippet, folder: Path) -> None:
    """A skill's `SKILL.md`."""
    name = re.search(r"^name: (.+)$", snippet.text, re.MULTILINE)
    assert name is not None
    (folder / name[1]).mkdir()
    (folder / name[1] / "SKILL.md").write_text(snippet.text, encoding="utf-8")
    read_skill(folder / name[1])


def check_toml(snippet: Snippet, _: Path) -> None:
    """It is TOML, and its settings exist."""
    declared = tomllib.loads(snippet.text).get("tool", {}).get(TABLE, {})
    sections = setting_sections(Settings(_env_file=None))
    for name, value in declared.items():
        own = (each.model_fields for each in sections if table_of(each.prefix()) == name)
        assert name in Settings.model_fields or value.keys() <= set[str]().union(*own)


CHECKS: Mapping[str, Callable[[Snippet, Path], None]] = {
    "sh": check_shell,
    "yaml": check_yaml,
    "toml": check_toml,
    "json": check_json,
    "jsonl": check_lines,
    "python": check_python,
    "markdown": check_skill,
}


SNIPPETS = all_snippets()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_a_snippet_is_what_it_says_or_why_it_is_not_run(snippet: Snippet, tmp_path: Path) -> None:
    if snippet.why_not:
        assert len(snippet.why_not.split()) > 3, f"{snippet}: say why, in words"
    elif snippet.marker.startswith(COMPOSED):
        assert snippet.marker.removeprefix(COMPOSED) in TYPED
    elif snippet.marker != PLAYED:
        assert snippet.text.strip()
        if snippet.language not in {"dialogue", "mermaid", "text", ""}:
            CHECKS[snippet.language](snippet, tmp_path)


def test_every_block_that_the_compose_test_types_is_on_its_page() -> None:
    assert sorted(blocks()) == sorted(TYPED)


@each_row(
    ("script", "slip"),
    [
        ("intent-router flows validat x.yaml", "there is no command flows validat x.yaml"),
        (".venv/bin/intent-router route", "Missing argument 'text'"),
        ("intent-router route 请假 --jsn", "No such option: --jsn"),
        ("echo 1 | intent-router chta", "there is no command chta"),
        ("make devel", "there is no target devel"),
        ("ROUTER_FLOW=x make dev", "there is no setting ROUTER_FLOW"),
        ("export ROUTER_LLM_MODLE=x", "there is no setting ROUTER_LLM_MODLE"),
        ("python3 -m no_such_module", "there is no module no_such_module"),
        ("rm -rf /", "nobody checks rm"),
    ],
)
def test_a_slip_in_a_command_is_seen(script: str, slip: str) -> None:
    (seen,) = slips(script)
    assert slip in seen


READMES = {"README.md": "frank", "README.zh-CN.md": "alice"}
_PROMISE = re.compile(r"^\| `(?P<said>[^`]+)` \| .*`(?P<target>\w+)` \|$", re.MULTILINE)


def steps_of(page: str) -> Iterator[dict[str, Any]]:
    """Its dialogue as the steps of a story."""
    (dialogue,) = [s for s in snippets_of(ROOT / page) if s.language == "dialogue"]
    for who, what in lines_of(dialogue):
        if who == DESK:
            yield {"bot": what}
        elif what.startswith("("):
            yield {"approver": {who: what.strip("()")}}
        else:
            yield {"user": what}


@pytest.mark.slow
@pytest.mark.parametrize("page", READMES)
def test_what_there_is_to_try_and_its_dialogue_go_as_printed(
    run: Run,  # noqa: F811
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    promises = _PROMISE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(promises) == 5
    asked = "\n".join(said for said, _ in promises).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(asked)))
    answers = run("route", "-", "--user", READMES[page]).out.splitlines()
    for (said, target), answer in zip(promises, answers, strict=True):
        decision = json.loads(answer)["decision"]
        assert target in {decision["kind"], decision.get("target")}, said
    story = [{"story": page, "user": READMES[page], "steps": list(steps_of(page))}]
    Path("leave_request.yaml").write_text(json.dumps(story, ensure_ascii=False), encoding="utf-8")
    outcome = run("flows", "test", "leave_request.yaml")
    assert outcome.status == 0, outcome.out + outcome.err


@each_row("page", READMES)
def test_it_is_read_in_two_minutes(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|\]\([^)]*\)|<!--.*?-->", "", text, flags=re.DOTALL)
    words = len(re.findall(r"[A-Za-z']+", prose)) + len(re.findall("[\u4e00-\u9fff]", prose)) / 1.6
    assert words < 500


@each_row("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"docs/reference/{name} is old: {REMEDY}"


def test_no_page_lies_there_that_nobody_makes() -> None:
    assert {page.name for page in FOLDER.iterdir()} == set(PAGES)


@pytest.mark.slow
def test_every_key_and_option_of_a_tool_says_what_it_means() -> None:
    others: list[type[BaseModel]] = [Settings, Fallback, Budget, Budgets, ServerEntry, ToolEntry]
    models: list[type[BaseModel]] = [*FILE_MODELS, *HTTP_MODELS, *others]
    assert {model.__name__: undescribed(model) for model in models if undescribed(model)} == {}
    assert set(inspect.signature(tool).parameters) == set(option_docs())


@pytest.mark.slow
def test_every_command_and_call_of_the_api_has_a_section() -> None:
    names = [name for name, _ in commands(typer.main.get_command(app))]
    assert {"dev", "flows validate", "tools call"} <= set(names)
    written = commands_page()
    assert [name for name in names if f"## `{name}`" not in written] == []
    calls = [f"### `{way} {path}`" for way, path, _ in operations(openapi_document())]
    assert len(calls) > 20
    described = rest_page()
    assert [call for call in calls if call not in described] == []


class Parent(BaseModel):
    one: int = 1
    """The first."""


class Child(Parent):
    two: int = 2
    """Said over
    two lines."""
    three: int = 3


def test_what_stands_below_an_attribute_is_its_meaning_inherited_ones_included() -> None:
    assert attribute_docs(Child) == {"one": "The first.", "two": "Said over two lines."}


_LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=\"(?P<src>[^\"]+)\""
    r"|<link[^>]*\srel=\"(?:stylesheet|preconnect|icon)\"[^>]*\shref=\"(?P<href>[^\"]+)\""
    r"|url\((?P<url>https?:[^)]+)\)|@import \"(?P<import>[^\"]+)\""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a link or an anchor that leads nowhere ends it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_there_and_none_asks_for_a_diagram_from_elsewhere(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")}
    assert {p for p in pages if not (site / p.with_suffix(".html")).exists()} == set()
    assert not [p for p in site.rglob("*.html") if 'class="mermaid"' in p.read_text()]


@pytest.mark.slow
def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    loaded = {
        next(filter(None, found.groups()))
        for file in site.rglob("*")
        if file.suffix in {".html", ".css"}
        for found in _LOADED.finditer(file.read_text(encoding="utf-8"))
    }
    assert loaded
    assert {where for where in loaded if re.match(r"(https?:)?//", where)} == set()
