"""Options that several commands share, what each comes to, and what is noted of a command's deeds.

A command notes in the audit trail what it does before it does it: there is no token to go by.
"""

import os
import pwd
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import typer
from sqlalchemy.engine import make_url

from router.api.params import fresh_id
from router.directory.sources import people_of
from router.domain.errors import InvalidInput, NotFound
from router.domain.principals import DEFAULT_TENANT, Principal
from router.domain.records import SHELL, Act, AuditEntry
from router.domain.visible_text import inline, isolated
from router.runtime.data_folder import made, served
from router.runtime.tables import aged_rows, migrate_all
from router.settings import NO_TLS, Section, Settings
from router.store.audit import AuditTrail
from router.store.database import Database
from router.store.store import Store
from router.webhook.webhook_files import OtherSystems

LOCAL_API = "http://127.0.0.1:8000"
OPERATOR = "olga"
"""Who operates the sample company."""
Found = TypeVar("Found")
UserOption = Annotated[
    str, typer.Option(help="Who you are, where ROUTER_AUTH=dev: an operator's id.")
]
TokenOption = Annotated[
    str | None, typer.Option(envvar="ROUTER_TOKEN", help="A bearer token in place of --user.")
]
DataFolderOption = Annotated[
    Path | None, typer.Option(help="The data folder of `dev`.", show_default=".data")
]


Url = Annotated[
    str | None,
    typer.Option(
        help="Where the REST API is.",
        show_default=f"that of a dev on the data folder, or {LOCAL_API}",
    ),
]


class _Here(Section):
    data: Path = Path(Settings.model_fields["data"].default)


def api_url(given: str | None) -> str:
    """Where the REST API is: as given, else that of the `dev` on this data folder, if one runs."""
    if given is not None:
        return given
    found = served(_Here.load().data)
    return LOCAL_API if found is None else f"http://127.0.0.1:{found.api}"


def settings_in(data: Path | None) -> Settings:
    """The settings, with this data folder where one is given; raises `MisconfiguredError`.

    Temporal is that of the `dev` which runs on the folder, where none is set.
    """
    settings = Settings.load(**({} if data is None else {"data": data}))
    found = served(settings.data)
    if found is None:
        return settings
    known = {
        "temporal_address": f"127.0.0.1:{found.temporal}",
        "temporal_ui": f"http://127.0.0.1:{found.ui}",
    }
    unset: dict[str, Any] = {n: at for n, at in known.items() if n not in settings.model_fields_set}
    if "temporal_address" in unset:
        unset |= NO_TLS
    return settings.replace(**unset)


def absent_database(settings: Settings) -> Path | None:
    """The SQLite file that a first start would make; None where there is a database."""
    file = Path(make_url(settings.database_url).database or "")
    return file if settings.uses_sqlite and not file.exists() else None


def paths_argument(what: str, otherwise: str) -> Any:
    """The argument for paths: what they are, and what is checked where none is given."""
    return typer.Argument(metavar="[PATH]...", help=what, show_default=otherwise)


def echo_aligned(rows: Sequence[tuple[str, ...]], *, numbers: bool = False) -> None:
    """Print the rows, which have equally many cells, a line each, their columns aligned.

    With `numbers` all columns but the first are set to the right.
    """
    lines = [[isolated(inline(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        sides = "".join("<" if n == 0 or not numbers else ">" for n in range(len(line)))
        set_ = (f"{cell:{side}{width}}" for (cell, width), side in zip(cells, sides, strict=True))
        typer.echo("  ".join(set_).rstrip())


def person(settings: Settings, user: str, tenant: str = DEFAULT_TENANT) -> Principal:
    """The person with this id, of that tenant; `NotFound` says who there is."""
    everyone = {one.id: one for one in people_of(settings).everyone(tenant)}
    if user not in everyone:
        close = get_close_matches(user, everyone, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"it has {', '.join(everyone) or 'none'}"
        of = "" if tenant == DEFAULT_TENANT else f" of tenant {tenant!r}"
        raise NotFound(f"--user {user!r} isn't in the directory{of}: {remedy}")
    return everyone[user]


def shell_account() -> str:
    """Who types: `shell:` and the account."""
    number = os.getuid()
    try:
        account = pwd.getpwuid(number).pw_name
    except KeyError:  # a container gave it no name
        account = str(number)
    return f"{SHELL}{account}"


async def noted(
    trail: AuditTrail, tenant: str, act: Act, subject: str = "", detail: str = ""
) -> None:
    """Add the line; `Unavailable` where it can't be added, and then it may not be done."""
    about = {"who": shell_account(), "act": act, "subject": subject, "detail": detail}
    line = {"id": fresh_id(), "tenant": tenant, "at": datetime.now(UTC), **about}
    await trail.note(AuditEntry.model_validate(line))


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


async def with_store(settings: Settings, work: Callable[[Store], Awaitable[Found]]) -> Found:
    """What the work comes to with the store of these settings, its tables up to date."""
    made(settings.data)
    database = Database(settings.database_url)
    subscriptions = OtherSystems.of(settings).subscriptions
    store = Store(database, subscriptions, aged_rows(settings))
    try:
        await migrate_all(database, settings)
        return await work(store)
    finally:
        await store.aclose()
        await database.dispose()


def write_out(file: Path, text: str) -> None:
    """Write what `--out` names; raises `InvalidInput` where it can't be."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"--out {file} can't be written ({error.strerror}): choose another"
        ) from None
