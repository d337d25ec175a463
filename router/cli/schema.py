"""`intent-router schema`: JSON Schemas of the files that people write, for their editors."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Name = Literal["flow", "story", "skill", "tools", "mcp", "directory"]


def schema(
    name: Annotated[Name | None, typer.Argument(help="Of which files.")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FOLDER", help="Copy all of them there.")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, or copy all to where an editor finds them.

    The first line of a YAML file then names its own:
    # yaml-language-server: $schema=.schemas/flow.json
    """
    if (name is None) == (write is None):
        raise typer.BadParameter(
            "name one of flow, story, skill, tools, mcp, directory, or --write"
        )
    from router.cli.schemas.files import text_of, write_to

    if name is not None:
        typer.echo(text_of(name), nl=False)
        return
    for path in write_to(write or Path()):
        typer.echo(f"wrote {path}")
