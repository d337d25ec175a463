"""Building every schema from the models and tables that the files are read by."""

import json
from collections.abc import Callable, Mapping

from router.cli.schemas.files import FOLDER, NAMES
from router.cli.schemas.flow import flow_schema
from router.cli.schemas.people import directory_schema, mcp_schema
from router.cli.schemas.skill import skill_schema
from router.cli.schemas.story import story_schema
from router.cli.schemas.tools import tools_schema
from router.cli.schemas.words import JsonSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"
BUILDERS: Mapping[str, Callable[[], JsonSchema]] = {
    "flow": flow_schema,
    "story": story_schema,
    "skill": skill_schema,
    "tools": tools_schema,
    "mcp": mcp_schema,
    "directory": directory_schema,
}


def built(name: str) -> str:
    """The schema of this name as it should ship."""
    schema = {"$schema": DIALECT, **BUILDERS[name]()}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def build() -> None:
    """Write every schema to where it ships from."""
    FOLDER.mkdir(exist_ok=True)
    for name, file in NAMES.items():
        (FOLDER / file).write_text(built(name), encoding="utf-8")
