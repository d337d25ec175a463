"""`intent-router runs …` and `intent-router audit`: the operators' calls of the REST API.

What each of them does is noted there, under the name of whoever's token it is.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

import typer

from router.cli.options import OPERATOR, TokenOption, Url, UserOption, echo_aligned
from router.cli.rest import Rest, asked
from router.client import Refused
from router.domain.errors import RouterError
from router.domain.messages import ENDED
from router.domain.records import EXPIRING

AsJson = Annotated[bool, typer.Option("--json", help="One JSON array, as REST answers.")]
LimitOption = Annotated[int, typer.Option(min=1, max=200, help="How many at most.")]
SinceOption = Annotated[str | None, typer.Option(help="A moment, such as 2026-11-23T09:00+08:00.")]
ReasonOption = Annotated[str | None, typer.Option(help="Why; it is kept in the audit trail.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]

Row = tuple[str, ...]

app = typer.Typer(help="Find anybody's runs and put them right, as an operator.")


@app.command("list")
def list_runs(  # noqa: PLR0913, PLR0917 - each narrows the list
    status: Annotated[str | None, typer.Option(help="Such as waiting_approval.")] = None,
    flow: Annotated[str | None, typer.Option(help="A flow's name.")] = None,
    requester: Annotated[str | None, typer.Option(help="A user id.")] = None,
    waiting_for: Annotated[str | None, typer.Option(help="Whose decision they await.")] = None,
    held: Annotated[
        bool | None, typer.Option("--held/--not-held", help="Waiting for an operator.")
    ] = None,
    since: SinceOption = None,
    quiet_since: Annotated[str | None, typer.Option(help="Unchanged since this moment.")] = None,
    expiring: Annotated[
        bool, typer.Option("--expiring", help="Waiting for an approval that expires in a day.")
    ] = False,
    limit: LimitOption = 50,
    as_json: AsJson = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """List everyone's runs, newest first."""
    query: dict[str, Any] = {"status": status, "flow": flow, "requester": requester}
    query |= {"waiting_for": waiting_for, "since": since, "quiet_since": quiet_since}
    query |= {"expires_before": (datetime.now(UTC) + EXPIRING).isoformat() if expiring else None}
    query |= {"held": None if held is None else str(held).lower(), "all": "true", "limit": limit}
    runs = _got(url, token or user, "/v1/flow-runs", query)["items"]
    rows = []
    for run in runs:
        waits = ",".join(run["waiting_for"]) or ("an operator" if run["held"] else "")
        about = (run[key] for key in ("flow", "status", "state", "requester"))
        rows.append((run["id"], str(run["created_at"])[:16], *about, waits))
    _echo(runs, rows, as_json=as_json)


