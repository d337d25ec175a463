"""`intent-router doctor`: is everything here that the other commands will need?"""

import asyncio

import typer


def doctor() -> None:
    """Check settings and what they need.

    Says what to do about each failure, and exits with 1 if there is one.
    """
    from router.cli.checks import examine
    from router.domain.errors import RouterError

    findings = asyncio.run(examine())
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        mark = "ok    " if finding.fine else "FAILED"
        typer.echo(f"{mark}  {finding.subject:<{width}}  {_indented(finding.says, width + 10)}")
    failed = [finding.subject for finding in findings if not finding.fine]
    if failed:
        raise RouterError(f"{len(failed)} of {len(findings)} checks failed: {', '.join(failed)}")


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)
