"""What is read on demand: the rest of a long result, and files of the skill that calls."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from mimetypes import guess_type
from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from activities.sandbox import Sandbox, Script, program_of, sandbox
from activities.tool_results import page_of, text_pages
from router.domain.errors import ArgumentsToolError, PermanentToolError
from router.domain.file_types import SCRIPTS, SkillFile
from router.domain.locale import Localised
from router.domain.records import ResultPage
from router.domain.value import Value
from router.skill.skill import lines
from router.store.blobs import Results, SkillFiles
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool


@tool(
    permission="read",
    title={"zh": "继续读结果", "en": "Read on in a result"},
    description_zh="结果太长没显示完时，接着读下一页。",
    ephemeral=2,
    listed=False,
)
async def read_more(
    handle: Annotated[
        str,
        Field(description="The `read_more` of the page before", min_length=1, max_length=40),
        ChineseLabel("续读编号"),
    ],
    page: Annotated[
        int, Field(description="Which page, from 2 on", ge=1, le=10_000), ChineseLabel("第几页")
    ],
    ctx: ToolContext,
    results: Annotated[Results, Depends(provided.results)],
) -> ResultPage:
    """The next page of a result that was too long to be given whole."""
    body = await results.find(ctx.caller.tenant, ctx.caller.id, handle)
    if body is None:
        zh = f"handle：你没有编号为“{handle}”的结果可以续读"
        en = f"handle: there is no result {handle!r} of yours to read on in"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    found = page_of(body, page, handle)
    if page > found.pages:
        zh = f"page：结果有 {found.pages} 页，没有第 {page} 页"
        en = f"page: the result has {found.pages} pages, and no page {page}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return found


LONGEST_PATH = 200
LONGEST_INPUT = 20_000
_NAMED = 5

SkillFileParameter = Annotated[
    str, Field(description="As listed, such as references/a.md", max_length=LONGEST_PATH)
]


class FilePage(Value):
    """A page of a file, or of the list of them. There is no text of what is none."""

    path: str
    type: str
    size: int
    page: int = 1
    pages: int = 1
    text: str | None = None


class Ran(BaseModel):
    """What a script wrote."""

    output: str
    errors: str


@tool(
    permission="read",
    title={"zh": "读技能文件", "en": "Read a file of the skill"},
    description_zh="读取技能文件夹里的参考资料；不给路径时列出全部文件。",
    listed=False,
)
async def read_skill_file(
    ctx: ToolContext,
    files: Annotated[SkillFiles, Depends(provided.skill_files)],
    path: Annotated[SkillFileParameter, ChineseLabel("文件路径")] = "",
    page: Annotated[
        int,
        Field(description="Which page, where there are several", ge=1, le=10_000),
        ChineseLabel("第几页"),
    ] = 1,
) -> FilePage:
    """Read a file that belongs to your instructions, page by page; without a path, list them all.

    With the path of a folder, list what is in it.
    """
    file = ctx.skill_files.get(path.removeprefix("./"))
    if file is None:
        return _listed(ctx.skill_files, path, page)
    kind = guess_type(file.path)[0]
    text = _text((await _contents(files, [file]))[file.digest])
    otherwise = "application/octet-stream" if text is None else "text/plain"
    whole = FilePage(path=file.path, type=kind or otherwise, size=file.size)
    return whole if text is None else _page_of(whole, text, page)


@tool(
    permission="read",
    timeout="40s",
    retries=1,
    per_minute=20,
    at_once=2,
    title={"zh": "运行技能脚本", "en": "Run a script of the skill"},
    description_zh="在隔离的沙箱里运行技能自带的脚本，没有网络，也碰不到别的文件。",
    listed=False,
)
async def run_skill_script(
    path: Annotated[SkillFileParameter, ChineseLabel("脚本路径")],
    ctx: ToolContext,
    files: Annotated[SkillFiles, Depends(provided.skill_files)],
    box: Annotated[Sandbox, Depends(sandbox)],
    arguments: Annotated[
        list[Annotated[str, Field(max_length=2000)]],
        Field(description="Given to it as they are; no shell reads them", max_length=30),
        ChineseLabel("参数"),
    ] = [],  # noqa: B006 - pydantic copies it
    input: Annotated[  # noqa: A002 - what a program's standard input is called
        str,
        Field(description="What it reads from standard input", max_length=LONGEST_INPUT),
        ChineseLabel("标准输入"),
    ] = "",
) -> Ran:
    """Run a script of your own `scripts/`, in Python or sh, and get what it writes.

    It sees your files in its working folder, may write to /tmp alone, and reaches no network.
    """
    # It reads, as far as anybody outside can tell: nothing it does leaves the sandbox, so that
    # there is nothing to confirm, and nothing that a further try would do twice.
    script = ctx.skill_files.get(path.removeprefix("./"))
    if script is None or not script.path.startswith(SCRIPTS):
        raise _absent(path, [name for name in ctx.skill_files if name.startswith(SCRIPTS)])
    contents = await _contents(files, ctx.skill_files.values())
    program = program_of(script.path, contents[script.digest])
    laid_out = {file.path: contents[file.digest] for file in ctx.skill_files.values()}
    ran = await box.run(Script(script.path, program, tuple(arguments), input), laid_out)
    return Ran(output=ran.output, errors=ran.errors)


async def _contents(files: SkillFiles, wanted: Collection[SkillFile]) -> dict[str, bytes]:
    found = await files.find({file.digest for file in wanted})
    for file in wanted:
        if file.digest not in found:
            raise PermanentToolError(f"{file.path} is no longer kept: the run is too old for it")
    return found


def _text(content: bytes) -> str | None:
    try:
        return None if b"\0" in content else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _listed(files: Mapping[str, SkillFile], path: str, page: int) -> FilePage:
    folder = path.removeprefix("./").rstrip("/")
    inside = [
        f for name, f in files.items() if folder in {"", "."} or name.startswith(f"{folder}/")
    ]
    if not inside:
        raise _absent(path, files)
    size = sum(file.size for file in inside)
    return _page_of(FilePage(path=folder or ".", type="folder", size=size), lines(inside), page)


def _page_of(whole: FilePage, text: str, number: int) -> FilePage:
    pages = text_pages(text)
    if number > len(pages):
        raise ArgumentsToolError(f"page: {whole.path} has {len(pages)} pages, and no page {number}")
    return whole.replace(page=number, pages=len(pages), text=pages[number - 1])


def _absent(path: str, there: Collection[str]) -> ArgumentsToolError:
    near = get_close_matches(path, there, n=_NAMED, cutoff=0.4) or sorted(there)[:_NAMED]
    names = ", ".join(near) or "none"
    return ArgumentsToolError(f"path: there is no {path[:80]!r} here; there are: {names}")
