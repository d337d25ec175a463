"""What a chat shows: the terminal's own words, the API's answers as lines, and where they go."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.patch_stdout import StdoutProxy

from router.domain.locale import Locale, Localised
from router.domain.messages import FormReply, Reply, Route, as_plain_text
from router.domain.text_tables import in_columns
from router.domain.visible_text import labelled, legible, one_line

WELCOME = Localised(
    zh="直接说要办的事；/help 列出命令，Ctrl-C 停止当前回合，Ctrl-D 离开。",
    en="Say what you want done; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves.",
)
HELP = Localised(
    zh="""\
/new            开始新对话
/list           列出我的对话
/open N         打开第 N 个对话
/delete N yes   永久删除第 N 个对话；已提交的申请照常办理
/file 路径      交上一个文件，随时可以
/why            说明上一条消息为什么这样处理
/approvals      列出等我审批的事项
/approve N [意见]、/reject N [意见]、/return N [意见]   审批第 N 项
/requests       列出我的申请
/quit           离开
选项可以回复编号，确认可以回复 y 或 n；表单可以一句话说全，也可以按回车逐项填写。""",
    en="""\
/new            begin a new conversation
/list           list my conversations
/open N         open the Nth of them
/delete N yes   delete the Nth of them for good; requests that were made go on
/file PATH      hand in a file, at any time
/why            explain why the last message went where it did
/approvals      list what waits for my decision
/approve N [comment], /reject N [comment], /return N [comment]   decide the Nth of them
/requests       list what I have asked for
/quit           leave
Choices take their number, confirmations y or n; a form takes one sentence, or Enter to fill in \
field by field.""",
)
LEAVE_HINT = Localised(zh="再按一次 Ctrl-C 离开。", en="Ctrl-C once more leaves.")
STOPPING = Localised(zh="正在停止…", en="Stopping…")
ANEW = Localised(zh="（重新作答）", en="(once more)")
THINKING = Localised(zh="正在想", en="thinking")
THINKING_STEP = Localised(zh="{skill} · 第 {step} 步", en="{skill} · step {step}")
SO_LONG = Localised(zh="{seconds:.0f} 秒", en="{seconds:.0f} s")
ELSEWHERE = Localised(zh="另一窗口", en="elsewhere")
FORM_HINT = Localised(
    zh="一句话说全，或按回车逐项填写。", en="Say it in a sentence, or press Enter to fill it in."
)
FORM_DROPPED = Localised(zh="表单没有提交。", en="The form wasn't sent.")
REQUIRED = Localised(zh="必填", en="required")
NO_SUCH_OPTION = Localised(zh="没有这个编号。", en="There is no such number.")
UNKNOWN_COMMAND = Localised(
    zh="没有命令 {name}；/help 列出命令。", en="There is no command {name}; /help lists them."
)
MORE = Localised(
    zh="不止这些：这里只有最新的 {count} 项，其余的在网页上看。",
    en="There are more: these are the {count} newest; the page has the others.",
)
LIST_FIRST = Localised(
    zh="没有第 {number} 项；先用 {command} 列出来。",
    en="There is no {number}; list with {command}.",
)
DELETED = Localised(zh="已删除。", en="Deleted.")
SURE = Localised(
    zh="删了就找不回来。确定的话：/delete {number} yes",
    en="It can't be brought back. If you are sure: /delete {number} yes",
)
NOTHING = Localised(zh="没有。", en="None.")
WHICH_FILE = Localised(zh="请写出文件的路径：/file 路径", en="Say which file: /file PATH")
UNREADABLE = Localised(zh="{path} 读不了（{why}）。", en="{path} can't be read ({why}).")
NO_ROUTE = Localised(zh="还没有消息可以说明。", en="There is no message yet to explain.")
DECIDED = Localised(zh="已记录：{decision}，现在 {status}。", en="Noted: {decision}; now {status}.")
OPENED = Localised(zh="对话 {id}", en="Conversation {id}")
REQUESTER = Localised(zh="申请人", en="requested by")
CANDIDATES = Localised(zh="候选", en="candidates")
BUSY = Localised(
    zh="现在太忙了，{seconds} 秒后自动再发一次……",
    en="It is too busy right now; this is sent again in {seconds} s …",
)
LOST = Localised(
    zh="连接断了；这一回合在服务器上继续，回来后会看到结果。",
    en="The connection is lost; the turn goes on there, and its answer comes once it is back.",
)


Item = Mapping[str, Any]
"""An item of a list, as the API gives it."""


def printable(text: str) -> str:
    r"""The text without what a terminal acts on and nobody sees: it mustn't drive the screen.

    >>> printable("a\x1b[2Jb")
    'a[2Jb'
    """
    return legible(text)


def said(replies: Sequence[Reply], locale: Locale, *, interactive: bool) -> str:
    """Replies as text; where somebody sits there, with how a form of several fields is filled."""
    text = in_columns(as_plain_text(replies, locale))
    last = replies[-1] if replies else None
    if interactive and isinstance(last, FormReply) and len(last.fields) > 1:
        text += f"\n\n{FORM_HINT.within(locale)}"
    return printable(text)


def why(route: Route, locale: Locale) -> str:
    """Where a message went, by which means, and what else came into question."""
    where = " ".join(filter(None, (route.kind, route.target)))
    sure = "" if route.confidence is None else f" ({route.confidence:.2f})"
    lines = [f"{where} ← {route.by}{sure}", route.reason]
    if route.candidates:
        near = ", ".join(f"{c.name} {c.score:.2f}" for c in route.candidates)
        lines.append(f"{CANDIDATES.within(locale)}: {near}")
    return printable("\n".join(filter(None, lines)))


def conversations(items: Sequence[Item], current: str, locale: Locale) -> str:
    """The person's conversations, numbered; the one that is open is marked."""
    marked = ((item, " *" * (item["id"] == current)) for item in items)
    lines = [f"{_when(i['created_at'])}  {i['id']}{mark}" for i, mark in marked]
    return _numbered(lines, locale)


