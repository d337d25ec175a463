"""The chat platforms of a house in chaos, each seen in the same way: who was posted what, what a
press on it does, and what a card says at last.

What is different about them is their protocols': which deliver an event again that wasn't answered,
and which have a name for a post, so that a second one of it isn't seen.
"""

import html
import json
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import httpx
from pydantic import SecretStr

from router.directory.file import SAMPLE
from router.extensions.channels.settings import PlatformSettings
from tests.fakes import dingtalk, feishu, slack, teams, wecom
from tests.fakes.smtp import MailServer
from tests.fakes.web_server import WebServer, json_reply

Body = dict[str, Any]
Delivery = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]
"""Sends one event; called again, it sends the same one again."""


def bare(text: str) -> str:
    """Letters and digits alone: what every platform shows of a text, whatever its markup."""
    return "".join(each for each in html.unescape(text) if each.isalnum())


@dataclass(frozen=True)
class Shown:
    """A post, as the person reads it."""

    to: str
    """An address of theirs."""
    words: str
    """All that it says, bare."""
    buttons: Mapping[str, str] = field(default_factory=dict)
    """What each carries, by its label."""
    key: str = ""
    """Its name, where it has one: two posts of one name are the same."""
    raw: Body = field(default_factory=dict)

    @property
    def approval(self) -> str:
        """What its buttons decide on; empty where they decide nothing."""
        for packed in self.buttons.values():
            return str(json.loads(packed).get("decision", {}).get("approval", ""))
        return ""


class Entrance(Protocol):
    """One platform."""

    name: ClassVar[str]
    redelivers: ClassVar[bool]
    """True where it delivers again what wasn't answered; elsewhere people write it once more."""
    redelivers_presses: ClassVar[bool]
    """The same of buttons."""
    drops_repeats: ClassVar[bool]
    """True where nobody sees a second post of one name; elsewhere it can't be known."""

    @property
    def server(self) -> WebServer:
        """It, as the house calls it."""

    @property
    def settings(self) -> PlatformSettings:
        """By which it is an entrance."""

    def account(self, person: str) -> str:
        """What the directory says they are called there."""

    def addresses(self, person: str) -> set[str]:
        """Where posts to them go."""

    def message(self, person: str, text: str) -> Delivery:
        """They say something to the bot alone."""

    def press(self, person: str, shown: Shown, label: str) -> Delivery:
        """They press a button."""

    def posts(self) -> Iterator[Shown]:
        """Everything that was posted, in order."""

    def outcome(self, shown: Shown) -> str:
        """What an approver's card says came of it, bare; empty where it still asks."""

    def disturb(self) -> None:
        """Have the next call, and no more, refused for now, as platforms do that are busy."""


BUSY = 429
DOWN = 503


class OnSlack:
    """Slack: events come again, presses don't; a post's name is told and drops nothing."""

    name: ClassVar = "slack"
    redelivers: ClassVar = True
    redelivers_presses: ClassVar = False
    drops_repeats: ClassVar = False

    def __init__(self) -> None:
        self.server = slack.Slack()

    @property
    def settings(self) -> PlatformSettings:
        return self.server.settings

    def account(self, person: str) -> str:
        return f"U{person.upper()}"

    def addresses(self, person: str) -> set[str]:
        account = self.account(person)
        return {account, self.server.own_channel(account)}

    def message(self, person: str, text: str) -> Delivery:
        event = self.server.event(self.account(person), text)
        return lambda http: self.server.deliver_once(http, event)

    def press(self, person: str, shown: Shown, label: str) -> Delivery:
        account = self.account(person)
        return lambda http: self.server.presses(http, account, shown.raw, label)

    def posts(self) -> Iterator[Shown]:
        for post in [*self.server.posts]:
            read = {**post, "blocks": _read(post.get("blocks")) or []}
            known = within(_read(post.get("metadata")), "event_payload").get("key", "")
            pressed = {b["text"]["text"]: b["value"] for b in slack.buttons(read)}
            yield Shown(post["channel"], bare(post["text"]), pressed, known, read)

    def outcome(self, shown: Shown) -> str:
        made = [each for each in self.server.updates if each["ts"] == shown.raw["ts"]]
        return bare(made[-1]["text"]) if made else ""

    def disturb(self) -> None:
        busy = json_reply({"ok": False, "error": "ratelimited"}, BUSY, retry_after="1")
        self.server.troubles.clear()
        self.server.troubles.append(busy)


