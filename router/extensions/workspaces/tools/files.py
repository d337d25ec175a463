"""Files of one's own, as tools: saved, read, edited, listed, searched, deleted, worked on.

Each person has a workspace, which nobody else sees: skills at work for them put down there what
is too long to carry in mind, and find it again another day.

None of this asks before it writes, and none counts as a write. What is kept is a scratch pad that
nobody but its owner can see and that acts on nothing; to ask at each note would be to be asked
for nothing. Each call is in the audit of tool calls all the same, and a version keeps anybody from
writing over what they haven't seen.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from itertools import accumulate
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field
from temporalio.api.common.v1 import Payload

from activities import provided
from activities.sandbox import Sandbox, Script, program_of, sandbox
from router.domain.errors import ArgumentsToolError, Conflict, NotFound
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.extensions.workspaces.settings import WorkspacesSettings
from router.extensions.workspaces.store import (
    LONGEST_PATH,
    WorkspaceFile,
    WorkspaceQuota,
    Workspaces,
    workspace_path,
)
from router.flow.prompts.field_names import name_in_chinese
from router.formats.regex import compile_foreign, refused
from router.secrecy.codec import EncryptingCodec
from router.settings import Settings
from router.store.database import Database
from router.tool.context import Depends, ToolContext, provider
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

name_in_chinese(
    {
        "version": "版本",
        "deleted": "已删除",
        "replaced": "替换处数",
        "changed_at": "更改时间",
        "first": "首行",
        "last": "末行",
        "lines": "总行数",
        "line": "行号",
    }
)

LONGEST_GIVEN = 60_000
"""Characters that one call may bring."""
LONGEST_FILE = 200_000
MOST_LINES = 1000
"""Of one reading."""
MOST_LISTED = 200
MOST_FOUND = 100
LONGEST_LINE = 300
"""Characters of a line that is shown as found."""
LONGEST_EXPRESSION = 200
_NAMED = 5
_AT_ONCE = 50
"""Files whose content is in memory at once as it is kept."""


class Workspace:
    """Everybody's workspaces; what is in a file is encrypted where there are keys for payloads."""

    def __init__(self, settings: Settings, workspaces: Workspaces) -> None:
        self._keys = settings.payload_keys
        own = settings.section(WorkspacesSettings)
        self._quota = WorkspaceQuota(files=own.workspace_files, together=own.workspace_bytes)
        self._workspaces = workspaces

    async def read(self, owner: Principal, path: str) -> tuple[WorkspaceFile, str]:
        """The file and its text; `ArgumentsToolError` where they have none of this path."""
        found = await self._workspaces.find(owner.tenant, owner.id, path)
        if found is None:
            raise await self._absent(owner, path)
        file, content = found
        return file, await self._opened(owner, content)

    async def write(
        self, owner: Principal, path: str, text: str, expected: int | None
    ) -> WorkspaceFile:
        """Keep the text; `ArgumentsToolError`: too long, too much, or not over that version."""
        if len(text) > LONGEST_FILE:
            zh = f"text：{path} 会有 {len(text)} 个字符，最多 {LONGEST_FILE}，请分成几个文件"
            en = f"text: {path} would have {len(text)} characters, of {LONGEST_FILE}; split it"
            raise ArgumentsToolError(Localised(zh=zh, en=en))
        codec = EncryptingCodec(self._keys, owner.tenant)
        raw = text.encode()
        (sealed,) = await codec.encode([Payload(data=raw)])
        place = (owner.tenant, owner.id, path)
        try:
            content = sealed.SerializeToString()
            return await self._workspaces.save(place, content, len(raw), self._quota, expected)
        except Conflict as error:
            raise ArgumentsToolError(error.said) from None

    async def listed(self, owner: Principal, under: str) -> list[WorkspaceFile]:
        """The owner's files, of a folder or all."""
        return await self._workspaces.listed(owner.tenant, owner.id, under)

    async def texts(self, owner: Principal, under: str = "") -> AsyncIterator[tuple[str, str]]:
        """Each file of a folder, or of all, with its text."""
        paths = [file.path for file in await self.listed(owner, under)]
        for start in range(0, len(paths), _AT_ONCE):
            few = paths[start : start + _AT_ONCE]
            for file, content in await self._workspaces.contents(owner.tenant, owner.id, few):
                yield file.path, await self._opened(owner, content)

    async def delete(self, owner: Principal, path: str, expected: int | None) -> WorkspaceFile:
        """Do away with it; `ArgumentsToolError` where there is none, or not of that version."""
        try:
            return await self._workspaces.delete((owner.tenant, owner.id, path), expected)
        except NotFound:
            raise await self._absent(owner, path) from None
        except Conflict as error:
            raise ArgumentsToolError(error.said) from None

    async def _opened(self, owner: Principal, content: bytes) -> str:
        codec = EncryptingCodec(self._keys, owner.tenant)
        (payload,) = await codec.decode([Payload.FromString(content)])
        return payload.data.decode()

    async def _absent(self, owner: Principal, path: str) -> ArgumentsToolError:
        there = [file.path for file in await self.listed(owner, "")][:_NAMED]
        zh = f"path：没有 {path}；有：{'、'.join(there) or '什么都没有'}"
        en = f"path: there is no {path}; there are: {', '.join(there) or 'none'}"
        return ArgumentsToolError(Localised(zh=zh, en=en))


