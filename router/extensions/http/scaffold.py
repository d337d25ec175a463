"""What `intent-router new` writes of declared tools: a tool, or a whole process of the gallery."""

from pathlib import Path

from router.cli.scaffold import (
    OWN_TOOLS,
    Names,
    NewFile,
    ScaffoldPlace,
    ScaffoldResult,
    about,
    check_absent,
    code_folder,
    place_for,
    point_test_at,
    quoted,
    schema_for,
    tests_folder,
)
from router.extensions.http.settings import HttpSettings
from router.extensions.http.source import tool_folders
from router.flow.gallery import Gallery
from router.settings import Settings
from router.settings.sample import sample_folder

_TEMPLATES = "router.extensions.http.templates"
SCHEMAS = "../../router/schemas"
"""Where the gallery's flow files have their schema; its stories stand one deeper."""
TOOL_SCHEMAS = "../../../router/extensions/http/schemas"
"""The same of its files of tools."""


def new_process(settings: Settings, name: str) -> ScaffoldResult:
    """The gallery's files of this process, each where it is found; raises `NotFound`."""
    one = Gallery().find(name)
    flow_place = place_for(None, settings.flows, sample_folder("flows"), "flows", "ROUTER_FLOWS")
    tool_place = _http_place(settings, None)
    stories, tools = flow_place.folder / "tests", tool_place.folder
    files, copies = list[NewFile](), list[NewFile]()
    for schema, folder, ending, text, written, top in (
        ("flow", flow_place.folder, "yaml", one.text, SCHEMAS, None),
        ("story", stories, "yaml", one.stories, f"../{SCHEMAS}", flow_place.folder),
        ("tools", tools, "json", one.tools, TOOL_SCHEMAS, None),
    ):
        near, missing = schema_for(folder, schema, top)
        files.append(NewFile(folder / f"{name}.{ending}", text.replace(written, near)))
        copies += missing
    check_absent(files)
    return ScaffoldResult(
        [*files, *copies],
        [
            f"intent-router tools validate {quoted(files[2].path)}",
            flow_place.command(f"flows test {quoted(files[1].path)}", tool_place),
        ],
        f"put the address of your system into {files[2].path}: base_url",
    )


def new_http_tool(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """Return the files of a declared request."""
    return _requesting(settings, names, given, "my_tool.json", "my_tool_http_test.py")


def new_openapi_tool(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """Return the files of an operation of an OpenAPI document."""
    begun = _requesting(settings, names, given, "my_tool_openapi.json", "my_tool_openapi_test.py")
    document = begun.files[0].path.with_suffix(".openapi.yaml")
    described = NewFile(document, _about("my_tool.openapi.yaml", names))
    remark = f"put your system's document into {document}, and its address: {_variable(names)}"
    return ScaffoldResult([described, *begun.files], begun.commands, remark)


def _requesting(
    settings: Settings, names: Names, given: Path | None, file_from: str, test_from: str
) -> ScaffoldResult:
    """A JSON file of requests from the one template, and the test of it from the other."""
    place = _http_place(settings, given)
    folder = place.folder
    near, copies = schema_for(folder, "tools")
    file = folder / f"{names.name}.json"
    test = tests_folder(folder) / f"test_{names.name}.py"
    text = _about(test_from, names).replace(f"{names.name}_openapi.json", file.name)
    files = [
        NewFile(file, _about(file_from, names).replace("../schemas", near)),
        NewFile(test, point_test_at(text, test, file)),
    ]
    validate = f"intent-router tools validate {quoted(file)}"
    return ScaffoldResult(
        [*files, *copies],
        [validate, place.command("tools list"), f"python -m pytest {quoted(test)}"],
        f"put the address of your system into {file}, or into {_variable(names)}",
    )


def _http_place(settings: Settings, given: Path | None) -> ScaffoldPlace:
    """Where files of HTTP tools are found."""
    configured, code = settings.section(HttpSettings).tools, code_folder(settings, "tools")
    if configured is not None and not configured.is_dir():
        configured = None
    if configured is None and code is not None:
        there = (folder for folder in tool_folders(code.parent) if folder.is_dir())
        configured = next(there, code / "http")
    return place_for(given, configured, OWN_TOOLS / "http", "http_tools", "ROUTER_HTTP_TOOLS")


def _variable(names: Names) -> str:
    return f"ROUTER_TOOL_{names.name.upper()}_URL"


def _about(template: str, names: Names) -> str:
    return about(template, names, package=_TEMPLATES)