class OnFeishu:
    """Feishu: messages come again; of a name it shows one post."""

    name: ClassVar = "feishu"
    redelivers: ClassVar = True
    redelivers_presses: ClassVar = False
    drops_repeats: ClassVar = True

    def __init__(self) -> None:
        self.server = feishu.Feishu()
        self._answers: dict[str, str] = {}

    @property
    def settings(self) -> PlatformSettings:
        return self.server.settings

    def account(self, person: str) -> str:
        return f"ou_{person}"

    def addresses(self, person: str) -> set[str]:
        account = self.account(person)
        return {account, self.server.own_chat(account)}

    def message(self, person: str, text: str) -> Delivery:
        event = self.server.message(self.account(person), text)
        return lambda http: self.server.deliver_once(http, event)

    def press(self, person: str, shown: Shown, label: str) -> Delivery:
        event = self.server.press(self.account(person), shown.raw, label)

        async def deliver(http: httpx.AsyncClient) -> httpx.Response:
            answer = await self.server.deliver_once(http, event)
            card = within(_object(answer), "card", "data")
            if notes := [each for each in card.get("elements", []) if each["tag"] == "note"]:
                self._answers[shown.key] = bare("".join(_texts(notes, "content")))
            return answer

        return deliver

    def posts(self) -> Iterator[Shown]:
        for post in [*self.server.posts]:
            pressed = {b["text"]["content"]: b["value"]["button"] for b in feishu.buttons(post)}
            words = "".join([*_texts(post["content"], "content"), *_texts(post["content"], "text")])
            yield Shown(post["receive_id"], bare(words), pressed, post.get("uuid", ""), post)

    def outcome(self, shown: Shown) -> str:
        return self._answers.get(shown.key, "")

    def disturb(self) -> None:
        """It is never busy here: its server has no such thing."""


class OnDingTalk:
    """DingTalk by HTTP: nothing comes again for certain; cards have a name, messages none."""

    FAILED = (
        *("现在没能记录", "It couldn't be recorded"),
        *("还不知道您的决定", "It isn't known yet whether your decision"),
        "正在处理",
    )
    """What a card says of a press that its platform was answered, and that came to nothing."""
    name: ClassVar = "dingtalk"
    redelivers: ClassVar = False
    redelivers_presses: ClassVar = False
    drops_repeats: ClassVar = False

    def __init__(self) -> None:
        self.server = dingtalk.DingTalk()

    @property
    def settings(self) -> PlatformSettings:
        return self.server.settings

    def account(self, person: str) -> str:
        return f"staff_{person}"

    def addresses(self, person: str) -> set[str]:
        return {self.account(person)}

    def message(self, person: str, text: str) -> Delivery:
        event = self.server.message(self.account(person), text)
        return lambda http: self.server.deliver_once(http, event)

    def press(self, person: str, shown: Shown, label: str) -> Delivery:
        body = self.server.press(self.account(person), shown.raw, label)

        async def deliver(http: httpx.AsyncClient) -> httpx.Response:
            path = httpx.URL(self.server.routes[shown.raw["route"]]["callbackUrl"]).path
            answer = await http.post(path, json=body, headers=self.server.signed_press())
            said = _object(answer)
            # The platform shows what it is answered on the card itself.
            shown.raw["content"] |= within(said, "cardData", "cardParamMap")
            private = shown.raw["private"].setdefault(body["userId"], {})
            private.update(within(said, "userPrivateData", "cardParamMap"))
            failed = any(word in private.get("status", "") for word in self.FAILED)
            return httpx.Response(DOWN) if failed else answer

        return deliver

    def posts(self) -> Iterator[Shown]:
        for post in [*self.server.posts]:
            content, track = post["content"], post.get("track", "")
            kept = [content.get(name, "") for name in ("title", "content")] if track else []
            words = "".join([*kept, content.get("text", "") if not track else ""])
            pressed = {b["text"]: b["event"]["params"]["params"]["button"] for b in _asked(post)}
            words += content["content"] if post["kind"] == "sampleText" else ""
            yield Shown(post["to"], bare(words), pressed, track, post)

    def outcome(self, shown: Shown) -> str:
        """Only a card that has no buttons any more says for everybody what came of it."""
        return "" if dingtalk.buttons(shown.raw) else bare(shown.raw["content"].get("status", ""))

    def disturb(self) -> None:
        self.server.troubles.clear()
        self.server.troubles.append(dingtalk.refused("ServiceUnavailable", DOWN))