def _unset_workspace(settings: Settings) -> str:
    """Return the variable to set for workspaces; none if it is."""
    return "" if settings.section(WorkspacesSettings).workspace else "ROUTER_WORKSPACE"


def _unset_commands(settings: Settings) -> str:
    """Return the variable to set for commands; none if it is."""
    return "" if settings.section(WorkspacesSettings).run_commands else "ROUTER_RUN_COMMANDS"


@provider(unset=_unset_workspace)
async def workspace(
    settings: Annotated[Settings, Depends(provided.settings)],
    database: Annotated[Database, Depends(provided.database)],
) -> AsyncIterator[Workspace]:
    """What tools name it by. They are offered to nobody where there is none."""
    yield Workspace(settings, Workspaces(database))


@provider(unset=_unset_commands)
async def command_box(
    box: Annotated[Sandbox, Depends(sandbox)],
) -> AsyncIterator[Sandbox]:
    """The box of skills' scripts, where commands of a model's own may run in it too."""
    yield box


Mine = Annotated[Workspace, Depends(workspace)]

FileParameter = Annotated[
    str,
    Field(description="As in notes/plan.md", min_length=1, max_length=LONGEST_PATH),
    ChineseLabel("文件路径"),
    AfterValidator(workspace_path),
]


def _folder(written: str) -> str:
    return workspace_path(written.removesuffix("/")) if written.strip("./") else ""


FolderParameter = Annotated[
    str,
    Field(description="A folder, such as notes; empty: all", max_length=LONGEST_PATH),
    ChineseLabel("文件夹"),
    AfterValidator(_folder),
]
VersionParameter = Annotated[
    int | None,
    Field(description="Only if it is at this version; 0: only if there is none", ge=0),
    ChineseLabel("版本"),
]


class Saved(BaseModel):
    """A file as it is now."""

    path: str
    size: int
    version: int


class FileLines(BaseModel):
    """Some lines of a file, of so many; `version` is to be named by who changes it."""

    path: str
    version: int
    first: int
    last: int
    lines: int
    text: str


class Edited(Saved):
    """A file as it is now, and how many places were replaced."""

    replaced: int


class ListedFile(Saved):
    """A file of a list."""

    changed_at: datetime


class FileList(BaseModel):
    """The files, by path; `more` says whether there are others."""

    items: list[ListedFile]
    more: bool


class FoundLine(BaseModel):
    """A line in which something was found."""

    path: str
    line: int
    text: str


class FoundLines(BaseModel):
    """The lines, by path; `more` says whether there are others."""

    items: list[FoundLine]
    more: bool


class Gone(BaseModel):
    """What was deleted."""

    deleted: str
    version: int


class CommandOutput(BaseModel):
    """What a command wrote."""

    output: str
    errors: str


def _saved(file: WorkspaceFile) -> Saved:
    return Saved(path=file.path, size=file.size, version=file.version)


@tool(
    permission="read",
    # Of a version it can't be done twice: the second try would find its own.
    retries=0,
    title={"zh": "保存文件", "en": "Save a file"},
    description_zh="把一段文字存成个人空间里的文件，只有你自己看得到。",
    examples=["把这些存成文件", "save this as a file in my workspace"],
)
async def save_file(
    path: FileParameter,
    text: Annotated[
        str,
        Field(description="The whole text", max_length=LONGEST_GIVEN),
        ChineseLabel("内容"),
    ],
    ctx: ToolContext,
    mine: Mine,
    version: VersionParameter = None,
) -> Saved:
    """Save a text as a file of the caller's own, in place of what was there."""
    return _saved(await mine.write(ctx.caller, path, text, version))


