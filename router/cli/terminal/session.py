"""A chat from beginning to end: with somebody at a terminal, or with what a pipe brings.

A line that begins with a slash is a command; an open form may be filled in field by field.
"""

import asyncio
import signal
import sys
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
import typer

from router.cli.options import Url, api_url
from router.cli.rest import AT_ONCE, Rest
from router.cli.terminal import screen
from router.cli.terminal.chat_conversation import (
    Body,
    ChatConversation,
    body_of,
    form_body,
    numbered,
)
from router.client import Refused, Retries
from router.domain.errors import Forbidden, RouterError
from router.domain.messages import FormField, FormReply

MOST_LISTED = 20
READ_WITHIN = 8
"""Seconds that are waited for a file to be read which is sent without a word."""
Items = list[dict[str, Any]]
CommandHandler = Callable[[str], Awaitable[None]]
Opens = Callable[[ChatConversation], Awaitable[None]]


class Left(Exception):
    """Whoever sits there wants to leave."""


class Commands:
    """The commands of one chat. `opens` is called with each conversation that is gone to."""

    def __init__(self, talk: ChatConversation, opens: Opens | None = None) -> None:
        self.talk = talk
        self._rest = talk.rest
        self._opens = opens
        self._conversations: Items = []
        self._approvals: Items = []

    async def run(self, line: str) -> None:
        """Do what the line says; raises `Left` where it says goodbye."""
        known: dict[str, CommandHandler] = {
            "/help": self._help,
            "/new": self._new,
            "/list": self._list,
            "/open": self._open,
            "/delete": self._delete,
            "/file": self._file,
            "/why": self._why,
            "/approvals": self._list_approvals,
            "/approve": partial(self._decide, "approve"),
            "/reject": partial(self._decide, "reject"),
            "/return": partial(self._decide, "return"),
            "/requests": self._requests,
            "/quit": self._quit,
        }
        name, _, rest = line.partition(" ")
        if name in known:
            await known[name](rest.strip())
        else:
            self._print(screen.UNKNOWN_COMMAND, name=name)

    def _print(self, text: Any, **values: Any) -> None:
        self.talk.screen.line(self.talk.say(text, **values))

    async def _help(self, _: str) -> None:
        self._print(screen.HELP)

    async def _quit(self, _: str) -> None:
        raise Left

    async def _new(self, _: str) -> None:
        await self._go(await begun(self._rest))

    async def _list(self, _: str) -> None:
        self._conversations = await listed(self._rest)
        shown = screen.conversations(self._conversations, self.talk.id, self.talk.locale)
        self.talk.screen.line(shown)

    async def _open(self, number: str) -> None:
        one = self._of(self._conversations, number, "/list")
        if one is not None:
            await self._go(one)

    async def _delete(self, rest: str) -> None:
        number, _, word = rest.partition(" ")
        one = self._of(self._conversations, number, "/list")
        if one is None:
            return
        if word.strip() != "yes":
            self._print(screen.SURE, number=number)
            return
        await self._rest.delete(f"/v1/conversations/{quote(one['id'], safe='')}")
        self._conversations = []
        self._print(screen.DELETED)
        if one["id"] == self.talk.id:
            await self._go(await begun(self._rest))

    async def _go(self, conversation: dict[str, Any]) -> None:
        self.talk = ChatConversation(self._rest, self.talk.screen, conversation)
        if self._opens is not None:
            await self._opens(self.talk)

    async def _why(self, _: str) -> None:
        if self.talk.route is None:
            self._print(screen.NO_ROUTE)
        else:
            self.talk.screen.line(screen.why(self.talk.route, self.talk.locale))

    async def _requests(self, _: str) -> None:
        page = await self._rest.get("/v1/flow-runs", limit=MOST_LISTED)
        self.talk.screen.line(screen.requests(page["items"], self.talk.locale))
        self._tell_of_more(page)

    async def _list_approvals(self, _: str) -> None:
        page = await self._rest.get("/v1/approvals", limit=MOST_LISTED)
        self._approvals = page["items"]
        self.talk.screen.line(screen.approvals(self._approvals, self.talk.locale))
        self._tell_of_more(page)

    def _tell_of_more(self, page: dict[str, Any]) -> None:
        if page["next"] is not None:
            self._print(screen.MORE, count=len(page["items"]))

    async def _decide(self, decision: str, rest: str) -> None:
        number, _, comment = rest.partition(" ")
        item = self._of(self._approvals, number, "/approvals")
        if item is None:
            return
        # With the digest of what was listed: nothing is decided that nobody has seen.
        body = {"decision": decision, "digest": item["digest"]}
        body |= {"comment": comment.strip()} if comment.strip() else {}
        path = f"/v1/approvals/{quote(item['id'], safe='')}/decision"
        answer = await self._rest.post(path, body)
        self._print(screen.DECIDED, decision=decision, status=answer["flow_run"]["status"])

    def _of(self, items: Items, number: str, command: str) -> dict[str, Any] | None:
        """The item of this number as it was listed last; says so where there is none."""
        if number.isascii() and number.isdigit() and 1 <= int(number[:6]) <= len(items):
            return items[int(number) - 1]
        self._print(screen.LIST_FIRST, number=number or "?", command=command)
        return None

    async def _file(self, path: str) -> None:
        """Hand in a file: for the first field that the open form has for one, or as a message."""
        if not path:
            self._print(screen.WHICH_FILE)
            return
        file = await handed_in(self.talk, path)
        if file is None:
            return
        form = self.talk.asked
        fields = form.fields if isinstance(form, FormReply) else []
        wanted = next((field.name for field in fields if field.type == "file"), None)
        if wanted is not None and isinstance(form, FormReply):
            await self.talk.send(form_body(form, {wanted: file}))
        else:
            # Without a word it is for the file to say what is wanted, so it is read first.
            with suppress(Refused):
                await self._rest.get(f"/v1/files/{file['id']}/document", wait=READ_WITHIN)
            await self.talk.send({"files": [file["id"]]})