class OnWecom:
    """WeCom: everything comes again; a card of a name is shown once, of texts it can't tell."""

    name: ClassVar = "wecom"
    redelivers: ClassVar = True
    redelivers_presses: ClassVar = True
    drops_repeats: ClassVar = False

    def __init__(self) -> None:
        self.server = wecom.Wecom()
        self._pressed: dict[str, set[str]] = {}

    @property
    def settings(self) -> PlatformSettings:
        return self.server.settings

    def account(self, person: str) -> str:
        return self.server.account(person)

    def addresses(self, person: str) -> set[str]:
        return {self.account(person)}

    def message(self, person: str, text: str) -> Delivery:
        event = self.server.message(person, text)
        return lambda http: self.server.deliver_once(http, event)

    def press(self, person: str, shown: Shown, label: str) -> Delivery:
        event = self.server.press(person, shown.raw, label)
        self._pressed.setdefault(shown.key, set()).add(event["ResponseCode"])
        return lambda http: self.server.deliver_once(http, event)

    def posts(self) -> Iterator[Shown]:
        for post in [*self.server.posts]:
            card = wecom.card_of(post)
            text = [post.get("text", {}).get("content", ""), card.get("sub_title_text", "")]
            words = "".join([*text, card.get("main_title", {}).get("title", "")])
            pressed = {each["text"]: each["key"] for each in card.get("button_list", [])}
            yield Shown(post["touser"], bare(words), pressed, card.get("task_id", ""), post)

    def outcome(self, shown: Shown) -> str:
        codes = self._pressed.get(shown.key, set())
        made = [each for each in self.server.updates if each["response_code"] in codes]
        return bare(made[-1]["template_card"].get("sub_title_text", "")) if made else ""

    def disturb(self) -> None:
        self.server.troubles.clear()
        self.server.troubles.append(json_reply({}, DOWN))


class OnTeams:
    """Teams: nothing comes again for certain, and no post has a name."""

    name: ClassVar = "teams"
    redelivers: ClassVar = False
    redelivers_presses: ClassVar = False
    drops_repeats: ClassVar = False

    def __init__(self) -> None:
        self.server = teams.Teams()

    @property
    def settings(self) -> PlatformSettings:
        return self.server.settings

    def account(self, person: str) -> str:
        return teams.account(person)

    def addresses(self, person: str) -> set[str]:
        return {self.server.chat(person)}

    def message(self, person: str, text: str) -> Delivery:
        activity = self.server.message(person, text)
        return lambda http: self.server.deliver_once(http, activity)

    def press(self, person: str, shown: Shown, label: str) -> Delivery:
        activity = self.server.press(person, shown.raw, label)
        return lambda http: self.server.deliver_once(http, activity)

    def posts(self) -> Iterator[Shown]:
        for post in [*self.server.posts]:
            shown = [each for each in teams.buttons(post) if each["type"] != "Action.ShowCard"]
            pressed = {each["title"]: each["data"]["button"] for each in shown}
            words = "".join([*teams.texts(post), post.get("text", "")])
            yield Shown(post["chat"], bare(words), pressed, "", post)

    def outcome(self, shown: Shown) -> str:
        made = [each for each in self.server.updates if each["id"] == shown.raw["id"]]
        return bare("".join(teams.texts(made[-1]))) if made else ""

    def disturb(self) -> None:
        self.server.troubles.clear()
        self.server.troubles.append(teams.refusal(DOWN, "ServiceUnavailable"))


def every() -> list[Entrance]:
    """One of each."""
    return [OnSlack(), OnFeishu(), OnDingTalk(), OnWecom(), OnTeams()]


MAIL = "mail"
TRUSTED = {
    "bob": "slack",
    "carol": "feishu",
    "erin": "dingtalk",
    "dave": "wecom",
    "gina": "teams",
}
"""Who approves, and the platform on which they do; each has mail, too."""


