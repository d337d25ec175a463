"""Dialogues played with the whole house over HTTP, and what each turn is beside its label.

`held_out.yaml` says what is right; nothing was tuned on it, but on `development.yaml`. Where the
house asks back and the right one is among the options it is pressed, as a person would: that turn
was asked.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import httpx
from pydantic import BaseModel, ConfigDict, JsonValue

from router.formats.yaml_document import read_yaml
from tests.e2e.house import Chat, House, Person
from tests.llm.labels import Verdict, has
from tests.llm.local_model import LocalModel

FOLDER = Path(__file__).parent
FILES = {name: FOLDER / f"{name}.yaml" for name in ("development", "held_out")}
POLICIES = FOLDER.parents[1] / "company" / "policies"
WAIT = 100
"""Seconds for which one request waits for a turn."""
PATIENCE = 240
"""Seconds for a turn: what is measured is whether it is right; how long it took stands beside."""
COLD = 900
"""Seconds within which a model that was started has to have answered anything."""
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SPEAKERS = {"zh": "alice", "en": "frank"}


class Labelled(BaseModel):
    """A message and what is right; the head of `held_out.yaml` says what each key means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    say: str
    right: list[str]
    slots: dict[str, JsonValue] = {}
    unset: list[str] = []
    calls: dict[str, JsonValue] = {}
    done: str = ""
    holds: list[str] = []
    lacks: list[str] = []
    numbers: bool = False

    @property
    def names(self) -> set[str]:
        """Everything that is named in any route that is right."""
        return {name for each in self.right for name in each.split()}


class Dialogue(BaseModel):
    """Messages of one conversation, in their order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    lang: Literal["zh", "en"]
    kind: str
    messages: list[Labelled]


def load(name: str = "held_out") -> list[Dialogue]:
    """All of a file."""
    written = read_yaml(FILES[name].read_text("utf-8")).data
    return [Dialogue.model_validate(one) for one in written]


@dataclass(frozen=True)
class Played:
    """What came of one message. `faults` are labels that don't hold, of a right turn too."""

    dialogue: str
    kind: str
    lang: str
    say: str
    verdict: Verdict
    faults: list[str]
    form: bool
    """True where a form was begun without a question, and nobody asked for it."""
    invented: list[str]
    """Numbers of the reply that stand nowhere."""
    seconds: float
    turn: dict[str, Any] = field(default_factory=dict)


def dated(value: JsonValue, today: date) -> JsonValue:
    """The day that `=monday+1` or `=today-1` is; anything else as it is.

    >>> dated("=monday+1", date(2026, 11, 18))
    '2026-11-23'
    """
    found = re.fullmatch(r"=([a-z]+)([+-][0-9]+)", value) if isinstance(value, str) else None
    if found is None:
        return value
    name, count = found[1], int(found[2])
    if name == "today":
        return (today + timedelta(days=count)).isoformat()
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=count)
    return (monday + timedelta(days=DAYS.index(name))).isoformat()


def routes(turn: dict[str, Any]) -> set[str]:
    """Targets and kinds of everything that the turn was for."""
    listed = [turn["route"], *(turn.get("routes") or [])]
    return {name for one in listed for name in (one["kind"], one.get("target")) if name}


def is_right(label: Labelled, turn: dict[str, Any]) -> bool:
    """Whether the turn went where one of the label's routes does."""
    found = routes(turn)
    return any(set(each.split()) <= found for each in label.right)


def option(label: Labelled, turn: dict[str, Any]) -> str | None:
    """The value of the option that a person would press, where the right one is among them."""
    offered = [one for reply in turn["replies"] for one in reply.get("options") or ()]
    wanted = (one["value"] for one in offered if one["value"] in label.names)
    return next(wanted, None)


def words(turn: dict[str, Any]) -> str:
    """All that was said."""
    return "\n".join(str(reply.get("text", "")) for reply in turn["replies"])


def faults(label: Labelled, turn: dict[str, Any], today: date) -> Iterator[str]:
    """What of the label doesn't hold, beside its route."""
    slots = (turn.get("flow") or {}).get("slots") or {}
    for path, wanted in label.slots.items():
        if not has(slots, path, dated(wanted, today)):
            yield f"slot {path} isn't {dated(wanted, today)}"
    yield from (f"slot {path} was filled in" for path in label.unset if has(slots, path, None))
    calls = turn.get("tool_calls") or []
    for path, wanted in label.calls.items():
        if not any(has(call["arguments"], path, dated(wanted, today)) for call in calls):
            yield f"no call had {path}={dated(wanted, today)}"
    if label.done and not any((c["name"], c["status"]) == (label.done, "done") for c in calls):
        yield f"{label.done} wasn't done"
    said = words(turn)
    for one in label.holds:
        if not any(part in said for part in one.split("|")):
            yield f"nothing was said of {one}"
    yield from (f"{one!r} was said" for one in label.lacks if one in said)


_NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")


def numbers(text: str) -> set[str]:
    """The numbers in it, each in one spelling: 1,580.00 is 1580, and so are the parts of days."""
    return {_plain(one) for one in _NUMBER.findall(text)}


def _plain(number: str) -> str:
    whole, _, part = number.replace(",", "").partition(".")
    part = part.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{f'.{part}' if part else ''}"


@cache
def policies() -> str:
    """What policies say: more of it than a preview shows may be repeated."""
    return "\n".join(path.read_text("utf-8") for path in sorted(POLICIES.glob("*.md")))


def invented(turn: dict[str, Any], before: Iterable[str]) -> list[str]:
    """Numbers of the reply that stand neither in results nor in what was said."""
    calls = turn.get("tool_calls") or []
    known = [*before, json.dumps(calls, ensure_ascii=False), *(c["result_preview"] for c in calls)]
    if any(call["name"] == "search_policies" for call in calls):
        known.append(policies())
    return sorted(numbers(words(turn)) - numbers("\n".join(known)))


@dataclass
class Player:
    """Plays dialogues with a house."""

    house: House
    today: date = field(default_factory=date.today)

    def play(self, dialogue: Dialogue) -> list[Played]:
        """What came of each message, in a conversation of its own."""
        person = Person(self.house, SPEAKERS[dialogue.lang])
        person.http.timeout = httpx.Timeout(PATIENCE + 60)
        chat, said, flow = person.chat(), [str(self.today)], ""
        played = []
        for label in dialogue.messages:
            said.append(label.say)
            turn, seconds = _sent(chat, {"text": label.say})
            verdict: Verdict = "right" if is_right(label, turn) else "wrong"
            begun = (turn.get("flow") or {}).get("name", "")
            form = bool(begun) and begun not in {flow, *label.names}
            pressed = option(label, turn) if verdict == "wrong" else None
            if pressed is not None:
                verdict = "asked"
                turn, more = _sent(chat, {"action": {"type": "choose", "value": pressed}})
                seconds += more
            flow = (turn.get("flow") or {}).get("name", "")
            made_up = invented(turn, said) if label.numbers else []
            found = list(faults(label, turn, self.today))
            about = (dialogue.name, dialogue.kind, dialogue.lang, label.say)
            played.append(Played(*about, verdict, found, form, made_up, round(seconds, 1), turn))
            said.append(words(turn))
        person.http.close()
        return played


def _sent(chat: Chat, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """The turn, and the seconds until it was there; it is fetched where one wait isn't enough."""
    began, path = time.monotonic(), f"/v1/conversations/{chat.id}/messages"
    response = chat.person.post(f"{path}?wait={WAIT}", body)
    while response.status_code == HTTPStatus.ACCEPTED and time.monotonic() - began < PATIENCE:
        time.sleep(0.2)
        response = chat.person.http.get(f"{path}/{response.json()['message_id']}?wait={WAIT}")
    assert response.status_code == HTTPStatus.OK, response.text
    return dict(response.json()), time.monotonic() - began


def variables(server: LocalModel, rates: str) -> dict[str, str]:
    """What the house is started with: this model, all the time it wants, and no weather."""
    return {
        "ROUTER_LLM_BASE_URL": server.url,
        "ROUTER_LLM_MODEL": server.name,
        "ROUTER_LLM_TURN_SECONDS": str(PATIENCE),
        "ROUTER_TOOL_WEATHER_URL": "http://127.0.0.1:9",
        "ROUTER_HTTP_ALLOW": '["http://127.0.0.1:9"]',
        "ROUTER_RATES_URL": rates,
    }


class _Rates(BaseHTTPRequestHandler):
    """The rates of today, as frankfurter.dev has them."""

    def do_GET(self) -> None:
        rates = {"CNY": 8.2, "USD": 1.16, "GBP": 0.88, "JPY": 180.0, "HKD": 9.02, "CHF": 0.93}
        day = {"base": "EUR", "date": f"{datetime.now(UTC):%Y-%m-%d}", "rates": rates}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(day).encode())

    def log_message(self, *_: object) -> None:
        """Nobody reads them."""