async def handed_in(talk: ChatConversation, path: str) -> dict[str, Any] | None:
    """The file at `path` as the API took it in; says so and gives None where it won't be."""
    try:
        name, content = await asyncio.to_thread(_read_file, path)
    except (OSError, ValueError, RuntimeError) as error:  # the last where `~` is nobody's
        why = getattr(error, "strerror", None) or error
        talk.screen.line(talk.say(screen.UNREADABLE, path=path, why=why))
        return None
    try:
        return (await talk.rest.upload(name, content)).model_dump()
    except Refused as error:
        talk.screen.line(f"! {error}")
        return None


def _read_file(path: str) -> tuple[str, bytes]:
    file = Path(path.strip("'\"")).expanduser()
    return file.name, file.read_bytes()


async def begun(rest: Rest) -> dict[str, Any]:
    """A new conversation."""
    return await rest.post("/v1/conversations", {})


async def listed(rest: Rest) -> Items:
    """The person's last conversations, newest first."""
    items: Items = (await rest.get("/v1/conversations", limit=MOST_LISTED))["items"]
    return items


async def filled(talk: ChatConversation, form: FormReply, prompt: screen.LinePrompt) -> Body | None:
    """The message that the form comes to; None where whoever sits there gives it up."""
    values: Body = {}
    try:
        for field in form.fields:
            for number, option in enumerate(field.options or [], 1):
                talk.screen.line(f"  {number}. {option.label}")
            mark = f" ({talk.say(screen.REQUIRED)})" if field.required else ""
            label = screen.printable(f"{field.label}{mark}: ")
            while (typed := (await prompt.line(label)).strip()) or field.required:
                value = await _read(talk, field, typed) if typed else None
                if value is not None:
                    values[field.name] = value
                    break
    except (EOFError, KeyboardInterrupt):
        values = {}
    if not values:
        talk.screen.line(talk.say(screen.FORM_DROPPED))
        return None
    return form_body(form, values)


async def _read(talk: ChatConversation, field: FormField, typed: str) -> object:
    """The field's value as it is sent; None, and said why, where it can't be one."""
    if field.type == "file":
        return await handed_in(talk, typed)
    if not field.options:
        return typed
    by_label = [o for o in field.options if typed.casefold() == o.label.casefold()]
    chosen = numbered(typed, field.options) or next(iter(by_label), None)
    if chosen is None:
        talk.screen.line(talk.say(screen.NO_SUCH_OPTION))
        return None
    return chosen.value


async def converse(
    url: str, token: str, wanted: str | None, *, new: bool, on: screen.Screen, state: Path
) -> None:
    """Chat until whoever does so leaves, or the pipe ends."""
    retries = Retries() if on.interactive else AT_ONCE
    async with aclosing(Rest(url, token, retries=retries)) as rest:
        talk = ChatConversation(rest, on, await _opened(rest, wanted, new=new))
        if on.interactive:
            with screen.above_the_prompt():
                await _Interactive(talk, screen.TerminalPrompt(state / "history")).run()
        else:
            # What was asked before is asked still: a pipe goes on where the last one ended.
            talk.asked = await talk.last_question()
            commands = Commands(talk)
            while line := await asyncio.to_thread(sys.stdin.readline):
                with suppress(Left):
                    await _taken(commands, line.rstrip("\r\n"))


async def _opened(rest: Rest, wanted: str | None, *, new: bool) -> dict[str, Any]:
    try:
        if wanted is not None:
            return await rest.get(f"/v1/conversations/{quote(wanted, safe='')}")
        last = [] if new else await listed(rest)
        return last[0] if last else await begun(rest)
    except Refused as error:
        if error.status != 401:  # noqa: PLR2004
            raise
        raise Forbidden(
            f"the API won't have this person: {error} Name a user id of its directory with --user "
            "where ROUTER_AUTH=dev, else a valid token in ROUTER_TOKEN or with --token"
        ) from None


