"""Drafts of flows, made of what a company has of a process already.

A process in BPMN 2.0, a form as a spreadsheet or a document, a paragraph. Each gives a `Beginning`:
the text of a flow file, the questions that its author has to answer, and what had no place in it.
Nothing here publishes anything.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from router.extension import ApiPart, Extension, PromptJob, Routes

if TYPE_CHECKING:
    from router.api.dependencies import AppState

_FOLDER = Path(__file__).parent


class ImportersExtension(Extension):
    """Adds `POST /v1/flow-drafts/beginnings`, and the prompt that a paragraph is read by."""

    name = "importers"
    requires = ("authoring",)

    def routes(self) -> Routes:
        from router.extensions.importers.routes import BODIES, router

        return Routes([router], body_limits=BODIES)

    def api_part(self, state: "AppState") -> ApiPart:
        # Forks of the process that reads files have the module then, and needn't import it each.
        state.services.isolated_work.preload("router.extensions.importers.source_file")
        state.services.isolated_work.preload("router.extensions.importers.paragraph")
        return ApiPart()

    def prompt_jobs(self) -> Sequence[PromptJob]:
        case_input = "router.extensions.importers.prompt_cases:SketchCase"
        return [PromptJob("sketch", _FOLDER / "prompts", _FOLDER / "cases", case_input)]