@dataclass
class Town:
    """What the house is connected with: every platform, a mail server, and so many people.

    The people are called by their platform, `slack0` and so on, and each has an approver.
    """

    callers: int
    entrances: list[Entrance] = field(default_factory=every)
    mail: MailServer = field(default_factory=MailServer)
    mail_port: int = 0
    """By which the house reaches it, where that isn't its own."""

    @property
    def people(self) -> dict[str, Entrance]:
        """Who comes by a platform, and which it is."""
        there = ((n, self.entrances[n % len(self.entrances)]) for n in range(self.callers))
        return {f"{entrance.name}{n}": entrance for n, entrance in there}

    @property
    def ports(self) -> list[int]:
        """Of the servers, the last the mail server's."""
        return [*(each.server.port for each in self.entrances), self.mail.settings.port]

    def reached_by(self, ports: Sequence[int]) -> None:
        """Have the house reach the servers by these instead."""
        for entrance, port in zip(self.entrances, ports, strict=False):
            entrance.server.port = port
        self.mail_port = ports[-1]

    def manager(self, person: str) -> str:
        """Who decides on what the person asks for."""
        number = [*self.people].index(person)
        # Of each platform's people the first has the first approver, the next the next, and so on.
        return [*TRUSTED][(number + number // len(self.entrances)) % len(TRUSTED)]

    @property
    def approvers(self) -> list[str]:
        """Those who decide on a platform."""
        return [*TRUSTED]

    def at(self, approver: str) -> Entrance:
        """The platform on which an approver is."""
        name = TRUSTED[approver]
        return next(each for each in self.entrances if each.name == name)

    def variables(self, directory: Path) -> dict[str, str]:
        """What the house is told of them."""
        mail = self.mail.settings.model_copy(update={"port": self.mail_port})
        told = {"ROUTER_DIRECTORY": str(directory)}
        for section in (*(each.settings for each in self.entrances), mail):
            for name, value in section:
                secret = value.get_secret_value() if isinstance(value, SecretStr) else value
                told |= {} if secret is None else {f"{section.prefix()}{name.upper()}": str(secret)}
        return told

    def directory(self) -> str:
        """The sample's people with their accounts, and those who come by platforms."""
        text = SAMPLE.read_text("utf-8")
        for person, name in TRUSTED.items():
            accounts = {name: self.at(person).account(person), MAIL: address(person)}
            begins = f"{{id: {person}, "
            text = text.replace(begins, f"{begins}accounts: {json.dumps(accounts)}, ")
        for number, (person, entrance) in enumerate(self.people.items()):
            about = {
                "id": person,
                "name": f"{person.title()} of {entrance.name}",
                "locale": LOCALES[number // len(self.entrances) % 2],
                "department": "sales",
                "manager": self.manager(person),
                "accounts": {entrance.name: entrance.account(person)},
            }
            text += f"  - {json.dumps(about)}\n"
        return text


LOCALES = ("zh", "en")


@asynccontextmanager
async def town(callers: int) -> AsyncIterator[Town]:
    """All of their servers, for as long as the block lasts."""
    built = Town(callers)
    async with AsyncExitStack() as stack:
        for entrance in built.entrances:
            await stack.enter_async_context(entrance.server)
        await stack.enter_async_context(built.mail)
        built.mail_port = built.mail.settings.port
        yield built


def address(person: str) -> str:
    """Where a person reads their mail."""
    return f"{person}@example.com"


def within(value: object, *names: str) -> Body:
    """The object at the end of these names; an empty one where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _read(value: object) -> Any:
    """What Slack was sent as a form's field is JSON in it."""
    return json.loads(value) if isinstance(value, str) and value else value


def _object(answer: httpx.Response) -> Body:
    try:
        return within(answer.json())
    except ValueError:
        return {}


def _asked(post: Body) -> Iterable[Body]:
    return dingtalk.buttons(post) if post["kind"] == "card" else []


def _texts(value: object, name: str) -> Iterator[str]:
    """Every text of this name in it, in order."""
    if isinstance(value, dict):
        for each, inner in value.items():
            if each == name and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, name)
