"""The pages of `docs/reference`, made from the code that they describe.

Each page is a function that gives its Markdown; nothing here writes a file. `python -m
docs.generate` does, and the suite fails where a page isn't what its function gives.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generate.commands import commands_page
from docs.generate.flow_files import flow_files_page
from docs.generate.public_api import public_api_page
from docs.generate.rest import rest_page
from docs.generate.settings import settings_page
from docs.generate.tool_files import tool_files_page

FOLDER = Path(__file__).parents[1] / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": commands_page,
    "flow-files.md": flow_files_page,
    "public-api.md": public_api_page,
    "rest.md": rest_page,
    "settings.md": settings_page,
    "tool-files.md": tool_files_page,
}
REMEDY = "run `make reference`"
