"""Explaining messages as `route` does, for a person at a terminal and for programs."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import typer
from pydantic import TypeAdapter, ValidationError

from router.api.explanation import explain
from router.api.plain import SaidText
from router.assembly import load_catalog, load_registry
from router.cli.people import person
from router.deciding.without_model import decide
from router.domain.commands import Command
from router.domain.errors import InvalidInput, RouterError
from router.domain.messages import Message, Route
from router.flow.situation import Situation
from router.settings import Settings
from router.understanding.reader import Reader

Explanation = dict[str, Any]
Explain = Callable[[str], Explanation]

_SAID: TypeAdapter[str] = TypeAdapter(SaidText)


def explainer(settings: Settings, user: str, now: str | None) -> Explain:
    """What explains messages as if `user` said them, at `now` or at the time of asking.

    Raises:
        RouterError: flows or directory can't be used, or have nobody called `user`.
    """
    registry = load_registry()
    catalog = load_catalog(settings, registry)
    speaker = person(settings, user)
    moment(now, speaker.timezone)
    reader = Reader(catalog)
    capabilities = [*catalog.capabilities(speaker), *registry.capabilities(speaker)]

    async def deciding(message: Message, situation: Situation) -> tuple[Route, list[Command]]:
        return decide(message, situation, capabilities)

    def explain_one(text: str) -> Explanation:
        situation = Situation(
            now=moment(now, speaker.timezone), locale=speaker.locale, roles=speaker.roles
        )
        return asyncio.run(explain(reader, said(text), situation, deciding))

    return explain_one


def said(text: str) -> str:
    """The text, where it can be a message.

    Raises:
        InvalidInput: it is empty, too long, or has characters that no message may have.
    """
    try:
        text.encode()
        return _SAID.validate_python(text)
    except UnicodeEncodeError:
        raise InvalidInput("the text isn't UTF-8: convert it first") from None
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"the text can't be a message: {reason}") from None


def moment(written: str | None, timezone: str) -> datetime:
    """When the message is said, in the speaker's time zone; now, where nothing is written.

    >>> moment("2026-11-18T10:00", "Asia/Shanghai").isoformat()
    '2026-11-18T10:00:00+08:00'
    """
    zone = ZoneInfo(timezone)
    if written is None:
        return datetime.now(zone)
    try:
        given = datetime.fromisoformat(written)
    except ValueError:
        raise typer.BadParameter(
            f"--now {written!r} is no ISO 8601 time: write it like 2026-11-18T10:00+08:00"
        ) from None
    return given.replace(tzinfo=zone) if given.tzinfo is None else given.astimezone(zone)


def explain_lines(explain: Explain) -> None:
    """Answer every line of stdin with one line of JSON, as it comes.

    Raises:
        InvalidInput: some lines couldn't be messages; the others were answered all the same.
    """
    refused = 0
    for raw in sys.stdin.buffer:
        answer = _answer(explain, raw)
        refused += "error" in answer
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    if refused:
        raise InvalidInput(f"{refused} of the lines can't be messages: their `error` says why")


def _answer(explain: Explain, raw: bytes) -> Explanation:
    line = raw.rstrip(b"\r\n")
    try:
        return explain(line.decode(errors="surrogateescape"))
    except RouterError as error:
        return {"text": line.decode(errors="replace"), "error": str(error)}


def readable(explanation: Explanation) -> str:
    """The explanation as a person reads it: the decision first, then what led to it."""
    decision = explanation["decision"]
    where = " ".join(filter(None, (decision["kind"], decision.get("target"))))
    lines = [f"{where}, by {decision['by']} (confidence {decision['confidence']:.2f})"]
    lines += _section("because", [decision["reason"]] if decision.get("reason") else [])
    lines += _section("slots", (f"{k} = {_json(v)}" for k, v in decision.get("slots", {}).items()))
    lines += _section("patterns", map(_pattern, explanation["patterns"]))
    lines += _section("entities", map(_entity, explanation["entities"]))
    lines += _section("others", map(_candidate, explanation["candidates"]))
    return "\n".join(lines)


def _section(title: str, items: Iterable[str]) -> Iterator[str]:
    for position, item in enumerate(items):
        yield f"  {title if position == 0 else '':<9} {item}"


def _pattern(hit: Explanation) -> str:
    blocked = f", blocked by {hit['blocked_by']}" if hit.get("blocked_by") else ""
    return f"{hit['flow']}: {hit['pattern']} at {_span(hit)}{blocked}"


def _entity(entity: Explanation) -> str:
    return f"{entity['type']} {entity['text']!r} at {_span(entity)}: {_json(entity['value'])}"


def _candidate(candidate: Explanation) -> str:
    return f"{candidate['kind']} {candidate['name']} ({candidate['score']:.2f})"


def _span(found: Explanation) -> str:
    start, end = found["span"]
    return f"{start}–{end}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
