"""The public API for sources of tools, which `Extension.tool_sources` adds.

    from router.sdk.tool_sources import PolledToolSource, make_tool

A source publishes tools of another system, such as a company's catalogue of services.
"""

from router.tool.example_place import ExamplePlace
from router.tool.kinds import PolledToolSource, ToolSource
from router.tool.made_tool import make_tool
from router.tool.tool import Tool

__all__ = ["ExamplePlace", "PolledToolSource", "Tool", "ToolSource", "make_tool"]
