"""The check of `intent-router doctor` of declared tools."""

from pathlib import Path

from router.extensions.http.source import load_declared_tools
from router.runtime.definitions import load_registry
from router.settings import Settings


async def check_declared_tools(settings: Settings) -> str:
    """Check that the files of declared tools can be loaded, and that their variables are set."""
    load_registry(settings)
    loaded = load_declared_tools(settings)
    names = ", ".join(tool.name for tool in loaded.tools) or "none"
    absent = (f"not {Path(f).name}: {v} isn't set" for f, v in loaded.absent.items())
    return "\n".join([names, *absent])