async def _taken(commands: Commands, line: str) -> None:
    if line.startswith("/"):
        await commands.run(line)
    elif line.strip():
        await commands.talk.send(body_of(line, commands.talk.asked))


class _Interactive:
    """Somebody sits there: Ctrl-C stops a turn and twice leaves, news come above the prompt."""

    def __init__(self, talk: ChatConversation, prompt: screen.LinePrompt) -> None:
        self._commands = Commands(talk, self._open)
        self._prompt = prompt
        self._following: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Chat until they leave."""
        talk = self._commands.talk
        talk.screen.aside(talk.say(screen.WELCOME))
        try:
            await self._open(talk)
            await self._lines()
        except Left:
            return
        finally:
            self._deaf()

    async def _open(self, talk: ChatConversation) -> None:
        """Show where a conversation was left, and listen to it from now on."""
        self._deaf()
        talk.screen.aside(talk.say(screen.OPENED, id=talk.id))
        await talk.resume()
        self._following = asyncio.create_task(talk.follow())

    def _deaf(self) -> None:
        if self._following is not None:
            self._following.cancel()

    async def _lines(self) -> None:
        warned = False
        while True:
            try:
                line = await self._prompt.line()
            except EOFError:
                return
            except screen.Discarded:
                warned = False
            except KeyboardInterrupt:
                if warned:
                    return
                warned = True
                self._aside(screen.LEAVE_HINT)
            else:
                warned = False
                await self._answered(line)

    async def _answered(self, line: str) -> None:
        talk = self._commands.talk
        try:
            if line.strip() or not isinstance(talk.asked, FormReply):
                await self._stoppable(_taken(self._commands, line))
            elif body := await filled(talk, talk.asked, self._prompt):
                await self._stoppable(talk.send(body))
        except RouterError as error:
            talk.screen.line(f"! {error}")

    async def _stoppable(self, work: Coroutine[Any, Any, None]) -> None:
        """Await it; a first Ctrl-C meanwhile stops the turn, a second one leaves."""
        presses: asyncio.Queue[None] = asyncio.Queue()
        loop, task = asyncio.get_running_loop(), asyncio.create_task(work)
        loop.add_signal_handler(signal.SIGINT, presses.put_nowait, None)
        try:
            if await _pressed(presses, task):
                self._aside(screen.STOPPING)
                talk = self._commands.talk
                with suppress(Refused):  # nothing runs any more, which is what was wanted
                    await talk.rest.post(f"{talk.path}/cancel", {})
                if await _pressed(presses, task):
                    raise Left
            await task
        finally:
            task.cancel()
            loop.remove_signal_handler(signal.SIGINT)

    def _aside(self, text: Any) -> None:
        talk = self._commands.talk
        talk.screen.aside(talk.say(text))


async def _pressed(presses: asyncio.Queue[None], task: asyncio.Task[None]) -> bool:
    """True once Ctrl-C was pressed; False where the task was over before."""
    press = asyncio.create_task(presses.get())
    try:
        await asyncio.wait({press, task}, return_when=FIRST_COMPLETED)
        return not task.done()
    finally:
        press.cancel()


def chat(
    user: Annotated[
        str, typer.Option(help="Whom to chat as, where ROUTER_AUTH=dev: a user id.")
    ] = "alice",
    url: Url = None,
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Which conversation to go on with.", show_default="last"),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ROUTER_TOKEN",
            help="A bearer token in place of --user, from `intent-router token`; better in the "
            "variable.",
        ),
    ] = None,
    state: Annotated[Path | None, typer.Option(envvar="XDG_STATE_HOME", hidden=True)] = None,
    no_colour: Annotated[str | None, typer.Option(envvar="NO_COLOR", hidden=True)] = None,
) -> None:
    """Chat with the desk in this terminal.

    The API has to run: `intent-router dev`. What is piped in is answered line by line, plainly.
    """
    if conversation is not None and new:
        raise typer.BadParameter("name one of --conversation and --new")
    bearer = token or user
    if not (bearer.isascii() and bearer.isprintable()):
        raise typer.BadParameter(f"{bearer!r} is no user id, nor a token: write visible ASCII")
    at = api_url(url)
    try:
        valid = httpx2.URL(at).scheme in {"http", "https"} and bool(httpx2.URL(at).host)
    except httpx2.InvalidURL:
        valid = False
    if not valid:
        raise typer.BadParameter(f"--url {at!r} is no URL: write http://127.0.0.1:8000")
    kept = (state or Path.home() / ".local" / "state") / "intent-router"
    shown = screen.screen_of(plain=no_colour is not None)
    asyncio.run(converse(at, bearer, conversation, new=new, on=shown, state=kept))