@tool(
    permission="read",
    title={"zh": "读文件", "en": "Read a file"},
    description_zh="读个人空间里的一个文件，可以只读其中几行。",
    examples=["读一下我存的文件", "show me the file that I saved"],
)
async def read_file(
    path: FileParameter,
    ctx: ToolContext,
    mine: Mine,
    first: Annotated[
        int, Field(description="The first line, from 1 on", ge=1), ChineseLabel("从第几行")
    ] = 1,
    lines: Annotated[
        int, Field(description="How many at most", ge=1, le=MOST_LINES), ChineseLabel("读几行")
    ] = MOST_LINES,
) -> FileLines:
    """Read a file of the caller's own, or some of its lines."""
    file, text = await mine.read(ctx.caller, path)
    every = text.splitlines(keepends=True)
    if first > max(1, len(every)):
        zh = f"first：{path} 只有 {len(every)} 行"
        en = f"first: {path} has {len(every)} lines"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    chosen = every[first - 1 : first - 1 + lines]
    return FileLines(
        path=path,
        version=file.version,
        first=first,
        last=first - 1 + len(chosen),
        lines=len(every),
        text="".join(chosen),
    )


@tool(
    permission="read",
    retries=0,
    title={"zh": "改文件", "en": "Edit a file"},
    description_zh="把个人空间里一个文件中的一段原文换成另一段。",
    examples=["把文件里的这一句改掉", "replace that sentence in my file"],
)
async def edit_file(
    path: FileParameter,
    old: Annotated[
        str,
        Field(description="Exactly as it stands there", min_length=1, max_length=LONGEST_GIVEN),
        ChineseLabel("原文"),
    ],
    new: Annotated[
        str,
        Field(description="What stands there then", max_length=LONGEST_GIVEN),
        ChineseLabel("换成"),
    ],
    ctx: ToolContext,
    mine: Mine,
    every: Annotated[
        bool, Field(description="Wherever it stands, not only once"), ChineseLabel("全部替换")
    ] = False,
    version: VersionParameter = None,
) -> Edited:
    """Replace a piece of a file of the caller's own, which has to stand there exactly once."""
    file, text = await mine.read(ctx.caller, path)
    if version not in (None, file.version):
        zh = f"version：{path} 现在是第 {file.version} 版，请重新读过"
        en = f"version: {path} is at version {file.version} by now; read it again first"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    count = text.count(old)
    if count == 0:
        raise _not_there(path, text, old)
    if count > 1 and not every:
        raise _several(path, text, old, count)
    # By its version: what somebody else has made of it meanwhile is never written over.
    changed = await mine.write(ctx.caller, path, text.replace(old, new), file.version)
    return Edited(**_saved(changed).model_dump(), replaced=count)


def _not_there(path: str, text: str, old: str) -> ArgumentsToolError:
    if line := _loosely_at(text, old):
        zh = f"old：{path} 里没有这段原文；第 {line} 行起有一段只是空白不同，请照原样写"
        en = f"old: it doesn't stand in {path} like that, but with other spaces from line {line} on"
        return ArgumentsToolError(Localised(zh=zh, en=f"{en}: write it exactly as it is there"))
    zh = f"old：{path} 里没有这段原文，请先读文件再照原样写"
    en = f"old: it doesn't stand in {path}; read the file, and write it exactly as it is there"
    return ArgumentsToolError(Localised(zh=zh, en=en))


def _loosely_at(text: str, old: str) -> int:
    """The line where it stands but for the spaces; 0 where it doesn't."""
    flat, wanted = (" ".join(one.split()) for one in (text, old))
    at = flat.find(wanted)
    before = flat.count(" ", 0, at) if wanted and at >= 0 else -1
    ends = accumulate(len(line.split()) for line in text.splitlines())
    return next((number for number, end in enumerate(ends, 1) if end > before >= 0), 0)


def _several(path: str, text: str, old: str, count: int) -> ArgumentsToolError:
    places = ", ".join(str(_line_at(text, at)) for at in _places(text, old))
    zh = f"old：{path} 里有 {count} 处（第 {places} 行），请多写一点上下文，或者全部替换"
    en = (
        f"old: it stands in {path} {count} times, at lines {places}; write more around it, or every"
    )
    return ArgumentsToolError(Localised(zh=zh, en=en))


def _places(text: str, old: str) -> Iterator[int]:
    at = -1
    for _ in range(_NAMED):
        if (at := text.find(old, at + 1)) < 0:
            return
        yield at


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


