"""What a line that begins with a slash does."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from router.cli.rest import Rest, RestRefused
from router.cli.terminal import screen
from router.cli.terminal.conversation import ChatConversation, form_body
from router.domain.messages import FormReply

MOST_LISTED = 20
Items = list[dict[str, Any]]
Command = Callable[[str], Awaitable[None]]


class Left(Exception):
    """Whoever sits there wants to leave."""


class Commands:
    """The commands of one chat. `opens` is called with each conversation that is gone to."""

    def __init__(
        self, talk: ChatConversation, opens: Callable[[ChatConversation], Awaitable[None]]
    ) -> None:
        self.talk = talk
        self._opens = opens
        self._conversations: Items = []
        self._approvals: Items = []

    @property
    def _rest(self) -> Rest:
        return self.talk.rest

    async def run(self, line: str) -> None:
        """Do what the line says.

        Raises:
            Left: it says goodbye.
            RouterError: the API refuses it, or isn't there.
        """
        name, _, rest = line.partition(" ")
        known = self._known().get(name)
        if known is None:
            self._print(screen.UNKNOWN_COMMAND, name=name)
        else:
            await known(rest.strip())

    def _known(self) -> dict[str, Command]:
        return {
            "/help": self._help,
            "/new": self._new,
            "/list": self._list,
            "/open": self._open,
            "/file": self._file,
            "/why": self._why,
            "/approvals": self._list_approvals,
            "/approve": self._deciding("approve"),
            "/reject": self._deciding("reject"),
            "/return": self._deciding("return"),
            "/requests": self._requests,
            "/quit": self._quit,
        }

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

    async def _go(self, conversation: dict[str, Any]) -> None:
        self.talk = ChatConversation(self._rest, self.talk.screen, conversation)
        await self._opens(self.talk)

    async def _why(self, _: str) -> None:
        if self.talk.route is None:
            self._print(screen.NO_ROUTE)
        else:
            self.talk.screen.line(screen.why(self.talk.route, self.talk.locale))

    async def _requests(self, _: str) -> None:
        items = (await self._rest.get("/v1/flow-runs", limit=MOST_LISTED))["items"]
        self.talk.screen.line(screen.requests(items, self.talk.locale))

    async def _list_approvals(self, _: str) -> None:
        self._approvals = (await self._rest.get("/v1/approvals", limit=MOST_LISTED))["items"]
        self.talk.screen.line(screen.approvals(self._approvals, self.talk.locale))

    def _deciding(self, decision: str) -> Command:
        async def decide(rest: str) -> None:
            number, _, comment = rest.partition(" ")
            item = self._of(self._approvals, number, "/approvals")
            if item is None:
                return
            # With the digest of what was listed: nothing is decided that nobody has seen.
            body = {"decision": decision, "digest": item["digest"]}
            body |= {"comment": comment.strip()} if comment.strip() else {}
            path = f"/v1/approvals/{quote(item['id'], safe='')}/decision"
            answer = await self._rest.post(path, body)
            status = answer["flow_run"]["status"]
            self._print(screen.DECIDED, decision=decision, status=status)

        return decide

    def _of(self, items: Items, number: str, command: str) -> dict[str, Any] | None:
        """The item of this number as it was listed last; says so where there is none."""
        if number.isascii() and number.isdigit() and 1 <= int(number[:6]) <= len(items):
            return items[int(number) - 1]
        self._print(screen.LIST_FIRST, number=number or "?", command=command)
        return None

    async def _file(self, path: str) -> None:
        """Hand in what the open form asks for, as its first field of type `file`."""
        form = self.talk.asked
        fields = form.fields if isinstance(form, FormReply) else []
        wanted = next((field.name for field in fields if field.type == "file"), None)
        if wanted is None or not isinstance(form, FormReply):
            self._print(screen.NO_FILE_ASKED)
            return
        file = await handed_in(self.talk, path)
        if file is not None:
            await self.talk.send(form_body(form, {wanted: file}))


async def handed_in(talk: ChatConversation, path: str) -> dict[str, Any] | None:
    """The file at `path` as the API took it in; says so and gives None where it won't be."""
    try:
        name, content = await asyncio.to_thread(_read, path)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        talk.screen.line(talk.say(screen.UNREADABLE, path=path, why=why))
        return None
    try:
        return await talk.rest.upload("/v1/files", name, content)
    except RestRefused as error:
        talk.screen.line(f"! {error}")
        return None


def _read(path: str) -> tuple[str, bytes]:
    """Name and content of a file; RuntimeError where `~` is nobody's."""
    file = Path(path.strip("'\"")).expanduser()
    return file.name, file.read_bytes()


async def begun(rest: Rest) -> dict[str, Any]:
    """A new conversation."""
    return await rest.post("/v1/conversations", {})


async def listed(rest: Rest) -> Items:
    """The person's last conversations, newest first."""
    items: Items = (await rest.get("/v1/conversations", limit=MOST_LISTED))["items"]
    return items
