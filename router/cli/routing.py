"""`intent-router route`: where a message would go, and why. Nothing is executed."""

import json
from typing import Annotated

import typer


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
    from router.cli.explaining import explain_lines, explainer, readable
    from router.settings import Settings

    single = text != "-"
    with explainer(Settings.load(), user, now, with_model=llm, quick=single and not llm) as explain:
        if not single:
            explain_lines(explain)
            return
        explanation = explain(text)
    typer.echo(json.dumps(explanation, ensure_ascii=False) if as_json else readable(explanation))
