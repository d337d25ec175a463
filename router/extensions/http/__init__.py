"""Tools that files declare: HTTP endpoints, operations of OpenAPI documents, and workflows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from router.extension import Check, Command, Extension, WorkerPart

if TYPE_CHECKING:
    from router.extensions.http.settings import HttpSettings
    from router.tool.configuration_kind import ConfigurationKind
    from router.tool.kinds import ToolSource


class HttpExtension(Extension):
    """Adds tools of declaration files, and of those that tenants' documents declare."""

    name = "http"

    def settings(self) -> "type[HttpSettings]":
        from router.extensions.http.settings import HttpSettings

        return HttpSettings

    def worker_part(self) -> WorkerPart:
        from router.extensions.http.nexus_workflow import NexusCallWorkflow

        return WorkerPart(workflows=[NexusCallWorkflow])

    def tool_sources(self) -> "Sequence[type[ToolSource]]":
        from router.extensions.http.source import DeclarationSource

        return [DeclarationSource]

    def configuration_kinds(self) -> "Sequence[type[ConfigurationKind]]":
        from router.extensions.http.tool_documents import ToolDocuments

        return [ToolDocuments]

    def commands(self) -> Mapping[str, Command]:
        commands = "router.extensions.http.commands"
        return {
            "tools validate": Command(
                f"{commands}:validate",
                "Check files of declared tools; name each problem with its file, line and remedy.",
            ),
            "new process": Command(
                f"{commands}:process",
                "Copy a whole process of the gallery: its flow, its stories, and the file of its "
                "tools.",
            ),
        }

    def checks(self) -> Mapping[str, Check]:
        from router.extensions.http.checks import check_declared_tools

        return {"declared tools": check_declared_tools}

    def tool_templates(self) -> Mapping[str, str]:
        scaffold = "router.extensions.http.scaffold"
        return {
            "http": f"{scaffold}:new_http_tool",
            "openapi": f"{scaffold}:new_openapi_tool",
        }

    def file_schemas(self) -> Mapping[str, Path]:
        return {"tools": Path(__file__).parent / "schemas" / "tools.json"}
