"""Labelled lines from the event log, written to a file that only its owner may read."""

import json
import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from sqlalchemy.engine import make_url

from router.cli.witness import noted
from router.definitions import load_capabilities
from router.directory.sources import people_of
from router.domain.errors import InvalidInput, NotFound
from router.evaluation.choices import Choice, ChoiceReader
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store

PAGE = 500
"""Entries of the log that are read at a time."""


async def gather(settings: Settings, tenant: str, file: Path) -> str:
    """Write what people chose when they were asked, and say how much that is.

    Raises:
        InvalidInput: the file is there already, or can't be written.
        NotFound: there is no log, or nobody ever chose.
    """
    _check_places(settings, file)
    database = Database(settings.database_url)
    try:
        await database.migrate()
        store = Store(database)
        await noted(store.trail, tenant, "conversations.export", detail=f"into {file.name}")
        choices = [choice async for choice in _choices(store, tenant)]
        owners = {c.conversation: await _owner(store, tenant, c.conversation) for c in choices}
    finally:
        await database.dispose()
    lines = list(_lines(settings, choices, owners))
    if not lines:
        raise NotFound(
            f"{database} has no message that was asked about and answered with a choice: "
            f"label some by hand, one a line: {json.dumps({'text': '…', 'label': '…'})}"
        )
    _write(file, lines)
    left = f", {len(choices) - len(lines)} left out" if len(choices) > len(lines) else ""
    return f"{len(lines)} lines from the log written to {file}{left}\n"


def _check_places(settings: Settings, file: Path) -> None:
    if file.exists():
        raise InvalidInput(f"{file} is there already, and --from-log writes a new file: name one")
    path = make_url(settings.database_url).database
    if settings.uses_sqlite and not Path(path or "").exists():
        raise NotFound(f"there is no log at {path} yet: set ROUTER_DATABASE_URL or ROUTER_DATA")


async def _choices(store: Store, tenant: str) -> AsyncIterator[Choice]:
    reader, after = ChoiceReader(), None
    while page := await store.log.exchanges(tenant, after, PAGE):
        for entry in page:
            choice = reader.take(entry)
            if choice is not None:
                yield choice
        after = (str(page[-1].conversation), page[-1].sequence or 0)


async def _owner(store: Store, tenant: str, conversation: str) -> str:
    record = await store.conversations.find(tenant, conversation)
    return record.owner if record else ""


def _lines(
    settings: Settings, choices: Iterable[Choice], owners: dict[str, str]
) -> Iterable[dict[str, str]]:
    """A line for each choice, less what nobody here could say or do any more, and repetitions."""
    there = {capability.name for capability in load_capabilities(settings).everything()}
    people = {one.id for one in people_of(settings).everyone()}
    seen: set[tuple[str, str, str]] = set()
    for choice in choices:
        user = owners[choice.conversation]
        said = (choice.text, choice.label, user)
        if user in people and choice.label in there and said not in seen:
            seen.add(said)
            yield {
                "text": choice.text,
                "label": choice.label,
                "user": user,
                "now": choice.at.isoformat(timespec="microseconds"),
            }


def _write(file: Path, lines: Iterable[dict[str, str]]) -> None:
    """What people wrote is theirs: nobody else on this machine may read it."""
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(f"{file} can't be written ({error.strerror}): name another") from None
    with os.fdopen(opened, "w", encoding="utf-8") as writing:
        writing.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
