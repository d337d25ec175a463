"""The file of MCP servers, and what is read from their results."""

import json
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from router.domain.errors import DefinitionError
from router.extensions.mcp.file import load_servers
from router.extensions.mcp.tools import value_of
from router.formats.keepable import keepable
from router.tool.results import ToolFile
from tests.table import each_row

VARIABLES = {"CRM_TOKEN": "hush"}


def written(folder: Path, text: str) -> Path:
    path = folder / "servers.json"
    path.write_text(text, encoding="utf-8")
    return path


def problems(folder: Path, text: str) -> list[str]:
    path = written(folder, text)
    with pytest.raises(DefinitionError) as refused:
        load_servers(path, VARIABLES)
    return [str(each).removeprefix(f"{path}:") for each in refused.value.problems]


def test_programs_and_addresses_are_read(tmp_path: Path) -> None:
    servers: dict[str, Any] = {
        "files": {"command": "python", "args": ["-m", "it"], "timeout": "1.5s"},
        "crm": {
            "type": "http",
            "url": "https://crm.example/mcp",
            "headers": {"Authorization": "Bearer {env.CRM_TOKEN}"},
            "fallback": "files",
            "tools": {"find": {"permission": "read", "title": {"zh": "找", "en": "Find"}}},
            "except": ["drop"],
        },
        "old": {"command": "it", "disabled": True},
    }
    found = load_servers(written(tmp_path, json.dumps(servers)), VARIABLES)
    assert list(found) == ["files", "crm"]
    assert found["files"].timeout == timedelta(seconds=1.5)
    assert found["crm"].headers == {"Authorization": "Bearer hush"}
    assert found["crm"].entry("find").permission == "read"
    assert (found["crm"].offers("find"), found["crm"].offers("drop")) == (True, False)


@each_row(
    "text",
    [
        '{"mcpServers": {"a": {"command": "x", "args": ["-y", "x"]}}}',
        '{\n\t"a": {\n\t\t"command": "x"\n\t}\n}',
    ],
)
def test_files_of_other_clients_and_indentation_by_tabs_are_read(tmp_path: Path, text: str) -> None:
    assert load_servers(written(tmp_path, text), {})["a"].command == "x"


def served(entry: str) -> str:
    """A file of one server, `a`, whose program is x, with this besides."""
    return '{"a": {"command": "x", ' + entry + "}}"


@each_row(
    ("text", "expected"),
    [
        ("", "1: this isn't JSON: Expecting value; mend it"),
        ("[]", '1: it holds no servers by name; write {"name": {"command": …}}'),
        ('{"mcpServers": 3}', '1: it holds no servers by name; write {"name": {"command": …}}'),
        ('{"a":\n{"command": "x",}}', "2: this isn't JSON: "),
        ('{"a": 3}', "1: a can't be used; Input should be"),
        ('{"a": {}}', "1: a can't be used; write one of the two"),
        ('{"a": {"url": "ftp://x"}}', "1: url can't be used; "),
        (
            '{"a": {\n"comand": "x", "url": "http://x"}}',
            "2: there is no key comand; did you mean co",
        ),
        (served('"url": "http://x"'), "1: a can't be used; write one of the two"),
        (served('"timeout": "99999999999999m"'), "1: timeout can't be used; write it like"),
        (served('"timeout": "soon"'), '1: timeout can\'t be used; write it like "500ms"'),
        (served('"calls": 0'), "1: calls can't be used; "),
        (served('"fallback": "b"'), "1: there is no other server b; "),
        (served('"fallback": "a"'), "1: there is no other server a; "),
        (served('"tools": {\n"t": {"permission": "root"}}'), "2: permission can't be used; "),
        (
            served('"tools": {"t": {"premission": "read"}}'),
            "1: there is no key premission; did you mean permission?",
        ),
        (
            served('"tools": {"t": {"permission": "admin"}}'),
            "1: t can't be used; a tool that changes",
        ),
        ('{"A b": {"command": "x"}}', "1: a server can't be called 'A b'; use up to 24"),
        ('{"a__b": {"command": "x"}}', "1: a server can't be called 'a__b'; "),
        ('{"a": ' + "1" * 5000 + "}", "1: this isn't JSON: Exceeds the limit"),
        ('{"a": ' + "[" * 5000, "1: it is nested too deep; flatten it"),
        ('{"a": {"command": "x"}, "a": {"command": "y"}}', "1: a comes twice; keep one of the two"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = problems(tmp_path, text)
    assert found.startswith(expected)


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, '{"a": {"command": "x", "calls": 0}, "B": {"url": "x"}}')) == 2


def test_no_problem_shows_a_secret(tmp_path: Path) -> None:
    text = '{"a": {"url": "ftp://{env.CRM_TOKEN}@x", "headers": {"A": ["{env.CRM_TOKEN}"]}}}'
    assert "hush" not in "".join(problems(tmp_path, text))


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="there is no such file"):
        load_servers(tmp_path / "none.json", {})


