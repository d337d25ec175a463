"""Tools that are functions of the project's packages, made by `router.tool.tool.tool`."""

from router.tool.kinds import ToolSource


class FunctionSource(ToolSource):
    """Every module of the packages is imported, and the tools that they define are taken in."""

    def load(self) -> None:
        """Import them; raises `DefinitionError` for the first module or tool that can't be one."""
        self.registry.discover(*self.packages)


SOURCE = FunctionSource
