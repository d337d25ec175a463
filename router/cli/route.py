"""`intent-router route`: where a message would go, and why. Nothing is executed."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Annotated, Any

import typer

from router.api.explanation import explanation
from router.cli.dry_run import dry_run_of
from router.cli.options import moment, person
from router.domain.errors import InvalidInput, RouterError
from router.settings import Settings

ExplanationJson = dict[str, Any]
ExplainText = Callable[[str], ExplanationJson]


@contextmanager
def explainer(
    settings: Settings, user: str, now: str | None, *, with_model: bool, quick: bool
) -> Iterator[ExplainText]:
    """What explains what `user` says, at `now` or then; between messages Ctrl-C works as ever."""
    speaker = person(settings, user)
    moment(now, speaker.timezone)
    opened = dry_run_of(settings, with_model=with_model, quick=quick)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        dry_run = runner.run(stack.enter_async_context(opened))

        def explain(text: str) -> ExplanationJson:
            at = moment(now, speaker.timezone)
            reading, decided = runner.run(dry_run.routed(text, speaker, at))
            return explanation(text, reading, [decided.route, *decided.others], decided.commands)

        try:
            yield explain
        finally:
            runner.run(stack.aclose())


def explain_lines(explain: ExplainText) -> None:
    """Answer each line of stdin with a line of JSON; `InvalidInput` in the end for some."""
    refused = 0
    for raw in sys.stdin.buffer:
        line = raw.rstrip(b"\r\n")
        try:
            answer = explain(line.decode(errors="surrogateescape"))
        except RouterError as error:
            answer = {"text": line.decode(errors="replace"), "error": str(error)}
        refused += "error" in answer
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    if refused:
        raise InvalidInput(f"{refused} of the lines can't be explained: their `error` says why")


def readable(explanation: ExplanationJson) -> str:
    """The explanation as a person reads it: the decision first, then what led to it."""
    lines = [
        line
        for decision in explanation.get("decisions") or [explanation["decision"]]
        for line in _decided(decision)
    ]
    patterns = (
        f"{hit['flow']}: {hit['pattern']} at {_span(hit)}"
        + (f", blocked by {hit['blocked_by']}" if hit.get("blocked_by") else "")
        for hit in explanation["patterns"]
    )
    entities = (
        f"{one['type']} {one['text']!r} at {_span(one)}: {_json(one['value'])}"
        for one in explanation["entities"]
    )
    others = (f"{c['kind']} {c['name']} ({c['score']:.2f})" for c in explanation["candidates"])
    sections: dict[str, Iterable[str]] = {
        "left": [explanation["rest"]] if explanation.get("rest") else [],
        "patterns": patterns,
        "entities": entities,
        "others": others,
    }
    return "\n".join([*lines, *_listed(sections)])


def _decided(decision: Mapping[str, Any]) -> list[str]:
    where = " ".join(filter(None, (decision["kind"], decision.get("target"))))
    sections = {
        "because": [decision["reason"]] if decision.get("reason") else [],
        "slots": [f"{name} = {_json(value)}" for name, value in decision.get("slots", {}).items()],
    }
    confidence = decision.get("confidence")
    sure = "" if confidence is None else f" (confidence {confidence:.2f})"
    return [f"{where}, by {decision['by']}{sure}", *_listed(sections)]


def _listed(sections: Mapping[str, Iterable[str]]) -> list[str]:
    """Each section's items on lines of their own, under its title."""
    return [
        f"  {'' if n else title:<9} {item}"
        for title, items in sections.items()
        for n, item in enumerate(items)
    ]


def _span(found: ExplanationJson) -> str:
    start, end = found["span"]
    return f"{start}–{end}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def route(
    text: Annotated[str, typer.Argument(help="What a person says; - reads one a line from stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
    user: Annotated[str, typer.Option(help="Who says it: a user id from the directory.")] = "alice",
    now: Annotated[
        str | None, typer.Option(help="When it is said, such as 2026-11-18T10:00+08:00.")
    ] = None,
    llm: Annotated[
        bool, typer.Option("--llm", help="Let the model decide what rules can't.")
    ] = False,
) -> None:
    """Explain where a text would go. Executes nothing, and needs no server.

    With - in place of TEXT every line of stdin is a message and gets one line of JSON; a line
    that can't be explained gets {"text", "error"}, and the exit status is 1.

    What rules can't decide is searched by words and by vectors. Encoding what there is takes
    seconds, once: for a single TEXT words alone are searched, unless vectors are in the data
    folder already. --llm, `route -`, `eval` and `dev` put them there.
    """
    single = text != "-"
    with explainer(Settings.load(), user, now, with_model=llm, quick=single and not llm) as explain:
        if not single:
            explain_lines(explain)
            return
        explanation = explain(text)
    typer.echo(json.dumps(explanation, ensure_ascii=False) if as_json else readable(explanation))