@tool(
    permission="read",
    title={"zh": "列出我的文件", "en": "List my files"},
    description_zh="列出个人空间里的文件。",
    examples=["我存了哪些文件", "which files did I save"],
)
async def list_files(ctx: ToolContext, mine: Mine, folder: FolderParameter = "") -> FileList:
    """List the files in the caller's own workspace, all or those of a folder."""
    found = await mine.listed(ctx.caller, folder)
    zone = ctx.now.tzinfo
    items = [
        ListedFile(**_saved(file).model_dump(), changed_at=file.changed_at.astimezone(zone))
        for file in found[:MOST_LISTED]
    ]
    return FileList(items=items, more=len(found) > MOST_LISTED)


@tool(
    permission="read",
    timeout="20s",
    title={"zh": "搜索我的文件", "en": "Search my files"},
    description_zh="在个人空间的文件里按表达式找，给出所在的行。",
    examples=["在我的文件里搜一下", "search my files for a word"],
)
async def search_files(
    expression: Annotated[
        str,
        Field(description="RE2, for one line", min_length=1, max_length=LONGEST_EXPRESSION),
        ChineseLabel("表达式"),
    ],
    ctx: ToolContext,
    mine: Mine,
    folder: FolderParameter = "",
) -> FoundLines:
    """Find lines in the files of the caller's own workspace, by an expression."""
    if (fault := refused(expression)) is not None:
        zh = f"expression：不是可用的 RE2 表达式（{fault.what}）"
        raise ArgumentsToolError(Localised(zh=zh, en=f"expression: {fault.what}; {fault.remedy}"))
    texts = {path: text async for path, text in mine.texts(ctx.caller, folder)}
    try:
        hits = await asyncio.to_thread(_hits, expression, texts)
    except TimeoutError:
        raise ArgumentsToolError(TOO_SLOW) from None
    return FoundLines(items=hits[:MOST_FOUND], more=len(hits) > MOST_FOUND)


MAX_SEARCH_S = 5.0
"""Processor time of one search through all files: a thread can't be stopped from outside."""
MAX_LINE_WORK = 40_000_000
"""The instructions of the expression's program times the bytes of a line: at most a second."""
TOO_SLOW = Localised(
    zh="expression：搜得太久了，请换简单些的表达式，或只搜一个文件夹",
    en="expression: it takes too long; use a simpler one, or search a single folder",
)


def _hits(expression: str, texts: Mapping[str, str]) -> list[FoundLine]:
    """One more than are shown, where there are. Raises `TimeoutError` after `MAX_SEARCH_S`."""
    pattern, found = compile_foreign(expression), list[FoundLine]()
    longest, end = MAX_LINE_WORK // pattern.programsize, time.thread_time() + MAX_SEARCH_S
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            written = line.encode("utf-8", "replace")
            if len(written) > longest or time.thread_time() > end:
                raise TimeoutError
            if pattern.search(written):
                found.append(FoundLine(path=path, line=number, text=line[:LONGEST_LINE]))
                if len(found) > MOST_FOUND:
                    return found
    return found


@tool(
    permission="read",
    retries=0,
    title={"zh": "删除我的文件", "en": "Delete a file of mine"},
    description_zh="删除个人空间里的一个文件，删了就没有了。",
    examples=["把我存的那个文件删掉", "delete the file that I saved"],
)
async def delete_file(
    path: FileParameter, ctx: ToolContext, mine: Mine, version: VersionParameter = None
) -> Gone:
    """Delete a file in the caller's own workspace, for good."""
    file = await mine.delete(ctx.caller, path, version)
    return Gone(deleted=file.path, version=file.version)


_COMMAND = ".command.sh"
"""Where a command lies beside the files: none of them is hidden, so none is of this name."""


@tool(
    permission="read",
    timeout="40s",
    retries=1,
    per_minute=10,
    at_once=2,
    title={"zh": "运行命令", "en": "Run a command"},
    description_zh="在隔离的沙箱里对个人空间的文件运行一段命令，没有网络，不改动文件。",
)
async def run_command(
    command: Annotated[
        str,
        Field(description="A script, as in a file of its own", min_length=1, max_length=8000),
        ChineseLabel("命令"),
    ],
    ctx: ToolContext,
    mine: Mine,
    box: Annotated[Sandbox, Depends(command_box)],
) -> CommandOutput:
    """Run a script over the files of the caller's own workspace, and get what it writes.

    It is for sh, or for Python where its first line is `#!/usr/bin/env python3`. The files are in
    its working folder, and stay as they are; it may write to /tmp alone, and reaches no network.
    """
    content = command.encode()
    files = {path: text.encode() async for path, text in mine.texts(ctx.caller)}
    script = Script(_COMMAND, program_of(_COMMAND, content))
    ran = await box.run(script, {**files, _COMMAND: content})
    return CommandOutput(output=ran.output, errors=ran.errors)