@app.command()
def show(
    run: RunId,
    as_json: Annotated[bool, typer.Option("--json", help="As REST answers.")] = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Show one run: how it stands, why it is held, what it knows, and what happened to it."""
    found = _got(url, token or user, f"/v1/flow-runs/{quote(run, safe='')}", {})
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    echo_aligned([row for row in _facts(found) if row[1]])
    for heading, rows in (("slots", _slots(found)), ("history", _history(found))):
        if rows:
            typer.echo(f"\n{heading}")
            echo_aligned([("", *row) for row in rows])


def _facts(run: Mapping[str, Any]) -> Iterator[Row]:
    yield "run", f"{run['title']} ({run['id']}, {run['flow']} version {run['version']})"
    yield "status", f"{run['status']} at {run['state']}"
    yield "requester", run["requester"]
    yield "since", run["created_at"][:16]
    yield "changed", run["updated_at"][:16]
    yield "waits for", ", ".join(run["waiting_for"])
    yield "held", run["held_because"] or ""
    yield "part of", run["parent"] or ""
    yield "takes back", run["withdraws"] or ""
    yield "taken back by", run["withdrawn_by"] or ""
    yield "Temporal", run["temporal"]["url"]


def _slots(run: Mapping[str, Any]) -> list[Row]:
    """By their labels; by their names where the flow has moved on."""
    unlabelled = {name: value for name, value in run["slots"].items() if value is not None}
    return [
        (label, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for label, value in (run["summary"] or unlabelled).items()
    ]


def _history(run: Mapping[str, Any]) -> list[Row]:
    return [
        (line["at"][:19], line["state"], line["event"], line["by"] or "", line["comment"] or "")
        for line in run["history"]
    ]


@app.command()
def retry(
    run: RunId,
    reason: ReasonOption = None,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Make the call again that the run is held for."""
    _operate(url, token or user, run, "retry", {"comment": reason})


@app.command()
def terminate(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The run's id; none: with --requester.")
    ] = None,
    requester: Annotated[
        str | None, typer.Option(help="All that go on of this person: a user id.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do so with all of them.")] = False,
    reason: ReasonOption = None,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """End the run, or all that a person has under way; what they did is undone."""
    body = {"comment": reason}
    if (run is None) == (requester is None):
        raise typer.BadParameter("give either a run's id or --requester")
    if run is not None:
        _operate(url, token or user, run, "terminate", body)
        return
    came = asyncio.run(
        asked(url, token or user, lambda rest: _ended(rest, requester, body, yes=yes))
    )
    _of_several(came, "go on", yes=yes)


@app.command()
def reassign(  # noqa: PLR0913, PLR0917 - one run's, or everything of one person
    instead_of: Annotated[
        str, typer.Option("--instead-of", "--from", help="Whom it waits for: a user id.")
    ],
    to: Annotated[str, typer.Option(help="Who is to decide: a user id.")],
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The run's id; none: all that wait.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do so in all of them.")] = False,
    reason: ReasonOption = None,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Have somebody else decide: in one run, or in all that wait for that person."""
    body = {"instead_of": instead_of, "to": to, "comment": reason}
    if run is not None:
        _operate(url, token or user, run, "reassign", body)
        return
    came = asyncio.run(asked(url, token or user, lambda rest: _handed_over(rest, body, yes=yes)))
    _of_several(came, f"still wait for {instead_of}", yes=yes)


class Outcome(NamedTuple):
    """What came of a command for one run, in words, and whether the API refused it."""

    text: str
    refused: bool = False


def _of_several(came: Sequence[tuple[Row, Outcome]], refused_ones: str, *, yes: bool) -> None:
    """Print what came of each; raises `RouterError` where some were refused."""
    _echo([], [(*row, outcome.text) for row, outcome in came], as_json=False)
    refused = sum(outcome.refused for _, outcome in came)
    if refused:
        raise RouterError(f"{refused} of {len(came)} {refused_ones}")
    if came and not yes:
        typer.echo("nothing is changed yet: add --yes", err=True)


async def _every(rest: Rest, **query: Any) -> list[dict[str, Any]]:
    """All runs that such a query finds."""
    page = await rest.get("/v1/flow-runs", **query)
    found: list[dict[str, Any]] = page["items"]
    while page["next"]:
        page = await rest.get("/v1/flow-runs", **query, after=page["next"])
        found += page["items"]
    return found


async def _ended(
    rest: Rest, requester: str | None, body: dict[str, Any], *, yes: bool
) -> list[tuple[Row, Outcome]]:
    """Each run of the person's that goes on, and what came of ending it; parts of others aside."""
    query = {"all": "true", "requester": requester, "limit": 200}
    rows = list[tuple[Row, Outcome]]()
    for run in await _every(rest, **query):
        if run["status"] in ENDED or run["parent"]:
            continue
        outcome = Outcome(f"{run['status']} at {run['state']}")
        if yes:
            outcome = await _posted(rest, f"/v1/flow-runs/{run['id']}/terminate", body, "ended")
        rows.append(((run["id"], run["flow"], run["requester"]), outcome))
    return rows


async def _handed_over(rest: Rest, body: dict[str, Any], *, yes: bool) -> list[tuple[Row, Outcome]]:
    """Each run that waits for the person, and what came of handing it over."""
    query = {"all": "true", "waiting_for": body["instead_of"], "limit": 200}
    rows = list[tuple[Row, Outcome]]()
    for run in await _every(rest, **query):
        outcome = Outcome(f"waits for {body['instead_of']}")
        if yes:
            path = f"/v1/flow-runs/{run['id']}/reassign"
            outcome = await _posted(rest, path, body, f"waits for {body['to']}")
        rows.append(((run["id"], run["flow"], run["requester"]), outcome))
    return rows


async def _posted(rest: Rest, path: str, body: dict[str, Any], done: str) -> Outcome:
    try:
        await rest.post(path, body)
    except Refused as refused:
        return Outcome(f"refused: {refused}", refused=True)
    return Outcome(done)


@app.command()
def why(
    turn: Annotated[str, typer.Argument(metavar="CONVERSATION/MESSAGE", help="A turn.")],
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Say why a message went where it did, as JSON."""
    found = _got(url, token or user, f"/v1/turns/{turn}", {})
    typer.echo(json.dumps(found, ensure_ascii=False, indent=2))


def audit(  # noqa: PLR0913, PLR0917 - each narrows the list
    who: Annotated[str | None, typer.Option(help="A user id, or shell:ACCOUNT.")] = None,
    act: Annotated[
        str | None, typer.Option(help="Such as run.terminate, or person.sign_in.")
    ] = None,
    subject: Annotated[str | None, typer.Option(help="The id of a run, file or turn.")] = None,
    whose: Annotated[str | None, typer.Option(help="Whose that is: a user id.")] = None,
    since: SinceOption = None,
    limit: LimitOption = 50,
    as_json: AsJson = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Read what operators did and looked at, newest first; who signed in with --act alone."""
    query = {"who": who, "act": act, "subject": subject, "whose": whose, "since": since}
    lines = _got(url, token or user, "/v1/audit", {**query, "limit": limit})["items"]
    rows = []
    for line in lines:
        about = [line[key] for key in ("subject", "whose", "detail", "reason") if line[key]]
        rows.append((str(line["at"])[:19], line["who"], line["act"], " · ".join(about)))
    _echo(lines, rows, as_json=as_json)


def _echo(items: Sequence[Mapping[str, Any]], rows: Sequence[Row], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(items, ensure_ascii=False, indent=2))
    elif rows:
        echo_aligned(rows)
    else:
        typer.echo("nothing of the kind", err=True)


def _operate(url: str | None, token: str, run: str, verb: str, body: dict[str, Any]) -> None:
    path = f"/v1/flow-runs/{run}/{verb}"
    standing = asyncio.run(asked(url, token, lambda rest: rest.post(path, body)))
    typer.echo(f"{standing['id']}  {standing['status']}  {standing['state']}")


def _got(url: str | None, token: str, path: str, query: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(asked(url, token, lambda rest: rest.get(path, **query)))