@contextmanager
def exchange_rates() -> Iterator[str]:
    """Where there are rates, while it is entered."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Rates) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/daily.json"
        serving.shutdown()


def measured(server: LocalModel, folder: Path, only: Sequence[Dialogue]) -> list[Played]:
    """Everything played; each dialogue is kept when it has ended, and played once."""
    kept = folder / "dialogues.jsonl"
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    found = [Played(**json.loads(line)) for line in lines if line.endswith("}")]
    left = [one for one in only if one.name not in {played.dialogue for played in found}]
    if not left:
        return found
    data = folder / "house"
    with server, exchange_rates() as rates:
        house = House(data, variables=variables(server, rates)).start()
        try:
            for dialogue in left:
                played = Player(house).play(dialogue)
                with kept.open("a", encoding="utf-8") as file:
                    file.writelines(f"{line(one)}\n" for one in played)
                found += played
                print(shown(played), flush=True)
        finally:
            house.stop()
    return found


@dataclass(frozen=True)
class ColdStart:
    """What it took from nothing to the first message that a model answered, in seconds."""

    server: float
    """Until the model's server was ready."""
    house: float
    """Until the house was, which is started after it."""
    answered: float
    """From then on, until a message had a model's answer."""
    without: int
    """Messages that were answered without a model before that, one every second."""

    def told(self) -> str:
        """In a sentence."""
        return (
            f"The server was ready after {self.server:.1f} s, the house {self.house:.1f} s later; "
            f"{self.answered:.1f} s after that a message had a model's answer. Before it "
            f"{self.without} were answered without one."
        )


def cold_start(server: LocalModel, folder: Path) -> ColdStart:
    """Start everything and ask, as somebody would who just goes on asking, with a turn's own limit.

    Every message is new to the server, and no rule takes any.
    """
    began = time.monotonic()
    with server, exchange_rates() as rates:
        served, given = time.monotonic(), variables(server, rates)
        del given["ROUTER_LLM_TURN_SECONDS"]
        house = House(folder / "cold", variables=given).start()
        ready = time.monotonic()
        try:
            chat, without = Person(house, SPEAKERS["en"]).chat(), 0
            chat.person.http.timeout = httpx.Timeout(PATIENCE)
            while True:
                turn, _ = _sent(chat, {"text": f"What is {without + 17} times 23?"})
                if turn["route"]["by"] == "llm":
                    break
                assert time.monotonic() - ready < COLD, f"no model answers: {turn['route']}"
                without += 1
                time.sleep(1)
            answered = time.monotonic()
        finally:
            house.stop()
    return ColdStart(served - began, ready - served, answered - ready, without)


def line(one: Played) -> str:
    """As it is kept."""
    return json.dumps(asdict(one), ensure_ascii=False)


def shown(played: Sequence[Played]) -> str:
    """One dialogue, for who watches."""
    rows = [
        f"  {one.verdict:<5} {one.seconds:5.1f} s {one.say[:50]} -> "
        f"{sorted(routes(one.turn))} {one.faults or ''} {one.invented or ''}"
        for one in played
    ]
    return "\n".join([played[0].dialogue, *rows])


COLUMNS = ("", "dialogues right", "right", "asked", "wrong", "wrong forms", "faults", "invented")


def table(found: Sequence[Played]) -> str:
    """A row for every kind and language.

    A dialogue is right where every turn was right or asked, and nothing of its label was amiss.
    """
    head = [f"| {' | '.join(COLUMNS)} |", f"| ---{' | --:' * (len(COLUMNS) - 1)} |"]
    parts: list[tuple[str, list[Played]]] = []
    for key in ("kind", "lang"):
        for name in dict.fromkeys(getattr(one, key) for one in found):
            parts += [(name, [one for one in found if getattr(one, key) == name])]
    return "\n".join([*head, *(_row(*part) for part in [*parts, ("**all**", list(found))])])


def _row(title: str, found: Sequence[Played]) -> str:
    verdicts = Counter(one.verdict for one in found)
    amiss = {o.dialogue for o in found if o.verdict == "wrong" or o.faults or o.invented or o.form}
    names = {one.dialogue for one in found}
    figures = [
        *(f"{len(names) - len(amiss)}/{len(names)}", f"{verdicts['right']}/{len(found)}"),
        *(str(verdicts["asked"]), str(verdicts["wrong"])),
        str(sum(one.form for one in found)),
        *(str(sum(bool(each) for each in marks)) for marks in _marks(found)),
    ]
    return f"| {title} | {' | '.join(figures)} |"


def _marks(found: Sequence[Played]) -> tuple[list[list[str]], list[list[str]]]:
    return [one.faults for one in found], [one.invented for one in found]
