"""`intent-router prompts`: versions, their shares and outcomes, how well each does its cases."""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from router.cli.options import OPERATOR, TokenOption, Url, UserOption, echo_aligned
from router.cli.rest import asked

app = typer.Typer(no_args_is_help=True, help="Compare versions of prompts, and share traffic.")

JsonOption = Annotated[bool, typer.Option("--json", help="As REST answers.")]
DaysOption = Annotated[int, typer.Option(min=1, max=92, help="Of how many days.")]
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Such as router or phrase.")]


@app.command("list")
def listing(
    as_json: JsonOption = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """List versions with their shares, where they are from, and the fingerprints of their texts."""
    found = asyncio.run(asked(url, token or user, lambda rest: rest.get("/v1/prompts")))
    if as_json:
        _echo_json(found["items"])
        return
    rows = [("version", "share", "from", "shares by", "zh", "en")]
    for job in found["items"]:
        by = job.get("set_by") or "settings"
        for one in job["versions"]:
            marks = (one["fingerprints"][locale].partition("@")[2] for locale in ("zh", "en"))
            rows.append((one["version"], f"{one['share']:.0%}", one["origin"], by, *marks))
    echo_aligned(rows)


@app.command()
def share(
    shares: Annotated[
        list[str], typer.Argument(metavar="VERSION=WEIGHT...", help="Such as router-1=9.")
    ],
    as_json: JsonOption = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Give the versions of one job other shares of the conversations, without a restart."""
    wanted = dict(_weight(each) for each in shares)
    jobs = {version.rpartition("-")[0] for version in wanted}
    if len(jobs) > 1:
        raise typer.BadParameter(
            f"these are of several jobs, {', '.join(sorted(jobs))}: name one's"
        )
    path, body = f"/v1/prompts/{jobs.pop()}/shares", {"shares": wanted}
    _echo_job(asyncio.run(asked(url, token or user, lambda rest: rest.put(path, body))), as_json)


def _weight(written: str) -> tuple[str, int]:
    version, _, weight = written.partition("=")
    if not version.rpartition("-")[0] or not (weight.isascii() and weight.isdigit()):
        raise typer.BadParameter(f"{written!r} is no share: write VERSION=WEIGHT, as router-2=1")
    return version, int(weight)


@app.command()
def rollback(
    job: JobArgument,
    as_json: JsonOption = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Take back the shares that were set last, so that those before them hold again."""
    path = f"/v1/prompts/{job}/rollback"
    _echo_job(asyncio.run(asked(url, token or user, lambda rest: rest.post(path, {}))), as_json)


def _echo_job(job: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        _echo_json(job)
        return
    told = ", ".join(f"{v['version']} {v['share']:.0%}" for v in job["versions"] if v["weight"])
    by = f"set by {job['set_by']}" if job.get("set_by") else "as the settings say"
    typer.echo(f"{job['job']}: {told} ({by})")


RATES = ("unused", "missed", "asked_back", "handed_off")
OF_RUNS = ("completed", "cancelled")


@app.command()
def outcomes(
    days: DaysOption = 7,
    as_json: JsonOption = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Say by version how conversations went: turns, and the runs that its decisions began."""
    question = {"days": days}
    found = asyncio.run(asked(url, token or user, lambda rest: rest.get("/v1/prompts", **question)))
    if as_json:
        _echo_json(found["outcomes"])
    elif not found["outcomes"]:
        typer.echo(f"no model was asked to decide in the last {days} days")
    else:
        rows = [("version", "conversations", "turns", *RATES, "started", *OF_RUNS)]
        for one in found["outcomes"]:
            turns, runs = ([_rate(one[name]) for name in names] for names in (RATES, OF_RUNS))
            counts = (str(one["conversations"]), str(one["turns"]))
            rows.append((one["version"], *counts, *turns, str(one["started"]), *runs))
        echo_aligned(rows, numbers=True)


def _rate(rate: Mapping[str, Any]) -> str:
    if rate["share"] is None:
        return "-"
    return f"{rate['share']:.0%} [{rate['low']:.0%}, {rate['high']:.0%}]"


def _echo_json(found: Any) -> None:
    typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