_FURTHER = "\n       │ {}".format


def approvals(items: Sequence[Item], locale: Locale) -> str:
    """What waits for a decision, numbered, with all that is decided on."""
    lines = []
    for item in items:
        about = f"{REQUESTER.within(locale)} {item['requester']}, {_when(item['since'])}"
        fields = (labelled(*field).split("\n    ") for field in item["summary"].items())
        # What another line of a value begins with, no entry and no field does.
        summary = [f"     {first}{''.join(map(_FURTHER, rest))}" for first, *rest in fields]
        for change in item.get("changes") or ():
            said = f"{change['before'] or '-'} → {change['now'] or '-'}"
            summary.append(f"   * {one_line(labelled(change['label'], one_line(said)))}")
        lines.append("\n".join([f"{one_line(item['title'])} ({about})", *summary]))
    return _numbered(lines, locale)


def requests(items: Sequence[Item], locale: Locale) -> str:
    """Runs that the person asked for, numbered, with how they stand."""
    titled = ((i, one_line(i["title"])) for i in items)
    lines = [f"{_when(i['created_at'])}  {t}  {i['status']} ({i['state']})" for i, t in titled]
    return _numbered(lines, locale)


def _numbered(lines: Sequence[str], locale: Locale) -> str:
    if not lines:
        return NOTHING.within(locale)
    return printable("\n".join(f"{number:>3}. {line}" for number, line in enumerate(lines, 1)))


def _when(moment: str) -> str:
    """In the terminal's own time zone."""
    return datetime.fromisoformat(moment).astimezone().strftime("%m-%d %H:%M")


BETWEEN_WRITES = 0.02
"""Seconds: often enough that text which is being written seems to flow."""
OWN = 0o600

_DIM, _NORMAL = "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Writes to stdout. `interactive`: progress is shown too; `coloured`: and set apart."""

    interactive: bool
    coloured: bool

    def line(self, text: str = "") -> None:
        """A line, or several, that came from the desk."""
        print(printable(text), flush=True)

    def aside(self, text: str) -> None:
        """A line about what goes on, for whoever sits there."""
        if self.interactive:
            shown = printable(text)
            print(f"{_DIM}{shown}{_NORMAL}" if self.coloured else shown, flush=True)

    def flow(self, text: str) -> None:
        """A piece of a line that is still being written."""
        print(printable(text), end="", flush=True)


class Discarded(KeyboardInterrupt):
    """Ctrl-C on a line that had something in it: it is gone, and nothing else was meant."""


class LinePrompt(Protocol):
    """What asks whoever sits there for a line."""

    async def line(self, label: str = "> ") -> str:
        """The line. Raises EOFError at Ctrl-D, KeyboardInterrupt at Ctrl-C."""


class TerminalPrompt:
    """Line editing, with a history that is kept from one chat to the next."""

    def __init__(self, history: Path) -> None:
        self._session: PromptSession[str] = PromptSession(history=FileHistory(str(own(history))))
        self._fields: PromptSession[str] = PromptSession(history=InMemoryHistory())

    async def line(self, label: str = "> ") -> str:
        """The line; what is typed into a form's field isn't kept."""
        session = self._session if label == "> " else self._fields
        try:
            return await session.prompt_async(label)
        except KeyboardInterrupt:
            if session.default_buffer.text:
                raise Discarded from None
            raise


@contextmanager
def above_the_prompt() -> Iterator[None]:
    """What is written meanwhile goes above the line that is being typed."""
    proxy = StdoutProxy(sleep_between_writes=BETWEEN_WRITES, raw=True)
    with proxy, redirect_stdout(proxy):
        yield


def own(file: Path) -> Path:
    """The file, made if need be, which nobody else may read: people type confidential things."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(OWN)
    file.chmod(OWN)
    return file


def screen_of(*, plain: bool) -> Screen:
    """The screen of this process; a person sits there where both ends are terminals."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    return Screen(interactive=interactive, coloured=interactive and not plain)