LACKS = "OFF isn't set; set it"


@each_row(
    ("entry", "lacks"),
    [
        ({"command": "x", "env": {"K": "{env.OFF}"}}, LACKS),
        *(({"url": url}, LACKS) for url in ("{env.OFF}", "{env.OFF}/mcp", "https://{env.OFF}/mcp")),
        ({"url": "https://a.example", "headers": {"A": "{env.CRM_TOKEN} {env.OFF}"}}, LACKS),
        (
            {"url": "https://{env.OFF}", "headers": {"A": "{env.KEY}", "B": "{env.OFF}"}},
            "KEY, OFF aren't set; set them",
        ),
    ],
)
def test_an_unset_variable_keeps_it_away(tmp_path: Path, entry: dict[str, Any], lacks: str) -> None:
    fine = {"command": "x", "env": {"K": "{env.CRM_TOKEN}"}}
    found = load_servers(written(tmp_path, json.dumps({"a": entry, "b": fine})), VARIABLES)
    assert str(found["a"].lacks) == f"{lacks} in the environment or in .env"
    assert found["b"].lacks is None


def test_a_fault_of_form_is_told_beside_a_variable_that_is_not_set(tmp_path: Path) -> None:
    text = '{"a": {"url": "{env.NOT_THERE}",\n"tmeout": "1s"},\n"b": {"url": "ftp://{env.NO}"}}'
    found = problems(tmp_path, text)
    assert [each.partition(":")[0] for each in found] == ["2", "3"]
    assert "NOT_THERE" not in "".join(found)


LABELS = ["", " ", "长" * 61, "一行\n两行", "反\u202e转", 7, {"zh": "内容"}]


@each_row(
    "said",
    [
        *({"labels": {"text": label}} for label in LABELS),
        {"labels": ["text"]},
        {"description_zh": 7},
        {"description_zh": "长" * 1001},
        {"title": {"zh": "只有中文"}},
        {"titles": {"zh": "名", "en": "Name"}},
    ],
)
def test_words_that_cannot_be_shown_are_refused(tmp_path: Path, said: dict[str, Any]) -> None:
    assert problems(tmp_path, served(f'"tools": {json.dumps({"t": said})}'))


BYTES = b"\x00\xffsound"
DATA = b64encode(BYTES).decode()


def answer(*blocks: Any, structured: Any = None) -> object:
    result = types.CallToolResult(content=list(blocks), structured_content=structured)
    return keepable(value_of(result))


def blob(uri: str, mime_type: str | None = None) -> types.EmbeddedResource:
    contents = types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=DATA)
    return types.EmbeddedResource(type="resource", resource=contents)


def media(kind: Any, mime_type: str, data: str = DATA) -> Any:
    return kind(type=kind.__name__.removesuffix("Content").lower(), data=data, mime_type=mime_type)


@each_row(
    ("block", "file"),
    [
        (media(types.ImageContent, "image/gif"), ToolFile("image.gif", "image/gif", BYTES)),
        (media(types.AudioContent, "audio/x-none"), ToolFile("audio", "audio/x-none", BYTES)),
        (blob("file:///tmp/a%20b.csv", "text/csv"), ToolFile("a b.csv", "text/csv", BYTES)),
        (blob("memo://one"), ToolFile("resource", "", BYTES)),
        (blob("file:///a\u202e\x07b.csv", "text/csv\u200b"), ToolFile("ab.csv", "text/csv", BYTES)),
    ],
)
def test_bytes_are_a_file(block: Any, file: ToolFile) -> None:
    assert answer(block) == [file]


def test_files_beside_a_structured_answer_are_attached_to_it() -> None:
    picture = media(types.ImageContent, "image/png")
    said = types.TextContent(type="text", text='{"n": 1}')
    assert answer(said, picture, structured={"n": 1}) == {
        "value": {"n": 1},
        "attached": [ToolFile("image.png", "image/png", BYTES)],
    }


@each_row("data", ["not base64!", "AAA", "中文"])
def test_bytes_that_cannot_be_read_are_described(data: str) -> None:
    unreadable = {"type": "image", "mime_type": "image/png", "unreadable": "it is no base64"}
    assert answer(media(types.ImageContent, "image/png", data)) == [unreadable]
